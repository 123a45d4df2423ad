"""Ranks of estimates, and how sure they are: intervals for all ranks together.

With θ̂_j the mean of row terms ``g_ij`` under weights ω (summing to one), C units (clusters, else rows) and
``u_cj = Σ_{i in c} ω_i (g_ij - θ̂_j)``, the terms' covariance is ``K = C/(C-1) Σ_c u_c u_cᵀ``. The multiplier
bootstrap with normal multipliers has exactly the law N(0, K), so its draws cost nothing per row.

All pairwise differences are tested together: ``t_jl = (θ̂_j - θ̂_l) / s_jl`` against the quantile of the largest
``|Z_j - Z_l| / sd(Z_j - Z_l)``. The rank of j (1 is the largest) then lies in ``[1 + #{l significantly above j},
d - #{l significantly below j}]``, for all j at once, whether estimates are tied or not (Klein, Wright &
Wieczorek 2020, doi:10.1111/rssa.12521; Mogstad, Romano, Shaikh & Wilhelm 2024, doi:10.1093/restud/rdad006).
Bootstrap percentiles of ranks have no such cover near ties.

Nothing here knows models or features: d estimates, n rows, B draws.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, stdtrit

from ..support.arrays import BoolArray, FloatArray, IntArray
from .inference import CONFIDENCE, n_units

ROUNDING = 1e-12
_CELLS = 32_768  # numbers of draws at a time: what stays in the cache


class RankIntervals(NamedTuple):
    """Ranks (d,) with their bounds, the truth of "row above column" (d, d), and the critical value used."""

    rank: IntArray
    lower: IntArray
    upper: IntArray
    above: BoolArray
    critical: float


def ranks(values: FloatArray) -> IntArray:
    """Return ``1 + #{larger}`` along the last axis; values equal up to rounding share the better rank.

    Examples
    --------
    >>> ranks(np.array([0.3, 0.9, 0.3, 0.0]))
    array([2, 1, 2, 4])
    """
    tolerance = ROUNDING * np.abs(values).max(axis=-1, keepdims=True, initial=0.0)
    order = np.argsort(-values, axis=-1)
    ordered = np.take_along_axis(values, order, axis=-1)
    at = np.arange(values.shape[-1])
    leads = np.ones(values.shape, dtype=bool)
    leads[..., 1:] = ordered[..., 1:] != ordered[..., :-1]
    first = np.maximum.accumulate(np.where(leads, at, 0), axis=-1)  # of those equal
    while True:
        before = np.maximum(first - 1, 0)
        near = (first > 0) & (np.take_along_axis(ordered, before, axis=-1) <= ordered + tolerance)
        if not near.any():
            break
        first = np.where(near, np.take_along_axis(first, before, axis=-1), first)
    places = np.empty_like(first)
    np.put_along_axis(places, order, first + 1, axis=-1)
    return places


def term_covariance(rows: FloatArray, weights: FloatArray, clusters: IntArray | None = None) -> FloatArray:
    """Return K, shape (d, d), the covariance over new units of the means of row terms of shape (d, n).

    Examples
    --------
    >>> rows = np.array([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])
    >>> term_covariance(rows, np.ones(3)) * 3
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    omega = weights / weights.sum()
    parts = omega * (rows - (rows @ omega)[:, None])
    if clusters is not None:
        parts = np.stack([np.bincount(clusters, part) for part in parts])
    count = n_units(weights, clusters)
    covariance: FloatArray = parts @ parts.T * (count / max(count - 1, 1))
    return covariance


def normal_draws(covariance: FloatArray, n_draws: int, rng: np.random.Generator) -> FloatArray:
    """Return (n_draws, d) draws of N(0, K); estimates without variance stay exactly 0."""
    spread = np.sqrt(np.diag(covariance))
    scale = np.where(spread > 0, spread, 1.0)
    values, vectors = np.linalg.eigh(covariance / np.outer(scale, scale))
    root = vectors * np.sqrt(np.where(values > ROUNDING, values, 0.0))
    draws: FloatArray = rng.standard_normal((n_draws, len(spread))) @ root.T * spread
    return draws


