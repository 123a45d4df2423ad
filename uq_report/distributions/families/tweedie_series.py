"""The compound Poisson-gamma distribution in units of its gamma scale, by series and cached quadrature.

S is the sum of N gamma variables of shape `alpha` and scale 1, where N is Poisson with mean `rate`. Its density is
Dunn & Smyth 2005, eq. 5 (doi:10.1007/s11222-005-4070-y). Entropy and mean difference are functions of the rate alone
for a given shape: they are integrated once at Chebyshev nodes of log rate, and interpolated from there.
"""

from collections.abc import Callable
from functools import lru_cache, partial
from typing import TypeAlias

import numpy as np
from numpy.polynomial import chebyshev
from scipy.special import gammainc, gammaln, xlogy

from ...core.support.arrays import FloatArray, IntArray
from ..numerics.quadrature import Integrand, Panels, even_panels, integral

_FEW = 1 << 20  # weights of terms in one table
_DEGREE = 15
_UNIT_EDGES = np.linspace(0.0, 1.0, 17)
_NEAR_NORMAL = 1e-3
_REACH = 42.0  # -log of the probability that may be missed at either end

Term: TypeAlias = Callable[[IntArray, IntArray], FloatArray]


def log_density(rate: FloatArray, alpha: float, log_s: FloatArray) -> FloatArray:
    """Return the log density of S at s > 0, one per entry of `rate` and `log_s`."""
    log_z = np.log(rate) + alpha * log_s
    peak = np.exp((log_z - alpha * np.log(alpha)) / (1 + alpha))  # about the largest term
    lower, upper = _window(peak, 1 + alpha)
    weight = _log_weights(lower, upper, alpha)
    top = np.maximum(np.rint(peak), 1.0).astype(np.int64)
    largest = top * log_z - weight(top)
    total = _summed(lower, upper, lambda rows, n: np.exp(n * log_z[rows] - weight(n) - largest[rows]))
    return np.asarray(np.log(total) + largest - rate - np.exp(log_s) - log_s)


def cdf(rate: FloatArray, alpha: float, s: FloatArray) -> FloatArray:
    """Return P(S <= s) at s >= 0."""
    return np.asarray(np.exp(-rate) + _weighted(rate, lambda rows, n: np.asarray(gammainc(n * alpha, s[rows]))))


def mean_below(rate: FloatArray, alpha: float, s: FloatArray) -> FloatArray:
    """Return E[S; S <= s] at s >= 0."""
    return _weighted(rate, lambda rows, n: np.asarray(n * alpha * gammainc(n * alpha + 1, s[rows])))


def entropy(rate: FloatArray, alpha: float) -> FloatArray:
    """Return the entropy of S in nats with respect to a unit mass at 0 and length elsewhere, to 1e-9.

    Of small skewness by its expansion about the normal (Comon 1994, doi:10.1016/0165-1684(94)90029-9).
    """
    skew, excess, variance = _cumulants(rate, alpha)
    gaps = -skew / 12 - np.square(excess) / 48 - 7 * np.square(skew) / 48 + skew * excess / 8
    return _unless_near_normal(
        rate, skew, 0.5 * np.log(2 * np.pi * np.e * variance) + gaps, partial(_entropy_panel, alpha)
    )


def mean_difference(rate: FloatArray, alpha: float) -> FloatArray:
    """Return E|S - S'| of two independent S, to 1e-8 of its value; of small skewness by Edgeworth's expansion."""
    skew, excess, variance = _cumulants(rate, alpha)
    near = 0.5 * np.log(4 * variance / np.pi) + np.log1p(-np.minimum(excess, 1.0) / 48)
    return np.asarray(np.exp(_unless_near_normal(rate, skew, near, partial(_difference_panel, alpha))))


