"""Files of a run: which it has, with their hashes, and how they are written so that a killed writer does no harm.

SHA256SUMS has the form that ``sha256sum --check`` reads.

Files are written in a stage, a folder that is held by a lock which the system frees when its writer dies. From the mark
on, all files of the stage are whole and on the disk: then they are moved to their places; before it, what was there
stays. The next writer ends the work of a killed one. Several writers make their stages at once and move their files one
after the other.
"""

import hashlib
import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from tempfile import mkdtemp

from filelock import FileLock

from ..core.support.errors import InputError
from ..core.support.safe_loading import bytes_of

if sys.platform != "win32":
    import fcntl

RUN, CLOCK, EVIDENCE, SUMS = "run.json", "clock.json", "evidence", "SHA256SUMS"
_LINE = re.compile(r"(?P<digest>[0-9a-f]{64}) [ *](?P<name>.+)")


def file_content(path: str | Path, must: str, remedy: str = "Check the path.", most: int | None = None) -> bytes:
    """Return the content of a file: `must` says what it is, `remedy` what to do, `most` how many bytes it may have."""
    try:
        return Path(path).read_bytes() if most is None else bytes_of(Path(path), most)
    except OSError as error:
        raise InputError(f"{must}; got {str(path)!r} ({error.strerror}). {remedy}") from error


def hashes(files: Mapping[str, bytes]) -> dict[str, str]:
    """Return the SHA-256 of files by name."""
    return {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}


def dumps(listed: Mapping[str, str]) -> bytes:
    """Return a list of hashes by file name.

    Examples
    --------
    >>> dumps(hashes({"a": b""}))[:8], dumps(hashes({"a": b""})).decode().split()[1]
    (b'e3b0c442', 'a')
    """
    return "".join(f"{digest}  {name}\n" for name, digest in sorted(listed.items())).encode()


def loads(folder: Path) -> dict[str, str]:
    """Return the hashes a folder's SHA256SUMS lists; nothing if there is none, or it is no such file."""
    try:
        lines = [_LINE.fullmatch(line) for line in bytes_of(folder / SUMS).decode().splitlines()]
    except (OSError, ValueError):
        return {}
    sums = {match["name"]: match["digest"] for match in lines if match}
    inside = all(not PurePosixPath(name).is_absolute() and ".." not in PurePosixPath(name).parts for name in sums)
    return sums if inside and len(sums) == len(lines) else {}


def is_damaged(folder: Path) -> bool:
    """Return whether a folder has a SHA256SUMS that lists nothing which can be read."""
    return os.path.lexists(folder / SUMS) and not loads(folder)


def match(folder: Path, sums: Mapping[str, str], names: Iterable[str]) -> bool:
    """Say whether each of these files is in a folder with the hash that `sums` lists for it."""
    for name in names:
        try:
            data = (folder / name).read_bytes()
        except (OSError, ValueError):  # a name may hold what no file system takes
            return False
        if hashlib.sha256(data).hexdigest() != sums.get(name):
            return False
    return True


PREFIX = ".new-"
LOCK, MARK, NEW, OLD = "lock", "whole", "new", "old"


@contextmanager
def staged(folder: Path) -> Iterator[Path]:
    """Make and hold a stage in a folder; on the way in, end the work of those whose writers are gone."""
    with alone(folder):
        for other in sorted(folder.glob(f"{PREFIX}*")):
            if _is_left(other):
                _end(other)
        stage = Path(mkdtemp(dir=folder, prefix=PREFIX))
        lock = FileLock(stage / LOCK)
        lock.acquire()
    try:
        yield stage
    finally:
        with alone(folder):
            lock.release()
            shutil.rmtree(stage)


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Wait until no other process is in this block for a folder, where folders have locks: not on Windows and NFS."""
    if sys.platform == "win32":
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def remove(place: Path) -> None:
    """Remove a file or a folder; nothing there is fine."""
    if place.is_dir():
        shutil.rmtree(place)
    else:
        place.unlink(missing_ok=True)


def write_through(file: Path, content: bytes) -> None:
    """Write a new file down to the disk."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("xb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())


def _is_left(stage: Path) -> bool:
    """Say whether nobody holds a stage; one without a lock is being made or removed."""
    if not (stage / LOCK).exists():
        return False
    try:
        with FileLock(stage / LOCK, timeout=0):
            return True
    except OSError:
        return False


def _end(stage: Path) -> None:
    """Move the files of a whole stage to their places; of another, put back what it had set aside."""
    source = stage / (NEW if (stage / MARK).exists() else OLD)
    for item in sorted(source.iterdir()) if source.is_dir() else []:
        place = stage.parent / item.name
        if place.is_dir():
            remove(place)
        item.replace(place)
    shutil.rmtree(stage)
