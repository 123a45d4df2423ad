"""The log-normal distribution."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import log_ndtr, ndtr, ndtri

from ...core.support.arrays import AnyArray, FloatArray
from ..numerics.numeric import score_of
from ..numerics.validate import levels
from .normal import Normal, log_density
from .of_logarithm import OfLogarithm, log_of


class LogNormal(OfLogarithm):
    """n distributions of y > 0 whose logarithm is normal.

    Parameters
    ----------
    mu, sigma : float or array of shape (n,)
        Mean and standard deviation of log y, not of y; sigma greater than 0.

    Examples
    --------
    >>> LogNormal([0.0, 1.0], 1.0).entropy().round(4)
    array([1.4189, 2.4189])
    """

    family = "log-normal"
    by_row = ("mu", "sigma")
    above_zero = ("sigma",)
    parametrisation = ("mu", "sigma2")
    mu: FloatArray
    sigma: FloatArray

    def __init__(self, mu: Any, sigma: Any) -> None:
        self.hold(mu=mu, sigma=sigma)

    def mean(self) -> FloatArray:
        """Return exp(mu + sigma²/2)."""
        with np.errstate(over="ignore"):  # then it is beyond the largest float
            return np.exp(self.mu + np.square(self.sigma) / 2)

    def variance(self) -> FloatArray:
        """Return (exp(sigma²) - 1) exp(2 mu + sigma²)."""
        with np.errstate(over="ignore"):
            return np.expm1(np.square(self.sigma)) * np.exp(2 * self.mu + np.square(self.sigma))

    def entropy(self) -> FloatArray:
        """Return mu + 1/2 + log(2 pi sigma²) / 2."""
        return self.mu + self.logarithm().entropy()

    def log_prob(self, y: AnyArray) -> FloatArray:
        """Return the log density at y; -inf at y <= 0."""
        log_y, inside = log_of(y)
        return np.where(inside, log_density((log_y - self.mu) / self.sigma, self.sigma) - log_y, -np.inf)

    def cdf(self, y: AnyArray) -> FloatArray:
        """Return Phi((log y - mu) / sigma)."""
        log_y, inside = log_of(y)
        return np.where(inside, ndtr((log_y - self.mu) / self.sigma), 0.0)

    def log_survival(self, y: AnyArray) -> FloatArray:
        """Return log Phi((mu - log y) / sigma)."""
        log_y, inside = log_of(y)
        return np.where(inside, log_ndtr((self.mu - log_y) / self.sigma), 0.0)

    def quantile(self, p: AnyArray) -> FloatArray:
        """Return the quantiles, shape (n, L)."""
        with np.errstate(over="ignore"):
            z = ndtri(levels("log_normal.quantile.p", p))
            return np.asarray(np.exp(self.mu[:, None] + self.sigma[:, None] * z))

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw `size` values from each, shape (size, n)."""
        return rng.lognormal(self.mu, self.sigma, (size, len(self)))

    def crps(self, y: AnyArray) -> FloatArray:
        """Return the score in closed form (Baran & Lerch 2015)."""
        log_y, inside = log_of(y)
        mean, z = self.mean(), (log_y - self.mu) / self.sigma
        cdf, partial = (np.where(inside, ndtr(at), 0.0) for at in (z, z - self.sigma))
        return score_of(y, cdf, mean, mean * partial, mean * (2 * ndtr(self.sigma / np.sqrt(2)) - 1))

    def logarithm(self) -> Normal:
        """Return the normal distributions of log y."""
        return Normal(self.mu, self.sigma)
