"""Exact derivatives of models whose parameters are a known function of scores: linear ones and perceptrons."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, softmax

from ...core.arrays import FloatArray
from ...core.derivatives import Derivatives

_BLOCK = 10_000_000  # numbers in the second derivatives of a layer worked on at once


class Scores(NamedTuple):
    """Values (n, k) with first (n, d, k) and second (n, d, d, k) derivatives; None for second ones that are 0."""

    value: FloatArray
    first: FloatArray
    second: FloatArray | None = None


def bayesian_linear(model: Any, X: FloatArray, order: int) -> Derivatives | None:
    """Return derivatives of mean w·x and variance x'Σx + 1/α of BayesianRidge and ARDRegression."""
    n, d = X.shape
    sigma = np.zeros((d, d))
    kept = np.ones(d, dtype=bool)
    if np.ndim(model.lambda_):  # ARD: one precision per coefficient, those above the threshold pruned
        kept = np.asarray(model.lambda_ < model.threshold_lambda)
    sigma[np.ix_(kept, kept)] = model.sigma_
    away = X - np.asarray(getattr(model, "X_offset_", 0.0))
    variance = np.einsum("nd,de,ne->n", away, sigma, away) + 1 / model.alpha_
    values = np.stack([X @ model.coef_ + model.intercept_, variance], axis=1)
    first = np.stack([np.broadcast_to(model.coef_, (n, d)), 2 * away @ sigma], axis=2)
    if order == 1:
        return Derivatives(values, first)
    second = np.zeros((n, d, d, 2))
    second[..., 1] = 2 * sigma
    return Derivatives(values, first, second)


def linear_classes(model: Any, X: FloatArray, order: int) -> Derivatives | None:
    """Return derivatives of the probabilities of a logistic regression or linear discriminant analysis."""
    return _probabilities(_linear(X, np.atleast_2d(model.coef_), np.ravel(model.intercept_)), order)


def log_linear(model: Any, X: FloatArray, order: int) -> Derivatives | None:
    """Return derivatives of the rate exp(w·x + b)."""
    z = _linear(X, np.atleast_2d(model.coef_), np.ravel(model.intercept_))
    rate = np.exp(z.value)
    first = rate[:, None] * z.first
    second = rate[:, None, None] * z.first[:, :, None] * z.first[:, None] if order == 2 else None
    return Derivatives(rate, first, second)


def perceptron(model: Any, X: FloatArray, order: int) -> Derivatives | None:
    """Return derivatives of the probabilities of an MLPClassifier, layer by layer."""
    if model.out_activation_ not in ("logistic", "softmax") or (
        model.out_activation_ == "logistic" and model.n_outputs_ > 1
    ):
        return None
    d, width = X.shape[1], max(len(b) for b in model.intercepts_)
    step = max(1, _BLOCK // (width * d ** (order - 1) * d))
    parts = [_probabilities(_layers(model, X[i : i + step], order), order) for i in range(0, len(X), step)]
    return stacked(parts)


def stacked(parts: Sequence[Derivatives]) -> Derivatives:
    """Return the derivatives of blocks of rows below each other."""
    second = None if parts[0].second is None else np.concatenate([np.asarray(part.second) for part in parts])
    values, first = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
    return Derivatives(values, first, second)


def _two(part: FloatArray) -> FloatArray:
    """Return one score as the second of two, the first being 0."""
    return np.concatenate([np.zeros_like(part), part], axis=-1)


def _linear(X: FloatArray, coef: FloatArray, intercept: FloatArray) -> Scores:
    return Scores(X @ coef.T + intercept, np.broadcast_to(coef.T, (len(X), *coef.T.shape)))


def _layers(model: Any, X: FloatArray, order: int) -> Scores:
    z = _linear(X, model.coefs_[0].T, model.intercepts_[0])
    for weights, bias in zip(model.coefs_[1:], model.intercepts_[1:], strict=True):
        a = _activated(z, model.activation, order)
        z = Scores(a.value @ weights + bias, a.first @ weights, None if a.second is None else a.second @ weights)
    return z


def _activated(z: Scores, activation: str, order: int) -> Scores:
    """Return f(z): f' z', and f'' z' z' + f' z''. The bend of relu is 0 but at its kink."""
    if activation == "identity":
        return z
    if activation == "relu":
        value, one = np.maximum(z.value, 0), (z.value > 0).astype(float)
        two = None
    elif activation == "tanh":
        value = np.tanh(z.value)
        one = 1 - np.square(value)
        two = -2 * value * one
    else:
        value = expit(z.value)
        one = value * (1 - value)
        two = one * (1 - 2 * value)
    first = one[:, None] * z.first
    if order == 1:
        return Scores(value, first)
    second = None if z.second is None else one[:, None, None] * z.second
    if two is not None:
        bent = (two[:, None] * z.first)[:, :, None] * z.first[:, None]
        second = bent if second is None else second + bent
    return Scores(value, first, second)


def _probabilities(z: Scores, order: int) -> Derivatives:
    """Return derivatives of softmax(z), or of (1 - p, p) with p = expit(z) for one score.

    With centred derivatives c = z' - Σ p z': p' = p c and p'' = p [c c + z'' - Σ p (z'' + c c)].
    """
    if z.value.shape[1] == 1:
        bent = None if z.second is None else _two(z.second)
        z = Scores(_two(z.value), _two(z.first), bent)
    p = softmax(z.value, axis=1)
    centred = z.first - np.einsum("nk,ndk->nd", p, z.first)[..., None]
    first = p[:, None] * centred
    if order == 1:
        return Derivatives(p, first)
    inner = centred[:, :, None] * centred[:, None]
    if z.second is not None:
        inner += z.second
    inner -= np.einsum("nk,ndek->nde", p, inner)[..., None]
    return Derivatives(p, first, p[:, None, None] * inner)
