"""How strongly columns depend on each other: two of any kinds, or one on all others by a forest, out of bag."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from ...core.model.sampling import Sampling
from ...core.model.subject import Subject
from ...core.support.arrays import FloatArray, IntArray, Table, as_numbers
from ...core.support.limits import check_limits
from .estimates import estimate


@dataclass(frozen=True)
class NumericColumn:
    """A column as numbers: its values where ordered, else the positions of its levels; NaN where missing."""

    name: str
    numbers: FloatArray
    ordered: bool

    @cached_property
    def unit_ranks(self) -> FloatArray:
        """Return centred ranks of length 1; 0 where all are equal."""
        from scipy.stats import rankdata  # here: heavy, and a list of plugins ranks nothing

        ranks = rankdata(self.numbers) - (len(self.numbers) + 1) / 2
        return np.asarray(ranks / (np.sqrt(np.square(ranks).sum()) or 1.0))


def coded(subject: Subject, feature: str) -> NumericColumn:
    """Return a feature as numbers.

    Numeric and datetime features keep their order (datetimes as seconds from the first); levels become positions in the
    order of the categories, or of first appearance.
    """
    kind = subject.kinds[feature]
    numbers = as_numbers(pd.Series(subject.values(feature)), kind)
    first = pd.Series(numbers).min() if kind == "datetime" else 0.0
    return NumericColumn(feature, numbers - first, ordered=kind != "categorical")


def kind_of(a: NumericColumn, b: NumericColumn) -> str:
    """Return the name of the association of two columns, which depends on their kinds."""
    return "spearman" if a.ordered and b.ordered else "correlation_ratio" if a.ordered or b.ordered else "cramers_v"


def association(a: NumericColumn, b: NumericColumn) -> tuple[str, float]:
    """Return the name and the size, in [0, 1], of the association of two columns on their common rows.

    |Spearman's rank correlation| of two ordered columns, Cramér's V of two unordered ones (bias
    corrected, Bergsma 2013), else the correlation ratio of the ranks given the levels
    (ε, bias corrected, Kelley 1935). 0 where a column is constant.

    Examples
    --------
    >>> x = NumericColumn("x", np.array([1.0, 2.0, 3.0, 4.0]), ordered=True)
    >>> association(x, NumericColumn("y", np.array([1.0, 4.0, 9.0, 16.0]), ordered=True))
    ('spearman', 1.0)
    """
    both, kind = ~(np.isnan(a.numbers) | np.isnan(b.numbers)), kind_of(a, b)
    a, b = (column if both.all() else replace(column, numbers=column.numbers[both]) for column in (a, b))
    if len(a.numbers) < 2:
        return kind, 0.0
    if kind == "cramers_v":
        return kind, _cramers_v(a.numbers, b.numbers)
    if kind == "spearman":
        return kind, min(abs(float(a.unit_ranks @ b.unit_ranks)), 1.0)
    return kind, _correlation_ratio(*((b.numbers, a.unit_ranks) if a.ordered else (a.numbers, b.unit_ranks)))


def associations(columns: Sequence[NumericColumn]) -> FloatArray:
    """Return the size of the association of every two columns, shape (d, d), with -1 on the diagonal."""
    size = np.full((len(columns), len(columns)), -1.0)
    for (j, a), (k, b) in combinations(enumerate(columns), 2):
        check_limits()
        size[j, k] = size[k, j] = association(a, b)[1]
    return size


def _cramers_v(u: FloatArray, v: FloatArray) -> float:
    """Return Cramér's V with the bias of chance removed."""
    n, (a, first), (b, second) = len(u), _codes(u), _codes(v)
    r, k = len(a), len(b)
    table = np.bincount(first * k + second, minlength=r * k).reshape(r, k)
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / n
    phi2 = max(0.0, float(((table - expected) ** 2 / expected).sum()) / n - (r - 1) * (k - 1) / (n - 1))
    most = min(r - (r - 1) ** 2 / (n - 1), k - (k - 1) ** 2 / (n - 1)) - 1
    return float(min(1.0, np.sqrt(phi2 / most))) if most > 0 else 0.0