def rank_intervals(
    estimate: FloatArray,
    covariance: FloatArray,
    std_error: FloatArray,
    draws: FloatArray,
    units: int,
    *,
    confidence: float = CONFIDENCE,
    absolute: bool = False,
) -> RankIntervals:
    """Return the ranks of d estimates with simultaneous intervals.

    ``s²_jl = se_j² + se_l² - 2 K_jl``: noise of an estimate's own, such as that of two features' shuffles, is
    independent between estimates, so the standard errors that account for it stand on the diagonal and the terms'
    covariance off it. It is never taken smaller than what the terms say of that noise, ``Σ max(K_jj - se_j², 0)``.
    The quantile of the normal draws is moved to Student's t with `units` - 1 degrees of freedom.

    Parameters
    ----------
    estimate, std_error : ndarray of shape (d,)
    covariance : ndarray of shape (d, d)
        Of `term_covariance`.
    draws : ndarray of shape (B, d)
        Of `normal_draws`.
    units : int
        Independent units, at least 2.
    confidence : float
        That all intervals hold their ranks.
    absolute : bool
        Rank |θ| instead of θ: j is above l if its size exceeds both θ_l and -θ_l; sums are tested with differences.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows = rng.normal(size=(3, 400)) + np.array([[1.0], [0.0], [0.0]])
    >>> K = term_covariance(rows, np.ones(400))
    >>> found = rank_intervals(rows.mean(axis=1), K, np.sqrt(np.diag(K)), normal_draws(K, 2000, rng), 400)
    >>> found.lower, found.upper
    (array([1, 2, 2]), array([1, 3, 3]))
    """
    signs = (-1, 1) if absolute else (-1,)
    deviations = {sign: _pair_sd(covariance, np.diag(covariance), sign) for sign in signs}
    critical = _critical(draws, deviations, units, confidence)
    t = {sign: _statistics(estimate, _pair_sd(covariance, std_error**2, sign), sign) for sign in signs}
    above = t[-1] > critical
    if absolute:
        above = (above & (t[1] > critical)) | ((t[-1] < -critical) & (t[1] < -critical))
    np.fill_diagonal(above, val=False)
    d = len(estimate)
    rank = ranks(np.abs(estimate) if absolute else estimate)
    return RankIntervals(rank, 1 + above.sum(axis=0), d - above.sum(axis=1), above, critical)


def rank_entropy(draws: FloatArray) -> FloatArray:
    """Return, for each of d estimates, the entropy in nats of its rank over draws of shape (B, d).

    ``H_j = -Σ_r p_jr log p_jr`` with p_jr the share of draws in which j has rank r: 0 where the rank never
    changes, log d where every rank is equally frequent.

    Examples
    --------
    >>> rank_entropy(np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 0.0]])).round(4)
    array([0.6931, 0.6931, 0.    ])
    """
    places = ranks(draws)
    shares = [np.bincount(column, minlength=2) / len(column) for column in places.T]
    return np.array([-(p[p > 0] * np.log(p[p > 0])).sum() + 0.0 for p in shares])


def top_overlap(a: IntArray, b: IntArray, k: int) -> float:
    """Return which share of the k leading items two lists of `ranks` have in common.

    Items tied at the border all count: ``|A and B| / max(|A|, |B|)``.

    Examples
    --------
    >>> top_overlap(np.array([1, 2, 3]), np.array([1, 3, 2]), 2)
    0.5
    """
    first, second = a <= k, b <= k
    return float((first & second).sum() / max(first.sum(), second.sum()))


def _pair_sd(covariance: FloatArray, variance: FloatArray, sign: int) -> FloatArray:
    """Return the standard deviation of θ_j + sign θ_l, (d, d); cancellation cannot make it smaller than rounding."""
    noise = np.maximum(np.diag(covariance) - variance, 0.0)
    floor = np.add.outer(noise, noise) + ROUNDING * np.add.outer(variance, variance)
    sd: FloatArray = np.sqrt(np.maximum(np.add.outer(variance, variance) + 2 * sign * covariance, floor))
    return sd


def _statistics(estimate: FloatArray, sd: FloatArray, sign: int) -> FloatArray:
    """Return (θ_j + sign θ_l) / sd; 0 where the numerator is rounding, ±inf where it is known without error."""
    sums = np.add.outer(estimate, sign * estimate)
    sums[np.abs(sums) <= ROUNDING * np.abs(estimate).max()] = 0.0
    certain = np.where(sums == 0, 0.0, np.copysign(np.inf, sums))
    return np.divide(sums, sd, out=certain, where=sd > 0)


def _critical(draws: FloatArray, sd: dict[int, FloatArray], units: int, confidence: float) -> float:
    """Return the critical value: the quantile of the largest statistic of all pairs, moved from normal to t."""
    largest, step = np.zeros(len(draws)), max(1, _CELLS // draws.shape[1])
    across = np.ascontiguousarray(draws.T)
    for sign, table in sd.items():
        scale = np.where(table > 0, table, np.inf)
        for start in range(0, len(draws), step):
            some, most = across[:, start : start + step], largest[start : start + step]
            for j in range(len(across) - 1):
                pairs = some[j] + sign * some[j + 1 :]
                np.abs(pairs, out=pairs)
                pairs /= scale[j, j + 1 :, None]
                np.maximum(most, pairs.max(axis=0), out=most)
    normal = float(np.quantile(largest, confidence, method="higher"))
    return max(0.0, -float(stdtrit(units - 1, ndtr(-normal))))  # of one half, some versions give 7e-17
