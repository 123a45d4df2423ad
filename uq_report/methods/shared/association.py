"""How strongly two columns depend on each other, whatever their kinds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from ...core.arrays import FloatArray
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
    both = ~(np.isnan(a.numbers) | np.isnan(b.numbers))
    u, v = a.numbers[both], b.numbers[both]
    if a.ordered and b.ordered:
        return "spearman", abs(_correlation(rankdata(u), rankdata(v)))
    if not (a.ordered or b.ordered):
        return "cramers_v", _cramers_v(u, v)
    return "correlation_ratio", _correlation_ratio(u, v) if b.ordered else _correlation_ratio(v, u)


def _correlation(u: FloatArray, v: FloatArray) -> float:
    if len(u) < 2 or np.ptp(u) == 0 or np.ptp(v) == 0:
        return 0.0
    return float(np.clip(np.corrcoef(u, v)[0, 1], -1, 1))


def _cramers_v(u: FloatArray, v: FloatArray) -> float:
    """Return Cramér's V with the bias of chance removed."""
    n = len(u)
    if n < 2:
        return 0.0
    table = pd.crosstab(u, v).to_numpy(dtype=float)
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / n
    r, k = table.shape
    phi2 = max(0.0, float(((table - expected) ** 2 / expected).sum()) / n - (r - 1) * (k - 1) / (n - 1))
    most = min(r - (r - 1) ** 2 / (n - 1), k - (k - 1) ** 2 / (n - 1)) - 1
    return float(min(1.0, np.sqrt(phi2 / most))) if most > 0 else 0.0


def _correlation_ratio(levels: FloatArray, values: FloatArray) -> float:
    """Return the share of the ranks' variance between levels, as a square root, bias corrected."""
    n, k = len(values), len(np.unique(levels))
    if n <= k or np.ptp(values) == 0:
        return 0.0
    ranks = pd.Series(rankdata(values))
    within = float((ranks - ranks.groupby(levels).transform("mean")).pow(2).sum())
    total = float((ranks - ranks.mean()).pow(2).sum())
    return float(np.sqrt(max(0.0, 1 - within / total * (n - 1) / (n - k))))
