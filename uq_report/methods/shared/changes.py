"""What replacing a set of features by the values of other rows does to all measures, and the terms of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from ...core.statistics.inference import MIN_SHUFFLES, PairTerms, all_pairs, shuffled_pairs, solved_to, two_way
from ...core.support.arrays import AnyArray, BoolArray, FloatArray, IntArray, Table, column
from .rows import ShuffledRows


class Distinct(NamedTuple):
    """The distinct values of some columns together: `codes` (n,) of the rows, and the first row of each, `first` (G,).

    Examples
    --------
    >>> Distinct.of(np.array([[3.0], [1.0], [3.0], [np.nan]]), (0,))
    Distinct(codes=array([0, 1, 0, 2]), first=array([0, 1, 3]))
    """

    codes: IntArray
    first: IntArray

    @classmethod
    def of(cls, X: Table, columns: tuple[int, ...]) -> Distinct:
        """Return the distinct values; a missing value is one, and values of different types are different."""
        codes = np.zeros(len(X), dtype=np.int64)
        for part in (part for c in columns for part in _parts(column(X, c))):
            own, levels = pd.factorize(part, use_na_sentinel=False)
            codes = pd.factorize(codes * len(levels) + own)[0]
        first = np.unique(codes, return_index=True)[1]
        return cls(codes.astype(np.int64), first.astype(np.int64))

    def after(self, step: int) -> IntArray:
        """Return the own value of each row at step 0, then that of number `step`, or the first for who has it, (n,).

        The steps 1 to G - 1 have each row take every value but its own, and nearly all rows the same one: what is
        known of that value is read in the order of the rows.
        """
        return np.where(self.codes == step, 0, step) if step else self.codes

    def donors(self, step: int) -> IntArray:
        """Return a row with the value `after` each row's own, shape (n,)."""
        return self.first[self.after(step)]


def _parts(values: AnyArray) -> tuple[AnyArray, ...]:
    """Return a column, and, of Python objects, their types: None, NaN and NA are missing values of different kinds."""
    if values.dtype != object:
        return (values,)
    return values, np.array([type(value).__name__ for value in values])


@dataclass(frozen=True)
class ChangedMeasures:
    """All measures of the rows with other rows' values of a set of features.

    ``T[:, r, i]``, shape (M, m, n), are those of row i with the value of row ``donors[r, i]``; or, where `codes`
    holds the distinct value of each row, ``T[:, g, i]``, shape (M, G, n), those of row i with the distinct value g,
    so that all pairs are known. `effects` (2, M, n) are row and donor effects of the shuffles, where they are known,
    as they are of finite values only.
    """

    T: FloatArray
    donors: IntArray
    codes: IntArray | None = None
    effects: FloatArray | None = None

    @property
    def exact(self) -> bool:
        """Whether all pairs of rows are known."""
        return self.codes is not None

    def of(self, measures: slice) -> ChangedMeasures:
        """Return the changes of some of the measures."""
        effects = None if self.effects is None else self.effects[:, measures]
        return ChangedMeasures(self.T[measures], self.donors, self.codes, effects)

    def combined(self, C: FloatArray) -> ChangedMeasures:
        """Return the changes of linear combinations of finite measures, C of shape (combinations, M)."""
        effects = None if self.effects is None else C @ self.effects
        return ChangedMeasures(np.einsum("cm,mri->cri", C, self.T), self.donors, self.codes, effects)

    def replaced(self, T: FloatArray) -> ChangedMeasures:
        """Return the same shuffles of other values."""
        return ChangedMeasures(T, self.donors, self.codes)

    def without(self, lost: BoolArray) -> ChangedMeasures:
        """Return the changes with 0 in place of some measures, shape (M,)."""
        return self.replaced(np.where(lost[:, None, None], 0.0, self.T))

    def fitted(self, rows: ShuffledRows) -> ChangedMeasures:
        """Return the changes with row and donor effects of all measures from one fit, where there is one to make."""
        if self.exact or rows.within or len(self.donors) < MIN_SHUFFLES or self.infinite.any():
            return self
        return replace(self, effects=np.stack(two_way(self.T, self.donors, solved_to(rows.weights))))

    def shuffled(self, m: int) -> FloatArray:
        """Return one measure in each shuffle, shape (m, n)."""
        if self.codes is None:
            return self.T[m]
        values: FloatArray = self.T[m][self.codes[self.donors], np.arange(self.T.shape[2])]
        return values

    def weights(self, rows: ShuffledRows) -> FloatArray:
        """Return how much each number of a measure weighs, shape (m or G, n)."""
        if self.codes is None:
            return rows.weights * rows.weights[self.donors]
        return rows.weights * np.bincount(self.codes, rows.weights, self.T.shape[1])[:, None]

    def row_means(self) -> FloatArray:
        """Return the mean of each row over the shuffles, or over all rows' values, shape (M, n)."""
        if self.codes is None:
            return self.T.mean(axis=1)
        share = np.bincount(self.codes, minlength=self.T.shape[1]) / len(self.codes)
        return np.stack([share @ t for t in self.T])

    @property
    def moved(self) -> bool:
        """Whether any row takes the value of another."""
        return any(bool((donor != np.arange(len(donor))).any()) for donor in self.donors)

    @property
    def infinite(self) -> IntArray:
        """How many values of each measure are infinite, and in how many rows, shape (M, 2)."""
        with np.errstate(invalid="ignore", over="ignore"):
            if self.effects is not None or np.isfinite(self.T.sum()):
                return np.zeros((len(self.T), 2), dtype=np.int64)
        return np.stack([(~np.isfinite(self.T)).sum(axis=(1, 2)), self.hit.sum(axis=1)], axis=1)

    @property
    def hit(self) -> BoolArray:
        """Which rows have an infinite value, shape (M, n)."""
        if self.effects is not None:
            return np.zeros((len(self.T), self.T.shape[2]), dtype=bool)
        return np.asarray(~np.isfinite(self.T).all(axis=1))

    def sizes(self, b: FloatArray) -> FloatArray:
        """Return the mean size of each measure, of b (M, n) and of the last values together, shape (M,)."""
        return np.asarray(np.abs(b).mean(axis=1) + np.abs(self.T[:, -1]).mean(axis=1))

    def still(self, b: FloatArray, size: FloatArray) -> FloatArray:
        """Return the share of rows whose values stay within `size` (M,) of b (M, n) throughout, shape (M,)."""
        reach = np.maximum(self.T.max(axis=1) - b, b - self.T.min(axis=1))
        return np.asarray((reach <= size[:, None]).mean(axis=1))


