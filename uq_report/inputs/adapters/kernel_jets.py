"""Kernels of scikit-learn's Gaussian processes with their derivatives by the first argument.

Every supported kernel has slopes of the form ``weight(x, t) · scale_d · (u x_d + v t_d)``: stationary ones
are functions g(s) of s = Σ_d w_d (x_d - t_d)², with slopes 2 g' w_d (x_d - t_d); the dot product has the
slope t_d. Sums and products keep the form, so a sum over training points t is a product with the matrix
of training points, and no (n, N, d) array is ever made.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.distance import cdist

from ...core.adapter import class_names
from ...core.arrays import FloatArray


class NoRule(Exception):  # noqa: N818 - it is an answer, caught where a rule is looked up
    """A kernel without a derivative rule here."""


class Direction(NamedTuple):
    """The vector ``scale_d (u x_d + v t_d)``."""

    scale: FloatArray
    u: float
    v: float


class Slope(NamedTuple):
    """A term of the first derivative; `weight` of shape (n, N)."""

    weight: FloatArray
    along: Direction


class Bend(NamedTuple):
    """A term of the second derivative: weight times the product of two directions."""

    weight: FloatArray
    along: Direction
    across: Direction


class Flat(NamedTuple):
    """A term of the second derivative on its diagonal: weight · scale_d."""

    weight: FloatArray
    scale: FloatArray


class Jet(NamedTuple):
    """A kernel between n and N points: its values and the terms of its derivatives."""

    value: FloatArray | float
    slopes: tuple[Slope, ...] = ()
    bends: tuple[Bend, ...] = ()
    flats: tuple[Flat, ...] = ()


def jet(kernel: Any, X: FloatArray, T: FloatArray, order: int) -> Jet:
    """Return a kernel between rows `X` and training points `T`; raise `NoRule` for one without a rule."""
    rule = _RULES.get(class_names(kernel)[0])
    if rule is None:
        raise NoRule
    return rule(kernel, X, T, order)


def gradient(found: Jet, X: FloatArray, T1: FloatArray, by: FloatArray) -> FloatArray:
    """Return Σ_t by(x, t) ∂k(x, t)/∂x, shape (n, d).

    `by` has the shape (n, N), or (N,) for weights that are the same for all rows; `T1` is the training
    points with a column of ones.
    """
    total = np.zeros(X.shape)
    for weight, (scale, u, v) in found.slopes:
        sums = weight @ (by[:, None] * T1) if by.ndim == 1 else (weight * by) @ T1
        total += scale * (u * X * sums[:, -1:] + v * sums[:, :-1])
    return total


def curvature(found: Jet, X: FloatArray, T: FloatArray, by: FloatArray) -> FloatArray:
    """Return Σ_t by(x, t) ∂²k(x, t)/∂x∂xᵀ, shape (n, d, d); `by` as for `gradient`."""
    n, d = X.shape
    total = np.zeros((n, d, d))
    outer = (T[:, :, None] * T[:, None, :]).reshape(len(T), d * d)
    for weight, one, two in found.bends:
        B = weight * by
        sums, at, both = B.sum(axis=1)[:, None, None], B @ T, (B @ outer).reshape(n, d, d)
        part = one.u * two.u * sums * X[:, :, None] * X[:, None, :] + one.v * two.v * both
        part += one.u * two.v * X[:, :, None] * at[:, None, :] + one.v * two.u * at[:, :, None] * X[:, None, :]
        total += one.scale[:, None] * two.scale * part
    for weight, scale in found.flats:
        np.einsum("ndd->nd", total)[:] += (weight * by).sum(axis=1)[:, None] * scale
    return total


def slope_along(found: Jet, X: FloatArray, T: FloatArray, d: int) -> FloatArray:
    """Return ∂k(x, t)/∂x_d, shape (n, N)."""
    total = np.zeros((len(X), len(T)))
    for weight, (scale, u, v) in found.slopes:
        total += weight * (scale[d] * (u * X[:, d, None] + v * T[:, d]))
    return total


def diagonal(kernel: Any, X: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return k(x, x), its gradient (n, d) and its second derivatives (n, d, d)."""
    name, (n, d) = class_names(kernel)[0], X.shape
    if name in ("sklearn.Sum", "sklearn.Product"):
        (a, da, dda), (b, db, ddb) = diagonal(kernel.k1, X), diagonal(kernel.k2, X)
        if name == "sklearn.Sum":
            return a + b, da + db, dda + ddb
        cross = da[:, :, None] * db[:, None, :]
        bent = dda * b[:, None, None] + ddb * a[:, None, None] + cross + cross.swapaxes(1, 2)
        return a * b, da * b[:, None] + db * a[:, None], bent
    if name == "sklearn.Exponentiation":
        a, da, dda = diagonal(kernel.kernel, X)
        p = kernel.exponent
        one, two = p * a ** (p - 1), p * (p - 1) * a ** (p - 2)
        bent = one[:, None, None] * dda + two[:, None, None] * da[:, :, None] * da[:, None, :]
        return a**p, one[:, None] * da, bent
    if name == "sklearn.DotProduct":
        return kernel.diag(X), 2 * X, np.broadcast_to(2 * np.eye(d), (n, d, d)).copy()
    return kernel.diag(X), np.zeros((n, d)), np.zeros((n, d, d))


