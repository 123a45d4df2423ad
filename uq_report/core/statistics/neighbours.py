"""Distances between observations of mixed columns, and whether one lies within the domain of others."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..support.arrays import BoolArray, FloatArray, IntArray

CHUNK = 4_000_000  # cells of a block of distances


@dataclass(frozen=True)
class GowerDomain:
    """The domain of reference observations: Gower's distance to the k-th nearest, against their own.

    Gower's distance is the mean over columns of |a - b| divided by the range of the reference (numbers), or of whether
    levels differ. Two missing values are equal, one is as far as can be.

    Parameters
    ----------
    reference : ndarray of shape (n, d)
        Numbers; levels as codes; NaN where missing.
    ordered : ndarray of bool, shape (d,)
        Which columns hold numbers.
    k : int
    share : float
        Of reference observations that are outside by definition: the limit is the (1 - share) quantile of the distance
        of each to its k-th nearest other.

    Examples
    --------
    >>> domain = GowerDomain(np.array([[0.0], [0.5], [1.0]]), np.array([True]), k=1, share=0.05)
    >>> domain.distances(np.array([[0.25], [3.0]])).tolist()
    [[0.25, 0.25, 0.75], [3.0, 2.5, 2.0]]
    >>> domain.kth(np.array([[0.25], [3.0]])).tolist(), domain.limit
    ([0.25, 2.0], 0.5)
    """

    reference: FloatArray
    ordered: BoolArray
    k: int = 5
    share: float = 0.05

    def distances(self, rows: FloatArray) -> FloatArray:
        """Return the distance of each row to each reference observation, shape (rows, n)."""
        total = np.zeros((len(rows), len(self.reference)))
        for j, ordered in enumerate(self.ordered):
            a, b = rows[:, j, None], self.reference[None, :, j]
            with np.errstate(invalid="ignore"):
                apart = np.abs(a - b) / self._ranges[j] if ordered else (a != b).astype(float)
            gone = np.isnan(a) | np.isnan(b)
            total += np.where(gone, (np.isnan(a) != np.isnan(b)).astype(float), apart)
        return total / len(self.ordered)

    def kth(self, rows: FloatArray, *, own: bool = False) -> FloatArray:
        """Return the distance of each row to its k-th nearest; `own` rows are of the reference and skip themselves."""
        at = min(self.k - 1 + own, len(self.reference) - 1)
        step = max(1, CHUNK // len(self.reference))
        blocks = (self.distances(rows[start : start + step]) for start in range(0, len(rows), step))
        return np.concatenate([np.partition(block, at, axis=1)[:, at] for block in blocks])

    @property
    def limit(self) -> float:
        """The distance beyond which a row is outside."""
        return float(np.quantile(self.kth(self.reference, own=True), 1 - self.share))

    def nearest(self, row: FloatArray, count: int) -> tuple[IntArray, FloatArray]:
        """Return the positions of the nearest reference observations and their distances."""
        apart = self.distances(row[None])[0]
        order = np.argsort(apart, kind="stable")[:count]
        return order, apart[order]

    @cached_property
    def _ranges(self) -> FloatArray:
        """Return the range of each ordered column; 1 where it has none."""
        low = np.array([np.nanmin(c) if np.isfinite(c).any() else 0.0 for c in self.reference.T])
        high = np.array([np.nanmax(c) if np.isfinite(c).any() else 0.0 for c in self.reference.T])
        return np.where(high > low, high - low, 1.0)
