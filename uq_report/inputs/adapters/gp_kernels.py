"""Closed forms of the slopes of stationary kernels: sums of constants times RBF, Matérn or rational quadratic ones.

With s = Σ_j (x_j - t_j)² / l_j² a kernel is c φ(s), so ``∂k/∂x_j = 2 c φ'(s) (x_j - t_j) / l_j²`` and
``∂²k/∂x_j∂x_m = 4 c φ''(s) (x_j - t_j) (x_m - t_m) / (l_j² l_m²) + 2 c φ'(s) [j = m] / l_j²``
(Rasmussen & Williams 2006, section 4.2).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.distance import cdist

from ...core.adapter import class_names
from ...core.arrays import FloatArray


class Shape(NamedTuple):
    """φ of s, which it may overwrite, from s both of its derivatives, φ' and φ'', and whether φ(s) is exp(-s / 2)."""

    value: Callable[[FloatArray], FloatArray]
    rates: Callable[[FloatArray], tuple[FloatArray, FloatArray]]
    splits: bool = False  # into a product over inputs


class Term(NamedTuple):
    """One summand ``factor φ(s)`` of a kernel, with 1 / l² by column."""

    factor: float
    inverse: FloatArray
    shape: Shape

    def rates(self, X: FloatArray, T: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return c φ' and c φ'' of all rows of `X` and `T`, (n, N) each."""
        first, second = self.shape.rates(self.distances(X, T))
        return self.factor * first, self.factor * second

    def distances(self, X: FloatArray, T: FloatArray) -> FloatArray:
        """Return s of all rows of `X` and `T`, (n, N)."""
        root = np.sqrt(self.inverse)
        return np.asarray(cdist(X * root, T * root, "sqeuclidean"))


def terms_of(kernel: Any, width: int) -> list[Term] | None:
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
    return None if shape is None else [Term(1.0, np.broadcast_to(1 / np.square(kernel.length_scale), width), shape)]


def _shape(name: str, kernel: Any) -> Shape | None:
    if name == "sklearn.RBF":
        return _RBF
    if name == "sklearn.Matern":  # that of 1/2 has a kink where a row meets a training row
        return {1.5: Shape(_matern_3_value, _matern_3), 2.5: Shape(_matern_5_value, _matern_5), np.inf: _RBF}.get(
            kernel.nu
        )
    if name == "sklearn.RationalQuadratic":
        return Shape(partial(_rational_value, alpha=kernel.alpha), partial(_rational, alpha=kernel.alpha))
    return None


def gradient(terms: Sequence[Term], rates: Sequence[tuple[FloatArray, ...]], A: FloatArray, X: Any, T: Any) -> Any:
    """Return the slopes of ``Σ_a A_ra k(x_r, t_a)`` by the columns of `X`, (n, m), from the rates of each term."""
    total = np.zeros(X.shape)
    for term, (first, _) in zip(terms, rates, strict=True):
        weight = A * first
        total += 2 * term.inverse * (X * weight.sum(axis=1)[:, None] - weight @ T)
    return total


def hessian(terms: Sequence[Term], rates: Sequence[tuple[FloatArray, ...]], A: FloatArray, X: Any, T: Any) -> Any:
    """Return the second derivatives of the same, (n, m, m), by products of matrices of rows from the centre of `T`."""
    (n, m), centre = X.shape, T.mean(axis=0)
    X, T, total = X - centre, T - centre, np.zeros((n, m, m))
    for term, (first, second) in zip(terms, rates, strict=True):
        weight = A * second
        mass, moment = weight.sum(axis=1), weight @ T
        bent = np.stack([weight @ (T * T[:, [j]]) for j in range(m)], axis=1)
        bent += X[:, :, None] * (X * mass[:, None] - moment)[:, None] - moment[:, :, None] * X[:, None]
        total += 4 * np.outer(term.inverse, term.inverse) * bent
        total[:, range(m), range(m)] += 2 * term.inverse * (A * first).sum(axis=1)[:, None]
    return total


def slopes(terms: Sequence[Term], rates: Sequence[tuple[FloatArray, ...]], X: Any, T: Any) -> FloatArray:
    """Return the slopes of every kernel value by each column of `X`, (m, n, N)."""
    total = np.zeros((X.shape[1], len(X), len(T)))
    for j, slope in enumerate(total):
        weight = sum(2 * term.inverse[j] * first for term, (first, _) in zip(terms, rates, strict=True))
        np.multiply(weight, X[:, j, None] - T[:, j], out=slope)
    return total


def _rbf_value(s: FloatArray) -> FloatArray:
    s *= -0.5
    return np.exp(s, out=s)


def _rbf(s: FloatArray) -> tuple[FloatArray, FloatArray]:
    value = np.exp(-s / 2)
    return -value / 2, value / 4


_RBF = Shape(_rbf_value, _rbf, splits=True)


def _matern_3_value(s: FloatArray) -> FloatArray:
    r = np.sqrt(3 * s)
    return np.asarray((1 + r) * np.exp(-r))


def _matern_3(s: FloatArray) -> tuple[FloatArray, FloatArray]:
    r = np.sqrt(3 * s)
    decay = np.exp(-r)
    # φ'' is infinite at 0, where (x - t) (x - t) φ'' is 0
    return -1.5 * decay, np.divide(2.25 * decay, r, out=np.zeros_like(r), where=r > 0)


def _matern_5_value(s: FloatArray) -> FloatArray:
    r = np.sqrt(5 * s)
    return np.asarray((1 + r + r**2 / 3) * np.exp(-r))


def _matern_5(s: FloatArray) -> tuple[FloatArray, FloatArray]:
    r = np.sqrt(5 * s)
    decay = np.exp(-r)
    return -5 / 6 * (1 + r) * decay, 25 / 12 * decay


def _rational_value(s: FloatArray, alpha: float) -> FloatArray:
    return np.asarray((1 + s / (2 * alpha)) ** -alpha)


def _rational(s: FloatArray, alpha: float) -> tuple[FloatArray, FloatArray]:
    base = 1 + s / (2 * alpha)
    return -0.5 * base ** (-alpha - 1), (alpha + 1) / (4 * alpha) * base ** (-alpha - 2)
