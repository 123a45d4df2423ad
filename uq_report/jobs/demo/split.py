"""The split of a data set into training rows and rows to audit."""

from __future__ import annotations

import numpy as np

from ...core.support.arrays import IntArray

TRAIN_SHARE, SEED = 0.75, 0


def split(n: int) -> tuple[IntArray, IntArray]:
    """Return the row positions for training and for the audit."""
    order = np.random.default_rng(SEED).permutation(n)
    cut = int(TRAIN_SHARE * n)
    return order[:cut], order[cut:]
