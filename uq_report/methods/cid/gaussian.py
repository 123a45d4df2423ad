"""Covered information of one fitted normal: exact, vectorised over rows and features, no bins; a Gaussian copula."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri
from scipy.stats import rankdata

from ...core.arrays import FloatArray
from ...core.errors import InputError
from .columns import Data
from .cover import normal_log_p, related_by_correlation
from .precision import Inverter, partial_correlations
from .terms import Estimate, LogProbability, Terms

TITLE = "Gaussian copula"


def copula_estimate(data: Data, inverter: Inverter, doubts: tuple[str, ...], *, half: bool) -> Estimate:
    """Return the terms of the normal of all columns' normal scores."""
    Z = normal_scores(np.column_stack([data.numbers, np.asarray(data.y, dtype=float)]))
    precision, facts = inverter(Z)
    notes = [f"Gaussian copula: columns mapped to normal quantiles by mid-ranks; {facts['graph']}.", *doubts]
    if half:
        notes.append(
            "Half of every pair potential is used, for comparison with published figures; it is not the definition."
        )
    return Estimate(
        data.features,
        (half_potential_terms if half else gaussian_terms)(Z, precision),
        TITLE,
        partial_correlations(precision),
        gaussian_log_p(Z, precision),
        normal_log_p(np.asarray(np.linalg.inv(precision), dtype=float), np.arange(len(precision) + 1)),
        related_by_correlation(Z[:, :-1], data.units),
        tuple(notes),
        facts,
    )


def normal_scores(X: FloatArray) -> FloatArray:
    """Return each column mapped to normal quantiles by its mid-ranks, the Gaussian copula's transform."""
    n = len(X)
    scores: FloatArray = ndtri((rankdata(X, method="average", axis=0) - 0.5) / n)
    spread = scores.std(axis=0)
    if (spread == 0).any():
        constant = np.flatnonzero(spread == 0).tolist()
        raise InputError(f"cid.X must have no constant column; got columns {constant}. Leave them out.")
    return scores / spread


def gaussian_terms(Z: FloatArray, precision: FloatArray) -> Terms:
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
    return Terms(mutual, _pointwise(a, b, -p_iy / np.sqrt(p_ii * p_yy)))


def gaussian_log_p(Z: FloatArray, precision: FloatArray) -> LogProbability:
    """Return log p(y | x_S) of the rows by the normal of this precision, y in the last column, for any features S."""
    covariance = _inverse(precision)

    def log_p(chosen: tuple[int, ...]) -> FloatArray:
        at = list(chosen)
        slopes = np.linalg.solve(covariance[np.ix_(at, at)], covariance[at, -1])
        variance = covariance[-1, -1] - covariance[at, -1] @ slopes
        residual = Z[:, -1] - Z[:, at] @ slopes
        value: FloatArray = -0.5 * (np.log(2 * np.pi * variance) + residual**2 / variance)
        return value

    return log_p


def half_potential_terms(Z: FloatArray, precision: FloatArray) -> Terms:
    """Return the terms with half of every pair potential in the conditional part, for comparison only.

    Published figures rest on ``exp(-T_ij x_i x_j / 2)`` as the whole potential of a pair, which is
    the conditional term of the normal whose off-diagonal precision is halved, beside the mutual
    information of the whole covariance. The definition has the whole potential: `gaussian_terms`.
    """
    halved = (precision + np.diag(np.diag(precision))) / 2
    return Terms(gaussian_terms(Z, precision).mutual, gaussian_terms(Z, halved).conditional)


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
    inverse: FloatArray = root.T @ root
    return inverse
