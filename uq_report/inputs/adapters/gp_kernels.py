"""Closed forms of the slopes of stationary kernels: sums of constants times RBF, Matérn or rational quadratic ones.

With s = Σ_j (x_j - t_j)² / l_j² a kernel is c φ(s), so ``∂k/∂x_j = 2 c φ'(s) (x_j - t_j) / l_j²`` and
``∂²k/∂x_j∂x_m = 4 c φ''(s) (x_j - t_j) (x_m - t_m) / (l_j² l_m²) + 2 c φ'(s) [j = m] / l_j²``
(Rasmussen & Williams 2006, section 4.2).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy.spatial.distance import cdist

from ...core.model.adapter import class_names
from ...core.support.arrays import FloatArray

Rates: TypeAlias = list[FloatArray]  # φ and its derivatives, (n, N) each


class Shape(NamedTuple):
    """φ of s, which it may overwrite, with so many of its derivatives, and whether φ(s) is exp(-s / 2)."""

    rates: Callable[[FloatArray, int], Rates]
    splits: bool = False  # into a product over inputs

    def value(self, s: FloatArray) -> FloatArray:
        """Return φ of s, which may be overwritten."""
        return self.rates(s, 0)[0]


class KernelTerm(NamedTuple):
    """One summand ``factor φ(s)`` of a kernel, with 1 / l² by column."""

    factor: float
    inverse: FloatArray
    shape: Shape

    def rates(self, X: FloatArray, T: FloatArray, order: int) -> Rates:
        """Return φ and its derivatives up to an order of all rows of `X` and `T`, (n, N) each, without the factor."""
        return self.shape.rates(self.distances(X, T), order)

    def distances(self, X: FloatArray, T: FloatArray) -> FloatArray:
        """Return s of all rows of `X` and `T`, (n, N)."""
        root = np.sqrt(self.inverse)
        return np.asarray(cdist(X * root, T * root, "sqeuclidean"))


def terms_of(kernel: Any, width: int) -> list[KernelTerm] | None:
    """Return the summands of a kernel of `width` columns that vary with x, or None for one of another kind.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF, DotProduct, WhiteKernel
    >>> [(term.factor, term.inverse) for term in terms_of(3.0 * RBF(2.0) + WhiteKernel(), 2)]
    [(3.0, array([0.25, 0.25]))]
    >>> terms_of(RBF() + DotProduct(), 2) is None
    True
    """
    name = class_names(kernel)[0]
    if name in ("sklearn.ConstantKernel", "sklearn.WhiteKernel"):
        return []
    if name in ("sklearn.Sum", "sklearn.Product"):
        parts = terms_of(kernel.k1, width), terms_of(kernel.k2, width)
        if parts[0] is None or parts[1] is None:
            return None
        if name == "sklearn.Sum":
            return parts[0] + parts[1]
        for one, other in ((kernel.k1, parts[1]), (kernel.k2, parts[0])):
            if class_names(one)[0] == "sklearn.ConstantKernel":
                return [term._replace(factor=term.factor * float(one.constant_value)) for term in other]
        return None
    shape = _shape(name, kernel)
    return (
        None if shape is None else [KernelTerm(1.0, np.broadcast_to(1 / np.square(kernel.length_scale), width), shape)]
    )


def constant_of(kernel: Any) -> float:
    """Return what the constants of a kernel that `terms_of` knows add to its values between different rows.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF, WhiteKernel
    >>> constant_of(3.0 * (RBF(2.0) + 0.5) + WhiteKernel() + 1.0)
    2.5
    """
    name = class_names(kernel)[0]
    if name == "sklearn.ConstantKernel":
        return float(kernel.constant_value)
    if name == "sklearn.Sum":
        return constant_of(kernel.k1) + constant_of(kernel.k2)
    return constant_of(kernel.k1) * constant_of(kernel.k2) if name == "sklearn.Product" else 0.0


def _shape(name: str, kernel: Any) -> Shape | None:
    if name == "sklearn.RBF":
        return _RBF
    if name == "sklearn.Matern":  # that of 1/2 has a kink where a row meets a training row
        return {1.5: Shape(_matern_3), 2.5: Shape(_matern_5), np.inf: _RBF}.get(kernel.nu)
    if name == "sklearn.RationalQuadratic":
        return Shape(partial(_rational, alpha=kernel.alpha))
    return None


def values(terms: Sequence[KernelTerm], rates: Sequence[Rates], constant: float) -> FloatArray:
    """Return the kernel of all rows of `X` and `T`, (n, N), from the rates of its terms and what constants add."""
    total = reduce(np.add, (term.factor * value for term, (value, *_) in zip(terms, rates, strict=True)))
    return total + constant if constant else total


def gradient(terms: Sequence[KernelTerm], rates: Sequence[Rates], A: FloatArray, X: Any, T: Any) -> Any:
    """Return the slopes of ``Σ_a A_ra k(x_r, t_a)`` by the columns of `X`, (n, m); A is (n, N) or (N,)."""
    total, points = np.zeros(X.shape), np.column_stack([np.ones(len(T)), T])
    for term, (_, first, *_) in zip(terms, rates, strict=True):
        sums = first @ (A[:, None] * points) if A.ndim == 1 else (A * first) @ points
        total += 2 * term.factor * term.inverse * (X * sums[:, :1] - sums[:, 1:])
    return total


def hessian(terms: Sequence[KernelTerm], rates: Sequence[Rates], A: FloatArray, X: Any, T: Any) -> Any:
    """Return the second derivatives of the same, (n, m, m), by products of matrices of rows from the centre of `T`."""
    (n, m), centre = X.shape, T.mean(axis=0)
    X, T, total = X - centre, T - centre, np.zeros((n, m, m))
    products = (T[:, :, None] * T[:, None]).reshape(len(T), m * m)
    for term, (_, first, second) in zip(terms, rates, strict=True):
        weight = A * second
        mass, moment = weight.sum(axis=1), weight @ T
        bent = (weight @ products).reshape(n, m, m)
        bent += X[:, :, None] * (X * mass[:, None] - moment)[:, None] - moment[:, :, None] * X[:, None]
        total += 4 * term.factor * np.outer(term.inverse, term.inverse) * bent
        total[:, range(m), range(m)] += 2 * term.factor * term.inverse * (A * first).sum(axis=1)[:, None]
    return total


def slopes(terms: Sequence[KernelTerm], rates: Sequence[Rates], X: Any, T: Any) -> FloatArray:
    """Return the slopes of every kernel value by each column of `X`, (m, n, N)."""
    total = np.empty((X.shape[1], len(X), len(T)))
    for j, slope in enumerate(total):
        np.subtract(X[:, j, None], T[:, j], out=slope)
        scaled = (2 * term.factor * term.inverse[j] * rate[1] for term, rate in zip(terms, rates, strict=True))
        np.multiply(slope, sum(scaled), out=slope)
    return total


def _rbf(s: FloatArray, order: int) -> Rates:
    s *= -0.5
    value = np.exp(s, out=s)
    return [value, *(factor * value for factor in (-0.5, 0.25)[:order])]


_RBF = Shape(_rbf, splits=True)


def _matern_3(s: FloatArray, order: int) -> Rates:
    r = np.sqrt(3 * s)
    decay = np.exp(-r)
    rates = [(1 + r) * decay, -1.5 * decay][: order + 1]
    # φ'' is infinite at 0, where (x - t) (x - t) φ'' is 0
    return rates if order < 2 else [*rates, np.divide(2.25 * decay, r, out=np.zeros_like(r), where=r > 0)]


def _matern_5(s: FloatArray, order: int) -> Rates:
    r = np.sqrt(5 * s)
    decay = np.exp(-r)
    rates = [(1 + r + r**2 / 3) * decay, -5 / 6 * (1 + r) * decay][: order + 1]
    return rates if order < 2 else [*rates, 25 / 12 * decay]


def _rational(s: FloatArray, order: int, alpha: float) -> Rates:
    base, factors = 1 + s / (2 * alpha), (1.0, -0.5, (alpha + 1) / (4 * alpha))
    return [factor * base ** (-alpha - k) for k, factor in enumerate(factors[: order + 1])]
