"""Exact derivatives of the mean and variance of a fitted Gaussian process regressor of scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from ...core.arrays import FloatArray
from ...core.derivatives import Derivatives
from .kernel_jets import Jet, NoRule, curvature, diagonal, gradient, jet, slope_along
from .score_derivatives import stacked

_BLOCK = 4_000_000  # numbers in the (rows, training points) arrays worked on at once


def gaussian_process(model: Any, X: FloatArray, order: int) -> Derivatives | None:
    """Return derivatives of (mean, variance) by the columns of `X`, or None for a kernel without a rule.

    With k = k(x, T), ``mean = kᵀα`` and ``variance = k(x, x) - kᵀK⁻¹k``, so with W = K⁻¹k the gradients are
    ``(∂k)ᵀα`` and ``∂k(x, x) - 2 (∂k)ᵀW`` (Rasmussen & Williams 2006, section 9.4): one more triangular
    solve than a prediction, and two products with the training points.
    """
    if not hasattr(model, "X_train_") or np.size(model.alpha_) != len(model.X_train_):  # unfitted, or several outputs
        return None
    held = 1 if order == 1 else X.shape[1]
    step = max(1, _BLOCK // (len(model.X_train_) * held))
    try:
        return stacked([_block(model, X[start : start + step], order) for start in range(0, len(X), step)])
    except NoRule:
        return None


def _block(model: Any, X: FloatArray, order: int) -> Derivatives:
    T, L, alpha = np.asarray(model.X_train_, dtype=float), model.L_, np.ravel(model.alpha_)
    # what normalize_y took off has no public name
    scale, shift = (float(np.ravel(part)[0]) for part in (model._y_train_std, model._y_train_mean))  # noqa: SLF001
    found = jet(model.kernel_, X, T, order)
    K = np.broadcast_to(found.value, (len(X), len(T)))
    prior, prior_slope, prior_bend = diagonal(model.kernel_, X)
    V = solve_triangular(L, K.T, lower=True, check_finite=False)
    variance = prior - np.einsum("in,in->n", V, V)
    W = solve_triangular(L, V, lower=True, trans=1, overwrite_b=True, check_finite=False).T
    T1 = np.column_stack([T, np.ones(len(T))])
    slopes = gradient(found, X, T1, alpha), prior_slope - 2 * gradient(found, X, T1, W)
    values, first = _scaled((K @ alpha, variance), scale), _scaled(slopes, scale)
    values[:, 0] += shift
    if order == 1:
        return Derivatives(values, first)
    quadratic = _quadratic(found, X, T, L)
    bends = curvature(found, X, T, alpha), prior_bend - 2 * (quadratic + curvature(found, X, T, W))
    return Derivatives(values, first, _scaled(bends, scale))


def _quadratic(found: Jet, X: FloatArray, T: FloatArray, L: FloatArray) -> FloatArray:
    """Return (∂_d k)ᵀ K⁻¹ (∂_e k), shape (n, d, d)."""
    n, d = X.shape
    half = [solve_triangular(L, slope_along(found, X, T, e).T, lower=True, check_finite=False) for e in range(d)]
    total = np.empty((n, d, d))
    for e in range(d):
        for f in range(e + 1):
            total[:, e, f] = total[:, f, e] = np.einsum("in,in->n", half[e], half[f])
    return total


def _scaled(parts: tuple[FloatArray, FloatArray], scale: float) -> FloatArray:
    """Return the mean's and the variance's part in units of y, side by side on the last axis."""
    return np.stack([parts[0] * scale, parts[1] * scale**2], axis=-1)
