"""How strongly two columns depend on each other, whatever their kinds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd

from ...core.model.subject import Subject
from ...core.support.arrays import FloatArray, IntArray, as_numbers
from ...core.support.limits import check_limits


@dataclass(frozen=True)
class NumericColumn:
    """A column as numbers: its values where ordered, else the positions of its levels; NaN where missing."""

    name: str
    numbers: FloatArray
    ordered: bool


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
    both = ~(np.isnan(a.numbers) | np.isnan(b.numbers))
    u, v, kind = a.numbers[both], b.numbers[both], kind_of(a, b)
    if len(u) < 2:
        return kind, 0.0
    if kind == "cramers_v":
        return kind, _cramers_v(u, v)
    if kind == "spearman":
        return kind, min(abs(float(_unit_ranks(u) @ _unit_ranks(v))), 1.0)
    return kind, _correlation_ratio(*((v, u) if a.ordered else (u, v)))


def associations(columns: Sequence[NumericColumn]) -> FloatArray:
    """Return the size of the association of every two columns, shape (d, d), with -1 on the diagonal."""
    size = np.full((len(columns), len(columns)), -1.0)
    for (j, a), (k, b) in combinations(enumerate(columns), 2):
        check_limits()
        size[j, k] = size[k, j] = association(a, b)[1]
    return size


def _unit_ranks(numbers: FloatArray) -> FloatArray:
    """Return centred ranks of length 1; 0 where all are equal."""
    from scipy.stats import rankdata  # here: heavy, and a list of plugins ranks nothing

    ranks = rankdata(numbers) - (len(numbers) + 1) / 2
    return np.asarray(ranks / (np.sqrt(np.square(ranks).sum()) or 1.0))


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


def _correlation_ratio(levels: FloatArray, numbers: FloatArray) -> float:
    """Return the share of the ranks' variance between levels, as a square root, bias corrected."""
    n, (names, codes), ranks = len(levels), _codes(levels), _unit_ranks(numbers)
    if n <= len(names) or not ranks.any():
        return 0.0
    between = float((np.square(np.bincount(codes, ranks)) / np.bincount(codes)).sum())
    within = max(0.0, 1 - between)  # rounding may leave less than none
    return float(np.sqrt(max(0.0, 1 - within * (n - 1) / (n - len(names)))))
