"""The Laplace distribution."""

from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import erf, erfinv, expit, log_expit, logit, ndtri

from ...core.support.arrays import AnyArray, FloatArray
from ..numerics.numeric import Parametric, score_of
from ..numerics.validate import levels, who
from .normal import LOG_2PI, Normal, diagonal


class LocationScale(Parametric):
    """n distributions of loc + scale Z, where Z has a density that is symmetric around 0."""

    by_row = ("loc", "scale")
    above_zero = ("scale",)
    information: ClassVar[tuple[float, float]]  # Fisher's, of the location and the scale of Z

    loc: FloatArray
    scale: FloatArray

    def __init__(self, loc: Any, scale: Any) -> None:
        self.hold(loc=loc, scale=scale)

    @abstractmethod
    def unit_quantile(self, p: FloatArray) -> FloatArray:
        """Return the quantiles of Z."""

    def mean(self) -> FloatArray:
        """Return the location."""
        return self.loc

    def quantile(self, p: AnyArray) -> FloatArray:
        """Return the quantiles, shape (n, L)."""
        unit = self.unit_quantile(levels(f"{who(self)}.quantile.p", p))
        return np.asarray(self.loc[:, None] + self.scale[:, None] * unit)

    def fisher_information(self) -> FloatArray:
        """Return that of Z over the squared scale, shape (n, 2, 2)."""
        return diagonal(*(number / np.square(self.scale) for number in self.information))


class Laplace(LocationScale):
    """n Laplace (double exponential) distributions.

    Parameters
    ----------
    loc : float or array of shape (n,)
    scale : float or array of shape (n,)
        b, greater than 0; the standard deviation is √2 b.

    Examples
    --------
    >>> Laplace([0.0], 1.0).entropy().round(4)
    array([1.6931])
    """

    family = "Laplace"
    parametrisation = ("mu", "b")
    information = (1.0, 1.0)

    def unit_quantile(self, p: FloatArray) -> FloatArray:
        """Return log 2p below the median, -log 2(1 - p) above."""
        return np.where(p < 0.5, np.log(2 * p), -np.log(2) - np.log1p(-p))

    def variance(self) -> FloatArray:
        """Return 2 b²."""
        return 2 * np.square(self.scale)

    def entropy(self) -> FloatArray:
        """Return 1 + log 2b."""
        return 1 + np.log(2) + np.log(self.scale)

    def log_prob(self, y: AnyArray) -> FloatArray:
        """Return the log density at y."""
        return np.asarray(-np.abs(y - self.loc) / self.scale - np.log(2) - np.log(self.scale))

    def cdf(self, y: AnyArray) -> FloatArray:
        """Return P(Y <= y)."""
        z = (y - self.loc) / self.scale
        tail = np.exp(-np.abs(z)) / 2
        return np.where(z < 0, tail, 1 - tail)

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw `size` values from each, shape (size, n)."""
        return rng.laplace(self.loc, self.scale, (size, len(self)))

    def crps(self, y: AnyArray) -> FloatArray:
        """Return b [|z| + exp(-|z|) - 3/4] (Jordan, Krüger & Lerch 2019, appendix A)."""
        z = np.abs(y - self.loc) / self.scale
        return np.asarray(self.scale * (z + np.expm1(-z) + 0.25))

    def kl(self, other: Self) -> FloatArray:
        """Return log(b_q / b_p) + [b_p exp(-d / b_p) + d] / b_q - 1 with d the distance of the places."""
        apart = np.abs(self.loc - other.loc) / self.scale
        ratio = self.scale / other.scale
        near = apart + np.expm1(-apart)
        return np.maximum(ratio - 1 - np.log(ratio), 0.0) + ratio * near


class Logistic(LocationScale):
    """n logistic distributions of a number; for classes see `Categorical`.

    Parameters
    ----------
    loc : float or array of shape (n,)
    scale : float or array of shape (n,)
        s, greater than 0; the standard deviation is π s / √3.

    Examples
    --------
    >>> Logistic([0.0, 1.0], 1.0).entropy()
    array([2., 2.])
    """

    family = "logistic"
    parametrisation = ("mu", "s")
    information = (1 / 3, (3 + np.pi**2) / 9)

    def unit_quantile(self, p: FloatArray) -> FloatArray:
        """Return log(p / (1 - p))."""
        return np.asarray(logit(p))

    def log_survival(self, y: AnyArray) -> FloatArray:
        """Return -log(1 + exp((y - mu) / s))."""
        return np.asarray(log_expit((self.loc - y) / self.scale))

    def variance(self) -> FloatArray:
        """Return π² s² / 3."""
        return np.square(np.pi * self.scale) / 3

    def entropy(self) -> FloatArray:
        """Return 2 + log s."""
        return 2 + np.log(self.scale)

    def log_prob(self, y: AnyArray) -> FloatArray:
        """Return the log density at y."""
        z = np.abs(y - self.loc) / self.scale
        return np.asarray(-z - 2 * np.log1p(np.exp(-z)) - np.log(self.scale))

    def cdf(self, y: AnyArray) -> FloatArray:
        """Return P(Y <= y)."""
        return np.asarray(expit((y - self.loc) / self.scale))

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw `size` values from each, shape (size, n)."""
        return rng.logistic(self.loc, self.scale, (size, len(self)))

    def crps(self, y: AnyArray) -> FloatArray:
        """Return s [z - 2 log F(z) - 1] (Jordan, Krüger & Lerch 2019, appendix A)."""
        z = np.abs(y - self.loc) / self.scale
        return np.asarray(self.scale * (z + 2 * np.log1p(np.exp(-z)) - 1))


