"""The Poisson distribution."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.special import betaincc, betaln, entr, gammaln, hyp2f1, i0e, i1e, pdtr, pdtrik, xlogy

from ...core.support.arrays import AnyArray, FloatArray, IntArray
from ..numerics.numeric import WHOLE, Parametric, score_of
from ..numerics.totals import LEVELS, OF_CDF, cdf_at, half_gini, kl_terms, total
from ..numerics.validate import Rowwise, levels, refuse, vector
from .normal import diagonal

_BLOCK = 1024  # rows of similar rate whose series is summed at once


class Poisson(Rowwise):
    """n Poisson distributions of counts.

    Parameters
    ----------
    rate : array of shape (n,)
        Expected counts, at least 0. A rate of 0 is a count that is certainly 0.

    Examples
    --------
    >>> Poisson([1.0, 10.0]).entropy().round(4)
    array([1.3048, 2.5614])
    """

    family = "Poisson"
    supports = WHOLE
    discrete = True
    parametrisation = ("lambda",)
    by_row = ("rate",)

    def __init__(self, rate: Any) -> None:
        self.rate = vector("poisson.rate", rate)
        refuse("poisson.rate", ">= 0", self.rate, self.rate < 0, "Use a log link, or clip the rates in the model.")

    def encode(self, y: Any) -> FloatArray:
        """Return y as floats; refuse what is no count."""
        counts: FloatArray = super().encode(y)
        bad = (counts < 0) | (counts != np.floor(counts))
        refuse("poisson.y", "whole numbers >= 0", counts, bad, "Counts only; use another model for other targets.")
        return counts

    def mean(self) -> FloatArray:
        """Return lambda."""
        return self.rate

    def variance(self) -> FloatArray:
        """Return lambda."""
        return self.rate

    def entropy(self) -> FloatArray:
        """Return the Shannon entropy in nats."""
        return entropy_of_poisson(self.rate)

    def log_prob(self, y: AnyArray) -> FloatArray:
        """Return the log probability of counts y."""
        return np.asarray(xlogy(y, self.rate) - self.rate - gammaln(np.asarray(y) + 1.0))

    def cdf(self, y: AnyArray) -> FloatArray:
        """Return P(Y <= y), also for y that are no counts."""
        count = np.floor(y)
        return np.where(count < 0, 0.0, pdtr(np.maximum(count, 0), self.rate))

    def quantile(self, p: AnyArray) -> FloatArray:
        """Return the smallest counts with P(Y <= count) >= p, shape (n, L)."""
        level = levels("poisson.quantile.p", p)
        rate = np.where(self.rate > 0, self.rate, 1.0)[:, None]
        upper = np.maximum(np.ceil(pdtrik(level, rate)), 0)
        below = np.maximum(upper - 1, 0)
        count = np.where(pdtr(below, rate) >= level, below, upper)
        return np.where(self.rate[:, None] > 0, count, 0.0)

    def sample(self, rng: np.random.Generator, size: int) -> IntArray:
        """Draw `size` counts from each, shape (size, n)."""
        return rng.poisson(self.rate, (size, len(self)))

    def crps(self, y: AnyArray) -> FloatArray:
        """Return (y - l)(2F(y) - 1) + 2 l f(y) - l exp(-2l) [I0(2l) + I1(2l)] (Wei & Held 2014)."""
        rate = self.rate
        spread = rate * (i0e(2 * rate) + i1e(2 * rate))
        return np.asarray((y - rate) * (2 * self.cdf(y) - 1) + 2 * rate * np.exp(self.log_prob(y)) - spread)

    def kl(self, other: Self) -> FloatArray:
        """Return l_p log(l_p / l_q) - l_p + l_q; infinite where only the rate of `other` is 0."""
        return kl_terms(self.rate, other.rate)

    def renyi_half(self, other: Self) -> FloatArray:
        """Return (sqrt(l_p) - sqrt(l_q))^2."""
        return np.asarray(np.square(np.sqrt(self.rate) - np.sqrt(other.rate)))

    @property
    def parameters(self) -> FloatArray:
        """The rates, shape (n, 1)."""
        return self.rate[:, None]

    def fisher_information(self) -> FloatArray:
        """Return 1 / lambda, shape (n, 1, 1); infinite at a rate of 0."""
        with np.errstate(divide="ignore"):
            return diagonal(1 / self.rate)

    def fisher_norm(self, derivatives: FloatArray) -> FloatArray:
        """Return |lambda'| / sqrt(lambda); 0 where the derivative is 0, else infinite at a rate of 0."""
        change = np.abs(derivatives[..., 0])
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(change == 0, 0.0, change / np.sqrt(self.rate))


