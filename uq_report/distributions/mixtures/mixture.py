"""Mixtures of distributions of any families."""

from collections.abc import Iterator, Sequence
from copy import copy
from typing import Any, Self

import numpy as np
from scipy.special import entr, logsumexp, xlogy

from ...core.predictive import Distribution
from ...core.support.arrays import AnyArray, FloatArray, IntArray
from ...core.support.errors import InputError, UnsupportedError
from ..numerics import quadrature
from ..numerics.numeric import FISHER, Numeric, inverse
from ..numerics.quadrature import at, cdf_at, distance_by_total, half_from, kl_by_total
from ..numerics.validate import levels, row_sum, shares
from ..wrappers.wrapping import require

_TOLERANCE = 1e-7  # nats per row
_NEEDS: dict[str, set[str]] = {
    **{name: {name} for name in ("mean", "cdf", "sample", "log_prob")},
    **{name: {"mean", "variance"} for name in ("variance", "aleatoric_variance")},
    "epistemic_variance": {"mean"},
    "aleatoric": {"entropy"},
    "epistemic": {"log_prob", "quantile"},
    "members": {"log_prob", "quantile"},
    "entropy": {"entropy", "log_prob", "quantile"},
    "kl": {"log_prob", "quantile"},
    "renyi_half": {"log_prob", "quantile"},
    "quantile": {"cdf", "quantile"},
    "crps": {"crps", "cdf", "quantile"},
}


