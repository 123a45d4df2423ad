"""The log-logistic distribution."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import betainc, log_expit

from ...core.support.arrays import AnyArray, FloatArray
from ...core.support.errors import UnsupportedError
from ..numerics.numeric import score_of
from .logistic import Logistic
from .of_logarithm import OfLogarithm, log_of


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

    def entropy(self) -> FloatArray:
        """Return log(scale / shape) + 2."""
        return np.log(self.scale) - np.log(self.shape) + 2

    def log_prob(self, y: AnyArray) -> FloatArray:
        """Return the log density at y; -inf at y <= 0."""
        log_y, inside = log_of(y)
        return np.where(inside, self.logarithm().log_prob(log_y) - log_y, -np.inf)

    def log_survival(self, y: AnyArray) -> FloatArray:
        """Return -log(1 + (y / scale)^shape)."""
        log_y, inside = log_of(y)
        return np.where(inside, log_expit(-self.shape * (log_y - np.log(self.scale))), 0.0)

    def cdf(self, y: AnyArray) -> FloatArray:
        """Return P(Y <= y)."""
        log_y, inside = log_of(y)
        return np.where(inside, self.logarithm().cdf(log_y), 0.0)

    def quantile(self, p: AnyArray) -> FloatArray:
        """Return the quantiles, shape (n, L)."""
        with np.errstate(over="ignore"):  # then it is beyond the largest float
            return np.exp(self.logarithm().quantile(p))

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw `size` values from each, shape (size, n)."""
        with np.errstate(over="ignore"):
            return np.exp(self.logarithm().sample(rng, size))

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
