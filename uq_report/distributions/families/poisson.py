"""The Poisson distribution."""

from typing import Any, Self

import numpy as np
from scipy.special import betaincc, betaln, entr, gammaln, hyp2f1, i0e, i1e, nbdtrik, pdtr, pdtrik, xlogy

from ...core.support.arrays import AnyArray, BoolArray, FloatArray, IntArray
from ..numerics.numeric import ROUNDING, WHOLE, Parametric, score_of
from ..numerics.quadrature import LEVELS, OF_CDF, at, cdf_at, half_gini, kl_terms, total
from ..numerics.validate import Rowwise, levels, refuse, row_sum, vector
from .normal import diagonal

_BLOCK = 256  # rows summed at once, whose terms then stay in the processor's cache


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
_SMALL = 30.0  # of r: sums of probabilities then lose no digit that the information needs
_STEP = 0.3  # of the trapezoidal rule in log t, whose error is exp(-π² / step)
_CLEAR = 1 - 1e-6  # where rounding of a probability could decide, a quantile is searched for
_NODES = np.exp(np.arange(-29.0, 8.0, _STEP))  # good for m <= 10^4 and 0.02 <= r <= 10^4
_STEPS = np.full(len(_NODES), _STEP)
_STEPS[0] /= -np.expm1(-_STEP)  # for all nodes below the first, where integrands are linear in t


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
    Divergences of two distributions of one size r have a closed form; the Kullback-Leibler divergence of two sizes, and
    the entropy, are one smooth integral. Those of extreme parameters, and the Rényi divergence of two sizes, are sums,
    with 1e-12 of the mass left out at either end.

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

    def entropy(self) -> FloatArray:
        """Return the entropy in nats: r log(1 + m/r) + m log(1 + r/m) - E log[Γ(Y + r) / Γ(r) Γ(Y + 1)]."""
        m, r, value = self.average, self.size, np.empty(len(self.size))
        usual = _resolved(m, r)
        if len(rows := np.flatnonzero(~usual)):
            value[rows] = super(NegativeBinomial, self.take(rows)).entropy()
        m, r = m[usual], r[usual]
        value[usual] = r * np.log1p(m / r) + m * np.log1p(r / m) - _log_choices(m, r)
        return value

    def kl(self, other: Self) -> FloatArray:
        """Return the divergence in nats: from size r to s at the mean m, and from m to m + d at the size s.

        The latter is (m + s) log(1 + d/(m + s)) - m log(1 + d/m), since log-ratios at one size are linear in the count.
        """
        m, r, s = self.average, self.size, other.size
        d = other.average - m
        value = (m + s) * np.log1p(d / (m + s)) - m * np.log1p(d / m)
        usual = (r != s) & _resolved(m, r) & _resolved(m, s)
        value[usual] += _between_sizes(m[usual], r[usual], s[usual])
        return self._or_sums(other, value, "kl", (r != s) & ~usual)

    def renyi_half(self, other: Self) -> FloatArray:
        """Return 2 r log([√((m + r)(m' + r)) - √(m m')] / r) for means m and m' of one size r, else by a sum."""
        m, n, r = self.average, other.average, self.size
        below, above = np.square(np.sqrt(m) + np.sqrt(n)), np.square(np.sqrt(m + r) + np.sqrt(n + r))
        gap = np.square(n - m) * (1 / below - 1 / above)  # twice the fraction's excess over 1, in units of 1 / r
        return self._or_sums(other, 2 * r * np.log1p(gap / (2 * r)), "renyi_half", r != other.size)

    def _or_sums(self, other: Self, value: FloatArray, name: str, summed: BoolArray) -> FloatArray:
        """Return `value`, and what sums give for the rows that are to be summed."""
        if len(rows := np.flatnonzero(summed)):
            value[rows] = getattr(super(NegativeBinomial, self.take(rows)), name)(other.take(rows))
        return np.maximum(value, 0.0)

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
            added = (r[rows] <= _SMALL) & (np.diff(y) == 1).all(axis=1)
            reached, some, counts = np.empty_like(y), rows[added], y[added]
            reached[~added] = cdf_at(self, rows[~added], y[~added])
            reached[added] = np.exp(at(self, "log_prob", some, counts))
            reached[added, :1] = at(self, "cdf", some, counts[:, :1])
            reached[added] = np.cumsum(reached[added], axis=1)
            return (1 - reached) / np.square(r[rows, None] + y)

        of_size = total(edges, terms, discrete=True, halvings=OF_CDF) - m / (r * (r + m))
        return diagonal(r / (m * (m + r)), np.maximum(of_size, 0.0))

    def inverted(self, p: FloatArray) -> FloatArray:
        """Return the quantile of each row at its own level: scipy's, searched for where the cdf does not confirm it."""
        m, r, level = self.average, self.size, p * ROUNDING
        count = np.maximum(np.ceil(nbdtrik(p, r, r / (m + r))), 0.0)
        reached = self.cdf(count)
        below = np.where(count > 0, reached - _CLEAR * np.exp(self.log_prob(count)), 0.0)
        confirmed = (reached >= level) & (below < level)
        if len(rows := np.flatnonzero(~confirmed)):
            count[rows] = super(NegativeBinomial, self.take(rows)).inverted(p[rows])
        return np.asarray(count)

    def about(self) -> tuple[FloatArray, FloatArray]:
        """Return the mean, rounded down, and the standard deviation, rounded up."""
        return np.maximum(np.floor(self.average), 0.0), np.ceil(np.sqrt(self.variance()))


