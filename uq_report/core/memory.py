"""How the C library deals with the memory that models use and free in every call."""

from __future__ import annotations

import ctypes
from contextlib import suppress

LARGEST = 2**25 - 2**16  # bytes: glibc takes no block above 32 MiB, its own header included, from what was freed
_TRIM, _MAPPED = -1, -3  # M_TRIM_THRESHOLD and M_MMAP_THRESHOLD of <malloc.h>


def keep_freed_blocks() -> None:
    """Have glibc keep freed blocks up to `LARGEST` for the next call of a model; elsewhere nothing happens.

    By default blocks from 128 KiB on may go back to the system as soon as they are free, and the next call pays for
    each of their pages again: up to a third of a Gaussian process's predictions. glibc learns from the largest block
    that is freed (mallopt(3)), but not where the environment sets a threshold, as dask does for its workers: a forest
    took them half as long again.
    """
    with suppress(AttributeError, OSError, TypeError):  # another C library has no mallopt, or none to be asked
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_MAPPED, LARGEST)
        mallopt(_TRIM, 2 * LARGEST)
