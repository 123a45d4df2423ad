"""Distributions with additional zeros."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.special import entr, rel_entr, xlogy

from ...core.predictive import Distribution
from ...core.support.arrays import AnyArray, FloatArray
from ...core.support.errors import InputError
from ..numerics.numeric import FISHER, Numeric, inverse
from ..numerics.totals import half_from
from ..numerics.validate import levels, refuse, same_length
from .wrapping import Unparametrised, require, taken

_NEEDS = {"variance": {"mean", "variance"}, "entropy": {"entropy", "log_prob"}, "kl": {"kl", "log_prob"}}
_NEEDS |= {"renyi_half": {"renyi_half", "log_prob"}, "quantile": {"quantile", "cdf"}}
_WHOLE = ("mean", "variance", "entropy", "log_prob", "kl", "renyi_half", "cdf", "quantile", "sample", "crps")


class ZeroInflated(Unparametrised):
    """n distributions that are 0 with probability `p_zero`, and else follow another one.

    Parameters
    ----------
    p_zero : float or array of shape (n,)
        Probability of an additional zero, at least 0 and less than 1.
    of : Distribution
        Of numbers. A discrete one has zeros of its own, and these are added; of a continuous one a single value
        has no probability.

    Notes
    -----
    With a continuous `of` the distribution is mixed: ``log_prob`` at exactly 0 is that of the atom, elsewhere a log
    density, and entropy and divergences are with respect to the sum of the counting measure at 0 and the length:
    H = h(p_zero) + (1 - p_zero) H(of), h the entropy of two classes. A loss in nats then adds both kinds.

    Examples
    --------
    >>> from uq_report.distributions import Gamma, Poisson
    >>> ZeroInflated([0.5], Poisson([2.0])).mean()
    array([1.])
    >>> ZeroInflated([0.5], Gamma([1.0], 1.0)).entropy().round(4)
    array([1.1931])
    """

    def __init__(self, p_zero: Any, of: Distribution) -> None:
        require("zero_inflated.of", of)
        self.of, self.discrete, self.family = of, of.discrete, f"zero-inflated {of.family}"
        self.p_zero = same_length("zero_inflated.p_zero", p_zero, len(of))
        bad = (self.p_zero < 0) | (self.p_zero >= 1)
        refuse("zero_inflated.p_zero", "probabilities, at least 0 and less than 1", self.p_zero, bad, "Not log-odds.")

    @property
    def supports(self) -> frozenset[str]:
        """What `of` supports, but parameters."""
        return frozenset(name for name in _WHOLE if _NEEDS.get(name, {name}) <= self.of.supports)

    def why_not(self, method: str) -> str:
        """Say why `method` cannot answer."""
        missing = sorted(_NEEDS.get(method, {method}) - self.of.supports)
        if missing and method not in FISHER:
            return self.of.why_not(missing[0])
        return super().why_not(method)

    @property
    def atoms(self) -> bool:
        """True: 0 has a probability."""
        return True

    def __len__(self) -> int:
        return len(self.of)

    def take(self, index: AnyArray) -> Self:
        """Return the distributions at positions `index`."""
        return taken(self, index, "of", "p_zero")

    def encode(self, y: Any) -> FloatArray:
        """Return y as `of` takes it; zeros always fit."""
        values = Numeric.encode(self, y)
        other = np.flatnonzero(values != 0)
        if len(other):
            self.of.encode(values[other])
        return values

    def mean(self) -> FloatArray:
        """Return (1 - p_zero) times the mean of `of`."""
        return (1 - self.p_zero) * self.of.mean()

    def variance(self) -> FloatArray:
        """Return (1 - p) (V + p M²)."""
        return (1 - self.p_zero) * (self.of.variance() + self.p_zero * np.square(self.of.mean()))

    def log_prob(self, y: AnyArray) -> FloatArray:
        """Return the log probability, or off the atom the log density."""
        zero, rest = np.asarray(y) == 0, np.log1p(-self.p_zero) + self.of.log_prob(np.asarray(y, dtype=float))
        with np.errstate(divide="ignore"):
            return np.where(zero, np.log(self._at_zero()), rest)

    def cdf(self, y: AnyArray) -> FloatArray:
        """Return P(Y <= y)."""
        return self.p_zero * (np.asarray(y) >= 0) + (1 - self.p_zero) * self.of.cdf(y)

    def quantile(self, p: AnyArray) -> FloatArray:
        """Return the quantiles, shape (n, L); each lies between 0 and that of `of`."""
        level = levels("zero_inflated.quantile.p", p)
        ends = np.asarray(self.of.quantile(level), dtype=float).ravel()
        many = self.take(np.repeat(np.arange(len(self)), len(level)))
        values = inverse(many, np.tile(level, len(self)), np.minimum(ends, 0.0), np.maximum(ends, 0.0))
        return values.reshape(len(self), len(level))

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw `size` values from each, shape (size, n)."""
        zero = rng.random((size, len(self))) < self.p_zero
        return np.where(zero, 0, self.of.sample(rng, size))

    def crps(self, y: AnyArray) -> FloatArray:
        """Return p |y| + (1 - p) crps(y) - p (1 - p) crps(0), the scores being those of `of`."""
        p, y = self.p_zero, np.asarray(y, dtype=float)
        return np.asarray(p * np.abs(y) + (1 - p) * (self.of.crps(y) - p * self.of.crps(np.zeros(len(self)))))

    def entropy(self) -> FloatArray:
        """Return the entropy in nats; of a mixed distribution see the notes."""
        p, own = self.p_zero, self._own_zeros()
        rest = self.of.entropy() - entr(own) - xlogy(1 - own, 1 - p)
        return np.asarray(entr(self._at_zero()) + (1 - p) * rest)

    def kl(self, other: Self) -> FloatArray:
        """Return the sum of the zeros' term and that of the rest."""
        self._same_kind(other)
        own, theirs, p = self._own_zeros(), other._own_zeros(), self.p_zero
        rest = self.of.kl(other.of) - np.where(own > 0, rel_entr(own, theirs), 0.0)
        rest += (1 - own) * (np.log1p(-p) - np.log1p(-other.p_zero))
        return np.asarray(np.maximum(rel_entr(self._at_zero(), other._at_zero()) + (1 - p) * rest, 0.0))

    def renyi_half(self, other: Self) -> FloatArray:
        """Return -2 log of the affinity, that of the zeros and that of the rest."""
        self._same_kind(other)
        gaps = -np.expm1(-self.of.renyi_half(other.of) / 2)
        p, q = self.p_zero, other.p_zero
        own, theirs, zero = self._own_zeros(), other._own_zeros(), _apart(self._at_zero(), other._at_zero())
        rest = _apart((1 - p) * (1 - own), (1 - q) * (1 - theirs))
        rest += np.sqrt((1 - p) * (1 - q)) * (gaps - _apart(own, theirs) - _apart(1 - own, 1 - theirs))
        return half_from(np.maximum(zero + rest, 0.0))

    def _own_zeros(self) -> FloatArray:
        """Return the probability of 0 under `of`, 0 if it is continuous."""
        return np.exp(self.of.log_prob(np.zeros(len(self)))) if self.discrete else np.zeros(len(self))

    def _at_zero(self) -> FloatArray:
        return self.p_zero + (1 - self.p_zero) * self._own_zeros()

    def _same_kind(self, other: Self) -> None:
        if self.family != other.family:
            raise InputError(f"zero_inflated.of must be of one family; got a {self.family} and a {other.family} one.")


def _apart(a: FloatArray, b: FloatArray) -> FloatArray:
    return np.asarray(np.square(np.sqrt(a) - np.sqrt(b)) / 2)
