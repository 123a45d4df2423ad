"""What every distribution of numbers can do once it has ``log_prob``, ``cdf`` and ``quantile``: by quadrature or sums.

A family overrides whatever it has in closed form. The integrals are good to 1e-9 nats (or of the row's spread, for
moments and scores) beside what lies outside the quantiles 1e-12 and 1 - 1e-12, and what no float resolves: the mass
within 1e-16 of 1 of a beta distribution with b far below 1.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import entr

from ...core.predictive import Distribution
from ...core.support.arrays import AnyArray, FloatArray, IntArray
from ..families.normal import WHOLE
from .inversion import bracket, inverse
from .relative_entropy import half_from
from .rowwise import Rowwise
from .totals import HALVINGS, OF_CDF, at, cdf_at, distance_by_total, kl_by_total, reach, spread, total
from .validate import levels, numbers, positive, refuse, same_length

_WHOLE_NUMBERS = "whole numbers"


class Numeric(Distribution):
    """Distributions of numbers: a density over the reals, or, if `discrete`, probabilities of integers."""

    def encode(self, y: Any) -> FloatArray:
        """Return y as floats; refuse what is no number, and of a discrete family what is no whole number."""
        values = numbers(f"{self._who()}.y", y)
        if self.discrete:
            bad = values != np.floor(values)
            refuse(f"{self._who()}.y", _WHOLE_NUMBERS, values, bad, "Use a continuous family for other targets.")
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
        level = levels(f"{self._who()}.quantile.p", p)
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

    def _who(self) -> str:
        return self.family.lower().replace(" ", "_").replace("-", "_")


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
            floats = same_length(f"{self._who()}.{name}", value, lengths[0] if lengths else 1)
            if name in self.above_zero:
                remedy = "Look at these rows' inputs and at the model's link: it may give a logarithm."
                positive(f"{self._who()}.{name}", floats, remedy)
            setattr(self, name, floats)

    def encode(self, y: Any) -> FloatArray:
        """Return y as floats; refuse what this family cannot hold."""
        values, who = Numeric.encode(self, y), f"{self._who()}.y"
        lower, upper = self.within
        remedy = "Use a family that holds such values, as ZeroInflated(...) holds zeros."
        if self.discrete:
            refuse(who, f"whole numbers >= {lower:g}", values, values < lower, remedy)
        elif np.isfinite(lower):
            words = f"greater than {lower:g}" + (f" and less than {upper:g}" if np.isfinite(upper) else "")
            refuse(who, words, values, (values <= lower) | (values >= upper), remedy)
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
