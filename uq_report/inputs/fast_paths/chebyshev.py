"""Sums of bell curves along one axis, read from their values at a few Chebyshev points."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...core.arrays import BoolArray, FloatArray

_MOST = 128  # points
_EXACT = 1e-15  # of a curve's height
_MEETS = 1e-150  # in place of a distance of 0 to a point, whose share is then all
_ELLIPSES = np.geomspace(1.01, 100, 400)


class Span(NamedTuple):
    """Chebyshev points of the second kind, on an interval, and their barycentric weights."""

    points: FloatArray
    weights: FloatArray

    def holds(self, x: FloatArray) -> BoolArray:
        """Return which values lie between the outermost points."""
        return np.asarray((x >= self.points[-1]) & (x <= self.points[0]))

    def read(self, values: FloatArray, x: FloatArray) -> FloatArray:
        """Return the polynomial through each row of `values`, (n, points), at its x, (n, m), or at the nearer end."""
        apart = np.clip(x, self.points[-1], self.points[0])[..., None] - self.points
        apart[apart == 0] = _MEETS
        share = np.divide(self.weights, apart, out=apart)
        return np.asarray((share @ values[..., None])[..., 0] / share.sum(axis=-1))


def span_of(low: float, high: float, length: float) -> Span | None:
    """Return points that tell any ``exp(-(x - t)² / 2 length²)`` on an interval to 1e-15; None if they are too many.

    With c half the interval in lengths, the polynomial of degree p through p + 1 points is off by at most
    ``4 exp(c² b² / 2) r^-p / (r - 1)``, ``b = (r - 1 / r) / 2``, for every r > 1, as the curve is at most
    exp(c² b² / 2) on the ellipse of r (Trefethen, Approximation Theory and Approximation Practice, theorem 8.2).

    Examples
    --------
    >>> span = span_of(-3.0, 3.0, 1.0)
    >>> bell = np.exp(-np.square(span.points - 0.7) / 2)
    >>> x = np.array([[-2.9, 0.7, 1.3]])
    >>> np.abs(span.read(bell[None], x) - np.exp(-np.square(x - 0.7) / 2)).max() < 1e-14
    np.True_
    >>> span_of(-3.0, 3.0, 0.01) is None
    True
    """
    half, r = (high - low) / 2, _ELLIPSES
    height = np.square(half / length * (r - 1 / r) / 2) / 2
    degree = int(np.ceil(((np.log(4 / _EXACT) + height - np.log(r - 1)) / np.log(r)).min()))
    if not 0 < half < np.inf or degree >= _MOST:
        return None
    weights = np.where(np.arange(degree + 1) % 2, -1.0, 1.0)
    weights[[0, -1]] /= 2
    return Span((high + low) / 2 + half * np.cos(np.pi * np.arange(degree + 1) / degree), weights)