def pair_terms(changes: ChangedMeasures, unchanged: FloatArray, rows: ShuffledRows) -> PairTerms:
    """Return the terms of all pairs, or of the shuffles, by their effects where those are known.

    Residuals of neighbours in a shuffled block are alike, so what the choice of shuffles adds to the estimate is read
    off the repeats themselves. What it adds to the sums over blocks is taken off them as for single rows, too little:
    the interval is rather wide than narrow.
    """
    T, donors, effects = changes.T, changes.donors, changes.effects
    if changes.codes is not None:
        return all_pairs(T, unchanged, changes.codes, donors, rows.weights)
    if rows.within:
        return _within_terms(T, unchanged)
    known = None if effects is None else (effects[0], effects[1])
    pairs = shuffled_pairs(T, unchanged, donors, rows.weights, known)
    if not rows.blocks or len(donors) < MIN_SHUFFLES:
        return pairs
    return pairs._replace(mean_noise=pairs.repeats.var(axis=1, ddof=1) / len(donors))


def _within_terms(T: FloatArray, unchanged: FloatArray) -> PairTerms:
    """Return the terms of shuffles within clusters: each row's own change.

    Donors and receivers are of one cluster, whose sum is the same however a pair's change is dealt among both. Clusters
    are shuffled independently, so the variance of their sums has the noise of the shuffles in it.
    """
    changes, none = T - unchanged[:, None], np.zeros(len(T))
    repeats = changes.mean(axis=2)
    return PairTerms(repeats.mean(axis=1), repeats, changes.mean(axis=1), none, none)


def as_means(changes: ChangedMeasures, b: FloatArray, rows: ShuffledRows) -> tuple[ChangedMeasures, FloatArray]:
    """Return the changes and b with value + influence in place of the scores of a statistic such as 1 - AUC.

    The influence of a shuffled score is taken among all shuffled scores, or those of all pairs, so that the mean of
    what is returned is the statistic of the pooled scores, and its row terms are those of the statistic.
    """
    for m, statistic in rows.statistics():
        T, b, weights = changes.T.copy(), b.copy(), changes.weights(rows).ravel()
        pool, y = T[m].ravel(), np.tile(rows.y, T.shape[1])
        moved = statistic.influence(pool, y, weights, pool) + statistic.value(pool, y, weights)
        T[m] = moved.reshape(T[m].shape)
        b[m] = statistic.influence(rows.b[m], rows.y, rows.weights, rows.b[m]) + rows.unpermuted[m]
        changes = changes.replaced(T)
    return changes, b
