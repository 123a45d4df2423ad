"""How the C library deals with the memory that models use and free in every call."""

from __future__ import annotations

import numpy as np

LARGEST = 2**25 - 2**16  # bytes: glibc learns from no block above 32 MiB, its own header included


def keep_freed_blocks() -> None:
    """Have glibc keep freed blocks up to `LARGEST` for the next call of a model; elsewhere nothing happens.

    By default blocks from 128 KiB on may go back to the system as soon as they are free, and the next call pays for
    each of their pages again: up to a third of a Gaussian process's predictions. glibc's limit rises to the largest
    block freed (mallopt(3), ``M_MMAP_THRESHOLD``); this one is never written to, so it takes no memory itself.
    """
    np.empty(LARGEST, dtype=np.uint8)
