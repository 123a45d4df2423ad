"""Exact derivatives of class probabilities that are a known function of scores: linear classifiers, perceptrons.

Differences cannot replace them here: a kink of relu is a jump of the slope, which second differences take for
an enormous curvature.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from pandas.api.types import is_float_dtype
from scipy.special import expit, softmax

from ...core.model.adapter import class_names
from ...core.model.derivatives import Derivatives, numbers, spread
from ...core.model.variants import Variant, variant_rows
from ...core.support.arrays import ColumnLookup, FloatArray, Table
from .sklearn_ import transform, unwrap


def dense(values: Any) -> FloatArray | None:
    """Return transformed rows as a dense array of floats, or None if they hold anything else."""
    try:
        return np.array(values.toarray() if hasattr(values, "toarray") else values, dtype=float)
    except (TypeError, ValueError):
        return None


def affine_slopes(steps: Sequence[Any], X: Table, rows: FloatArray) -> FloatArray:
    """Return the change of the transformed `rows` per unit of each column, NaN where it is no constant."""
    if not steps:
        return np.eye(X.shape[1])
    matrix = np.full((X.shape[1], rows.shape[1]), np.nan)
    for j in range(len(matrix)):
        if not isinstance(X, pd.DataFrame) or is_float_dtype(X.dtypes.iloc[j]):
            matrix[j] = _slopes(steps, X, rows, j)
    return matrix


def _slopes(steps: Sequence[Any], X: Table, rows: FloatArray, column: int) -> FloatArray | float:
    """Return the change of the rows per unit of one column; NaN where it is no constant, or the steps refuse it."""
    own = numbers(X, column)
    # an affine step changes alike over any distance, so a whole standard deviation loses no digits
    far, present = spread(own) or 1.0, np.isfinite(own)
    moves = [Variant((column,), (own + h,)) for h in (far, -far)]
    try:
        moved = dense(transform(steps, variant_rows(X, moves, ColumnLookup(X))))
    except ValueError:  # an encoder refuses values it has not met
        moved = None
    if moved is None:
        return np.nan
    ahead, behind = moved.reshape(len(X), 2, -1).swapaxes(0, 1)
    changes = np.stack([ahead - rows, rows - behind])[:, present]
    change = changes.mean(axis=(0, 1))
    rounding = 1e-9 * (np.abs(rows[present]).max(axis=0) + np.abs(change))
    return change / far if (np.abs(changes - change) <= rounding).all() else np.nan


_LINEAR = ("sklearn.LogisticRegression", "sklearn.LogisticRegressionCV", "sklearn.LinearDiscriminantAnalysis")
_BLOCK = 10_000_000  # numbers in the second derivatives of a layer worked on at once


class ScoreDerivatives(NamedTuple):
    """Values (n, k) with first (n, d, k) and second (n, d, d, k) derivatives; None for second ones that are 0."""

    value: FloatArray
    first: FloatArray
    second: FloatArray | None = None


def class_derivatives(model: Any, X: Table, order: int) -> Derivatives | None:
    """Return derivatives of the class probabilities by the columns of `X`, or None for a model of another kind.

    Columns that do not enter affinely through the steps before the final estimator have derivatives of NaN. A
    subclass may predict in another way and is of another kind.
    """
    steps, final = unwrap(model)
    layers = _layers(final)
    rows = None if layers is None else dense(transform(steps, X))
    if layers is None or rows is None:
        return None
    matrix, width = affine_slopes(steps, X, rows), max(len(bias) for _, bias in layers)
    step = max(1, _BLOCK // (width * len(matrix) ** order))
    activation = getattr(final, "activation", "identity")
    blocks = (rows[start : start + step] for start in range(0, len(rows), step))
    parts = [_probabilities(_scores(block, matrix, layers, activation, order), order) for block in blocks]
    values, first, *second = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return Derivatives(values, first, second[0] if second else None)


def _layers(final: Any) -> Sequence[tuple[FloatArray, FloatArray]] | None:
    """Return weights and biases by layer, the last one with a score for each class."""
    name = class_names(final)[0]
    if name in _LINEAR:
        before, weights, bias = [], np.atleast_2d(final.coef_).T, np.ravel(final.intercept_)
    elif name == "sklearn.MLPClassifier" and (final.out_activation_ != "logistic" or final.n_outputs_ == 1):
        *before, (weights, bias) = zip(final.coefs_, final.intercepts_, strict=True)
    else:
        return None
    if len(bias) == 1:  # the score of the second of two classes, that of the first being 0
        weights, bias = np.pad(weights, ((0, 0), (1, 0))), np.pad(bias, (1, 0))
    return [*before, (weights, bias)]


def _scores(
    X: FloatArray, matrix: FloatArray, layers: Sequence[tuple[FloatArray, FloatArray]], activation: str, order: int
) -> ScoreDerivatives:
    """Return the last layer's scores with their derivatives by the inputs of `matrix`."""
    weights, bias = layers[0]
    slopes = matrix @ weights
    z = ScoreDerivatives(X @ weights + bias, np.broadcast_to(slopes, (len(X), *slopes.shape)))
    for weights, bias in layers[1:]:
        a = _activated(z, activation, order)
        z = ScoreDerivatives(
            a.value @ weights + bias, a.first @ weights, None if a.second is None else a.second @ weights
        )
    return z


def _activated(z: ScoreDerivatives, activation: str, order: int) -> ScoreDerivatives:
    """Return f(z): f' z', and f'' z' z' + f' z''. The bend of relu is 0 but at its kink."""
    if activation == "identity":
        return z
    if activation == "relu":
        value, slope = np.maximum(z.value, 0), (z.value > 0).astype(float)
        bend = None
    elif activation == "tanh":
        value = np.tanh(z.value)
        slope = 1 - np.square(value)
        bend = -2 * value * slope
    else:
        value = expit(z.value)
        slope = value * (1 - value)
        bend = slope * (1 - 2 * value)
    first = slope[:, None] * z.first
    if order == 1:
        return ScoreDerivatives(value, first)
    second = None if z.second is None else slope[:, None, None] * z.second
    if bend is not None:
        bent = (bend[:, None] * z.first)[:, :, None] * z.first[:, None]
        second = bent if second is None else second + bent
    return ScoreDerivatives(value, first, second)


def _probabilities(z: ScoreDerivatives, order: int) -> tuple[FloatArray, ...]:
    """Return p = softmax(z) and its derivatives up to `order`.

    With centred derivatives c = z' - Σ p z': p' = p c and p'' = p [c c + z'' - Σ p (z'' + c c)].
    """
    p = softmax(z.value, axis=1)
    centred = z.first - np.einsum("nk,ndk->nd", p, z.first)[..., None]
    first = p[:, None] * centred
    if order == 1:
        return p, first
    inner = centred[:, :, None] * centred[:, None]
    if z.second is not None:
        inner += z.second
    inner -= np.einsum("nk,ndek->nde", p, inner)[..., None]
    return p, first, p[:, None, None] * inner