class Mixture(Numeric):
    """n mixtures of m distributions of any families: an ensemble's prediction.

    Parameters
    ----------
    components : sequence of m distributions
        Of the same n rows; all continuous or all discrete, none of classes.
    weights : array of shape (m,), optional
        Relative weights; equal by default.

    Notes
    -----
    Of normal distributions alone, `NormalMixture` says the same faster, and also allows single points; of class
    probabilities `CategoricalMixture` does. `core.stochastic.mixture` chooses. ``entropy`` = ``aleatoric`` +
    ``epistemic`` in nats, ``variance`` likewise; the epistemic part is the integral of sum_m w_m q_m log(q_m / q),
    never negative and at most the entropy of the weights, over panels between the members' quantiles.

    Examples
    --------
    >>> from uq_report.distributions import Laplace, Normal
    >>> q = Mixture([Normal([0.0], 1.0), Laplace([100.0], 1.0)])
    >>> q.epistemic().round(4)
    array([0.6931])
    """

    def __init__(self, components: Sequence[Distribution], weights: Any = None) -> None:
        parts = list(components)
        if not parts:
            raise InputError("mixture.components must be distributions of the same rows; got none.")
        for k, part in enumerate(parts):
            require(f"mixture.components[{k}]", part)
        sizes, kinds = sorted({len(part) for part in parts}), {part.discrete for part in parts}
        if len(sizes) > 1:
            raise InputError(f"mixture.components must be of the same rows; got {sizes} of them.")
        if len(kinds) > 1:
            names = ", ".join(sorted({part.family for part in parts}))
            raise InputError(
                f"mixture.components must be all continuous or all discrete; got {names}. "
                "Use Discretised(...), or ZeroInflated(p_zero, of) for additional zeros."
            )
        weight = shares("mixture.weights", weights, len(parts))
        self.components = [part for part, w in zip(parts, weight, strict=True) if w > 0]
        self.weights, self.discrete = weight[weight > 0], kinds == {True}
        self.family = f"mixture of {' and '.join(sorted({part.family for part in parts}))}"
        self.information: FloatArray | None = None
        self.agreement: FloatArray | None = None

    @property
    def supports(self) -> frozenset[str]:
        """What the components support, but parameters."""
        return frozenset(name for name in _NEEDS if not self._lacking(name))

    def why_not(self, method: str) -> str:
        """Say why `method` cannot answer: what a component lacks."""
        if method in FISHER:
            return f"{method} is not defined for a mixture, whose Fisher norm is that of its density"
        for part in self._lacking(method) if method in _NEEDS else []:
            missing = sorted(_NEEDS[method] - part.supports)
            return f"{method} needs {missing[0]} of every component: {part.why_not(missing[0])}"
        return super().why_not(method)

    def _lacking(self, method: str) -> list[Distribution]:
        return [part for part in self.components if not _NEEDS[method] <= part.supports]

    def __len__(self) -> int:
        return len(self.components[0])

    def take(self, index: AnyArray) -> Self:
        """Return the distributions at positions `index`."""
        other = copy(self)
        other.components = [part.take(index) for part in self.components]
        other.information = other.agreement = None
        return other

    def encode(self, y: Any) -> FloatArray:
        """Return y as all components take it."""
        values = Numeric.encode(self, y)
        for part in self.components:
            part.encode(values)
        return values

    def mean(self) -> FloatArray:
        """Return the weighted mean of the components' means."""
        return self._averaged("mean")

    def variance(self) -> FloatArray:
        """Return the total variance."""
        return self.aleatoric_variance() + self.epistemic_variance()

    def aleatoric_variance(self) -> FloatArray:
        """Return the weighted mean of the components' variances."""
        return self._averaged("variance")

    def epistemic_variance(self) -> FloatArray:
        """Return the weighted variance of the components' means, exactly 0 where these are equal."""
        means = self._each("mean")
        apart = means - means[:, :1]
        return row_sum(np.square(apart - row_sum(apart, self.weights)[:, None]), self.weights)

    def entropy(self) -> FloatArray:
        """Return the entropy in nats by quadrature, to 1e-6 nats."""
        return self.aleatoric() + self.epistemic()

    def aleatoric(self) -> FloatArray:
        """Return the weighted mean of the components' entropies."""
        return self._averaged("entropy")

    def epistemic(self) -> FloatArray:
        """Return the mutual information of outcome and component, between 0 and the entropy of the weights."""
        if self._lacking("epistemic"):
            self._cannot("epistemic")
        if self.information is None:
            bound = entr(self.weights).sum()
            self.information = np.clip(self._total(self._information, tolerance=_TOLERANCE), 0.0, bound)
        return self.information

    def members(self) -> Iterator[tuple[float, Distribution]]:
        """Yield the weight and the distributions of each component."""
        if self._lacking("members"):
            self._cannot("members")
        yield from zip(self.weights.tolist(), self.components, strict=True)

    def kl(self, other: Self) -> FloatArray:
        """Return the divergence in nats by quadrature."""
        return kl_by_total(self, other, *self._together(other, "kl"))

    def renyi_half(self, other: Self) -> FloatArray:
        """Return the divergence of order 1/2 in nats by quadrature."""
        return half_from(distance_by_total(self, other, *self._together(other, "renyi_half")))

    def log_prob(self, y: AnyArray) -> FloatArray:
        """Return the log density or probability at y."""
        return np.asarray(logsumexp(self._each("log_prob", y), axis=1, b=self.weights))

    def cdf(self, y: AnyArray) -> FloatArray:
        """Return P(Y <= y)."""
        return row_sum(self._each("cdf", y), self.weights)

    def quantile(self, p: AnyArray) -> FloatArray:
        """Return the quantiles, shape (n, L), found between the components' own."""
        level = levels("mixture.quantile.p", p)
        ends = np.stack([np.asarray(part.quantile(level), dtype=float).ravel() for part in self.components])
        many = self.take(np.repeat(np.arange(len(self)), len(level)))
        values = inverse(many, np.tile(level, len(self)), ends.min(axis=0), ends.max(axis=0))
        return values.reshape(len(self), len(level))

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw `size` values from each, shape (size, n)."""
        member = rng.choice(len(self.weights), (size, len(self)), p=self.weights)
        drawn = np.zeros((size, len(self)))
        for k, part in enumerate(self.components):
            drawn = np.where(member == k, part.sample(rng, size), drawn)
        return drawn

    def crps(self, y: AnyArray) -> FloatArray:
        """Return sum_m w_m crps_m(y) less the integral over t of the variance of the components' F_m(t)."""
        if self._lacking("crps"):
            self._cannot("crps")
        if self.agreement is None:
            unit = np.max([quadrature.spread(part) for part in self.components], axis=0)
            halvings = quadrature.OF_CDF if self.discrete else quadrature.HALVINGS
            self.agreement = unit * self._total(lambda r, t: self._gap(r, t) / unit[r, None], halvings=halvings)
        return row_sum(self._each("crps", y), self.weights) - self.agreement

    def _together(self, other: Self, method: str) -> tuple[FloatArray, int]:
        """Return the edges of panels that serve both, and how many components they have."""
        for mixture in (self, other):
            if method not in mixture.supports:
                raise UnsupportedError(mixture.why_not(method))
        parts = [*self.components, *other.components]
        return quadrature.reach(*parts), len(parts)

    def _averaged(self, method: str) -> FloatArray:
        return row_sum(self._each(method), self.weights)

    def _each(self, method: str, *y: AnyArray) -> FloatArray:
        """Return what each component answers, shape (n, m)."""
        return np.stack([np.asarray(getattr(part, method)(*y), dtype=float) for part in self.components], axis=1)

    def _total(self, terms: Any, **options: Any) -> FloatArray:
        edges = quadrature.reach(*self.components)
        return quadrature.total(edges, terms, discrete=self.discrete, members=len(self.components), **options)

    def _information(self, rows: IntArray, y: FloatArray) -> FloatArray:
        """Return sum_m w_m q_m log q_m - q log q at y (P, k) of the rows (P,)."""
        mixed, split = np.zeros(y.shape), np.zeros(y.shape)
        for weight, part in zip(self.weights, self.components, strict=True):
            log_member = at(part, "log_prob", rows, y)
            density = weight * np.exp(log_member)
            mixed += density
            split += np.where(density > 0, density * np.maximum(log_member, _LOWEST), 0.0)
        return np.asarray(split - xlogy(mixed, mixed))

    def _gap(self, rows: IntArray, t: FloatArray) -> FloatArray:
        reached = np.stack([cdf_at(part, rows, t) for part in self.components], axis=-1)
        return row_sum(np.square(reached - row_sum(reached, self.weights)[..., None]), self.weights)


_LOWEST = -1e300  # in place of a logarithm that is -inf where a density is 0