class HalfNormal(Parametric):
    """n distributions of the absolute value of a normal with mean 0.

    Parameters
    ----------
    scale : float or array of shape (n,)
        Standard deviation sigma of that normal, greater than 0.

    Examples
    --------
    >>> HalfNormal([1.0]).mean().round(4)
    array([0.7979])
    """

    family = "half-normal"
    by_row = above_zero = ("scale",)
    within = (0.0, np.inf)
    parametrisation = ("sigma",)
    scale: FloatArray

    def __init__(self, scale: Any) -> None:
        self.hold(scale=scale)

    def mean(self) -> FloatArray:
        """Return sigma √(2/π)."""
        return self.scale * np.sqrt(2 / np.pi)

    def variance(self) -> FloatArray:
        """Return sigma² (1 - 2/π)."""
        return np.square(self.scale) * (1 - 2 / np.pi)

    def entropy(self) -> FloatArray:
        """Return 1/2 + log(π sigma² / 2) / 2."""
        return 0.5 + 0.5 * LOG_2PI - np.log(2) + np.log(self.scale)

    def log_prob(self, y: AnyArray) -> FloatArray:
        """Return the log density at y; -inf at y < 0."""
        z = np.asarray(y) / self.scale
        return np.where(z < 0, -np.inf, np.log(2) - 0.5 * LOG_2PI - np.log(self.scale) - np.square(z) / 2)

    def cdf(self, y: AnyArray) -> FloatArray:
        """Return erf(y / (√2 sigma))."""
        return np.asarray(erf(np.maximum(np.asarray(y) / self.scale, 0.0) / np.sqrt(2)))

    def quantile(self, p: AnyArray) -> FloatArray:
        """Return the quantiles, shape (n, L)."""
        level = levels("half_normal.quantile.p", p)
        unit = np.where(level < 0.5, np.sqrt(2) * erfinv(level), -ndtri((1 - level) / 2))
        return self.scale[:, None] * unit

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw `size` values from each, shape (size, n)."""
        return np.abs(rng.normal(0.0, self.scale, (size, len(self))))

    def crps(self, y: AnyArray) -> FloatArray:
        """Return the score in closed form, with E|Y - Y'| / 2 = E[Y] (√2 - 1)."""
        mean, z = self.mean(), np.maximum(np.asarray(y) / self.scale, 0.0)
        return score_of(y, self.cdf(y), mean, -mean * np.expm1(-np.square(z) / 2), mean * (np.sqrt(2) - 1))

    def kl(self, other: Self) -> FloatArray:
        """Return log(s_q / s_p) + s_p² / (2 s_q²) - 1/2."""
        return self._whole().kl(other._whole())

    def renyi_half(self, other: Self) -> FloatArray:
        """Return log((s_p² + s_q²) / (2 s_p s_q))."""
        return self._whole().renyi_half(other._whole())

    def fisher_information(self) -> FloatArray:
        """Return 2 / sigma², shape (n, 1, 1)."""
        return diagonal(2 / np.square(self.scale))

    def _whole(self) -> Normal:
        return Normal(np.zeros(len(self)), self.scale)
