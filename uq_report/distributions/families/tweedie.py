"""Tweedie distributions with a power between 1 and 2: a mass at 0, and a density above it."""

from typing import Any, Self

import numpy as np

from ...core.support.arrays import AnyArray, FloatArray
from ...core.support.errors import InputError, UnsupportedError
from ..numerics.numeric import WHOLE, inverse
from ..numerics.validate import Rowwise, levels, numbers, refuse, same_length, vector
from . import tweedie_series as series
from .normal import diagonal

_MOST = 1e6  # expected summands


class Tweedie(Rowwise):
    """n Tweedie distributions: sums of a Poisson number of gamma variables.

    The Poisson mean is mu^(2-p) / (phi (2-p)), the shape of one gamma is (2-p) / (p-1) and its scale
    phi (p-1) mu^(p-1). ``log_prob`` at 0 is the log probability of 0, above it a log density; entropy, divergences
    and nll are with respect to the sum of both measures.

    Parameters
    ----------
    mean : array of shape (n,)
        mu, greater than 0.
    dispersion : float or array of shape (n,)
        phi, greater than 0: the variance is phi mu^p.
    power : float
        p, between 1 and 2, the same for all rows.

    References
    ----------
    Dunn & Smyth 2005, Series evaluation of Tweedie exponential dispersion model densities,
    doi:10.1007/s11222-005-4070-y.

    Examples
    --------
    >>> q = Tweedie([1.0, 4.0], 2.0, 1.5)
    >>> q.variance(), q.log_prob(np.array([0.0, 3.0])).round(4)
    (array([ 2., 16.]), array([-1.    , -2.2562]))
    """

    family = "Tweedie"
    supports = WHOLE
    parametrisation = ("mu",)
    by_row = ("mu", "dispersion")

    def __init__(self, mean: Any, dispersion: Any, power: float) -> None:
        self.mu = vector("tweedie.mean", mean)
        self.dispersion = same_length("tweedie.dispersion", dispersion, len(self.mu))
        if np.ndim(power) or not 1 < numbers("tweedie.power", power) < 2:
            raise InputError(
                f"tweedie.power must be one number between 1 and 2; got {power!r}. Use Poisson for 1, Gamma for 2."
            )
        self.power = float(power)
        refuse("tweedie.mean", "greater than 0", self.mu, self.mu <= 0, "Use a log link.")
        bad = self.dispersion <= 0
        refuse("tweedie.dispersion", "greater than 0", self.dispersion, bad, "Estimate it from training rows.")
        least = self.mu ** (2 - self.power) / ((2 - self.power) * _MOST)
        allowed = "at least mean^(2-power) / ((2-power) 1e6)"
        refuse(
            "tweedie.dispersion", allowed, self.dispersion, self.dispersion < least, "Use Normal for so small a one."
        )

    @property
    def rate(self) -> FloatArray:
        """The expected number of summands, shape (n,); the probability of 0 is exp(-rate)."""
        return np.asarray(self.mu ** (2 - self.power) / (self.dispersion * (2 - self.power)))

    @property
    def shape(self) -> float:
        """The shape of one summand."""
        return (2 - self.power) / (self.power - 1)

    @property
    def scale(self) -> FloatArray:
        """The scale of one summand, shape (n,)."""
        return np.asarray(self.dispersion * (self.power - 1) * self.mu ** (self.power - 1))

    def encode(self, y: Any) -> FloatArray:
        """Return y as floats; refuse what is negative."""
        values: FloatArray = super().encode(y)
        refuse("tweedie.y", ">= 0", values, ~(values >= 0), "Use another model for such a target.")
        return values

    def mean(self) -> FloatArray:
        """Return mu."""
        return self.mu

    def variance(self) -> FloatArray:
        """Return phi mu^p."""
        return np.asarray(self.dispersion * self.mu**self.power)

    def entropy(self) -> FloatArray:
        """Return the entropy with respect to a unit mass at 0 and length above it, to 1e-9 nats."""
        return np.asarray(series.entropy(self.rate, self.shape) - np.expm1(-self.rate) * np.log(self.scale))

    def log_prob(self, y: AnyArray) -> FloatArray:
        """Return the log probability of 0, the log density above, -inf below."""
        y, rate = np.asarray(y, dtype=float), self.rate
        result, above = np.where(y == 0, -rate, -np.inf), y > 0
        log_scale = np.log(self.scale[above])
        result[above] = series.log_density(rate[above], self.shape, np.log(y[above]) - log_scale) - log_scale
        return result

    def cdf(self, y: AnyArray) -> FloatArray:
        """Return P(Y <= y)."""
        y = np.asarray(y, dtype=float)
        return np.where(y < 0, 0.0, series.cdf(self.rate, self.shape, np.maximum(y, 0.0) / self.scale))

    def quantile(self, p: AnyArray) -> FloatArray:
        """Return the smallest y with P(Y <= y) >= p, shape (n, L); 0 up to the probability of 0."""
        level = levels("tweedie.quantile.p", p)
        many, target = self.take(np.repeat(np.arange(len(self)), len(level))), np.tile(level, len(self))
        mean, spread = many.rate * self.shape, np.sqrt(many.rate * self.shape * (1 + self.shape))
        top = many.scale * (mean + 40 * spread + 40 - np.log1p(-target))
        return inverse(many, target, np.zeros(len(target)), top).reshape(len(self), len(level))

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw `size` values from each, shape (size, n)."""
        count = rng.poisson(self.rate, (size, len(self)))
        return np.asarray(rng.standard_gamma(count * self.shape) * self.scale)

    def crps(self, y: AnyArray) -> FloatArray:
        """Return E|Y - y| - E|Y - Y'| / 2, both by series (Gneiting & Raftery 2007, eq. 21)."""
        rate, alpha, scale = self.rate, self.shape, self.scale
        s = np.asarray(y, dtype=float) / scale
        distance = s * (2 * series.cdf(rate, alpha, s) - 1) + rate * alpha - 2 * series.mean_below(rate, alpha, s)
        return np.asarray(scale * (distance - series.mean_difference(rate, alpha) / 2))

    def kl(self, other: Self) -> FloatArray:
        """Return the deviance of the means over 2 phi; both need one power and dispersion."""
        self._need_same(other, "kl")
        r, p = np.log(other.mu / self.mu), self.power
        gap = np.expm1((2 - p) * r) / (2 - p) - np.expm1((1 - p) * r) / (1 - p)
        return np.asarray(np.maximum(gap, 0.0) * self.mu ** (2 - p) / self.dispersion)

    def renyi_half(self, other: Self) -> FloatArray:
        """Return [k(a) + k(b) - 2 k((a+b)/2)] / phi of the natural parameters, k their cumulant function."""
        self._need_same(other, "renyi_half")
        a, b = self.mu ** (1 - self.power), other.mu ** (1 - self.power)
        apart = a**-self.shape + b**-self.shape - 2 * ((a + b) / 2) ** -self.shape
        return np.asarray(np.maximum(apart, 0.0) / ((2 - self.power) * self.dispersion))

    @property
    def parameters(self) -> FloatArray:
        """The means, shape (n, 1)."""
        return self.mu[:, None]

    def fisher_information(self) -> FloatArray:
        """Return 1 / (phi mu^p), shape (n, 1, 1)."""
        return diagonal(1 / self.variance())

    def _need_same(self, other: Self, method: str) -> None:
        if self.power != other.power or not np.array_equal(self.dispersion, other.dispersion):
            raise UnsupportedError(f"tweedie.{method} needs two distributions of one power and dispersion.")
