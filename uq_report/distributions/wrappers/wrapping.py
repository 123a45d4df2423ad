"""What distributions made of others share."""

from __future__ import annotations

from copy import copy
from typing import Any, Self, TypeVar

import numpy as np

from ...core.predictive import Distribution
from ...core.support.arrays import AnyArray, FloatArray, IntArray
from ...core.support.errors import InputError
from ..numerics.numeric import DIVERGENCES, FISHER, Numeric
from ..numerics.quadrature import KRONROD, NODES
from ..numerics.validate import levels, numbers, refuse, row_sum

SHAPE = frozenset({"mean", "variance", "cdf", "quantile", "sample", "crps"})
DENSITY = frozenset({"log_prob", "entropy"}) | DIVERGENCES
T = TypeVar("T", bound=Distribution)


def require(who: str, of: object, *methods: str) -> None:
    """Refuse what is no distribution of numbers, or cannot answer what the wrapper asks it."""
    if not isinstance(of, Distribution):
        raise InputError(f"{who} must be a distribution; got {type(of).__name__}. Give Normal(mean, std) or the like.")
    if "proba" in of.supports:
        raise InputError(f"{who} must be a distribution of numbers; got a {of.family} one. Use its probabilities.")
    missing = [method for method in methods if method not in of.supports]
    if missing:
        raise InputError(f"{who} must support {', '.join(methods)}; got a {of.family} one: {of.why_not(missing[0])}.")


def taken(dist: T, index: AnyArray, *rows: str) -> T:
    """Return a copy with those attributes, arrays or distributions, at positions `index`."""
    other = copy(dist)
    for name in rows:
        part = getattr(dist, name)
        setattr(other, name, part.take(index) if isinstance(part, Distribution) else part[index])
    return other


class Unparametrised(Numeric):
    """n distributions that have no one set of parameters: all but Fisher's methods can answer."""

    @property
    def supports(self) -> frozenset[str]:
        """All that needs no parameters."""
        return SHAPE | DENSITY

    def why_not(self, method: str) -> str:
        """Say why `method` cannot answer."""
        if method in FISHER:
            return f"{method} is not defined for a {self.family} distribution, which has no one set of parameters"
        return super().why_not(method)


_ROUNDS = 20
_LEAST = 1e-8  # of the probability within the limits: of less, differences of a cdf keep too few digits


