"""What every distribution of numbers can do once it has ``log_prob``, ``cdf`` and ``quantile``: by quadrature or sums.

A family overrides whatever it has in closed form. The integrals are good to 1e-9 nats (or of the row's spread, for
moments and scores) beside what lies outside the quantiles 1e-12 and 1 - 1e-12, and what no float resolves: the mass
within 1e-16 of 1 of a beta distribution with b far below 1.
"""

from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import entr

from ...core.predictive import Distribution
from ...core.support.arrays import AnyArray, BoolArray, FloatArray, IntArray
from ...core.support.limits import check_limits
from .quadrature import HALVINGS, OF_CDF, at, cdf_at, distance_by_total, half_from, kl_by_total, reach, spread, total
from .validate import Rowwise, levels, numbers, positive, refuse, same_length, who

FISHER = frozenset({"parameters", "fisher_information", "fisher_norm"})
DIVERGENCES = frozenset({"kl", "renyi_half"})
# all but the split into parts
WHOLE = FISHER | DIVERGENCES | {"mean", "variance", "entropy", "log_prob", "cdf", "quantile", "sample", "crps"}


ROUNDING = 1 - 1e-14  # a sum of probabilities may fall short of a level by rounding
_STEPS = 2200  # halvings from the largest to the smallest float


