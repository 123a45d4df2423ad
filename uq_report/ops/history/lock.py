"""One writer at a time: a lock on a file that stays. It ends with the process that holds it, however that ends."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from ...core.support.errors import InputError, LockedError


@contextmanager
def locked(file: Path, what: str, wait: float = 0.0) -> Iterator[None]:
    """Hold the lock of a file; it is made if it is missing, and never deleted.

    Parameters
    ----------
    file : Path
        A link there is refused.
    what : str
        What is locked, for the message.
    wait : float
        Seconds to wait for another process.

    Raises
    ------
    LockedError
        If another process holds it; the message names that process.
    """
    lock = FileLock(file, timeout=wait)
    try:
        lock.acquire()
    except Timeout as error:
        raise LockedError(
            f"{what} must not be in work elsewhere; process {_holder(file)} holds its lock. Try again later."
        ) from error
    except OSError as error:
        raise InputError(
            f"{file} must be a lock file of the history, no link, and writable; got {error.strerror}. Remove it."
        ) from error
    try:
        with suppress(OSError):  # Windows lets nobody else open it
            file.write_text(f"{os.getpid()}\n", encoding="ascii")
        yield
    finally:
        lock.release()


def _holder(file: Path) -> str:
    """Return the process that holds a lock, if its file can be read."""
    with suppress(OSError):
        return file.read_text(encoding="ascii", errors="replace").strip() or "unknown"
    return "unknown"
