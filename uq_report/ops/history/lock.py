"""One writer at a time: a lock on a file that stays. It ends with the process that holds it, however that ends."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from ...core.errors import InputError, LockedError, UnsupportedError

_PAUSE = 0.05


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
    door = _opened(file)
    try:
        _take(door, what, wait)
        os.truncate(door, 0)
        os.write(door, f"{os.getpid()}\n".encode())
        yield
    finally:
        os.close(door)


def _opened(file: Path) -> int:
    try:
        return os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise InputError(
            f"{file} must be a lock file of the history, no link, and writable; got {error.strerror}. Remove it."
        ) from error


def _take(door: int, what: str, wait: float) -> None:
    fcntl = _fcntl()
    deadline = time.monotonic() + wait
    while True:
        try:
            fcntl.flock(door, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if time.monotonic() >= deadline:
                holder = os.pread(door, 20, 0).decode("ascii", "replace").strip() or "unknown"
                raise LockedError(
                    f"{what} must not be in work elsewhere; process {holder} holds its lock. Try again later."
                ) from error
            time.sleep(_PAUSE)
        else:
            return


def _fcntl() -> Any:
    try:
        return import_module("fcntl")
    except ImportError as error:
        raise UnsupportedError("A history needs file locks of Linux or macOS; this system has none.") from error
