"""The logistic distribution."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, logit

from ...core.support.arrays import AnyArray, FloatArray
from ..numerics.numeric import Parametric
from ..numerics.validate import levels
from .normal import diagonal


class Logistic(Parametric):
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
    by_row = ("loc", "scale")
    above_zero = ("scale",)
    parametrisation = ("mu", "s")
    loc: FloatArray
    scale: FloatArray

    def __init__(self, loc: Any, scale: Any) -> None:
        self.hold(loc=loc, scale=scale)

    def mean(self) -> FloatArray:
        """Return mu."""
        return self.loc

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

    def quantile(self, p: AnyArray) -> FloatArray:
        """Return mu + s log(p / (1 - p)), shape (n, L)."""
        return np.asarray(self.loc[:, None] + self.scale[:, None] * logit(levels("logistic.quantile.p", p)))

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw `size` values from each, shape (size, n)."""
        return rng.logistic(self.loc, self.scale, (size, len(self)))

    def crps(self, y: AnyArray) -> FloatArray:
        """Return s [z - 2 log F(z) - 1] (Jordan, Krüger & Lerch 2019, appendix A)."""
        z = np.abs(y - self.loc) / self.scale
        return np.asarray(self.scale * (z + 2 * np.log1p(np.exp(-z)) - 1))

    def fisher_information(self) -> FloatArray:
        """Return diag(1/(3 s²), (3 + π²)/(9 s²)), shape (n, 2, 2)."""
        precision = self.scale**-2.0
        return diagonal(precision / 3, (3 + np.pi**2) / 9 * precision)
