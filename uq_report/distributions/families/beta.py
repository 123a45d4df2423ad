"""The beta distribution."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.special import betainc, betaincinv, betaln, digamma, polygamma, xlog1py, xlogy

from ...core.support.arrays import AnyArray, FloatArray
from ..numerics.numeric import Parametric, score_of
from ..numerics.validate import levels
from .gamma import symmetric


class Beta(Parametric):
    """n beta distributions of a share between 0 and 1.

    Parameters
    ----------
    a, b : float or array of shape (n,)
        Greater than 0; the mean is a / (a + b).

    Examples
    --------
    >>> Beta([1.0, 2.0], [1.0, 2.0]).entropy().round(4)
    array([ 0.    , -0.1251])
    """

    family = "beta"
    by_row = above_zero = ("a", "b")
    within = (0.0, 1.0)
    parametrisation = ("a", "b")
    a: FloatArray
    b: FloatArray

    def __init__(self, a: Any, b: Any) -> None:
        self.hold(a=a, b=b)

    def mean(self) -> FloatArray:
        """Return a / (a + b)."""
        return self.a / (self.a + self.b)

    def variance(self) -> FloatArray:
        """Return a b / [(a + b)² (a + b + 1)]."""
        whole = self.a + self.b
        return self.a / whole * (self.b / whole) / (whole + 1)

    def entropy(self) -> FloatArray:
        """Return log B(a, b) - (a - 1) ψ(a) - (b - 1) ψ(b) + (a + b - 2) ψ(a + b)."""
        a, b = self.a, self.b
        return np.asarray(
            betaln(a, b) + (a - 1) * (digamma(a + b) - digamma(a)) + (b - 1) * (digamma(a + b) - digamma(b))
        )

    def log_prob(self, y: AnyArray) -> FloatArray:
        """Return the log density at y; -inf outside [0, 1], its limit at 0 and 1."""
        inside = np.clip(y, 0.0, 1.0)
        density = xlogy(self.a - 1, inside) + xlog1py(self.b - 1, -inside) - betaln(self.a, self.b)
        return np.where(inside == y, density, -np.inf)

    def cdf(self, y: AnyArray) -> FloatArray:
        """Return P(Y <= y)."""
        return np.asarray(betainc(self.a, self.b, np.clip(y, 0.0, 1.0)))

    def quantile(self, p: AnyArray) -> FloatArray:
        """Return the quantiles, shape (n, L)."""
        return np.asarray(betaincinv(self.a[:, None], self.b[:, None], levels("beta.quantile.p", p)))

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw `size` values from each, shape (size, n)."""
        return rng.beta(self.a, self.b, (size, len(self)))

    def crps(self, y: AnyArray) -> FloatArray:
        """Return the score in closed form, with E|Y - Y'| / 2 = 2 B(2a, 2b) / [(a + b) B(a, b)²] (Taillardat 2016)."""
        a, b, mean = self.a, self.b, self.mean()
        partial = mean * betainc(a + 1, b, np.clip(y, 0.0, 1.0))
        return score_of(y, self.cdf(y), mean, partial, 2 * np.exp(betaln(2 * a, 2 * b) - 2 * betaln(a, b)) / (a + b))

    def kl(self, other: Self) -> FloatArray:
        """Return log(B_q / B_p) + (a_p - a_q) [ψ(a_p) - ψ(a_p + b_p)] + (b_p - b_q) [ψ(b_p) - ψ(a_p + b_p)]."""
        a, b, whole = self.a, self.b, digamma(self.a + self.b)
        ratio = betaln(other.a, other.b) - betaln(a, b)
        return np.asarray(
            np.maximum(ratio + (a - other.a) * (digamma(a) - whole) + (b - other.b) * (digamma(b) - whole), 0.0)
        )

    def renyi_half(self, other: Self) -> FloatArray:
        """Return log B_p + log B_q - 2 log B of the mean a and b."""
        middle = betaln((self.a + other.a) / 2, (self.b + other.b) / 2)
        return np.asarray(np.maximum(betaln(self.a, self.b) + betaln(other.a, other.b) - 2 * middle, 0.0))

    def fisher_information(self) -> FloatArray:
        """Return diag(ψ'(a), ψ'(b)) - ψ'(a + b), shape (n, 2, 2)."""
        both = polygamma(1, self.a + self.b)
        return symmetric(polygamma(1, self.a) - both, -both, polygamma(1, self.b) - both)
