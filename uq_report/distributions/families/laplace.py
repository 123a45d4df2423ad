"""The Laplace distribution."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from ...core.support.arrays import AnyArray, FloatArray
from ..numerics.numeric import Parametric
from ..numerics.validate import levels
from .normal import diagonal


class Laplace(Parametric):
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
    by_row = ("loc", "scale")
    above_zero = ("scale",)
    parametrisation = ("mu", "b")
    loc: FloatArray
    scale: FloatArray

    def __init__(self, loc: Any, scale: Any) -> None:
        self.hold(loc=loc, scale=scale)

    def mean(self) -> FloatArray:
        """Return mu."""
        return self.loc

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

    def quantile(self, p: AnyArray) -> FloatArray:
        """Return the quantiles, shape (n, L)."""
        level = levels("laplace.quantile.p", p)
        unit = np.where(level < 0.5, np.log(2 * level), -np.log(2) - np.log1p(-level))
        return np.asarray(self.loc[:, None] + self.scale[:, None] * unit)

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

    def fisher_information(self) -> FloatArray:
        """Return diag(1/b², 1/b²), shape (n, 2, 2)."""
        precision = self.scale**-2.0
        return diagonal(precision, precision)
