"""The Weibull distribution."""

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from scipy.special import betainc, gamma, gammainc, gammaln, ndtr, xlogy

from ...core.support.arrays import AnyArray, BoolArray, FloatArray
from ...core.support.errors import UnsupportedError
from ...core.validation.lifetimes import expected_lifetimes
from ..numerics.numeric import Parametric, score_of
from ..numerics.validate import Rowwise, levels
from .gamma import ShapeScale, symmetric
from .laplace import Logistic
from .normal import Normal


class Lifetimes(Rowwise):
    """n distributions of the time of an event, of which y may say no more than that it is later.

    `horizon` is the last time of which they say something. `log_prob`, `expected_nll` and `pit_bounds` take y as times
    with events (`core.lifetimes.LIFETIME`); `cdf` takes plain times.
    """

    censored = True
    horizon = float("inf")

    @property
    def usual_loss(self) -> str:
        """The negative log-likelihood, which reads a censored row as what it is."""
        return "nll"

    def encode(self, y: Any) -> AnyArray:
        """Return times with events; refuse plain times."""
        return expected_lifetimes(self.family, y)

    @abstractmethod
    def cumulative_hazard(self, time: AnyArray) -> FloatArray:
        """Return the number of events expected of each row up to a time per row, while it is at risk, shape (n,)."""

    def why_not(self, method: str) -> str:
        """Say why `method` cannot answer."""
        if method == "crps":
            return "crps is no proper score of censored outcomes (Rindt et al. 2022); use nll"
        return super().why_not(method)


class OfLogarithm(Parametric):
    """n distributions of y > 0: divergences and Fisher information are those of log y, whatever the map."""

    within = (0.0, np.inf)

    @abstractmethod
    def logarithm(self) -> Any:
        """Return the distributions of log y."""

    def kl(self, other: Self) -> FloatArray:
        """Return that of the logarithms."""
        return np.asarray(self.logarithm().kl(other.logarithm()))

    def renyi_half(self, other: Self) -> FloatArray:
        """Return that of the logarithms."""
        return np.asarray(self.logarithm().renyi_half(other.logarithm()))

    @property
    def parameters(self) -> FloatArray:
        """Those of the logarithms, shape (n, 2)."""
        return np.asarray(self.logarithm().parameters)

    def fisher_information(self) -> FloatArray:
        """Return that of the logarithms, shape (n, 2, 2)."""
        return np.asarray(self.logarithm().fisher_information())

    def entropy(self) -> FloatArray:
        """Return that of the logarithm plus its mean."""
        own = self.logarithm()
        return np.asarray(own.mean() + own.entropy())

    def log_prob(self, y: AnyArray) -> FloatArray:
        """Return the log density at y; -inf at y <= 0."""
        log_y, inside = log_of(y)
        return np.where(inside, self.logarithm().log_prob(log_y) - log_y, -np.inf)

    def cdf(self, y: AnyArray) -> FloatArray:
        """Return P(log Y <= log y)."""
        log_y, inside = log_of(y)
        return np.where(inside, self.logarithm().cdf(log_y), 0.0)

    def log_survival(self, y: AnyArray) -> FloatArray:
        """Return log P(log Y > log y)."""
        log_y, inside = log_of(y)
        return np.where(inside, self.logarithm().log_survival(log_y), 0.0)

    def quantile(self, p: AnyArray) -> FloatArray:
        """Return the quantiles, shape (n, L)."""
        with np.errstate(over="ignore"):  # then it is beyond the largest float
            return np.exp(self.logarithm().quantile(p))

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw `size` values from each, shape (size, n)."""
        with np.errstate(over="ignore"):
            return np.exp(self.logarithm().sample(rng, size))


def log_of(y: AnyArray) -> tuple[FloatArray, BoolArray]:
    """Return log y, 0 where y <= 0, and where y > 0."""
    inside = np.asarray(y) > 0
    return np.log(np.where(inside, y, 1.0)), inside


class LogLogistic(OfLogarithm):
    """n distributions of y > 0 whose logarithm is logistic, with P(Y > y) = 1 / (1 + (y / scale)^shape).

    Parameters
    ----------
    scale : float or array of shape (n,)
        The median, greater than 0.
    shape : float or array of shape (n,)
        Greater than 0. The mean is infinite up to 1, the variance up to 2.

    Examples
    --------
    >>> LogLogistic([1.0, 2.0], 2.0).mean().round(4)
    array([1.5708, 3.1416])
    """

    family = "log-logistic"
    by_row = above_zero = ("scale", "shape")
    parametrisation = ("mu", "s")
    scale: FloatArray
    shape: FloatArray

    def __init__(self, scale: Any, shape: Any) -> None:
        self.hold(scale=scale, shape=shape)

    def mean(self) -> FloatArray:
        """Return scale * b / sin(b) with b = π / shape; infinite where shape <= 1."""
        return np.where(self.shape > 1, self.scale * _moment(np.pi / self.shape), np.inf)

    def variance(self) -> FloatArray:
        """Return scale² [2b / sin(2b) - b² / sin(b)²]; infinite where shape <= 2."""
        b = np.pi / self.shape
        return np.where(self.shape > 2, np.square(self.scale) * (_moment(2 * b) - np.square(_moment(b))), np.inf)

    def crps(self, y: AnyArray) -> FloatArray:
        """Return the score of Jordan, Krüger & Lerch 2019, appendix A; needs shape > 1 on every row."""
        few = int((self.shape <= 1).sum())
        if few:
            raise UnsupportedError(f"log_logistic.crps needs a shape above 1; got less on {few} rows.")
        cdf, mean, s = self.cdf(y), self.mean(), 1 / self.shape
        return score_of(y, cdf, mean, mean * betainc(1 + s, 1 - s, cdf), mean * s)

    def logarithm(self) -> Logistic:
        """Return the logistic distributions of log y."""
        return Logistic(np.log(self.scale), 1 / self.shape)


def _moment(b: FloatArray) -> FloatArray:
    """Return b / sin(b) of 0 < b < π, 1 elsewhere."""
    inside = (b > 0) & (b < np.pi)
    return np.where(inside, b / np.sin(np.where(inside, b, 1.0)), 1.0)


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

    def crps(self, y: AnyArray) -> FloatArray:
        """Return the score in closed form (Baran & Lerch 2015)."""
        log_y, inside = log_of(y)
        mean, z = self.mean(), (log_y - self.mu) / self.sigma
        cdf, partial = (np.where(inside, ndtr(at), 0.0) for at in (z, z - self.sigma))
        return score_of(y, cdf, mean, mean * partial, mean * (2 * ndtr(self.sigma / np.sqrt(2)) - 1))

    def logarithm(self) -> Normal:
        """Return the normal distributions of log y."""
        return Normal(self.mu, self.sigma)


class Weibull(ShapeScale):
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
    parametrisation = ("k", "lambda")

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
