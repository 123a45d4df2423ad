"""The shuffle of all rows that permutation methods share: of single rows, or of blocks in order of time."""

from __future__ import annotations

import numpy as np

from ...core.arrays import IntArray
from ...core.subject import Subject


def shuffle(subject: Subject, rng: np.random.Generator) -> IntArray:
    """Return the donor of each row, shape (n,); rows in order of time move in blocks, which keep their inner order.

    Either way each row gets the value of every row with the same probability, so the mean over shuffles estimates the
    mean over all pairs of rows.
    """
    return rng.permutation(subject.n) if subject.blocks is None else subject.blocks.donors(rng)