def _codes(values: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return the levels, and the position among them of each value."""
    return np.unique(values, return_inverse=True)


def _correlation_ratio(levels: FloatArray, ranks: FloatArray) -> float:
    """Return the share of the ranks' variance between levels, as a square root, bias corrected."""
    n, (names, codes) = len(levels), _codes(levels)
    if n <= len(names) or not ranks.any():
        return 0.0
    between = float((np.square(np.bincount(codes, ranks)) / np.bincount(codes)).sum())
    within = max(0.0, 1 - between)  # rounding may leave less than none
    return float(np.sqrt(max(0.0, 1 - within * (n - 1) / (n - len(names)))))


N_TREES = 100
MIN_LEAF = 5


def row_groups(X: Table, clusters: IntArray | None) -> IntArray:
    """Return a code per row; equal rows, and rows of one cluster, share it.

    Examples
    --------
    >>> row_groups(np.array([[1.0], [2.0], [1.0], [3.0]]), None)
    array([0, 1, 0, 2])
    """
    frame = X if isinstance(X, pd.DataFrame) else pd.DataFrame(X)
    rows = frame.astype(object).groupby(list(frame.columns), dropna=False, sort=False)
    codes = np.asarray(rows.ngroup(), dtype=np.int64)
    if clusters is None:
        return codes
    first = int(codes.max()) + 1
    size = first + int(clusters.max()) + 1
    links = sparse.coo_array((np.ones(len(codes)), (codes, clusters + first)), shape=(size, size))
    return np.asarray(sparse.csgraph.connected_components(links, directed=False)[1][codes], dtype=np.int64)


def forecasts(X: FloatArray, Y: FloatArray, blocks: IntArray, rng: np.random.Generator) -> FloatArray:
    """Predict every row from the trees that saw neither it nor a row of its group (out of bag).

    Each of 100 trees is grown on a bootstrap sample of blocks.

    Parameters
    ----------
    X : ndarray, shape (n, d)
        Numbers; NaN where missing.
    Y : ndarray, shape (n, k)
    blocks : ndarray of int, shape (n,)
    rng : Generator

    Returns
    -------
    ndarray, shape (n, k)
        NaN for a row that every tree has seen.
    """
    from sklearn.tree import DecisionTreeRegressor  # here: heavy, and a list of plugins grows no tree

    total, count = np.zeros(Y.shape), np.zeros((len(Y), 1))
    data = np.ascontiguousarray(X, dtype=np.float32)
    size = int(blocks.max()) + 1
    for _ in range(N_TREES):
        check_limits()
        times = np.bincount(rng.integers(size, size=size), minlength=size)
        weights, out = times[blocks].astype(float), times[blocks] == 0
        if not out.any():
            continue
        tree = DecisionTreeRegressor(min_samples_leaf=MIN_LEAF, random_state=int(rng.integers(2**31)))
        tree.fit(data, Y, sample_weight=weights)
        total[out] += tree.predict(data[out]).reshape(-1, Y.shape[1])
        count[out] += 1
    return np.divide(total, count, out=np.full_like(total, np.nan), where=count > 0)


def skill(
    truth: FloatArray, forecast: FloatArray, sampling: Sampling, confidence: float, measure: str, feature: str
) -> dict[str, Any]:
    """Return ``R² = 1 - A/B`` of forecasts, shape (n, k), as an estimate.

    A and B are the weighted means of a_i = |y_i - ŷ_i|² and b_i = |y_i - ȳ|²; each row's influence on R² is
    ``-(a_i - (A/B) b_i)/B``, the delta method for a ratio.

    Examples
    --------
    >>> y = np.array([[1.0], [2.0], [3.0]])
    >>> skill(y, y, Sampling(np.full(3, 1 / 3), 3), 0.95, "r_squared", "x")["estimate"]
    1.0
    """
    missed = np.square(truth - forecast).sum(axis=1)
    spread = np.square(truth - sampling.weights @ truth).sum(axis=1)
    whole = sampling.weights @ spread
    ratio = float(sampling.weights @ missed / whole)
    error = float(sampling.mean(-(missed - ratio * spread) / whole)[1])
    interval = sampling.interval(1 - ratio, error, confidence)
    return estimate(1 - ratio, error, interval, confidence, measure, feature)
