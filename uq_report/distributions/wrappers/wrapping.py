"""What distributions made of others share.

Distributions with additional zeros.

Any family of scipy.stats.
"""

from copy import copy
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import entr, rel_entr, xlogy

from ...core.predictive import Distribution
from ...core.support.arrays import AnyArray, FloatArray, IntArray
from ...core.support.errors import InputError
from ..numerics.numeric import DIVERGENCES, FISHER, Numeric, inverse
from ..numerics.quadrature import KRONROD, NODES, half_from
from ..numerics.validate import levels, numbers, refuse, row_sum, same_length

SHAPE = frozenset({"mean", "variance", "cdf", "quantile", "sample", "crps"})
DENSITY = frozenset({"log_prob", "entropy"}) | DIVERGENCES


def require(who: str, of: object, *methods: str) -> None:
    """Refuse what is no distribution of numbers, or cannot answer what the wrapper asks it."""
    if not isinstance(of, Distribution):
        raise InputError(f"{who} must be a distribution; got {type(of).__name__}. Give Normal(mean, std) or the like.")
    if "proba" in of.supports:
        raise InputError(f"{who} must be a distribution of numbers; got a {of.family} one. Use its probabilities.")
    missing = [method for method in methods if method not in of.supports]
    if missing:
        raise InputError(f"{who} must support {', '.join(methods)}; got a {of.family} one: {of.why_not(missing[0])}.")


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


class Wrapped(Unparametrised):
    """n distributions made of those in `of`."""

    of: Distribution
    rows: ClassVar[tuple[str, ...]] = ("of",)  # attributes with one entry a row: arrays or distributions

    def __len__(self) -> int:
        return len(self.of)

    def take(self, index: AnyArray) -> Self:
        """Return the distributions at positions `index`."""
        other = copy(self)
        for name in self.rows:
            part = getattr(self, name)
            setattr(other, name, part.take(index) if isinstance(part, Distribution) else part[index])
        return other


_ROUNDS = 20
_LEAST = 1e-8  # of the probability within the limits: of less, differences of a cdf keep too few digits


class Truncated(Wrapped):
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

    rows = ("of", "lower", "upper", "before", "mass")

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


class Discretised(Wrapped):
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


_NEEDS = {"variance": {"mean", "variance"}, "entropy": {"entropy", "log_prob"}, "kl": {"kl", "log_prob"}}
_NEEDS |= {"renyi_half": {"renyi_half", "log_prob"}, "quantile": {"quantile", "cdf"}}
_WHOLE = ("mean", "variance", "entropy", "log_prob", "kl", "renyi_half", "cdf", "quantile", "sample", "crps")


class ZeroInflated(Wrapped):
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

    rows = ("of", "p_zero")

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


class Scipy(Unparametrised):
    """n distributions of a family of scipy.stats: the door for those that have no class of their own.

    Parameters
    ----------
    frozen : scipy.stats frozen distribution
        With parameters that are numbers or arrays of shape (n,).

    Notes
    -----
    Density, cdf and quantiles are scipy's; entropy, divergences and scores follow by quadrature. The variance, and
    the mean, are infinite where scipy has none.

    Examples
    --------
    >>> from scipy import stats
    >>> Scipy(stats.gumbel_r(loc=[0.0, 1.0], scale=2.0)).entropy().round(4)
    array([2.2704, 2.2704])
    """

    def __init__(self, frozen: Any) -> None:
        base = getattr(frozen, "dist", None)
        if not all(hasattr(frozen, name) for name in ("args", "kwds", "ppf", "cdf")) or base is None:
            raise InputError(
                f"scipy.frozen must be a frozen distribution, as in stats.gumbel_r(loc=a, scale=b); "
                f"got {type(frozen).__name__}. Call the family with its parameters."
            )
        self.base, self.discrete = base, hasattr(base, "logpmf")
        self.family = f"scipy {base.name}"
        values = np.broadcast_arrays(*frozen.args, *frozen.kwds.values(), np.zeros(1))[:-1]
        if any(value.ndim > 1 for value in values):
            raise InputError(f"scipy.frozen must have parameters of shape (n,); got {values[0].shape}.")
        self.args = [np.array(value) for value in values]
        self.names = [None] * len(frozen.args) + list(frozen.kwds)
        self.length = len(values[0]) if values else 1
        middle = self._call("ppf", 0.5)
        refuse(f"scipy.{base.name}", "defined", middle, ~np.isfinite(middle), "Look at these rows' parameters.")

    @classmethod
    def named(cls, family: str, *args: Any, **named: Any) -> Self:
        """Return a family of scipy.stats by its name there, which is loaded here: it is heavy, and few models need it.

        Examples
        --------
        >>> Scipy.named("gumbel_r", loc=[0.0, 1.0], scale=2.0).mean().round(4)
        array([1.1544, 2.1544])
        """
        from scipy import stats

        return cls(getattr(stats, family)(*args, **named))

    def __len__(self) -> int:
        return len(self.args[0]) if self.args else self.length

    def take(self, index: AnyArray) -> Self:
        """Return the distributions at positions `index`."""
        other = copy(self)
        other.args = [value[index] for value in self.args]
        other.length = len(np.arange(self.length)[index]) if not self.args else 0
        return other

    def mean(self) -> FloatArray:
        """Return scipy's mean."""
        return self._moment("mean")

    def variance(self) -> FloatArray:
        """Return scipy's variance."""
        return self._moment("var")

    def log_prob(self, y: AnyArray) -> FloatArray:
        """Return scipy's log density or log probability."""
        return self._call("logpmf" if self.discrete else "logpdf", y)

    def cdf(self, y: AnyArray) -> FloatArray:
        """Return scipy's cdf."""
        return self._call("cdf", y)

    def quantile(self, p: AnyArray) -> FloatArray:
        """Return scipy's quantiles, shape (n, L)."""
        level = levels("scipy.quantile.p", p)
        return np.stack([self._call("ppf", p) for p in level], axis=1)

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray | IntArray:
        """Draw `size` values from each by scipy, shape (size, n)."""
        positional, named = self._parameters()
        return np.asarray(self.base.rvs(*positional, **named, size=(size, len(self)), random_state=rng))

    def _moment(self, name: str) -> FloatArray:
        value = self._call(name)
        return np.where(np.isnan(value), np.inf, value)

    def _call(self, method: str, *first: Any) -> FloatArray:
        positional, named = self._parameters()
        with np.errstate(all="ignore"):  # what scipy's formulas meet on the way to a value that is right
            value = np.asarray(getattr(self.base, method)(*first, *positional, **named), dtype=float)
        return np.broadcast_to(value, (len(self),)).copy()

    def _parameters(self) -> tuple[list[FloatArray], dict[str, FloatArray]]:
        both = list(zip(self.names, self.args, strict=True))
        return [v for name, v in both if name is None], {name: v for name, v in both if name is not None}
