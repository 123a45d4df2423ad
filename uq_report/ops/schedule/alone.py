"""One scheduler to a folder: the folder itself is locked, so nothing is written into it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ...core.errors import LockedError, UnsupportedError

try:
    from fcntl import LOCK_EX, LOCK_NB, flock
except ImportError as error:
    raise UnsupportedError("A schedule needs file locks of Linux or macOS; this system has none.") from error


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Hold a folder for one scheduler; the system frees it when the process ends, however that ends.

    Raises
    ------
    LockedError
        If another scheduler holds it.
    """
    door = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        _take(door, folder)
        yield
    finally:
        os.close(door)


def _take(door: int, folder: Path) -> None:
    try:
        flock(door, LOCK_EX | LOCK_NB)
    except BlockingIOError as error:
        raise LockedError(
            f"schedule must be alone in {folder}; another scheduler is at work there. Stop one of them."
        ) from error
