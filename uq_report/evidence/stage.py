"""What a killed writer leaves behind: its stage, a folder of files on their way; the next writer ends its work.

A stage is held by a lock that the system frees when its writer dies. From the mark on, all files of the stage are
whole and on the disk: then they are moved to their places; before it, what was there stays.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: no stage is ever taken for one left behind
    fcntl = None  # type: ignore[assignment]

PREFIX = ".new-"
LOCK, MARK, NEW, OLD = "lock", "whole", "new", "old"


@contextmanager
def held(stage: Path) -> Iterator[None]:
    """Hold a stage; on the way in, end the work of those whose writers are gone."""
    with (stage / LOCK).open("xb") as lock:
        if fcntl is not None:
            fcntl.flock(lock, fcntl.LOCK_EX)
            for other in sorted(stage.parent.glob(f"{PREFIX}*")):
                if _is_left(other):
                    _end(other)
        yield


def remove(place: Path) -> None:
    """Remove a file or a folder; nothing there is fine."""
    if place.is_dir():
        shutil.rmtree(place)
    else:
        place.unlink(missing_ok=True)


def _is_left(stage: Path) -> bool:
    """Say whether nobody holds a stage; one without a lock is being made or removed."""
    try:
        with (stage / LOCK).open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _end(stage: Path) -> None:
    """Move the files of a whole stage to their places; of another, put back what it had set aside."""
    source = stage / (NEW if (stage / MARK).exists() else OLD)
    for item in sorted(source.iterdir()) if source.is_dir() else []:
        place = stage.parent / item.name
        if place.is_dir():
            remove(place)
        item.replace(place)
    shutil.rmtree(stage)
