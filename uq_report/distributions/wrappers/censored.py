"""Distributions of times of which an outcome may say no more than that the event is later."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from ...core.predictive import Distribution
from ...core.support.arrays import AnyArray, FloatArray
from ...core.support.errors import InputError
from ..families.weibull import Lifetimes
from ..numerics.validate import row_sum

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(64)
_LEFT_OUT = 1e-11  # probability before the start of an integral, and beyond the end of a moment


class Censored(Lifetimes):
    """n continuous distributions of times > 0, with outcomes that may be censored.

    An event scores the density at its time, a row censored at t the probability of a later event; both in nats, the
    density for the unit of time, as in the likelihood of accelerated failure time models. Entropy and divergences are
    those of the time itself.

    Parameters
    ----------
    of : Distribution
        Continuous, of the times.
    horizon : float, default=inf
        Moments, quantiles and draws are those of min(T, horizon): with a finite one the restricted mean.

    Examples
    --------
    >>> from uq_report.distributions import Weibull
    >>> from uq_report.core.validation.lifetimes import recorded
    >>> times = Censored(Weibull([1.0, 1.0], 2.0))
    >>> times.log_prob(recorded(np.array([3.0, 3.0]), np.array([True, False]))).round(4)
    array([-2.1931, -1.5   ])
    """

    def __init__(self, of: Distribution, horizon: float = float("inf")) -> None:
        if of.discrete or of.censored or not {"log_prob", "cdf", "quantile"} <= of.supports:
            raise InputError(
                f"censored.of must be a continuous distribution with log_prob, cdf and quantile; got a {of.family} one."
            )
        if not horizon > 0:
            raise InputError(f"censored.horizon must be a time > 0; got {horizon:g}.")
        self.of, self.horizon = of, float(horizon)
        self.family, self.parametrisation = of.family, of.parametrisation

    @property
    def supports(self) -> frozenset[str]:
        """What the distribution of the times supports, but for scores that need the time of every event."""
        return self.of.supports - {"crps"}

    def __len__(self) -> int:
        return len(self.of)

    def take(self, index: AnyArray) -> Self:
        """Return the distributions at positions `index`."""
        return type(self)(self.of.take(index), self.horizon)

    def encode(self, y: Any) -> AnyArray:
        """Return times with events; refuse plain times, and times that the family cannot hold."""
        lifetimes = super().encode(y)
        self.of.encode(lifetimes["time"])
        return lifetimes

    def mean(self) -> FloatArray:
        """Return the mean of min(T, horizon)."""
        return self.of.mean() if np.isinf(self.horizon) else self._moment(1)

    def variance(self) -> FloatArray:
        """Return the variance of min(T, horizon)."""
        if np.isinf(self.horizon):
            return self.of.variance()
        return np.maximum(self._moment(2) - np.square(self._moment(1)), 0.0)

    def entropy(self) -> FloatArray:
        """Return the differential entropy of the time, in nats."""
        return self.of.entropy()

    def log_prob(self, y: AnyArray) -> FloatArray:
        """Return the log density at the time of an event, and log S(t) of a row censored at t."""
        return np.where(y["event"], self.of.log_prob(y["time"]), self.of.log_survival(y["time"]))

    def cdf(self, y: AnyArray) -> FloatArray:
        """Return P(T <= y) of plain times y."""
        return self.of.cdf(y)

    def quantile(self, p: AnyArray) -> FloatArray:
        """Return the quantiles of min(T, horizon), shape (n, L)."""
        return np.minimum(self.of.quantile(p), self.horizon)

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw `size` values of min(T, horizon) from each, shape (size, n)."""
        return np.minimum(self.of.sample(rng, size), self.horizon)

    def kl(self, other: Self) -> FloatArray:
        """Return the Kullback-Leibler divergence of the times."""
        return self.of.kl(other.of)

    def renyi_half(self, other: Self) -> FloatArray:
        """Return the Rényi divergence of order 1/2 of the times."""
        return self.of.renyi_half(other.of)

    @property
    def parameters(self) -> FloatArray:
        """Those of the distribution of the times, shape (n, M)."""
        return self.of.parameters

    def fisher_information(self) -> FloatArray:
        """Return that of the times, shape (n, M, M)."""
        return self.of.fisher_information()

    def cumulative_hazard(self, time: AnyArray) -> FloatArray:
        """Return -log S(t)."""
        return -self.of.log_survival(time)

    def expected_nll(self, y: AnyArray) -> FloatArray:
        """Return the loss expected up to the time of y: H(t) - ∫ log h dH up to t, with the hazard h and its sum H.

        The loss less this is a martingale, as that of `Survival.expected_nll`; without censoring its mean is the
        entropy.
        """

        def terms(of: Distribution, t: FloatArray) -> FloatArray:
            log_hazard = of.log_prob(t) - of.log_survival(t)
            return np.asarray(np.exp(log_hazard) * log_hazard)

        return self.cumulative_hazard(y["time"]) - self._integral(y["time"], terms)[0]

    def pit_bounds(self, y: AnyArray) -> tuple[FloatArray, FloatArray]:
        """Return F(t) twice for an event, F(t) and 1 for a row censored at t; see `Survival.pit_bounds`."""
        cdf = self.of.cdf(y["time"])
        return cdf, np.where(y["event"], cdf, 1.0)

    def why_not(self, method: str) -> str:
        """Say why `method` cannot answer."""
        return super().why_not(method) if method == "crps" else self.of.why_not(method)

    def _moment(self, power: int) -> FloatArray:
        """Return E[min(T, horizon)^power], the integral of power t^(power - 1) S(t) up to the horizon."""

        def terms(of: Distribution, t: FloatArray) -> FloatArray:
            return np.asarray(power * t ** (power - 1) * np.exp(of.log_survival(t)))

        last = self.of.quantile(np.array([1 - _LEFT_OUT]))[:, 0]
        value, start = self._integral(np.minimum(last, self.horizon), terms)
        return np.asarray(value + start**power)

    def _integral(
        self, end: FloatArray, terms: Callable[[Distribution, FloatArray], FloatArray]
    ) -> tuple[FloatArray, FloatArray]:
        """Return the integral of terms(of, t) from a time before almost any event to `end`, and that time.

        Gauss-Legendre in log t, where hazards and survival functions are smooth.
        """
        start = np.minimum(self.of.quantile(np.array([_LEFT_OUT]))[:, 0], end)
        low, high = np.log(start), np.log(end)
        half = (high - low)[:, None] / 2
        t = np.exp((high + low)[:, None] / 2 + half * _NODES)
        wide = self.of.take(np.repeat(np.arange(len(self)), len(_NODES)))
        values = terms(wide, t.ravel()).reshape(t.shape)
        return row_sum(values * t * half, _WEIGHTS), start
