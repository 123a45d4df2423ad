"""Temporary folders of this process; those of killed processes, which nobody else removes, go when the next is made."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from filelock import FileLock

PREFIX, LOCK = "uq-report-", "lock"
YOUNG = 60.0  # seconds in which the lock of a folder may not be held yet
_held: dict[Path, FileLock] = {}


def make() -> Path:
    """Return a new private folder, which is kept until `remove` or the end of this process, however that ends.

    Raises
    ------
    OSError
        There is no room for one.

    Examples
    --------
    >>> folder = make()
    >>> folder.is_dir(), remove(folder), folder.exists()
    (True, None, False)
    """
    for left in _left():
        shutil.rmtree(left, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    lock = FileLock(folder / LOCK, thread_local=False)  # whichever thread collects the owner removes the folder
    lock.acquire()
    _held[folder] = lock
    return folder


def remove(folder: Path) -> None:
    """Remove a folder of `make`."""
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
