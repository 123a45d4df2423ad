"""The gamma distribution; exponential with shape 1.

The beta distribution.
"""

from typing import Any, Self

import numpy as np
from scipy import special
from scipy.special import beta, digamma, gammainc, gammainccinv, gammaincinv, gammaln, polygamma, xlogy

from ...core.support.arrays import AnyArray, FloatArray
from ..numerics.numeric import Parametric, score_of
from ..numerics.validate import levels

_LARGE = 1e3  # of the shape, from where on the terms of the density cancel


class ShapeScale(Parametric):
    """n distributions of y > 0 with a shape and a scale."""

    by_row = above_zero = ("shape", "scale")
    within = (0.0, np.inf)

    shape: FloatArray
    scale: FloatArray

    def __init__(self, shape: Any, scale: Any) -> None:
        self.hold(shape=shape, scale=scale)


class Gamma(ShapeScale):
    """n gamma distributions of y > 0.

    Parameters
    ----------
    shape : float or array of shape (n,)
        k, greater than 0; 1 is the exponential distribution.
    scale : float or array of shape (n,)
        theta, greater than 0; the mean is k theta, the variance k theta².

    Examples
    --------
    >>> Gamma(1.0, [1.0, 2.0]).entropy().round(4)
    array([1.    , 1.6931])
    """

    family = "gamma"
    parametrisation = ("k", "theta")

    def mean(self) -> FloatArray:
        """Return k theta."""
        return self.shape * self.scale

    def variance(self) -> FloatArray:
        """Return k theta²."""
        return self.shape * np.square(self.scale)

    def entropy(self) -> FloatArray:
        """Return k + log theta + log Γ(k) + (1 - k) ψ(k)."""
        return np.log(self.scale) + entropy_of_gamma(self.shape)

    def log_prob(self, y: AnyArray) -> FloatArray:
        """Return the log density at y; -inf at y < 0, its limit at 0."""
        z, k = np.asarray(y) / self.scale, self.shape
        inside = np.maximum(z, 0.0)
        density = xlogy(k - 1, inside) - inside - gammaln(k)
        large = np.flatnonzero((k >= _LARGE) & (inside > 0.5 * k) & (inside < 2 * k))
        if len(large):
            density[large] = _near_its_mean(inside[large], k[large])
        return np.where(z < 0, -np.inf, density - np.log(self.scale))

    def cdf(self, y: AnyArray) -> FloatArray:
        """Return P(Y <= y)."""
        return np.asarray(gammainc(self.shape, np.maximum(np.asarray(y) / self.scale, 0.0)))

    def quantile(self, p: AnyArray) -> FloatArray:
        """Return the quantiles, shape (n, L)."""
        level, k = levels("gamma.quantile.p", p), self.shape[:, None]
        unit = np.where(level < 0.5, gammaincinv(k, level), gammainccinv(k, 1 - level))
        return np.asarray(self.scale[:, None] * unit)

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw `size` values from each, shape (size, n)."""
        return rng.gamma(self.shape, self.scale, (size, len(self)))

    def crps(self, y: AnyArray) -> FloatArray:
        """Return the score in closed form (Scheuerer & Möller 2015), with E|Y - Y'| / 2 = theta / B(1/2, k)."""
        mean, z = self.mean(), np.maximum(np.asarray(y) / self.scale, 0.0)
        return score_of(y, self.cdf(y), mean, mean * gammainc(self.shape + 1, z), self.scale / beta(0.5, self.shape))

    def kl(self, other: Self) -> FloatArray:
        """Return (k_p - k_q) ψ(k_p) - log Γ(k_p) + log Γ(k_q) + k_q log(t_q / t_p) + k_p (t_p / t_q - 1)."""
        k, k_other, ratio = self.shape, other.shape, self.scale / other.scale
        shapes = (k - k_other) * digamma(k) - gammaln(k) + gammaln(k_other)
        scales = -k_other * np.log(ratio) + k * (ratio - 1)
        return np.asarray(np.maximum(shapes + scales, 0.0))

    def renyi_half(self, other: Self) -> FloatArray:
        """Return log Γ(k_p) + log Γ(k_q) - 2 log Γ(k) + (k_p - k_q) h + 2k log cosh h.

        With k = (k_p + k_q) / 2 and h = log(t_p / t_q) / 2.
        """
        k, ratio = (self.shape + other.shape) / 2, self.scale / other.scale
        shapes = gammaln(self.shape) + gammaln(other.shape) - 2 * gammaln(k)
        half = np.log(ratio) / 2
        return np.asarray(np.maximum(shapes + (self.shape - other.shape) * half + 2 * k * log_cosh(half), 0.0))

    def fisher_information(self) -> FloatArray:
        """Return [[ψ'(k), 1/theta], [1/theta, k/theta²]], shape (n, 2, 2)."""
        k, theta = self.shape, self.scale
        return symmetric(polygamma(1, k), 1 / theta, k / np.square(theta))


