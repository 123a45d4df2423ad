"""Covered information of fitted normals, exact and without bins: of a Gaussian copula, or one normal per class."""

from __future__ import annotations

import numpy as np
from scipy.special import log_softmax, logsumexp, ndtri

from ...core.support.arrays import FloatArray, IntArray
from ...core.support.errors import InputError
from ...core.support.limits import check_limits
from ..shared.blocks import blocks
from .cover import normal_log_p, related_by_correlation, with_indicators
from .precision import Inverter, partial_correlations
from .terms import Data, InformationEstimate, InformationTerms, LogProbability, UnfitError, listed

COPULA, MIXED = "Gaussian copula", "conditional Gaussian"
CELLS = 200_000  # logarithms of densities that are summed over classes at a time


def copula_estimate(data: Data, inverter: Inverter, doubts: tuple[str, ...], *, half: bool) -> InformationEstimate:
    """Return the terms of the normal of all columns' normal scores."""
    Z = normal_scores(np.column_stack([data.numbers, np.asarray(data.y, dtype=float)]))
    precision, facts = inverter(Z)
    notes = [f"Gaussian copula: columns mapped to normal quantiles by mid-ranks; {facts['graph']}.", *doubts]
    if half:
        notes.append(
            "Half of every pair potential is used, for comparison with published figures; it is not the definition."
        )
    return InformationEstimate(
        data.features,
        (half_potential_terms if half else gaussian_terms)(Z, precision),
        COPULA,
        partial_correlations(precision),
        gaussian_log_p(Z, precision),
        normal_log_p(np.asarray(np.linalg.inv(precision), dtype=float), np.arange(len(precision) + 1)),
        related_by_correlation(Z[:, :-1], data.units),
        tuple(notes),
        facts,
    )


def normal_scores(X: FloatArray) -> FloatArray:
    """Return each column, which must vary, mapped to normal quantiles by its mid-ranks: a Gaussian copula's scores."""
    from scipy.stats import rankdata  # here: heavy, and a list of plugins ranks nothing

    scores: FloatArray = ndtri((rankdata(X, method="average", axis=0) - 0.5) / len(X))
    return scores / scores.std(axis=0)


def gaussian_terms(Z: FloatArray, precision: FloatArray) -> InformationTerms:
    """Return the pointwise information of each column of `Z` but the last about the last, in nats.

    Parameters
    ----------
    Z : ndarray (n, d + 1)
        Centred rows, the target in the last column.
    precision : ndarray (d + 1, d + 1)
        Symmetric positive definite. Both terms come from this one normal: the covariance is its
        inverse, not the second matrix a graphical lasso returns.

    Notes
    -----
    With a, b standardised and correlation r, ``i(a, b) = -log(1 - r²)/2 + (2 r a b - r² (a² + b²)) / (2 (1 - r²))``.
    The marginal term has r = corr(x_i, y). The conditional one has the residuals of (x_i, y) given
    the rest and r = -T_iy / sqrt(T_ii T_yy): with v - m those residuals, (T z)_{i,y} = P (v - m) for
    the 2 x 2 block P of the precision T, so one product Z T serves all features.

    Examples
    --------
    >>> terms = gaussian_terms(np.array([[1.0, 1.0]]), np.linalg.inv(np.array([[1.0, 0.5], [0.5, 1.0]])))
    >>> bool(np.isclose(terms.mutual[0, 0], terms.conditional[0, 0]))      # nothing to condition on
    True
    """
    covariance = _inverse(precision)
    scale = np.sqrt(np.diag(covariance))
    standard = Z / scale
    marginal = covariance[:-1, -1] / (scale[:-1] * scale[-1])
    mutual = _pointwise(standard[:, :-1], standard[:, -1:], marginal)

    d = np.diag(precision)
    shift = Z @ precision
    p_ii, p_yy, p_iy = d[:-1], d[-1], precision[:-1, -1]
    determinant = p_ii * p_yy - p_iy**2
    # Residuals P^-1 (T z) over their own standard deviations, sqrt of the diagonal of P^-1.
    a = (p_yy * shift[:, :-1] - p_iy * shift[:, -1:]) / np.sqrt(determinant * p_yy)
    b = (p_ii * shift[:, -1:] - p_iy * shift[:, :-1]) / np.sqrt(determinant * p_ii)
    return InformationTerms(mutual, _pointwise(a, b, -p_iy / np.sqrt(p_ii * p_yy)))