def _cumulants(rate: FloatArray, alpha: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the squared skewness, the excess kurtosis, and the variance of S."""
    variance = rate * alpha * (alpha + 1)
    return (alpha + 2) ** 2 / variance, (alpha + 2) * (alpha + 3) / variance, variance


def _unless_near_normal(
    rate: FloatArray, skew: FloatArray, near: FloatArray, panel: Callable[[int], FloatArray]
) -> FloatArray:
    """Return `near` where the squared skewness is below 1e-3, else what is interpolated."""
    result, far = near.copy(), skew >= _NEAR_NORMAL
    result[far] = _interpolated(rate[far], panel)
    return result


def _window(peak: FloatArray, steepness: float) -> tuple[IntArray, IntArray]:
    """Return the first and last n whose terms count beside those near `peak`."""
    reach = 10 * np.sqrt(peak / steepness) + 25
    return np.maximum(np.floor(peak - reach), 1.0).astype(np.int64), np.ceil(peak + reach).astype(np.int64)


def _log_weights(lower: IntArray, upper: IntArray, alpha: float) -> Callable[[IntArray], FloatArray]:
    """Return log(n! Gamma(n alpha)) as a function of n, from one table where that is short."""
    first, last = (int(lower.min()), int(upper.max())) if len(lower) else (1, 1)
    if last - first >= _FEW:
        return lambda n: np.asarray(gammaln(n + 1.0) + gammaln(n * alpha))
    n = np.arange(first, last + 1)
    table = gammaln(n + 1.0) + gammaln(n * alpha)
    return lambda n: table[n - first]


def _summed(lower: IntArray, upper: IntArray, term: Term) -> FloatArray:
    """Return sum_{n = lower}^{upper} term(row, n) of each row, one by one: no row moves another's bits."""
    total, length = np.zeros(len(lower)), upper - lower + 1
    order = np.argsort(-length, kind="stable")
    ends = -length[order]
    for k in range(int(length.max(initial=0))):
        rows = order[: np.searchsorted(ends, -k)]
        total[rows] += term(rows, lower[rows] + k)
    return total


def _weighted(rate: FloatArray, value: Term) -> FloatArray:
    """Return sum_{n >= 1} P(N = n) value(row, n)."""
    lower, upper = _window(rate, 1.0)
    return _summed(
        lower, upper, lambda rows, n: np.exp(xlogy(n, rate[rows]) - rate[rows] - gammaln(n + 1.0)) * value(rows, n)
    )


def _interpolated(rate: FloatArray, panel: Callable[[int], FloatArray]) -> FloatArray:
    """Return the Chebyshev series of each row's panel, one unit of log rate, at its log rate."""
    place = np.log(rate)
    number = np.floor(place)
    which, back = np.unique(number.astype(np.int64), return_inverse=True)
    coefficients = np.array([panel(int(k)) for k in which]).reshape(-1, _DEGREE + 1)
    return np.asarray(chebyshev.chebval(2 * (place - number) - 1, coefficients[back].T, tensor=False))


def _nodes(k: int) -> FloatArray:
    """Return the rates at the Chebyshev points of log rate between k and k + 1."""
    return np.asarray(np.exp(k + (chebyshev.chebpts1(_DEGREE + 1) + 1) / 2))


def _coefficients(values: FloatArray) -> FloatArray:
    return np.asarray(chebyshev.chebfit(chebyshev.chebpts1(_DEGREE + 1), values, _DEGREE))


@lru_cache(maxsize=1024)
def _entropy_panel(alpha: float, k: int) -> FloatArray:
    rate = _nodes(k)

    def integrand(panels: Panels) -> FloatArray:
        log_s = panels.nodes()
        log_f = log_density(np.repeat(rate[panels.row], log_s.shape[1]), alpha, log_s.ravel()).reshape(log_s.shape)
        return np.asarray(-np.exp(log_f + log_s) * log_f)

    return _coefficients(rate * np.exp(-rate) + _over_logarithms(rate, alpha, integrand))


@lru_cache(maxsize=1024)
def _difference_panel(alpha: float, k: int) -> FloatArray:
    rate = _nodes(k)

    def integrand(panels: Panels) -> FloatArray:
        s = np.exp(panels.nodes())
        below = cdf(np.repeat(rate[panels.row], s.shape[1]), alpha, s.ravel()).reshape(s.shape)
        return np.asarray(2 * s * below * (1 - below))

    zero = np.exp(-rate)
    almost_0 = 2 * np.exp(_reach(rate, alpha)[0]) * zero * (1 - zero)  # below, where P(S <= s) is that of 0
    return _coefficients(np.log(almost_0 + _over_logarithms(rate, alpha, integrand)))


def _reach(rate: FloatArray, alpha: float) -> tuple[FloatArray, FloatArray]:
    """Return log s between which S lies with almost all of its probability above 0."""
    mean, spread = rate * alpha, np.sqrt(rate * alpha * (1 + alpha))
    lowest = (-_REACH - np.maximum(np.log(rate), 0.0)) / alpha - 1.0
    lower = np.where(mean > 12 * spread, np.log(np.maximum(mean - 11 * spread, 1e-300)), lowest)
    return lower, np.log(mean + 9 * spread + _REACH)


def _over_logarithms(rate: FloatArray, alpha: float, integrand: Integrand) -> FloatArray:
    """Return the integral over log s, within its reach."""
    lower, upper = _reach(rate, alpha)
    grid = even_panels(len(rate), _UNIT_EDGES)
    low, width = lower[grid.row], (upper - lower)[grid.row]
    panels = grid._replace(lower=low + width * grid.lower, upper=low + width * grid.upper)
    return integral(len(rate), panels, integrand, tolerance=1e-11, relative=1e-11, halvings=12)