def _near_its_mean(z: FloatArray, k: FloatArray) -> FloatArray:
    """Return (k - 1) log z - z - log Γ(k) without its cancelling terms, by Stirling's series; k >= 1e3."""
    off = (z - k) / k
    stirling = 0.5 * np.log(2 * np.pi / k) + (1 / 12 - 1 / (360 * np.square(k))) / k
    return np.asarray(-k * (off - np.log1p(off)) - np.log(z) - stirling)


def entropy_of_gamma(k: FloatArray) -> FloatArray:
    """Return the entropy of the gamma distribution of scale 1 in nats.

    From k = 1e4 on its expansion in 1/k, whose next term is below 1e-17, where the closed form cancels.
    """
    u = 1 / np.maximum(k, 1e4)
    series = 0.5 * np.log(2 * np.pi * np.e / u) - u * (1 / 3 + u * (1 / 12 + u / 90))
    small = np.minimum(k, 1e4)
    return np.where(k >= 1e4, series, small + gammaln(small) + (1 - small) * digamma(small))


def log_cosh(x: FloatArray) -> FloatArray:
    """Return log cosh x."""
    return np.asarray(np.abs(x) + np.log1p(np.expm1(-2 * np.abs(x)) / 2))


def symmetric(first: FloatArray, off: FloatArray, second: FloatArray) -> FloatArray:
    """Return n symmetric matrices, shape (n, 2, 2)."""
    return np.stack([np.stack([first, off], axis=1), np.stack([off, second], axis=1)], axis=1)


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
            special.betaln(a, b) + (a - 1) * (digamma(a + b) - digamma(a)) + (b - 1) * (digamma(a + b) - digamma(b))
        )

    def log_prob(self, y: AnyArray) -> FloatArray:
        """Return the log density at y; -inf outside [0, 1], its limit at 0 and 1."""
        inside = np.clip(y, 0.0, 1.0)
        density = xlogy(self.a - 1, inside) + special.xlog1py(self.b - 1, -inside) - special.betaln(self.a, self.b)
        return np.where(inside == y, density, -np.inf)

    def cdf(self, y: AnyArray) -> FloatArray:
        """Return P(Y <= y)."""
        return np.asarray(special.betainc(self.a, self.b, np.clip(y, 0.0, 1.0)))

    def quantile(self, p: AnyArray) -> FloatArray:
        """Return the quantiles, shape (n, L)."""
        return np.asarray(special.betaincinv(self.a[:, None], self.b[:, None], levels("beta.quantile.p", p)))

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw `size` values from each, shape (size, n)."""
        return rng.beta(self.a, self.b, (size, len(self)))

    def crps(self, y: AnyArray) -> FloatArray:
        """Return the score in closed form, with E|Y - Y'| / 2 = 2 B(2a, 2b) / [(a + b) B(a, b)²] (Taillardat 2016)."""
        a, b, mean = self.a, self.b, self.mean()
        partial = mean * special.betainc(a + 1, b, np.clip(y, 0.0, 1.0))
        return score_of(
            y, self.cdf(y), mean, partial, 2 * np.exp(special.betaln(2 * a, 2 * b) - 2 * special.betaln(a, b)) / (a + b)
        )

    def kl(self, other: Self) -> FloatArray:
        """Return log(B_q / B_p) + (a_p - a_q) [ψ(a_p) - ψ(a_p + b_p)] + (b_p - b_q) [ψ(b_p) - ψ(a_p + b_p)]."""
        a, b, whole = self.a, self.b, digamma(self.a + self.b)
        ratio = special.betaln(other.a, other.b) - special.betaln(a, b)
        return np.asarray(
            np.maximum(ratio + (a - other.a) * (digamma(a) - whole) + (b - other.b) * (digamma(b) - whole), 0.0)
        )

    def renyi_half(self, other: Self) -> FloatArray:
        """Return log B_p + log B_q - 2 log B of the mean a and b."""
        middle = special.betaln((self.a + other.a) / 2, (self.b + other.b) / 2)
        return np.asarray(
            np.maximum(special.betaln(self.a, self.b) + special.betaln(other.a, other.b) - 2 * middle, 0.0)
        )

    def fisher_information(self) -> FloatArray:
        """Return diag(ψ'(a), ψ'(b)) - ψ'(a + b), shape (n, 2, 2)."""
        both = polygamma(1, self.a + self.b)
        return symmetric(polygamma(1, self.a) - both, -both, polygamma(1, self.b) - both)
