"""Child processes of this Python: none loads code from the folder that it, or this process, works in."""

from __future__ import annotations

import os
import site
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from threading import Lock

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
