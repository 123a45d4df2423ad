"""Covered information about a class from numeric features: X | Y = c ~ N(mu_c, S) or N(mu_c, S_c), closed form."""

from __future__ import annotations

import numpy as np
from scipy.special import log_softmax, logsumexp

from ...core.arrays import FloatArray, IntArray
from .terms import OutcomeGiven, Terms


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
    one = np.empty((k, n, d))  # log p(x_i | c)
    full = np.empty((k, n))  # log p(x, c)
    rest = np.empty((k, n, d))  # log p(u, c)
    for c in range(k):
        centred = X - means[c]
        variance = np.diag(np.linalg.inv(precisions[c]))
        one[c] = -0.5 * (centred**2 / variance + np.log(variance))
        gradient = centred @ precisions[c]
        diagonal = np.diag(precisions[c])
        full[c] = 0.5 * (np.linalg.slogdet(precisions[c])[1] - (gradient * centred).sum(axis=1)) + log_prior[c]
        rest[c] = full[c][:, None] + gradient**2 / (2 * diagonal) - 0.5 * np.log(diagonal)
    mutual = one[y, rows] - logsumexp(one + log_prior[:, None, None], axis=0)
    given_all = full[y, rows] - logsumexp(full, axis=0)
    given_rest = rest[y, rows] - logsumexp(rest, axis=0)
    return Terms(mutual, given_all[:, None] - given_rest)


def mixed_given(
    X: FloatArray, y: IntArray, log_prior: FloatArray, means: FloatArray, precision: FloatArray
) -> OutcomeGiven:
    """Return log p(y | x_S) of the rows for any features S, of normals that share one precision."""
    covariance = np.linalg.inv(precision)
    rows = np.arange(len(X))

    def given(chosen: tuple[int, ...]) -> FloatArray:
        at = list(chosen)
        slopes = np.linalg.solve(covariance[np.ix_(at, at)], means[:, at].T)
        scores = X[:, at] @ slopes - 0.5 * (means[:, at] * slopes.T).sum(axis=1) + log_prior
        value: FloatArray = log_softmax(scores, axis=1)[rows, y]
        return value

    return given
