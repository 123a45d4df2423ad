"""What a killed writer leaves behind: its stage, a folder of files on their way; the next writer ends its work.

A stage is held by a lock that the system frees when its writer dies. From the mark on, all files of the stage are
whole and on the disk: then they are moved to their places; before it, what was there stays.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock

PREFIX = ".new-"
LOCK, MARK, NEW, OLD = "lock", "whole", "new", "old"


@contextmanager
def hold(stage: Path) -> Iterator[None]:
    """Hold a stage; on the way in, end the work of those whose writers are gone."""
    with FileLock(stage / LOCK):
        for other in sorted(stage.parent.glob(f"{PREFIX}*")):
            if other != stage and _is_left(other):
                _end(other)
        yield


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
