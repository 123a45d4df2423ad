"""Quantiles of mixtures of normals and single points."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr, ndtri

from ...core.support.arrays import FloatArray
from ...core.support.limits import check_limits
from ..families.normal import LOG_2PI
from ..numerics.rowwise import row_sum

_CELLS = 1 << 16  # numbers in one array of (row, level, member), so that it stays in the processor's cache
_ROUNDING = 1 - 1e-14  # a sum of weights may fall short of a level by rounding


def quantiles(means: FloatArray, stds: FloatArray, weights: FloatArray, p: FloatArray) -> FloatArray:
    """Return the smallest y with P(Y <= y) >= p, shape (n, L), of mixtures (n, m) with weights (m,)."""
    values = np.empty((len(means), len(p)))
    points = ~(stds > 0).any(axis=1)
    step = max(1, _CELLS // (len(p) * len(weights)))
    for solve, rows in ((_of_points, np.flatnonzero(points)), (_of_normals, np.flatnonzero(~points))):
        for start in range(0, len(rows), step):
            check_limits()
            block = rows[start : start + step]
            values[block] = solve(means[block], stds[block], weights, p)
    return values


def standardised(y: FloatArray, means: FloatArray, stds: FloatArray) -> FloatArray:
    """Return (y - mean) / std; of a single point, inf from the point on and -inf below it."""
    with np.errstate(divide="ignore", invalid="ignore"):
        z = (y - means) / stds
    return np.where(stds > 0, z, np.where(y >= means, np.inf, -np.inf))


def _of_points(means: FloatArray, _: FloatArray, weights: FloatArray, p: FloatArray) -> FloatArray:
    """Return the quantiles where every member is a single point: those of weighted observations."""
    order = np.argsort(means, axis=1)
    reached = np.cumsum(weights[order], axis=1)
    below = (reached[:, None, :] < p[:, None] * _ROUNDING).sum(axis=2)
    return np.take_along_axis(np.take_along_axis(means, order, axis=1), below, axis=1)


def _of_normals(means: FloatArray, stds: FloatArray, weights: FloatArray, p: FloatArray) -> FloatArray:
    """Take Newton steps inside a bracket, the members' own quantiles, and halve it where they fail.

    A step fails if it leaves the bracket or is more than half the last one (Press et al., Numerical
    Recipes, rtsafe).
    """
    means, stds = means[:, None, :], stds[:, None, :]
    member = means + stds * ndtri(p)[:, None]
    lower, upper = member.min(axis=2), member.max(axis=2)
    y, step = 0.5 * (lower + upper), upper - lower
    near = 1e-13 * step + 4 * np.spacing(np.maximum(np.abs(lower), np.abs(upper)))
    while not np.all(done := np.abs(step) <= near):
        z = standardised(y[:, :, None], means, stds)
        excess = row_sum(ndtr(z), weights) - p * _ROUNDING
        lower, upper = np.where(excess < 0, y, lower), np.where(excess < 0, upper, y)
        # infinite, hence refused, where the density is too small for a step
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            newton = y - excess / row_sum(_density(z, stds), weights)
        fine = (newton >= lower) & (newton <= upper) & (np.abs(newton - y) <= 0.5 * np.abs(step))
        following = np.where(done, y, np.where(fine, newton, 0.5 * (lower + upper)))
        step, y = np.where(done, step, following - y), following
    return _snapped(y, means, stds, 2 * near)


def _density(z: FloatArray, stds: FloatArray) -> FloatArray:
    """Return the members' densities at standardised values z; 0 for single points."""
    with np.errstate(over="ignore"):
        return np.exp(-0.5 * np.square(z) - 0.5 * LOG_2PI) / np.where(stds > 0, stds, np.inf)


def _snapped(y: FloatArray, means: FloatArray, stds: FloatArray, near: FloatArray) -> FloatArray:
    """Return y moved onto a member that is a single point, where one lies within `near`."""
    if (stds > 0).all():
        return y
    distance = np.where(stds > 0, np.inf, np.abs(y[:, :, None] - means))
    nearest = distance.argmin(axis=2)
    point = np.take_along_axis(np.broadcast_to(means, distance.shape), nearest[:, :, None], axis=2)[:, :, 0]
    return np.where(distance.min(axis=2) <= near, point, y)
