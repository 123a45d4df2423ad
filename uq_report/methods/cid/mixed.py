"""Covered information about a class from numeric features: X | Y = c ~ N(mu_c, S) or N(mu_c, S_c), closed form."""

from __future__ import annotations

import numpy as np
from scipy.special import log_softmax, logsumexp

from ...core.arrays import FloatArray, IntArray
from .columns import Data, UnfitError, listed
from .cover import related_by_correlation, with_indicators
from .gaussian import normal_scores
from .precision import Inverter, partial_correlations
from .terms import Estimate, LogProbability, Terms

TITLE = "conditional Gaussian"


def mixed_estimate(data: Data, inverter: Inverter, doubts: tuple[str, ...]) -> Estimate:
    """Return the terms of one normal per class with a shared covariance, that within the classes."""
    X, features = data.numbers, data.features
    codes = np.unique(np.asarray(data.y, dtype=np.int64), return_inverse=True)[1]
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    means = np.stack([Z[codes == c].mean(axis=0) for c in range(codes.max() + 1)])
    within = Z - means[codes]
    scale = within.std(axis=0)
    if (scale < 1e-9).any():
        constant = listed([f for f, s in zip(features, scale, strict=True) if s < 1e-9])
        message = f"cid.X must vary within classes; got {constant} constant in each. It equals y: drop it."
        raise UnfitError(message, f"{constant} does not vary within the classes of y")
    precision, facts = inverter(within / scale)
    log_prior = np.log(np.bincount(codes) / len(codes))
    links = np.zeros((len(features) + 1,) * 2)
    links[:-1, :-1] = partial_correlations(precision)
    return Estimate(
        features,
        mixed_terms(Z / scale, codes, log_prior, means / scale, np.repeat(precision[None], len(means), axis=0)),
        TITLE,
        links,
        mixed_log_p(Z / scale, codes, log_prior, means / scale, precision),
        with_indicators(Z, codes[:, None]),
        related_by_correlation(normal_scores(X), data.units),
        (f"Conditional Gaussian: one normal per class with a shared covariance; {facts['graph']}.", *doubts),
        facts,
    )


def mixed_terms(X: FloatArray, y: IntArray, log_prior: FloatArray, means: FloatArray, precisions: FloatArray) -> Terms:
    """Return the pointwise information of each feature about the class, in nats.

    Parameters
    ----------
    X : ndarray (n, d)
    y : ndarray of int (n,)
        Class positions.
    log_prior : ndarray (k,)
    means : ndarray (k, d)
    precisions : ndarray (k, d, d)
        One matrix per class; equal ones for a shared covariance.

    Notes
    -----
    ``i(x_i; y) = log p(x_i | y) - log sum_c pi_c p(x_i | c)`` and
    ``i(x_i; y | u) = log p(y | x) - log p(y | u)``. With g = S_c^-1 (x - mu_c), the normal left
    without x_i has ``log p(u | c) = log p(x | c) + g_i² / (2 T_ii) - log(T_ii) / 2 + const``, so one
    product per class serves all features.
    """
    n, d = X.shape
    rows = np.arange(n)
    k = len(log_prior)
    single = np.empty((k, n, d))  # log p(x_i | c)
    full = np.empty((k, n))  # log p(x, c)
    rest = np.empty((k, n, d))  # log p(u, c)
    for c in range(k):
        centred = X - means[c]
        variance = np.diag(np.linalg.inv(precisions[c]))
        single[c] = -0.5 * (centred**2 / variance + np.log(variance))
        gradient = centred @ precisions[c]
        diagonal = np.diag(precisions[c])
        full[c] = 0.5 * (np.linalg.slogdet(precisions[c])[1] - (gradient * centred).sum(axis=1)) + log_prior[c]
        rest[c] = full[c][:, None] + gradient**2 / (2 * diagonal) - 0.5 * np.log(diagonal)
    mutual = single[y, rows] - logsumexp(single + log_prior[:, None, None], axis=0)
    of_all = full[y, rows] - logsumexp(full, axis=0)
    of_rest = rest[y, rows] - logsumexp(rest, axis=0)
    return Terms(mutual, of_all[:, None] - of_rest)


def mixed_log_p(
    X: FloatArray, y: IntArray, log_prior: FloatArray, means: FloatArray, precision: FloatArray
) -> LogProbability:
    """Return log p(y | x_S) of the rows for any features S, of normals that share one precision."""
    covariance = np.linalg.inv(precision)
    rows = np.arange(len(X))

    def log_p(chosen: tuple[int, ...]) -> FloatArray:
        at = list(chosen)
        slopes = np.linalg.solve(covariance[np.ix_(at, at)], means[:, at].T)
        scores = X[:, at] @ slopes - 0.5 * (means[:, at] * slopes.T).sum(axis=1) + log_prior
        value: FloatArray = log_softmax(scores, axis=1)[rows, y]
        return value

    return log_p