def gaussian_log_p(Z: FloatArray, precision: FloatArray) -> LogProbability:
    """Return log p(y | x_S) of the rows by the normal of this precision, y in the last column, for any features S."""
    covariance = _inverse(precision)

    def log_p(chosen: tuple[int, ...]) -> FloatArray:
        at = list(chosen)
        slopes = np.linalg.solve(covariance[np.ix_(at, at)], covariance[at, -1])
        variance = covariance[-1, -1] - covariance[at, -1] @ slopes
        residual = Z[:, -1] - Z[:, at] @ slopes
        return np.asarray(-0.5 * (np.log(2 * np.pi * variance) + residual**2 / variance))

    return log_p


def half_potential_terms(Z: FloatArray, precision: FloatArray) -> InformationTerms:
    """Return the terms with half of every pair potential in the conditional part, for comparison only.

    Published figures rest on ``exp(-T_ij x_i x_j / 2)`` as the whole potential of a pair, which is
    the conditional term of the normal whose off-diagonal precision is halved, beside the mutual
    information of the whole covariance. The definition has the whole potential: `gaussian_terms`.
    """
    halved = (precision + np.diag(np.diag(precision))) / 2
    return InformationTerms(gaussian_terms(Z, precision).mutual, gaussian_terms(Z, halved).conditional)


def _pointwise(a: FloatArray, b: FloatArray, r: FloatArray) -> FloatArray:
    rest = 1 - r**2
    return -0.5 * np.log(rest) + (2 * r * a * b - r**2 * (a**2 + b**2)) / (2 * rest)


def _inverse(precision: FloatArray) -> FloatArray:
    """Return the inverse of a symmetric positive definite matrix; refuse any other."""
    try:
        factor = np.linalg.cholesky(precision)
    except np.linalg.LinAlgError as error:
        raise InputError(
            "cid.precision must be symmetric positive definite; got a matrix that is not. "
            "Choose a larger penalty, or leave out collinear columns."
        ) from error
    root = np.linalg.solve(factor, np.eye(len(precision)))
    return np.asarray(root.T @ root)


def mixed_estimate(data: Data, inverter: Inverter, doubts: tuple[str, ...]) -> InformationEstimate:
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
    return InformationEstimate(
        features,
        mixed_terms(Z / scale, codes, log_prior, means / scale, np.repeat(precision[None], len(means), axis=0)),
        MIXED,
        links,
        mixed_log_p(Z / scale, codes, log_prior, means / scale, precision),
        with_indicators(Z, codes[:, None]),
        related_by_correlation(normal_scores(X), data.units),
        (f"Conditional Gaussian: one normal per class with a shared covariance; {facts['graph']}.", *doubts),
        facts,
    )


def mixed_terms(
    X: FloatArray, y: IntArray, log_prior: FloatArray, means: FloatArray, precisions: FloatArray
) -> InformationTerms:
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
        check_limits()
        centred = X - means[c]
        variance = np.diag(np.linalg.inv(precisions[c]))
        single[c] = -0.5 * (centred**2 / variance + np.log(variance))
        gradient = centred @ precisions[c]
        diagonal = np.diag(precisions[c])
        full[c] = 0.5 * (np.linalg.slogdet(precisions[c])[1] - (gradient * centred).sum(axis=1)) + log_prior[c]
        rest[c] = full[c][:, None] + gradient**2 / (2 * diagonal) - 0.5 * np.log(diagonal)
    of_all = full[y, rows] - logsumexp(full, axis=0)
    return InformationTerms(_against_all(single, y, log_prior), of_all[:, None] - _against_all(rest, y, np.zeros(k)))


def _against_all(logs: FloatArray, y: IntArray, log_weights: FloatArray) -> FloatArray:
    """Return what logarithms, shape (k, n, d), are for each row's class, less those of all classes, weighted."""
    n, found, start = len(y), [], 0
    for size in blocks(n, len(log_weights) * logs.shape[2], CELLS):
        part = np.arange(start, start + size)
        weighted = logs[:, start : start + size] + log_weights[:, None, None]
        found.append(logs[y[part], part] - logsumexp(weighted, axis=0))
        start += size
    return np.concatenate(found)


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
        return np.asarray(log_softmax(scores, axis=1)[rows, y])

    return log_p
