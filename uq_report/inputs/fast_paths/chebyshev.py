"""Sums of bell curves along one axis, read from their values at a few Chebyshev points."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...core.support.arrays import BoolArray, FloatArray

_MOST = 128  # points
_KEPT = 2**25  # values of curves, 256 MiB: 20 features of 20,000 rows
_EXACT = 1e-15  # of a curve's height
_ELLIPSES = np.geomspace(1.01, 100, 400)


class Span(NamedTuple):
    """Chebyshev points of the second kind on an interval, downwards, and the matrix from values there to coefficients.

    ``Σ_k c_k T_k`` takes the values v at the p + 1 points where ``c_j = 2/p Σ_k v_k cos(π j k / p)``, with half of the
    first and last v and c (a discrete cosine transform).
    """

    points: FloatArray
    transform: FloatArray

    def holds(self, x: FloatArray) -> BoolArray:
        """Return which values lie between the outermost points."""
        return np.asarray((x >= self.points[-1]) & (x <= self.points[0]))

    def read(self, values: FloatArray, x: FloatArray) -> FloatArray:
        """Return the polynomial through each row of `values`, (n, points), at its x, (m, n), or at the nearer end.

        By Clenshaw's recurrence ``b_k = c_k + 2 x b_(k+1) - b_(k+2)``.
        """
        low, high = self.points[-1], self.points[0]
        doubled = (4 / (high - low)) * (np.clip(x, low, high) - (low + high) / 2)
        first, *others = self.transform @ values.T
        one, two, spare = np.zeros(x.shape), np.zeros(x.shape), np.empty(x.shape)
        for coefficient in reversed(others):
            np.multiply(doubled, one, out=spare)
            spare -= two
            spare += coefficient
            one, two, spare = spare, one, two
        return np.asarray(first + doubled / 2 * one - two)


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
    >>> np.abs(span.read(np.tile(bell, (3, 1)), x) - np.exp(-np.square(x - 0.7) / 2)).max() < 1e-14
    np.True_
    >>> span_of(-3.0, 3.0, 0.01) is None
    True
    """
    half, r = (high - low) / 2, _ELLIPSES
    height = np.square(half / length * (r - 1 / r) / 2) / 2
    degree = int(np.ceil(((np.log(4 / _EXACT) + height - np.log(r - 1)) / np.log(r)).min()))
    if not 0 < half < np.inf or degree >= _MOST:
        return None
    halved = np.where(np.isin(np.arange(degree + 1), (0, degree)), 0.5, 1.0)
    cosines = np.cos(np.pi / degree * np.outer(*[np.arange(degree + 1)] * 2))
    transform = 2 / degree * np.outer(halved, halved) * cosines
    return Span((high + low) / 2 + half * cosines[1], transform)


def make_room(curves: dict[Any, FloatArray], size: int) -> None:
    """Let curves go until so many more values can be kept.

    The newest go first: explainers take features in one order, so those asked first are asked first again.
    """
    while curves and sum(curve.size for curve in [*curves.values()]) + size > _KEPT:
        curves.pop(next(reversed(curves), None), None)  # another thread may have done so
