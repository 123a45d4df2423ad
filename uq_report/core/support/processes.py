"""Child processes of this Python: none loads code from the folder that it, or this process, works in.

Modules of a folder that Python does not look in: those that a user names, and what they import from beside them.

Temporary folders of this process; those of killed processes, which nobody else removes, go when the next is made.
"""

import os
import shutil
import site
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from threading import Lock
from types import FrameType, ModuleType
from typing import Any

from filelock import FileLock

_HERE = Path(__file__).resolve().parents[3]  # where uq_report lies, which is trusted wherever it is
_START = (
    "import os, sys; sys.path[:] = sys.argv.pop(1).split(os.pathsep); "
    "import runpy; runpy.run_module(sys.argv.pop(1), run_name='__main__', alter_sys=True)"
)
_shared = Lock()
_before: list[dict[str, str | None]] = []  # the environment before, once and once more for each who needs the other


def command(module: str, *words: str, folder: Path | None = None) -> list[str]:
    """Return the command that runs a module isolated (``-I``), with what this process can import.

    Modules of the working folders, of the script that is run and of relative places are left out, and so are
    ``sitecustomize`` and packages' metadata there.

    Parameters
    ----------
    module : str
    *words : str
        Its arguments.
    folder : Path, optional
        Where the child works, if that is not here.
    """
    places = [place for place in sys.path if _is_fixed(place, folder)]
    path = os.pathsep.join(places if str(_HERE) in places else [*places, str(_HERE)])
    return [sys.executable, "-I", "-c", _START, path, module, *words]


@contextmanager
def safe_paths() -> Iterator[None]:
    """Let the Pythons that others start meanwhile, such as joblib, leave out the working folder as well.

    The environment is that of the whole process: the first who needs it changes it, the last changes it back.
    """
    with _shared:
        if not _before:
            _before.append({name: os.environ.get(name) for name in ("PYTHONSAFEPATH", "PYTHONPATH")})
            places = os.environ.get("PYTHONPATH", "").split(os.pathsep)
            os.environ["PYTHONSAFEPATH"] = "1"
            os.environ["PYTHONPATH"] = os.pathsep.join(place for place in places if _is_fixed(place))
        _before.append(_before[0])
    try:
        yield
    finally:
        with _shared:
            _before.pop()
            if len(_before) == 1:
                _restore(_before.pop())


def _restore(environment: dict[str, str | None]) -> None:
    for name, value in environment.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def _is_fixed(place: object, folder: Path | None = None) -> bool:
    """Return whether a place of modules is the same wherever a process works, and not where one does."""
    if not isinstance(place, str) or not Path(place).is_absolute():
        return False
    script = getattr(sys.modules.get("__main__"), "__file__", None)
    moving = [Path.cwd(), *([folder] if folder else []), *([Path(script).parent] if script else [])]
    resolved = Path(place).resolve()
    return resolved in _installed() or resolved not in {one.resolve() for one in moving}


@cache
def _installed() -> frozenset[Path]:
    """Return where Python's own modules and installed ones lie, which may be run as scripts as well."""
    places = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    return frozenset((_HERE, *(Path(place).resolve() for place in (*places, *site.getsitepackages()))))


_MACHINERY = ("importlib", "importlib._bootstrap", "importlib._bootstrap_external")


class Nearby(MetaPathFinder):
    """Finds modules of one folder that no other place has.

    A folder on `sys.path` would lend its code to every import that finds nothing, and its metadata to plugins. Here an
    import counts if it is of a name that is allowed, or if code of the folder does it; what it finds is allowed then.
    Pickled, as for workers, it is there before what follows it in the pickle.

    Parameters
    ----------
    folder : str
        Absolute.
    names : sequence of str
        Modules that may be imported by anybody.
    """

    def __init__(self, folder: str, names: Sequence[str]) -> None:
        self.folder, self.names = folder, set(names)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the specification of a module of the folder."""
        if path is not None or not (fullname in self.names or self._is_asked_from_inside(sys._getframe(1))):  # noqa: SLF001 - who imports
            return None
        spec = PathFinder.find_spec(fullname, [self.folder], target)
        if spec is not None:
            self.names.add(fullname)
        return spec

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what makes the same modules importable elsewhere."""
        return look_in, (self.folder, sorted(self.names))

    def _is_asked_from_inside(self, frame: FrameType | None) -> bool:
        while frame is not None and frame.f_globals.get("__name__") in _MACHINERY:
            frame = frame.f_back
        return frame is not None and Path(frame.f_code.co_filename).is_relative_to(self.folder)


def look_in(folder: str, names: Sequence[str]) -> Nearby:
    """Allow modules of a folder to be imported, from now on; see `Nearby`."""
    for finder in looked_in():
        if finder.folder == folder:
            finder.names.update(names)
            return finder
    finder = Nearby(folder, names)
    sys.meta_path.append(finder)
    return finder


def looked_in() -> tuple[Nearby, ...]:
    """Return the finders at work."""
    return tuple(finder for finder in sys.meta_path if isinstance(finder, Nearby))


PREFIX, LOCK = "uq-report-", "lock"
YOUNG = 60.0  # seconds in which the lock of a folder may not be held yet
_held: dict[Path, FileLock] = {}


def make_folder() -> Path:
    """Return a new private folder, which is kept until `remove_folder` or the end of this process, however that ends.

    Raises
    ------
    OSError
        There is no room for one.

    Examples
    --------
    >>> folder = make_folder()
    >>> folder.is_dir(), remove_folder(folder), folder.exists()
    (True, None, False)
    """
    for left in _left():
        shutil.rmtree(left, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    lock = FileLock(folder / LOCK, thread_local=False)  # whichever thread collects the owner removes the folder
    lock.acquire()
    _held[folder] = lock
    return folder


def remove_folder(folder: Path) -> None:
    """Remove a folder of `make_folder`."""
    if lock := _held.pop(folder, None):
        lock.release()
    shutil.rmtree(folder, ignore_errors=True)


def _left() -> Iterator[Path]:
    """Yield the folders of this user's processes that are gone: the system freed their locks."""
    for mark in sorted(Path(tempfile.gettempdir()).glob(f"{PREFIX}*/{LOCK}")):
        with suppress(OSError):
            if mark.parent not in _held and _is_old_and_ours(mark):
                with FileLock(mark, timeout=0):
                    yield mark.parent


def _is_old_and_ours(mark: Path) -> bool:
    ours = not hasattr(os, "getuid") or mark.parent.lstat().st_uid == os.getuid()
    return ours and time.time() - mark.lstat().st_mtime > YOUNG
