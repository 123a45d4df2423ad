"""Mixtures of normals: the predictive distribution of an ensemble of regressors."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from typing import Any, Self

import numpy as np
from scipy.special import logsumexp, ndtr

from ...core.support.arrays import AnyArray, FloatArray
from ...core.support.errors import InputError
from ...core.support.limits import check_limits
from ..families.normal import Normal, absolute_moment, log_density
from ..numerics.numeric import FISHER
from ..numerics.validate import Rowwise, levels, numbers, row_sum, shares
from .mixture_information import (
    NormalMixtureParameters,
    cross_entropies,
    kl_of_mixtures,
    mean_entropy,
    mutual_information,
    quantiles,
    standardised,
)

_REMEDY = "raise min_samples_leaf, or lay a distribution over the mean with residuals='oob' (others: 'normal')"
_SPLIT = {"aleatoric_variance", "epistemic_variance"}
_ALWAYS = frozenset({"mean", "variance", "cdf", "quantile", "sample", "crps"}) | _SPLIT
_DENSITY = frozenset({"entropy", "log_prob", "aleatoric", "epistemic", "members", "leave_one_out", "kl"})


class NormalMixture(Rowwise):
    """n mixtures of m normal distributions.

    Parameters
    ----------
    means, stds : array of shape (n, m)
        Of the members; standard deviations at least 0.
    weights : array of shape (m,), optional
        Relative weights of the members; equal by default.
    points : bool, optional
        Whether members may be single points (standard deviation 0). A model whose members are must say
        True, so that what is supported does not depend on the rows asked; read from `stds` by default.

    Notes
    -----
    With points there is no density: entropy, log_prob, aleatoric, epistemic, members and kl are not supported,
    the rest is. ``entropy`` = ``aleatoric`` + ``epistemic`` in nats and ``variance`` likewise.

    Examples
    --------
    >>> q = NormalMixture([[0.0, 0.0], [0.0, 100.0]], [[1.0, 1.0], [1.0, 1.0]])
    >>> q.epistemic().round(4)
    array([0.    , 0.6931])
    >>> q.variance()
    array([1.000e+00, 2.501e+03])
    """

    family = "normal mixture"
    by_row = ("means", "stds")

    def __init__(self, means: Any, stds: Any, weights: Any = None, *, points: bool | None = None) -> None:
        self.means, self.stds = _members("means", means), _members("stds", stds)
        if self.means.shape != self.stds.shape:
            raise InputError(f"normal_mixture.stds must be of means' shape, {self.means.shape}; got {self.stds.shape}.")
        negative, zero = (self.stds < 0).any(axis=1), (self.stds == 0).any(axis=1)
        if negative.any():
            raise InputError(f"normal_mixture.stds must be >= 0; got negative ones in {int(negative.sum())} rows.")
        if points is False and zero.any():
            got = f"{int(zero.sum())} of {len(zero)} rows"
            raise InputError(f"normal_mixture.stds must be > 0; got 0 in {got}. {_REMEDY.capitalize()}.")
        self.points = bool(zero.any()) if points is None else points
        self.weights = shares("normal_mixture.weights", weights, self.means.shape[1])
        self.information: FloatArray | None = None

    @property
    def supports(self) -> frozenset[str]:
        """All but Fisher information; what needs a density only without points."""
        return _ALWAYS if self.points else _ALWAYS | _DENSITY

    def why_not(self, method: str) -> str:
        """Say why `method` cannot answer."""
        if method in _DENSITY:
            return f"{method} needs a density, but members are single points (standard deviation 0): {_REMEDY}"
        if method in FISHER:
            return f"{method} is not defined for a mixture, whose Fisher norm is that of its density"
        return super().why_not(method)

    def take(self, index: AnyArray) -> Self:
        """Return the distributions at positions `index`."""
        other = super().take(index)
        other.information = None
        return other

    def mean(self) -> FloatArray:
        """Return the weighted mean of the members' means."""
        return row_sum(self.means, self.weights)

    def variance(self) -> FloatArray:
        """Return the total variance."""
        return self.aleatoric_variance() + self.epistemic_variance()

    def aleatoric_variance(self) -> FloatArray:
        """Return the weighted mean of the members' variances."""
        return row_sum(np.square(self.stds), self.weights)

    def epistemic_variance(self) -> FloatArray:
        """Return the weighted variance of the members' means, exactly 0 where these are equal."""
        apart = self.means - self.means[:, :1]
        return row_sum(np.square(apart - row_sum(apart, self.weights)[:, None]), self.weights)

    def entropy(self) -> FloatArray:
        """Return the differential entropy by quadrature, to 1e-6 nats; see `mixture_information`."""
        self._need_density("entropy")
        return self.aleatoric() + self.epistemic()

    def aleatoric(self) -> FloatArray:
        """Return the weighted mean of the members' entropies."""
        self._need_density("aleatoric")
        return mean_entropy(self._mixtures)

    def epistemic(self) -> FloatArray:
        """Return the mutual information of outcome and member, between 0 and the entropy of the weights."""
        self._need_density("epistemic")
        if self.information is None:
            self.information = mutual_information(self._mixtures)
        return self.information

    def members(self) -> Iterator[tuple[float, Normal]]:
        """Yield the weight and the normal distributions of each member."""
        self._need_density("members")
        for weight, mean, std in zip(self.weights, self.means.T, self.stds.T, strict=True):
            if weight > 0:
                yield float(weight), Normal(mean, std)

    def leave_one_out(self) -> tuple[NormalMixture, ...]:
        """Return the mixtures without each member of positive weight; their entropies to first order in its weight.

        ``H - w/(1 - w) (CE_k - H)`` with the cross-entropy CE_k = -E_{q_k}[log q]: no further quadrature.
        """
        self._need_density("leave_one_out")
        used, entropy, others = self._mixtures.used(), self.entropy(), []
        excess = cross_entropies(used)
        excess -= row_sum(excess, used.weights)[:, None]
        for k, weight in enumerate(used.weights):
            other = copy(self)
            other.means, other.stds = (np.delete(part, k, axis=1) for part in (used.means, used.stds))
            other.weights = np.delete(used.weights, k) / (1 - weight)
            left = entropy - weight / (1 - weight) * excess[:, k]
            other.information = np.maximum(left - other.aleatoric(), 0.0)
            others.append(other)
        return tuple(others)

    def kl(self, other: Self) -> FloatArray:
        """Return the divergence from `other` by quadrature, to 1e-6 nats; see `mixture_information`."""
        self._need_density("kl")
        other._need_density("kl")
        return kl_of_mixtures(self._mixtures, other._mixtures)

    def log_prob(self, y: AnyArray) -> FloatArray:
        """Return the log density at y."""
        self._need_density("log_prob")
        member = log_density((np.asarray(y)[:, None] - self.means) / self.stds, self.stds)
        return np.asarray(logsumexp(member, axis=1, b=self.weights))

    def cdf(self, y: AnyArray) -> FloatArray:
        """Return P(Y <= y)."""
        check_limits()
        return row_sum(ndtr(standardised(np.asarray(y)[:, None], self.means, self.stds)), self.weights)

    def quantile(self, p: AnyArray) -> FloatArray:
        """Return the smallest y with P(Y <= y) >= p, shape (n, L), to 1e-10 of the members' spread."""
        return quantiles(self.means, self.stds, self.weights, levels("normal_mixture.quantile.p", p))

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw `size` values from each, shape (size, n)."""
        member = rng.choice(len(self.weights), (size, len(self)), p=self.weights)
        rows = np.arange(len(self))
        return rng.normal(self.means[rows, member], self.stds[rows, member])

    def crps(self, y: AnyArray) -> FloatArray:
        """Return sum_m w_m A(y - mu_m, s_m^2) - 1/2 sum_ml w_m w_l A(mu_m - mu_l, s_m^2 + s_l^2).

        Grimit et al. 2006, eq. 3 and 5; A is `absolute_moment`.
        """
        variances = np.square(self.stds)
        score = row_sum(absolute_moment(np.asarray(y)[:, None] - self.means, variances), self.weights)
        score -= row_sum(self.stds, np.square(self.weights)) / np.sqrt(np.pi)
        for m, weight in enumerate(self.weights):
            check_limits()
            later = slice(m + 1, None)
            apart = self.means[:, m, None] - self.means[:, later]
            distance = absolute_moment(apart, variances[:, m, None] + variances[:, later])
            score -= weight * row_sum(distance, self.weights[later])
        return score

    @property
    def _mixtures(self) -> NormalMixtureParameters:
        return NormalMixtureParameters(self.means, self.stds, self.weights)

    def _need_density(self, method: str) -> None:
        if self.points:
            self._cannot(method)


def _members(what: str, values: Any) -> FloatArray:
    parts = numbers(f"normal_mixture.{what}", values)
    if parts.ndim != 2 or parts.shape[1] == 0:
        raise InputError(f"normal_mixture.{what} must have the shape (rows, members); got {parts.shape}.")
    bad = np.asarray(~np.isfinite(parts).all(axis=1))
    if bad.any():
        raise InputError(
            f"normal_mixture.{what} must be finite; got other values in {int(bad.sum())} of {len(bad)} rows, "
            f"first in row {int(np.argmax(bad))}. Look at these rows' inputs and at the members' fit.",
            row=int(np.argmax(bad)),
        )
    return parts
