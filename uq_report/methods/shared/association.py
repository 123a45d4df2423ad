"""How strongly two columns depend on each other, whatever their kinds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np
import pandas as pd

from ...core.arrays import FloatArray, IntArray
from ...core.limits import look
from ...core.subject import Subject


@dataclass(frozen=True)
class Coded:
    """A column as numbers: its values where ordered, else the positions of its levels; NaN where missing."""

    name: str
    numbers: FloatArray
    ordered: bool


def coded(subject: Subject, feature: str) -> Coded:
    """Return a feature as numbers.

    Numeric and datetime features keep their order (datetimes as seconds from the first); levels
    become positions in the order of the categories, or of first appearance.
    """
    series = pd.Series(subject.values(feature))
    kind = subject.kinds[feature]
    if kind == "numeric":
        return Coded(feature, series.to_numpy(dtype=float, na_value=np.nan), ordered=True)
    if kind == "datetime":
        return Coded(feature, (series - series.min()).dt.total_seconds().to_numpy(dtype=float), ordered=True)
    codes = series.cat.codes if isinstance(series.dtype, pd.CategoricalDtype) else pd.factorize(series)[0]
    values = np.asarray(codes, dtype=float)
    return Coded(feature, np.where(values < 0, np.nan, values), ordered=False)


def kind_of(a: Coded, b: Coded) -> str:
    """Return the name of the association of two columns, which depends on their kinds."""
    return "spearman" if a.ordered and b.ordered else "correlation_ratio" if a.ordered or b.ordered else "cramers_v"


def association(a: Coded, b: Coded) -> tuple[str, float]:
    """Return the name and the size, in [0, 1], of the association of two columns on their common rows.

    |Spearman's rank correlation| of two ordered columns, Cramér's V of two unordered ones (bias
    corrected, Bergsma 2013), else the correlation ratio of the ranks given the levels
    (ε, bias corrected, Kelley 1935). 0 where a column is constant.

    Examples
    --------
    >>> x = Coded("x", np.array([1.0, 2.0, 3.0, 4.0]), ordered=True)
    >>> association(x, Coded("y", np.array([1.0, 4.0, 9.0, 16.0]), ordered=True))
    ('spearman', 1.0)
    """
    return kind_of(a, b), float(associations([a, b])[0, 1])


def associations(columns: Sequence[Coded]) -> FloatArray:
    """Return the size of the association of every two columns, shape (d, d), with -1 on the diagonal.

    Columns that lack the same rows are compared at once.
    """
    size = np.empty((len(columns), len(columns)))
    alike: dict[bytes, list[int]] = {}
    for j, column in enumerate(columns):
        alike.setdefault(np.isnan(column.numbers).tobytes(), []).append(j)
    for first, second in combinations_with_replacement(alike.values(), 2):
        both = ~(np.isnan(columns[first[0]].numbers) | np.isnan(columns[second[0]].numbers))
        a, b = (
            [Coded(columns[j].name, columns[j].numbers[both], columns[j].ordered) for j in g] for g in (first, second)
        )
        block = _between(a, b) if both.sum() > 1 else np.zeros((len(first), len(second)))
        size[np.ix_(first, second)], size[np.ix_(second, first)] = block, block.T
    np.fill_diagonal(size, -1.0)
    return size


def _between(a: Sequence[Coded], b: Sequence[Coded]) -> FloatArray:
    """Return the association of each of the first columns with each of the second; none lacks a row."""
    look()
    size = np.empty((len(a), len(b)))
    (numbers, levels), (others, other_levels) = (
        ([j for j, c in enumerate(columns) if c.ordered], [j for j, c in enumerate(columns) if not c.ordered])
        for columns in (a, b)
    )
    u, v = _unit_ranks([a[j] for j in numbers]), _unit_ranks([b[k] for k in others])
    if numbers and others:
        size[np.ix_(numbers, others)] = np.minimum(np.abs(u.T @ v), 1)
    for j in levels:
        look()
        size[j, others] = _correlation_ratios(a[j].numbers, v)
        size[j, other_levels] = [_cramers_v(a[j].numbers, b[k].numbers) for k in other_levels]
    for k in other_levels:
        look()
        size[numbers, k] = _correlation_ratios(b[k].numbers, u)
    return size


def _unit_ranks(columns: Sequence[Coded]) -> FloatArray:
    """Return centred ranks of length 1, shape (n, d); 0 where all are equal."""
    if not columns:
        return np.empty((0, 0))
    from scipy.stats import rankdata  # here: heavy, and a list of plugins ranks nothing

    ranks = rankdata(np.column_stack([column.numbers for column in columns]), axis=0)
    ranks -= ranks.mean(axis=0)
    length = np.sqrt(np.square(ranks).sum(axis=0))
    return np.asarray(np.divide(ranks, length, out=np.zeros_like(ranks), where=length > 0))


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


def _correlation_ratios(levels: FloatArray, ranks: FloatArray) -> FloatArray:
    """Return the share of each column of unit ranks' variance between levels, as a square root, bias corrected."""
    n, (names, codes) = len(levels), _codes(levels)
    if n <= len(names) or not ranks.size:
        return np.zeros(ranks.shape[1])
    sums = np.zeros((len(names), ranks.shape[1]))
    np.add.at(sums, codes, ranks)
    between = (np.square(sums) / np.bincount(codes)[:, None]).sum(axis=0)
    share = np.maximum(0.0, 1 - (1 - between) * (n - 1) / (n - len(names)))
    return np.asarray(np.sqrt(np.where(ranks.any(axis=0), share, 0.0)))