def bracket(dist: Distribution, p: FloatArray, centre: FloatArray, unit: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return `centre` moved down until P(Y <= y) < p and up until it is >= p, by doubled steps; all of shape (n,)."""
    lower, upper = centre - unit, centre + unit
    for _ in range(1000):
        low, high = dist.cdf(lower) >= p * ROUNDING, dist.cdf(upper) < p * ROUNDING
        if not (low | high).any():
            break
        with np.errstate(over="ignore"):
            lower = np.where(low, np.maximum(centre - 2 * (centre - lower), -1e300), lower)
            upper = np.where(high, np.minimum(centre + 2 * (upper - centre), 1e300), upper)
    return lower, upper


def inverse(dist: Distribution, p: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Return the smallest y in [lower, upper] with P(Y <= y) >= p, each of shape (n,), to rounding.

    Newton steps need ``log_prob``; a step that leaves the bracket or is more than half of the last one is replaced
    by halving (Press et al., Numerical Recipes, rtsafe), in the logarithm where the bracket spans decades.
    """
    if dist.discrete:
        return _integer(dist, p, np.ceil(lower), np.ceil(upper))
    at_once = dist.cdf(lower) >= p * ROUNDING
    upper = np.where(at_once, lower, upper)
    lower, upper, y, step = lower.copy(), upper.copy(), _middle(lower, upper), upper - lower
    left = np.flatnonzero(upper > lower)
    for _ in range(_STEPS):
        if not len(left):
            break
        some, here = dist.take(left), y[left]
        excess = some.cdf(here) - p[left] * ROUNDING
        lower[left], upper[left] = np.where(excess < 0, here, lower[left]), np.where(excess < 0, upper[left], here)
        low, high = lower[left], upper[left]
        following = _newton(some, here, excess)
        fine = (following > low) & (following < high) & (np.abs(following - here) <= 0.5 * np.abs(step[left]))
        following = np.where(fine, following, _middle(low, high))
        moved = following - here
        step[left], y[left] = moved, following
        small = 4 * np.spacing(np.maximum(np.abs(low), np.abs(high)))
        near = np.spacing(np.maximum(np.abs(here), np.abs(following)))  # of the value, for the bracket may be wide yet
        met = fine & ((np.abs(moved) <= near) | (np.abs(excess) <= 4 * np.spacing(p[left])))
        left = left[(high - low > small) & ~met]
    return np.where(np.abs(upper - y) <= 4 * np.spacing(np.abs(upper)), upper, y)


def _middle(lower: FloatArray, upper: FloatArray) -> FloatArray:
    decades = _far(lower, upper) | _far(-upper, -lower)
    with np.errstate(invalid="ignore"):
        geometric = np.sign(upper) * np.sqrt(np.abs(lower)) * np.sqrt(np.abs(upper))
    return np.where(decades, geometric, 0.5 * lower + 0.5 * upper)


def _far(lower: FloatArray, upper: FloatArray) -> BoolArray:
    return np.asarray((lower > 0) & (upper / 4 > lower))


def _newton(dist: Distribution, y: FloatArray, excess: FloatArray) -> FloatArray:
    """Return where the tangent meets the level; no number, hence refused, where there is no density."""
    if "log_prob" not in dist.supports:
        return np.full_like(y, np.nan)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        return np.asarray(y - excess / np.exp(dist.log_prob(y)))


def _integer(dist: Distribution, p: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray:
    lower, upper = lower.copy(), np.maximum(lower, upper)
    left = np.flatnonzero(lower < upper)
    while len(left):
        check_limits()
        middle = np.floor(0.5 * lower[left] + 0.5 * upper[left])
        enough = dist.take(left).cdf(middle) >= p[left] * ROUNDING
        upper[left], lower[left] = np.where(enough, middle, upper[left]), np.where(enough, lower[left], middle + 1)
        left = left[lower[left] < upper[left]]
    return upper


_WHOLE_NUMBERS = "whole numbers"


class Numeric(Distribution):
    """Distributions of numbers: a density over the reals, or, if `discrete`, probabilities of integers."""

    def encode(self, y: Any) -> FloatArray:
        """Return y as floats; refuse what is no number, and of a discrete family what is no whole number."""
        values = numbers(f"{who(self)}.y", y)
        if self.discrete:
            bad = values != np.floor(values)
            refuse(f"{who(self)}.y", _WHOLE_NUMBERS, values, bad, "Use a continuous family for other targets.")
        return values

    def mean(self) -> FloatArray:
        """Return the mean by quadrature."""
        edges = reach(self, tails=True)
        centre, unit = edges[:, edges.shape[1] // 2], spread(self)

        def terms(rows: IntArray, y: FloatArray) -> FloatArray:
            return (y - centre[rows, None]) / unit[rows, None] * np.exp(at(self, "log_prob", rows, y))

        return np.asarray(centre + unit * total(edges, terms, discrete=self.discrete))

    def variance(self) -> FloatArray:
        """Return the variance by quadrature."""
        edges, mean = reach(self, tails=True), self.mean()
        unit = spread(self)

        def terms(rows: IntArray, y: FloatArray) -> FloatArray:
            return np.square((y - mean[rows, None]) / unit[rows, None]) * np.exp(at(self, "log_prob", rows, y))

        return np.asarray(np.square(unit) * total(edges, terms, discrete=self.discrete))

    def entropy(self) -> FloatArray:
        """Return the entropy in nats by quadrature."""
        return total(reach(self), lambda rows, y: entr(np.exp(at(self, "log_prob", rows, y))), discrete=self.discrete)

    def kl(self, other: Self) -> FloatArray:
        """Return the divergence in nats by quadrature."""
        return kl_by_total(self, other, reach(self, other))

    def renyi_half(self, other: Self) -> FloatArray:
        """Return the divergence of order 1/2 in nats by quadrature; above 20 nats a lower bound, at least 20."""
        return half_from(distance_by_total(self, other, reach(self, other)))

    def crps(self, y: AnyArray) -> FloatArray:
        """Return the integral of (F(t) - 1[y <= t])², shape (n,), by quadrature."""
        y = np.asarray(y, dtype=float)[:, None]
        edges = reach(self, tails=True)
        unit, halvings = spread(self), OF_CDF if self.discrete else HALVINGS
        edges = np.sort(np.hstack([edges, y]), axis=1)

        def below(rows: IntArray, t: FloatArray) -> FloatArray:
            return np.asarray(np.square(cdf_at(self, rows, t)) / unit[rows, None])

        def above(rows: IntArray, t: FloatArray) -> FloatArray:
            return np.asarray(np.square(1 - cdf_at(self, rows, t)) / unit[rows, None])

        score = total(np.minimum(edges, y), below, discrete=self.discrete, halvings=halvings)
        return np.asarray(
            unit * (score + total(np.maximum(edges, y), above, discrete=self.discrete, halvings=halvings))
        )

    def quantile(self, p: AnyArray) -> FloatArray:
        """Return the quantiles, shape (n, L), by inverting the cdf."""
        level = levels(f"{who(self)}.quantile.p", p)
        rows = np.repeat(np.arange(len(self)), len(level))
        return self.take(rows).inverted(np.tile(level, len(self))).reshape(len(self), len(level))

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray | IntArray:
        """Draw `size` values from each, shape (size, n), by inverting the cdf."""
        p = np.maximum(rng.random(size * len(self)), np.finfo(float).tiny)
        return self.take(np.tile(np.arange(len(self)), size)).inverted(p).reshape(size, len(self))

    def inverted(self, p: FloatArray) -> FloatArray:
        """Return the quantile of each row at its own level, both of shape (n,)."""
        centre, unit = self.about()
        return inverse(self, p, *bracket(self, p, centre, unit))

    def about(self) -> tuple[FloatArray, FloatArray]:
        """Return a place near the mass and a distance to look around it, from which a bracket grows."""
        return np.zeros(len(self)), np.ones(len(self))


class Parametric(Rowwise, Numeric):
    """A family whose parameters are arrays (n,), or one number for all rows: the attributes in `by_row`.

    Parameters that `above_zero` names must be greater than 0; outcomes lie strictly within `within`, or, of a
    discrete family, are integers from its first number on.
    """

    supports = WHOLE
    above_zero: ClassVar[tuple[str, ...]] = ()
    within: ClassVar[tuple[float, float]] = (-np.inf, np.inf)

    def hold(self, **values: Any) -> None:
        """Set the parameters as arrays of one length; refuse what is no such parameter, naming rows and values."""
        lengths = [np.shape(value)[0] for value in values.values() if np.ndim(value)]
        for name, value in values.items():
            floats = same_length(f"{who(self)}.{name}", value, lengths[0] if lengths else 1)
            if name in self.above_zero:
                remedy = "Look at these rows' inputs and at the model's link: it may give a logarithm."
                positive(f"{who(self)}.{name}", floats, remedy)
            setattr(self, name, floats)

    def encode(self, y: Any) -> FloatArray:
        """Return y as floats; refuse what this family cannot hold."""
        values, target = Numeric.encode(self, y), f"{who(self)}.y"
        lower, upper = self.within
        remedy = "Use a family that holds such values, as ZeroInflated(...) holds zeros."
        if self.discrete:
            refuse(target, f"whole numbers >= {lower:g}", values, values < lower, remedy)
        elif np.isfinite(lower):
            words = f"greater than {lower:g}" + (f" and less than {upper:g}" if np.isfinite(upper) else "")
            refuse(target, words, values, (values <= lower) | (values >= upper), remedy)
        return values

    @property
    def parameters(self) -> FloatArray:
        """The parameters, shape (n, M)."""
        return np.stack([getattr(self, name) for name in self.by_row], axis=1)


def score_of(y: AnyArray, cdf: FloatArray, mean: FloatArray, partial: FloatArray, gini: FloatArray) -> FloatArray:
    """Return the crps y (2 F(y) - 1) + E[Y] - 2 E[Y; Y <= y] - E|Y - Y'| / 2; `partial` is E[Y; Y <= y].

    It is E|Y - y| - E|Y - Y'| / 2 (Gneiting & Raftery 2007, eq. 21); `gini` is E|Y - Y'| / 2.
    """
    return np.asarray(y * (2 * cdf - 1) + mean - 2 * partial - gini)
