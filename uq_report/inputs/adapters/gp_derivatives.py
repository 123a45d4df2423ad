"""Compute exact derivatives of a Gaussian process by closed forms of its kernel.

With k = k(x, T) the mean is ``kᵀα`` and the variance ``k(x, x) - kᵀK⁻¹k`` (Rasmussen & Williams 2006, section 2.2), so
a row needs one solve, ``W = K⁻¹k``, for all its slopes, where differences of predictions need one for each step.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np
import pandas as pd
from scipy.linalg import solve_triangular

from ...core.model.adapter import class_names
from ...core.model.derivatives import EXACT, Derivatives, numbers, spread
from ...core.support.arrays import FloatArray, IntArray, Table, take_rows
from .affine import affine_slopes, dense
from .gp_kernels import KernelTerm, Rates, constant_of, gradient, hessian, slopes, terms_of, values
from .sklearn_ import transform, unwrap

_BLOCK = 4_000_000  # kernel values worked on at once


class _Slopes(NamedTuple):
    """Derivatives of ``kᵀα`` and ``k(x, x) - 2 kᵀW`` with W held, (n, d, 2), and the slopes of k, (d, n, N)."""

    first: FloatArray
    second: FloatArray | None = None
    slopes: FloatArray | None = None


class _Process(NamedTuple):
    """A fitted process, the steps in front of it, the columns that vary, and the order of the derivatives.

    `terms` is the closed form of the kernel; `matrix` holds the inputs' slopes by these columns, (d, m).
    """

    steps: Any
    gp: Any
    columns: list[int]
    order: int
    terms: list[KernelTerm]
    matrix: FloatArray


def process_of(model: Any) -> tuple[Any, Any] | None:
    """Return the steps of a model and the fitted process of one output behind them, or None for another kind."""
    steps, gp = unwrap(model)
    fitted = class_names(gp)[0] == "sklearn.GaussianProcessRegressor" and hasattr(gp, "X_train_")
    return (steps, gp) if fitted and np.size(gp.alpha_) == len(gp.X_train_) else None


def units_of(gp: Any) -> tuple[float, float]:
    """Return what a process multiplies by, and then adds, to come back to units of y.

    What `normalize_y` took off has no public name; were it gone, comparisons with the model's own would fail.
    """
    unit, shift = getattr(gp, "_y_train_std", 1.0), getattr(gp, "_y_train_mean", 0.0)
    return float(np.ravel(unit)[0]), float(np.ravel(shift)[0])


def gp_derivatives(model: Any, X: Table, order: int) -> Derivatives | None:
    """Return derivatives of mean and variance by the columns of `X`, or None for another model or kernel.

    Columns that hold no floats or do not vary have derivatives of NaN.
    """
    fitted = process_of(model)
    if fitted is None:
        return None
    steps, gp = fitted
    floats = [
        j for j in range(X.shape[1]) if not isinstance(X, pd.DataFrame) or pd.api.types.is_float_dtype(X.dtypes.iloc[j])
    ]
    try:
        process = _process(steps, gp, [j for j in floats if spread(numbers(X, j)) > 0], order, X)
        if process is None:
            return None
        blocks = [_block(process, take_rows(X, rows)) for rows in _slices(process, len(X))]
    except ValueError:  # an encoder refuses values it has not met; the model's own differences say so
        return None
    *parts, solved = zip(*blocks, strict=True)
    values, first, second = (None if arrays[0] is None else np.concatenate(arrays) for arrays in parts)
    found = Derivatives(cast("FloatArray", values), cast("FloatArray", first), second, EXACT)
    bends = partial(_bends, process, X, np.concatenate(solved)) if len(X) * len(gp.X_train_) <= _BLOCK else None
    return found._replace(bends=bends)


def _slices(process: _Process, n: int) -> Iterator[slice]:
    """Yield the rows in blocks of about `_BLOCK` kernel values."""
    each = 5 if process.order == 1 else 2 * len(process.matrix[0]) + 5
    step = max(1, _BLOCK // (len(process.gp.X_train_) * each))
    return (slice(start, start + step) for start in range(0, n, step))


def _process(steps: Any, gp: Any, columns: list[int], order: int, X: Table) -> _Process | None:
    """Return the process; None if its kernel has no closed form or a column does not pass the steps affinely."""
    inner = dense(transform(steps, X))
    terms = None if inner is None or not columns else terms_of(gp.kernel_, inner.shape[1])
    if terms is None or inner is None:
        return None
    matrix = affine_slopes(steps, X, inner)[columns]
    return _Process(steps, gp, columns, order, terms, matrix) if np.isfinite(matrix).all() else None


def _block(process: _Process, X: Table) -> tuple[FloatArray | None, ...]:
    """Return values, first and second derivatives, and ``K⁻¹k``."""
    gp, inner, alpha = process.gp, np.asarray(dense(transform(process.steps, X))), np.ravel(process.gp.alpha_)
    rates = [term.rates(inner, gp.X_train_, process.order) for term in process.terms]
    K = values(process.terms, rates, constant_of(gp.kernel_)) if rates else gp.kernel_(inner, gp.X_train_)
    V = solve_triangular(gp.L_, K.T, lower=True, check_finite=False)
    W = solve_triangular(gp.L_, V, lower=True, trans=1, check_finite=False).T
    found = _closed(process, inner, rates, W)
    parameters = np.column_stack([K @ alpha, gp.kernel_.diag(inner) - np.einsum("ij,ij->j", V, V)])
    second = None if found.second is None else _settled(gp, found.second, np.asarray(found.slopes))
    unit, shift = units_of(gp)
    units, d = np.array([unit, unit**2]), X.shape[1]
    first, bends = (
        None if part is None else _placed(part * units, process.columns, d) for part in (found.first, second)
    )
    return parameters * units + np.array([shift, 0.0]), first, bends, W


def _settled(gp: Any, second: FloatArray, slope: FloatArray) -> FloatArray:
    """Return the second derivatives less what W itself moves, ``2 (∂k)ᵀ K⁻¹ ∂k``."""
    half = solve_triangular(gp.L_, slope.reshape(-1, slope.shape[2]).T, lower=True, check_finite=False)
    half = half.T.reshape(slope.shape).swapaxes(0, 1)
    second[..., 1] -= 2 * half @ half.swapaxes(1, 2)
    return second


def _closed(process: _Process, inner: FloatArray, rates: list[Rates], W: FloatArray) -> _Slopes:
    """Return the derivatives by the closed form of the kernel."""
    terms, T, matrix, alpha = process.terms, process.gp.X_train_, process.matrix, np.ravel(process.gp.alpha_)
    gradients = gradient(terms, rates, alpha, inner, T), -2 * gradient(terms, rates, W, inner, T)
    first = np.stack([part @ matrix.T for part in gradients], axis=-1)
    return _Slopes(first) if process.order == 1 else _Slopes(first, *_bent(process, inner, rates, W))


def _bent(process: _Process, inner: FloatArray, rates: list[Rates], W: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the second derivatives with W held, (n, d, d, 2), and the slopes of k, (d, n, N)."""
    terms, T, matrix, alpha = process.terms, process.gp.X_train_, process.matrix, np.ravel(process.gp.alpha_)
    hessians = hessian(terms, rates, alpha, inner, T), -2 * hessian(terms, rates, W, inner, T)
    second = np.stack([matrix @ part @ matrix.T for part in hessians], axis=-1)
    return second, np.tensordot(matrix, slopes(terms, rates, inner, T), axes=1)


def _bends(process: _Process, X: Table, W: FloatArray, rows: IntArray, columns: IntArray) -> FloatArray:
    """Return second derivatives of some rows by some columns, with what the first ones solved for."""
    among = [process.columns.index(column) for column in columns]
    part, unit = process._replace(order=2, matrix=process.matrix[among]), units_of(process.gp)[0]
    second = []
    for at in (rows[block] for block in _slices(part, len(rows))):
        inner = np.asarray(dense(transform(part.steps, take_rows(X, at))))
        rates = [term.rates(inner, part.gp.X_train_, 2) for term in part.terms]
        second.append(_settled(part.gp, *_bent(part, inner, rates, W[at])))
    return np.concatenate(second) * np.array([unit, unit**2])


def _placed(part: FloatArray, columns: list[int], d: int) -> FloatArray:
    """Return derivatives by some columns among those by all, NaN by the others."""
    axes = part.ndim - 2
    among = np.full((len(part), *[d] * axes, part.shape[-1]), np.nan)
    among[np.ix_(range(len(part)), *[columns] * axes, range(part.shape[-1]))] = part
    return among
