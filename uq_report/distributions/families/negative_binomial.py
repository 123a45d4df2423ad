"""The negative binomial distribution."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import betaincc, betaln, hyp2f1

from ...core.support.arrays import AnyArray, FloatArray, IntArray
from ..numerics.numeric import Parametric, score_of
from ..numerics.totals import LEVELS, OF_CDF, cdf_at, half_gini, total
from .normal import diagonal

_LARGE = 1000.0  # of r: hypergeometric series then lose digits


class NegativeBinomial(Parametric):
    """n negative binomial distributions of counts.

    Parameters
    ----------
    mean : float or array of shape (n,)
        m, greater than 0.
    size : float or array of shape (n,)
        r, greater than 0; the variance is m + m²/r. In terms of a dispersion alpha, r = 1 / alpha.

    Notes
    -----
    Entropy, divergences and scores are sums, with 1e-12 of the mass left out at either end.

    Examples
    --------
    >>> NegativeBinomial([1.0], [2.0]).entropy().round(4)
    array([1.3725])
    """

    family = "negative binomial"
    by_row = above_zero = ("average", "size")
    within = (0.0, np.inf)
    discrete = True
    parametrisation = ("m", "r")
    average: FloatArray
    size: FloatArray

    def __init__(self, mean: Any, size: Any) -> None:
        self.hold(average=mean, size=size)

    def mean(self) -> FloatArray:
        """Return m."""
        return self.average

    def variance(self) -> FloatArray:
        """Return m + m²/r."""
        return self.average * (1 + self.average / self.size)

    def log_prob(self, y: AnyArray) -> FloatArray:
        """Return the log probability of counts y."""
        m, r, count = self.average, self.size, np.maximum(y, 0.0)
        choices = -betaln(r, count + 1) - np.log(count + r)
        value = choices - r * np.log1p(m / r) - count * np.log1p(r / m)
        return np.where(np.asarray(y) < 0, -np.inf, value)

    def cdf(self, y: AnyArray) -> FloatArray:
        """Return P(Y <= y), also for y that are no counts."""
        count = np.floor(y)
        share = self.average / (self.average + self.size)
        return np.where(count < 0, 0.0, betaincc(np.maximum(count, 0.0) + 1, self.size, share))

    def sample(self, rng: np.random.Generator, size: int) -> IntArray:
        """Draw `size` counts from each, shape (size, n): Poisson of gamma rates."""
        return rng.poisson(rng.gamma(self.size, self.average / self.size, (size, len(self))))

    def crps(self, y: AnyArray) -> FloatArray:
        """Return the score in closed form (Wei & Held 2014); half of E|Y - Y'| is a sum from r = 1000 on.

        With x = m / r it is m (1 + x) 2F1(r + 1, 1/2; 2; -4x (1 + x)), here by Pfaff's transformation.
        """
        m, r = self.average, self.size
        partial = m * betaincc(np.maximum(np.floor(y), 1.0), r + 1, m / (m + r)) * (np.asarray(y) >= 1)
        x, large = m / r, np.flatnonzero(r >= _LARGE)
        small = np.minimum(r, _LARGE)
        gini = m * (1 + x) / (1 + 2 * x) * hyp2f1(1 - small, 0.5, 2, 4 * x * (1 + x) / np.square(1 + 2 * x))
        if len(large):
            gini[large] = half_gini(self.take(large))
        return score_of(y, self.cdf(y), m, partial, gini)

    def fisher_information(self) -> FloatArray:
        """Return diag(r / [m (m + r)], Σ_y P(Y > y) / (r + y)² - m / [r (r + m)]), shape (n, 2, 2)."""
        m, r = self.average, self.size
        edges = np.floor(np.hstack([np.zeros((len(m), 1)), self.quantile(LEVELS)]))

        def terms(rows: IntArray, y: FloatArray) -> FloatArray:
            return (1 - cdf_at(self, rows, y)) / np.square(r[rows, None] + y)

        of_size = total(edges, terms, discrete=True, halvings=OF_CDF) - m / (r * (r + m))
        return diagonal(r / (m * (m + r)), np.maximum(of_size, 0.0))

    def about(self) -> tuple[FloatArray, FloatArray]:
        """Return the mean, rounded down, and the standard deviation, rounded up."""
        return np.maximum(np.floor(self.average), 0.0), np.ceil(np.sqrt(self.variance()))
