"""Derivatives of a Gaussian process by differences of its kernel alone.

With k = k(x, T) the mean is ``kᵀα`` and the variance ``k(x, x) - kᵀK⁻¹k`` (Rasmussen & Williams 2006, section 2.2), so
a row needs one solve, ``W = K⁻¹k``, for all its steps, where differences of predictions need one for each.
"""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import numpy as np
import pandas as pd
from scipy.linalg import solve_triangular

from ...core.adapter import class_names
from ...core.arrays import FloatArray, Table, take_rows
from ...core.derivatives import Derivatives, Predict, finite_differences, numbers, spread
from .sklearn_ import transform, unwrap

METHOD = "central differences of the kernel"
_BLOCK = 4_000_000  # kernel values worked on at once


class _Parameters(NamedTuple):
    """What `finite_differences` asks of a distribution."""

    parameters: FloatArray


def gp_derivatives(model: Any, X: Table, order: int) -> Derivatives | None:
    """Return derivatives of mean and variance by the columns of `X`, or None for a model of another kind.

    Columns that hold no floats or do not vary have derivatives of NaN.
    """
    steps, gp = unwrap(model)
    fitted = class_names(gp)[0] == "sklearn.GaussianProcessRegressor" and hasattr(gp, "X_train_")
    if not fitted or np.size(gp.alpha_) != len(gp.X_train_):  # the process of several outputs
        return None
    floats = [
        j for j in range(X.shape[1]) if not isinstance(X, pd.DataFrame) or pd.api.types.is_float_dtype(X.dtypes.iloc[j])
    ]
    spreads = {j: size for j in floats if (size := spread(numbers(X, j))) > 0}
    step = max(1, _BLOCK // (len(gp.X_train_) * (4 * len(spreads) + 1)))
    slices = (slice(start, start + step) for start in range(0, len(X), step))
    try:
        blocks = [_block(steps, gp, take_rows(X, rows), spreads, order) for rows in slices]
    except ValueError:  # an encoder refuses values it has not met; the model's own differences say so
        return None
    values, first, second, error, second_error = (
        None if arrays[0] is None else np.concatenate(arrays) for arrays in zip(*blocks, strict=True)
    )
    return Derivatives(cast("FloatArray", values), cast("FloatArray", first), second, METHOD, None, error, second_error)


def _block(steps: Any, gp: Any, X: Table, spreads: dict[int, float], order: int) -> tuple[FloatArray | None, ...]:
    """Return values, first and second derivatives and the errors of both."""
    alpha, columns, sizes = np.ravel(gp.alpha_), list(spreads), np.array(list(spreads.values()))
    unmoved = transform(steps, X)
    K = gp.kernel_(unmoved, gp.X_train_)
    V = solve_triangular(gp.L_, K.T, lower=True, check_finite=False)
    W = solve_triangular(gp.L_, V, lower=True, trans=1, check_finite=False).T

    def frozen(rows: Table) -> _Parameters:
        """Return kᵀα and k(x, x) - 2 kᵀW: with W of the unmoved row their slopes are those of mean and variance."""
        inner = transform(steps, rows)
        k, fixed = gp.kernel_(inner, gp.X_train_), np.repeat(W, len(rows) // len(W), axis=0)
        return _Parameters(np.column_stack([k @ alpha, gp.kernel_.diag(inner) - 2 * np.einsum("ij,ij->i", k, fixed)]))

    parts = finite_differences(X, columns, sizes, cast("Predict", frozen), order)
    values = np.column_stack([K @ alpha, gp.kernel_.diag(unmoved) - np.einsum("ij,ij->j", V, V)])
    second = parts.second
    if second is not None:  # what W itself moves: -2 (∂k)ᵀ K⁻¹ ∂k
        kernel = cast("Predict", lambda rows: _Parameters(gp.kernel_(transform(steps, rows), gp.X_train_)))
        slopes = finite_differences(X, columns, sizes, kernel).first
        half = solve_triangular(gp.L_, slopes.reshape(-1, len(alpha)).T, lower=True, check_finite=False)
        half = half.T.reshape(slopes.shape)
        second = second - np.stack([np.zeros((len(X), *2 * half.shape[1:2])), 2 * half @ half.swapaxes(1, 2)], axis=-1)
    # what normalize_y took off has no public name; were it gone, the engine's proof would fail, and differences serve
    unit = float(np.ravel(getattr(gp, "_y_train_std", 1.0))[0])
    shift = float(np.ravel(getattr(gp, "_y_train_mean", 0.0))[0])
    units, d = np.array([unit, unit**2]), X.shape[1]
    first, bends, errors, bend_errors = (
        None if part is None else _placed(part * units, columns, d)
        for part in (parts.first, second, parts.error, parts.second_error)
    )
    return values * units + np.array([shift, 0.0]), first, bends, errors, bend_errors


def _placed(part: FloatArray, columns: list[int], d: int) -> FloatArray:
    """Return derivatives by some columns among those by all, NaN by the others."""
    axes = part.ndim - 2
    among = np.full((len(part), *[d] * axes, part.shape[-1]), np.nan)
    among[np.ix_(range(len(part)), *[columns] * axes, range(part.shape[-1]))] = part
    return among
