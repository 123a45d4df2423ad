"""The shuffle of all rows that permutation methods share: of single rows, or of blocks in order of time."""

from __future__ import annotations

import numpy as np

from ...core.model.subject import Subject
from ...core.support.arrays import IntArray


def shuffle(subject: Subject, rng: np.random.Generator) -> IntArray:
    """Return the donor of each row, shape (n,); rows in order of time move in blocks, which keep their inner order.

    Either way each row gets the value of every row with the same probability, so the mean over shuffles estimates the
    mean over all pairs of rows.
    """
    return rng.permutation(subject.n) if subject.blocks is None else subject.blocks.donors(rng)


def shuffle_within(clusters: IntArray, rng: np.random.Generator) -> IntArray:
    """Return a donor of each row among those of its cluster, shape (n,).

    Examples
    --------
    >>> codes = np.array([0, 1, 0, 1, 2])
    >>> donors = shuffle_within(codes, np.random.default_rng(0))
    >>> bool((codes[donors] == codes).all())
    True
    """
    order = np.argsort(clusters, kind="stable")
    at_random = rng.permutation(len(clusters))
    donors = np.empty(len(clusters), dtype=np.int64)
    donors[order] = at_random[np.argsort(clusters[at_random], kind="stable")]
    return donors