class Truncated(Unparametrised):
    """n distributions given that their outcome lies within limits.

    Parameters
    ----------
    of : Distribution
        Of numbers, continuous or discrete, with ``log_prob`` and ``cdf``.
    lower, upper : float or array of shape (n,), optional
        The limits, themselves included; at least 1e-8 of the probability of each row lies within them.

    Notes
    -----
    Probability beyond the limits is spread over what is within; it does not pile up at the limits. All but the
    density and the cdf are found by quadrature, or by sums.

    Examples
    --------
    >>> from uq_report.distributions import Normal
    >>> Truncated(Normal([0.0], 1.0), lower=0.0).mean().round(4)
    array([0.7979])
    """

    def __init__(self, of: Distribution, lower: Any = None, upper: Any = None) -> None:
        require("truncated.of", of, "log_prob", "cdf", "quantile", "sample")
        self.of, self.discrete, self.family = of, of.discrete, f"truncated {of.family}"
        self.lower, self.upper = _limit("lower", lower, -np.inf, len(of)), _limit("upper", upper, np.inf, len(of))
        bad, remedy = ~(self.lower < self.upper), "Give two limits in order."
        refuse("truncated.lower", "less than upper", self.lower, bad, remedy)
        below = np.nextafter(np.ceil(self.lower), -np.inf) if of.discrete else self.lower
        self.before = np.where(np.isfinite(below), of.cdf(np.where(np.isfinite(below), below, 0.0)), 0.0)
        top = np.where(np.isfinite(self.upper), of.cdf(np.where(np.isfinite(self.upper), self.upper, 0.0)), 1.0)
        self.mass = top - self.before
        remedy = "Move the limits to where the model predicts, or limit a family with heavier tails."
        refuse(
            "truncated.of", f"within the limits with probability >= {_LEAST:g}", self.mass, self.mass < _LEAST, remedy
        )

    def __len__(self) -> int:
        return len(self.of)

    def take(self, index: AnyArray) -> Self:
        """Return the distributions at positions `index`."""
        return taken(self, index, "of", "lower", "upper", "before", "mass")

    def log_prob(self, y: AnyArray) -> FloatArray:
        """Return log q(y) less the logarithm of the probability within the limits; -inf outside."""
        y = np.asarray(y, dtype=float)
        inside = (y >= self.lower) & (y <= self.upper)
        return np.where(inside, self.of.log_prob(np.clip(y, self.lower, self.upper)) - np.log(self.mass), -np.inf)

    def cdf(self, y: AnyArray) -> FloatArray:
        """Return P(Y <= y)."""
        within = np.clip(y, self.lower, self.upper)
        reached = np.clip((self.of.cdf(within) - self.before) / self.mass, 0.0, 1.0)
        return np.where(np.asarray(y) < self.lower, 0.0, np.where(np.asarray(y) >= self.upper, 1.0, reached))

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw `size` values from each, shape (size, n): draws within the limits; what 20 rounds leave by inversion."""
        drawn = np.full(size * len(self), np.nan)
        row, left = np.tile(np.arange(len(self)), size), np.arange(size * len(self))
        for _ in range(_ROUNDS):
            values, at = self.of.take(row[left]).sample(rng, 1)[0], row[left]
            inside = (values >= self.lower[at]) & (values <= self.upper[at])
            drawn[left[inside]], left = values[inside], left[~inside]
        if len(left):
            p = np.maximum(rng.random(len(left)), np.finfo(float).tiny)
            drawn[left] = self.take(row[left]).inverted(p)
        return drawn.reshape(size, len(self))

    def inverted(self, p: FloatArray) -> FloatArray:
        """Return the quantile of each row at its own level, both of shape (n,)."""
        return np.clip(super().inverted(p), self.lower, self.upper)

    def about(self) -> tuple[FloatArray, FloatArray]:
        """Return the median of the whole, moved within the limits, and its spread."""
        low, middle, high = np.asarray(self.of.quantile(np.array([0.1, 0.5, 0.9])), dtype=float).T
        return np.clip(middle, self.lower, self.upper), np.maximum(high - low, 1.0 if self.discrete else 1e-300)


def _limit(name: str, value: Any, default: float, n: int) -> FloatArray:
    """Return a limit of each row, which may be infinite."""
    limits = numbers(f"truncated.{name}", default if value is None else value)
    if limits.shape not in ((), (n,)):
        raise InputError(f"truncated.{name} must have one value per row, {n}, or be one number; got {limits.shape}.")
    limits = np.broadcast_to(limits, (n,)).copy()
    refuse(f"truncated.{name}", "a number", limits, np.isnan(limits), "Leave it out for no limit.")
    return limits


_CANCELS = 1e-3  # of a difference of two values of a cdf above one half, from where on the density is integrated


class Discretised(Unparametrised):
    """n distributions of a continuous outcome rounded to whole numbers: P(k) = F(k + 1/2) - F(k - 1/2).

    Parameters
    ----------
    of : Distribution
        Continuous, with ``log_prob``, ``cdf`` and ``quantile``. For counts truncate it first:
        ``Discretised(Truncated(of, lower=-0.5))``.

    Examples
    --------
    >>> from uq_report.distributions import Normal
    >>> np.exp(Discretised(Normal([0.0], 1.0)).log_prob(np.array([0.0]))).round(4)
    array([0.3829])
    """

    discrete = True

    def __init__(self, of: Distribution) -> None:
        require("discretised.of", of, "log_prob", "cdf", "quantile", "sample")
        if of.discrete:
            raise InputError(
                f"discretised.of must be continuous; got a {of.family} one, which is discrete. Use it as it is."
            )
        self.of, self.family = of, f"discretised {of.family}"

    def __len__(self) -> int:
        return len(self.of)

    def take(self, index: AnyArray) -> Self:
        """Return the distributions at positions `index`."""
        return taken(self, index, "of")

    def log_prob(self, y: AnyArray) -> FloatArray:
        """Return the log probability of whole numbers y; far in the upper tail by Kronrod's rule over the density."""
        y = np.asarray(y, dtype=float)
        before, after = self.of.cdf(y - 0.5), self.of.cdf(y + 0.5)
        mass = np.maximum(after - before, 0.0)
        tail = np.flatnonzero((before > 0.5) & (mass < _CANCELS))
        with np.errstate(divide="ignore"):
            value = np.log(mass)
        if len(tail):
            value[tail] = self._by_density(tail, y[tail])
        return value

    def cdf(self, y: AnyArray) -> FloatArray:
        """Return P(Y <= y), also for y that are no whole numbers."""
        return self.of.cdf(np.floor(y) + 0.5)

    def quantile(self, p: AnyArray) -> FloatArray:
        """Return the smallest whole numbers with P(Y <= k) >= p, shape (n, L)."""
        guess = np.ceil(self.of.quantile(levels("discretised.quantile.p", p)) - 0.5)
        return np.asarray(guess + 0.0)

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw `size` values from each, rounded, shape (size, n)."""
        return np.floor(self.of.sample(rng, size) + 0.5)

    def _by_density(self, rows: IntArray, y: FloatArray) -> FloatArray:
        flat = self.of.take(np.repeat(rows, len(NODES)))
        log_density = flat.log_prob((y[:, None] + NODES / 2).ravel()).reshape(-1, len(NODES))
        largest = log_density.max(axis=1)
        largest = np.where(np.isfinite(largest), largest, 0.0)
        with np.errstate(divide="ignore"):
            return np.asarray(largest + np.log(row_sum(np.exp(log_density - largest[:, None]), KRONROD / 2)))
