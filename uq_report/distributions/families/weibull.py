"""The Weibull distribution."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.special import gamma, gammainc, gammaln, xlogy

from ...core.support.arrays import AnyArray, FloatArray
from ..numerics.numeric import Parametric, score_of
from ..numerics.validate import levels
from .gamma import symmetric


class Weibull(Parametric):
    """n Weibull distributions of y > 0, with P(Y > y) = exp(-(y / scale)^shape).

    Parameters
    ----------
    shape, scale : float or array of shape (n,)
        Greater than 0.

    Examples
    --------
    >>> Weibull([1.0, 2.0], 1.0).mean().round(4)
    array([1.    , 0.8862])
    """

    family = "Weibull"
    by_row = above_zero = ("shape", "scale")
    within = (0.0, np.inf)
    parametrisation = ("k", "lambda")
    shape: FloatArray
    scale: FloatArray

    def __init__(self, shape: Any, scale: Any) -> None:
        self.hold(shape=shape, scale=scale)

    def mean(self) -> FloatArray:
        """Return lambda Γ(1 + 1/k)."""
        return np.asarray(self.scale * gamma(1 + 1 / self.shape))

    def variance(self) -> FloatArray:
        """Return lambda² [Γ(1 + 2/k) - Γ(1 + 1/k)²]."""
        first, second = gammaln(1 + 1 / self.shape), gammaln(1 + 2 / self.shape)
        with np.errstate(over="ignore"):  # then it is beyond the largest float
            return np.asarray(np.square(self.scale) * np.exp(2 * first) * np.expm1(second - 2 * first))

    def entropy(self) -> FloatArray:
        """Return γ (1 - 1/k) + log(lambda / k) + 1."""
        return np.euler_gamma * (1 - 1 / self.shape) + np.log(self.scale) - np.log(self.shape) + 1

    def log_prob(self, y: AnyArray) -> FloatArray:
        """Return the log density at y; -inf at y < 0, its limit at 0."""
        z, k = np.asarray(y) / self.scale, self.shape
        inside = np.maximum(z, 0.0)
        with np.errstate(over="ignore"):
            density = np.log(k) - np.log(self.scale) + xlogy(k - 1, inside) - inside**k
        return np.where(z < 0, -np.inf, density)

    def cdf(self, y: AnyArray) -> FloatArray:
        """Return 1 - exp(-(y / lambda)^k)."""
        return -np.expm1(-self._cumulated(y))

    def log_survival(self, y: AnyArray) -> FloatArray:
        """Return -(y / lambda)^k."""
        return -self._cumulated(y)

    def quantile(self, p: AnyArray) -> FloatArray:
        """Return lambda (-log(1 - p))^(1/k), shape (n, L)."""
        unit = -np.log1p(-levels("weibull.quantile.p", p))
        with np.errstate(over="ignore"):
            return np.asarray(self.scale[:, None] * unit ** (1 / self.shape[:, None]))

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw `size` values from each, shape (size, n)."""
        return self.scale * rng.weibull(self.shape, (size, len(self)))

    def crps(self, y: AnyArray) -> FloatArray:
        """Return the score in closed form, with E|Y - Y'| / 2 = E[Y] (1 - 2^(-1/k))."""
        mean, exponent = self.mean(), 1 / self.shape
        partial = mean * gammainc(1 + exponent, self._cumulated(y))
        return score_of(y, self.cdf(y), mean, partial, -mean * np.expm1(-exponent * np.log(2)))

    def kl(self, other: Self) -> FloatArray:
        """Return the divergence in closed form (Bauckhage 2013, arXiv:1310.3713).

        With r = k_q / k_p, s = (lambda_p / lambda_q)^k_q: -log r - log s + γ (r - 1) + s Γ(1 + r) - 1.
        """
        ratio = other.shape / self.shape
        log_s = other.shape * np.log(self.scale / other.scale)
        with np.errstate(over="ignore"):
            last = np.exp(log_s + gammaln(1 + ratio))
        return np.maximum(-np.log(ratio) - log_s + np.euler_gamma * (ratio - 1) + last - 1, 0.0)

    def fisher_information(self) -> FloatArray:
        """Return [[(π²/6 + (1 - γ)²)/k², -(1 - γ)/lambda], [., k²/lambda²]], shape (n, 2, 2)."""
        k, scale, rest = self.shape, self.scale, 1 - np.euler_gamma
        return symmetric((np.pi**2 / 6 + rest**2) / np.square(k), -rest / scale, np.square(k / scale))

    def _cumulated(self, y: AnyArray) -> FloatArray:
        """Return (y / lambda)^k, 0 below 0."""
        with np.errstate(over="ignore"):
            return np.asarray(np.maximum(np.asarray(y) / self.scale, 0.0) ** self.shape)