def entropy_of_poisson(rate: FloatArray) -> FloatArray:
    """Return the entropy: from rate 100 on the expansion (error < 2e-9), below it -sum p log p to 1e-13."""
    u = 1 / np.maximum(rate, 100.0)
    entropy = 0.5 - 0.5 * np.log(u / (2 * np.pi)) - u / 12 - u**2 / 24 - 19 * u**3 / 360
    small = np.flatnonzero(rate < 100)
    small = small[np.argsort(rate[small])]
    for start in range(0, len(small), _BLOCK):
        block = small[start : start + _BLOCK]
        entropy[block] = _series(rate[block])
    return entropy


def _series(rate: FloatArray) -> FloatArray:
    """Return -sum_k p_k log p_k of sorted rates, with counts up to 9 standard deviations and 25 above the largest."""
    count = np.arange(np.ceil(rate[-1] + 9 * np.sqrt(rate[-1]) + 25))
    log_p = xlogy(count, rate[:, None]) - rate[:, None] - gammaln(count + 1)
    added = np.cumsum(entr(np.exp(log_p)), axis=1)  # one by one: the length of a block then changes no bit
    return added[:, -1]


_LARGE = 1000.0  # of r: hypergeometric series then lose digits


class NegativeBinomial(Parametric):
    """n negative binomial distributions of counts.

    Parameters
    ----------
    mean : float or array of shape (n,)
        m, greater than 0.
    size : float or array of shape (n,)
        r, greater than 0; the variance is m + m²/r. In terms of a dispersion alpha, r = 1 / alpha.

    Notes
    -----
    Entropy, divergences and scores are sums, with 1e-12 of the mass left out at either end.

    Examples
    --------
    >>> NegativeBinomial([1.0], [2.0]).entropy().round(4)
    array([1.3725])
    """

    family = "negative binomial"
    by_row = above_zero = ("average", "size")
    within = (0.0, np.inf)
    discrete = True
    parametrisation = ("m", "r")
    average: FloatArray
    size: FloatArray

    def __init__(self, mean: Any, size: Any) -> None:
        self.hold(average=mean, size=size)

    def mean(self) -> FloatArray:
        """Return m."""
        return self.average

    def variance(self) -> FloatArray:
        """Return m + m²/r."""
        return self.average * (1 + self.average / self.size)

    def log_prob(self, y: AnyArray) -> FloatArray:
        """Return the log probability of counts y."""
        m, r, count = self.average, self.size, np.maximum(y, 0.0)
        choices = -betaln(r, count + 1) - np.log(count + r)
        value = choices - r * np.log1p(m / r) - count * np.log1p(r / m)
        return np.where(np.asarray(y) < 0, -np.inf, value)

    def cdf(self, y: AnyArray) -> FloatArray:
        """Return P(Y <= y), also for y that are no counts."""
        count = np.floor(y)
        share = self.average / (self.average + self.size)
        return np.where(count < 0, 0.0, betaincc(np.maximum(count, 0.0) + 1, self.size, share))

    def sample(self, rng: np.random.Generator, size: int) -> IntArray:
        """Draw `size` counts from each, shape (size, n): Poisson of gamma rates."""
        return rng.poisson(rng.gamma(self.size, self.average / self.size, (size, len(self))))

    def crps(self, y: AnyArray) -> FloatArray:
        """Return the score in closed form (Wei & Held 2014); half of E|Y - Y'| is a sum from r = 1000 on.

        With x = m / r it is m (1 + x) 2F1(r + 1, 1/2; 2; -4x (1 + x)), here by Pfaff's transformation.
        """
        m, r = self.average, self.size
        partial = m * betaincc(np.maximum(np.floor(y), 1.0), r + 1, m / (m + r)) * (np.asarray(y) >= 1)
        x, large = m / r, np.flatnonzero(r >= _LARGE)
        small = np.minimum(r, _LARGE)
        gini = m * (1 + x) / (1 + 2 * x) * hyp2f1(1 - small, 0.5, 2, 4 * x * (1 + x) / np.square(1 + 2 * x))
        if len(large):
            gini[large] = half_gini(self.take(large))
        return score_of(y, self.cdf(y), m, partial, gini)

    def fisher_information(self) -> FloatArray:
        """Return diag(r / [m (m + r)], Σ_y P(Y > y) / (r + y)² - m / [r (r + m)]), shape (n, 2, 2)."""
        m, r = self.average, self.size
        edges = np.floor(np.hstack([np.zeros((len(m), 1)), self.quantile(LEVELS)]))

        def terms(rows: IntArray, y: FloatArray) -> FloatArray:
            return (1 - cdf_at(self, rows, y)) / np.square(r[rows, None] + y)

        of_size = total(edges, terms, discrete=True, halvings=OF_CDF) - m / (r * (r + m))
        return diagonal(r / (m * (m + r)), np.maximum(of_size, 0.0))

    def about(self) -> tuple[FloatArray, FloatArray]:
        """Return the mean, rounded down, and the standard deviation, rounded up."""
        return np.maximum(np.floor(self.average), 0.0), np.ceil(np.sqrt(self.variance()))