def _stationary(g: Callable[..., tuple[FloatArray, FloatArray, FloatArray | None]]) -> Callable[..., Jet]:
    """Return the rule of a kernel g(s); ``g(kernel, s, order)`` gives g, g' and, for order 2, g''."""

    def rule(kernel: Any, X: FloatArray, T: FloatArray, order: int) -> Jet:
        length = 1.0 if "sklearn.ExpSineSquared" in class_names(kernel) else np.asarray(kernel.length_scale, float)
        w = np.broadcast_to(1 / np.square(length), X.shape[1:])
        value, one, two = g(kernel, cdist(X / length, T / length, metric="sqeuclidean"), order)
        apart = Direction(w, 1.0, -1.0)
        slopes = (Slope(2 * one, apart),)
        if two is None:
            return Jet(value, slopes)
        return Jet(value, slopes, (Bend(4 * two, apart, apart),), (Flat(2 * one, w),))

    return rule


Parts = tuple[FloatArray, FloatArray, FloatArray | None]


def _rbf(_: Any, s: FloatArray, order: int) -> Parts:
    value = np.exp(-0.5 * s)
    return value, -0.5 * value, 0.25 * value if order == 2 else None


def _matern(kernel: Any, s: FloatArray, order: int) -> Parts:
    if kernel.nu == np.inf:
        return _rbf(kernel, s, order)
    if kernel.nu not in (1.5, 2.5):
        raise NoRule  # 1/2 has no derivative at the training points; others only as Bessel functions
    k = np.sqrt(2 * kernel.nu * s)
    e = np.exp(-k)
    if kernel.nu == 2.5:
        bent = 25 / 12 * e if order == 2 else None
        return (1 + k + k**2 / 3) * e, -5 / 6 * (1 + k) * e, bent
    # g'' is infinite at s = 0, where it multiplies (x - t)(x - t)ᵀ = 0, which goes to 0 faster
    bent = np.where(k > 0, 2.25 * e / np.where(k > 0, k, 1.0), 0.0) if order == 2 else None
    return (1 + k) * e, -1.5 * e, bent


def _rational_quadratic(kernel: Any, s: FloatArray, order: int) -> Parts:
    a = kernel.alpha
    base = 1 + s / (2 * a)
    value = base**-a
    one = -0.5 * value / base
    return value, one, -0.5 * (a + 1) / a * one / base if order == 2 else None


