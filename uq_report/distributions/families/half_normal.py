"""The half-normal distribution."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.special import erf, erfinv, ndtri

from ...core.support.arrays import AnyArray, FloatArray
from ..numerics.numeric import Parametric, score_of
from ..numerics.validate import levels
from .normal import LOG_2PI, Normal, diagonal


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