def _resolved(m: FloatArray, r: FloatArray) -> BoolArray:
    """Say for which parameters the nodes give an integral to rounding."""
    return np.asarray((m <= 1e4) & (r >= 0.02) & (r <= 1e4))


def _log_choices(m: FloatArray, r: FloatArray) -> FloatArray:
    """Return E log[Γ(Y + r) / Γ(r) Γ(Y + 1)], shape (n,): ∫ (e^-t - e^-rt) (1 - E e^-tY) / (1 - e^-t) dt / t.

    It follows from Binet's formula for log Γ (Whittaker & Watson 1927, 12.3). In log t it is smooth and decays at
    both ends, so that the trapezoidal rule is exact to rounding.
    """
    u, value = -np.expm1(-_NODES), np.empty(len(m))
    weights = _STEPS * (u + np.expm1(-r[:1, None] * _NODES)) / u if (r == r[:1]).all() else None
    for start in range(0, len(m), _BLOCK):
        part = slice(start, start + _BLOCK)
        size = r[part, None]
        own = _STEPS * (u + np.expm1(-size * _NODES)) / u if weights is None else weights
        value[part] = row_sum(own * np.expm1(-size * np.log1p(m[part, None] / size * u)))
    return value


def _between_sizes(m: FloatArray, r: FloatArray, s: FloatArray) -> FloatArray:
    """Return the divergence of size s from size r at one mean m, shape (n,).

    It is ∫ (e^-st - e^-rt) [(1 - E e^-tY) / (1 - e^-t) - (1 - e^-mt) / t] dt / t by Binet's formula (`_log_choices`),
    with r log(1 + m/r) + m log(1 + r/m) and the same of s by Frullani's, so that little cancels.
    """
    u, value = -np.expm1(-_NODES), np.empty(len(m))
    for start in range(0, len(m), _BLOCK):
        mean, own, other = (each[start : start + _BLOCK, None] for each in (m, r, s))
        left_out = np.expm1(-mean * _NODES) / _NODES - np.expm1(-own * np.log1p(mean / own * u)) / u
        value[start : start + _BLOCK] = row_sum(_STEPS * (np.exp(-other * _NODES) - np.exp(-own * _NODES)) * left_out)
    return value