def _exp_sine_squared(kernel: Any, s: FloatArray, order: int) -> Parts:
    """Return exp(-2 φ / l²) with φ(s) = sin²(a √s), a = π / p; φ' and φ'' by their series near s = 0."""
    a, c = np.pi / kernel.periodicity, -2 / kernel.length_scale**2
    x = 2 * a * np.sqrt(s)
    value = np.exp(c * np.square(np.sin(x / 2)))
    one = c * a**2 * np.sinc(x / np.pi)
    if order == 1:
        return value, one * value, None
    safe = np.where(x > 0.05, x, 1.0)
    series = -1 / 3 + x**2 / 30 - x**4 / 840 + x**6 / 45360
    bend = c * 2 * a**4 * np.where(x > 0.05, (safe * np.cos(safe) - np.sin(safe)) / safe**3, series)
    return value, one * value, (np.square(one) + bend) * value


def _dot(kernel: Any, X: FloatArray, T: FloatArray, _: int) -> Jet:
    along = Direction(np.ones(X.shape[1]), 0.0, 1.0)
    return Jet(X @ T.T + kernel.sigma_0**2, (Slope(np.ones((len(X), len(T))), along),))


def _constant(kernel: Any, *_: Any) -> Jet:
    return Jet(float(kernel.constant_value))


def _white(*_: Any) -> Jet:
    return Jet(0.0)


def _sum(kernel: Any, X: FloatArray, T: FloatArray, order: int) -> Jet:
    a, b = jet(kernel.k1, X, T, order), jet(kernel.k2, X, T, order)
    nothing = isinstance(b.value, float) and b.value == 0  # white noise: spare a pass over the matrix
    return Jet(a.value if nothing else a.value + b.value, a.slopes + b.slopes, a.bends + b.bends, a.flats + b.flats)


def _product(kernel: Any, X: FloatArray, T: FloatArray, order: int) -> Jet:
    a, b = jet(kernel.k1, X, T, order), jet(kernel.k2, X, T, order)
    p, q = _times(a, b.value), _times(b, a.value)
    cross = _crossed(a.slopes, b.slopes, 1.0) + _crossed(b.slopes, a.slopes, 1.0) if order == 2 else ()
    return Jet(a.value * b.value, p.slopes + q.slopes, p.bends + q.bends + cross, p.flats + q.flats)


def _power(kernel: Any, X: FloatArray, T: FloatArray, order: int) -> Jet:
    a, p = jet(kernel.kernel, X, T, order), kernel.exponent
    outer = _times(a, p * a.value ** (p - 1))
    cross = _crossed(a.slopes, a.slopes, p * (p - 1) * a.value ** (p - 2)) if order == 2 else ()
    return Jet(a.value**p, outer.slopes, outer.bends + cross, outer.flats)


def _times(a: Jet, factor: FloatArray | float) -> Jet:
    """Return the terms of `a` times a factor that is held fixed."""
    return Jet(
        0.0,
        tuple(Slope(weight * factor, along) for weight, along in a.slopes),
        tuple(Bend(weight * factor, one, two) for weight, one, two in a.bends),
        tuple(Flat(weight * factor, scale) for weight, scale in a.flats),
    )


def _crossed(a: tuple[Slope, ...], b: tuple[Slope, ...], factor: FloatArray | float) -> tuple[Bend, ...]:
    return tuple(Bend(one.weight * two.weight * factor, one.along, two.along) for one in a for two in b)


_RULES: dict[str, Callable[..., Jet]] = {
    "sklearn.RBF": _stationary(_rbf),
    "sklearn.Matern": _stationary(_matern),
    "sklearn.RationalQuadratic": _stationary(_rational_quadratic),
    "sklearn.ExpSineSquared": _stationary(_exp_sine_squared),
    "sklearn.DotProduct": _dot,
    "sklearn.ConstantKernel": _constant,
    "sklearn.WhiteKernel": _white,
    "sklearn.Sum": _sum,
    "sklearn.Product": _product,
    "sklearn.Exponentiation": _power,
}
