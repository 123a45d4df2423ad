"""Quantiles from a cdf, each value on its own: Newton steps inside a bracket, or halving among integers."""

from __future__ import annotations

import numpy as np

from ...core.predictive import Distribution
from ...core.support.arrays import BoolArray, FloatArray
from ...core.support.limits import check_limits

_ROUNDING = 1 - 1e-14  # a sum of probabilities may fall short of a level by rounding
_STEPS = 2200  # halvings from the largest to the smallest float


def bracket(dist: Distribution, p: FloatArray, centre: FloatArray, unit: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return `centre` moved down until P(Y <= y) < p and up until it is >= p, by doubled steps; all of shape (n,)."""
    lower, upper = centre - unit, centre + unit
    for _ in range(1000):
        low, high = dist.cdf(lower) >= p * _ROUNDING, dist.cdf(upper) < p * _ROUNDING
        if not (low | high).any():
            break
        with np.errstate(over="ignore"):
            lower = np.where(low, np.maximum(centre - 2 * (centre - lower), -1e300), lower)
            upper = np.where(high, np.minimum(centre + 2 * (upper - centre), 1e300), upper)
    return lower, upper


def inverse(dist: Distribution, p: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Return the smallest y in [lower, upper] with P(Y <= y) >= p, each of shape (n,), to rounding.

    Newton steps need ``log_prob``; a step that leaves the bracket or is more than half of the last one is replaced
    by halving (Press et al., Numerical Recipes, rtsafe), in the logarithm where the bracket spans decades.
    """
    if dist.discrete:
        return _integer(dist, p, np.ceil(lower), np.ceil(upper))
    at_once = dist.cdf(lower) >= p * _ROUNDING
    upper = np.where(at_once, lower, upper)
    lower, upper, y, step = lower.copy(), upper.copy(), _middle(lower, upper), upper - lower
    left = np.flatnonzero(upper > lower)
    for _ in range(_STEPS):
        if not len(left):
            break
        some, here = dist.take(left), y[left]
        excess = some.cdf(here) - p[left] * _ROUNDING
        lower[left], upper[left] = np.where(excess < 0, here, lower[left]), np.where(excess < 0, upper[left], here)
        low, high = lower[left], upper[left]
        following = _newton(some, here, excess)
        fine = (following > low) & (following < high) & (np.abs(following - here) <= 0.5 * np.abs(step[left]))
        following = np.where(fine, following, _middle(low, high))
        moved = following - here
        step[left], y[left] = moved, following
        small = 4 * np.spacing(np.maximum(np.abs(low), np.abs(high)))
        near = np.spacing(np.maximum(np.abs(here), np.abs(following)))  # of the value, for the bracket may be wide yet
        met = fine & ((np.abs(moved) <= near) | (np.abs(excess) <= 4 * np.spacing(p[left])))
        left = left[(high - low > small) & ~met]
    return np.where(np.abs(upper - y) <= 4 * np.spacing(np.abs(upper)), upper, y)


def _middle(lower: FloatArray, upper: FloatArray) -> FloatArray:
    decades = _far(lower, upper) | _far(-upper, -lower)
    with np.errstate(invalid="ignore"):
        geometric = np.sign(upper) * np.sqrt(np.abs(lower)) * np.sqrt(np.abs(upper))
    return np.where(decades, geometric, 0.5 * lower + 0.5 * upper)


def _far(lower: FloatArray, upper: FloatArray) -> BoolArray:
    return np.asarray((lower > 0) & (upper / 4 > lower))


def _newton(dist: Distribution, y: FloatArray, excess: FloatArray) -> FloatArray:
    """Return where the tangent meets the level; no number, hence refused, where there is no density."""
    if "log_prob" not in dist.supports:
        return np.full_like(y, np.nan)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        return np.asarray(y - excess / np.exp(dist.log_prob(y)))


def _integer(dist: Distribution, p: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray:
    lower, upper = lower.copy(), np.maximum(lower, upper)
    left = np.flatnonzero(lower < upper)
    while len(left):
        check_limits()
        middle = np.floor(0.5 * lower[left] + 0.5 * upper[left])
        enough = dist.take(left).cdf(middle) >= p[left] * _ROUNDING
        upper[left], lower[left] = np.where(enough, middle, upper[left]), np.where(enough, lower[left], middle + 1)
        left = left[lower[left] < upper[left]]
    return upper
