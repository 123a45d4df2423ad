"""Every family against the integrals that define its numbers, by scipy's quad or by sums over integers."""

from collections.abc import Callable
from copy import copy
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from uq_report.core.predictive import Distribution
from uq_report.distributions import (
    Beta,
    Discretised,
    Gamma,
    HalfNormal,
    Laplace,
    Logistic,
    LogNormal,
    Mixture,
    NegativeBinomial,
    Normal,
    Poisson,
    Scipy,
    StudentT,
    Truncated,
    Weibull,
    ZeroInflated,
)
from uq_report.distributions.numerics.numeric import Numeric, Parametric

A, B, C = np.array([0.6, 1.0, 4.0]), np.array([0.02, 1.5, 30.0]), np.array([-3.0, 0.0, 50.0])
CLOSED: dict[str, Parametric] = {
    "log-normal": LogNormal(C / 20, A / 6),
    "gamma": Gamma(A, B),
    "gamma, nearly normal": Gamma(np.array([2e3, 2e4, 2e6]), B),
    "Weibull": Weibull(A, B),
    "Laplace": Laplace(C * B / 25, B),
    "logistic": Logistic(C * B / 25, B),
    "beta": Beta(A, np.array([1.0, 2.0, 9.0])),
    "half-normal": HalfNormal(B),
    "negative binomial": NegativeBinomial(B, A),
}
MADE: dict[str, Distribution] = {
    "truncated": Truncated(Normal(C, 5 + B), lower=np.array([-4.0, -np.inf, 60.0]), upper=np.array([9.0, 1.0, np.inf])),
    "truncated t": Truncated(StudentT(5, C, B), lower=C),
    "truncated counts": Truncated(Poisson(B), lower=1.0),
    "discretised": Discretised(Laplace(C, B + 0.1)),
    "zero-inflated counts": ZeroInflated(A / 5, NegativeBinomial(B, A)),
    "mixture": Mixture([Laplace(C, B), Gamma(A, 1 + B), Normal(C, 0.01)], [1, 2, 1]),
    "mixture of counts": Mixture([Poisson(B), NegativeBinomial(1 + B, A)]),
    "scipy": Scipy(stats.gumbel_r(loc=C, scale=B)),
    "scipy counts": Scipy(stats.binom([3, 40, 2], A / 5)),
}
ALL = {**CLOSED, **MADE}
_ENDS = np.array([1e-13, 1e-10, 1e-7, 1e-4, 1e-2, 0.1, 0.3, 0.5])
LEVELS = np.concatenate([_ENDS, 1 - _ENDS[-2::-1]])
every = pytest.mark.parametrize("name", ALL)


def total(q: Distribution, f: Callable[..., float], *cuts: float) -> float:
    """Return the integral, or sum, of f over all but 2e-13 of the mass of one row."""
    parts = q.components if isinstance(q, Mixture) else [q]
    edges = np.unique([*np.hstack([part.quantile(LEVELS)[0] for part in parts]), *cuts])
    if q.discrete:
        return float(sum(f(k) for k in np.arange(edges[0], edges[-1] + 1)))
    return float(sum(quad(f, a, b, epsabs=1e-13, epsrel=1e-11, limit=200)[0] for a, b in pairwise(edges)))


def rows(q: Distribution) -> list[Distribution]:
    return [q.take(np.array([i])) for i in range(len(q))]


def density(q: Distribution, y: float) -> float:
    return float(np.exp(q.log_prob(np.array([float(y)]))[0]))


@every
def test_the_probabilities_sum_to_one(name: str) -> None:
    for q in rows(ALL[name]):
        assert total(q, lambda y, q=q: density(q, y)) == pytest.approx(1, abs=1e-9)


@every
def test_entropy_is_minus_the_mean_of_the_log_probability(name: str) -> None:
    for q in rows(ALL[name]):
        by_quad = total(q, lambda y, q=q: -density(q, y) * float(np.maximum(q.log_prob(np.array([y]))[0], -1e300)))
        assert q.entropy()[0] == pytest.approx(by_quad, abs=1e-8 if name in CLOSED else 1e-6)


@every
def test_mean_and_variance_are_the_moments(name: str) -> None:
    for q in rows(ALL[name]):
        mean = total(q, lambda y, q=q: y * density(q, y))
        assert q.mean()[0] == pytest.approx(mean, rel=1e-6, abs=1e-9)
        variance = total(q, lambda y, q=q, mean=mean: (y - mean) ** 2 * density(q, y))
        assert q.variance()[0] == pytest.approx(variance, rel=1e-4 if name == "truncated t" else 1e-6)


@every
def test_the_cdf_is_the_integral_of_the_density(name: str) -> None:
    for q in rows(ALL[name]):
        low, high = q.quantile(np.array([0.2, 0.9]))[0]
        reached = q.cdf(np.array([high]))[0] - q.cdf(np.array([low]))[0]
        between = total(q, lambda y, q=q, low=low, high=high: density(q, y) * (low < y <= high), low, high)
        assert reached == pytest.approx(between, abs=1e-9)


@every
def test_crps_is_its_integral(name: str) -> None:
    """The integral of (F(t) - 1[y <= t])², at y in the middle and in the tails."""
    for q in rows(ALL[name]):
        for y in q.quantile(np.array([0.001, 0.4, 0.99]))[0]:
            score = total(q, lambda t, q=q, y=y: (q.cdf(np.array([t]))[0] - (t >= y)) ** 2, y)
            assert q.crps(np.array([y]))[0] == pytest.approx(score, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("name", CLOSED)
@pytest.mark.parametrize("method", ["kl", "renyi_half"])
def test_divergences_are_those_of_the_integrals(name: str, method: str) -> None:
    p = CLOSED[name]
    q = moved(p, [1.01] * len(p.by_row))
    exact, by_total = getattr(p, method)(q), getattr(Numeric, method)(p, q)
    np.testing.assert_allclose(by_total, np.where(exact < 20, exact, by_total), rtol=1e-6, atol=1e-9)
    assert (exact < 20).any()
    assert (by_total[exact >= 20] >= 20).all()


def moved(q: Parametric, factors: Any) -> Any:
    """Return the family with each parameter of its parametrisation multiplied."""
    other = copy(q)
    for name, factor, parameter in zip(q.by_row, factors, q.parametrisation, strict=True):
        setattr(other, name, getattr(q, name) * (np.sqrt(factor) if parameter == "sigma2" else factor))
    return other


@pytest.mark.parametrize("name", [name for name in CLOSED if name not in ("gamma, nearly normal",)])
def test_fisher_information_is_the_hessian_of_the_divergence(name: str) -> None:
    """[KL(θ, θ + hv) + KL(θ, θ - hv)] / h² -> v'Iv, v along each parameter and both."""
    q = CLOSED[name].take(np.array([0, 2]))
    step = 1e-3 * np.abs(q.parameters)
    for direction in np.unique(np.vstack([np.eye(step.shape[1]), np.ones(step.shape[1])]), axis=0):
        both = sum(q.kl(moved(q, 1 + sign * 1e-3 * direction)) for sign in (1, -1))
        v = step * direction
        np.testing.assert_allclose(both, np.einsum("ni,nij,nj->n", v, q.fisher_information(), v), rtol=2e-3)


SCALED: dict[str, Callable[[float], Distribution]] = {
    "log-normal": lambda a: LogNormal(0.3 + np.log(a), 0.5),
    "gamma": lambda a: Gamma(1.7, 2 * a),
    "Weibull": lambda a: Weibull(1.7, 2 * a),
    "Laplace": lambda a: Laplace(a, 2 * a),
    "logistic": lambda a: Logistic(a, 2 * a),
    "half-normal": lambda a: HalfNormal(2 * a),
    "truncated": lambda a: Truncated(Normal([a], 2 * a), 0.0),
    "zero-inflated": lambda a: ZeroInflated(0.25, Gamma(1.7, 2 * a)),
    "mixture": lambda a: Mixture([Normal([a], 2 * a), Laplace(-a, 3 * a)]),
    "scipy": lambda a: Scipy(stats.gumbel_r(loc=[a], scale=2 * a)),
}


@pytest.mark.parametrize("name", SCALED)
@pytest.mark.parametrize("a", [1e-6, 3.0, 1e7])
def test_what_is_measured_in_another_unit(name: str, a: float) -> None:
    """H(aY) = H(Y) + log a for a density, crps(aY, ay) = a crps(Y, y), quantiles and spread likewise."""
    one, other, y = SCALED[name](1.0), SCALED[name](a), np.array([1.3])
    share = 0.75 if name == "zero-inflated" else 1.0
    np.testing.assert_allclose(other.entropy(), one.entropy() + share * np.log(a), atol=1e-7)
    np.testing.assert_allclose(other.crps(a * y), a * one.crps(y), rtol=1e-7)
    np.testing.assert_allclose(other.quantile(LEVELS[2:-2]), a * one.quantile(LEVELS[2:-2]), rtol=1e-7, atol=1e-9 * a)
    np.testing.assert_allclose(other.variance(), a * a * one.variance(), rtol=1e-7)
    np.testing.assert_allclose(other.log_prob(a * y), one.log_prob(y) - np.log(a), atol=1e-9)


TINY_TO_HUGE = np.array([1e-8, 1e-3, 1.0, 1e3, 1e8])
EXTREME: dict[str, Parametric] = {
    "log-normal": LogNormal(np.array([-300.0, 0.0, 300.0]), np.array([1e-6, 1.0, 3.0])),
    "gamma": Gamma(TINY_TO_HUGE, TINY_TO_HUGE[::-1]),
    "Weibull": Weibull(np.array([0.05, 0.3, 1.0, 50.0, 1e3]), TINY_TO_HUGE),
    "Laplace": Laplace(1e6, TINY_TO_HUGE),
    "logistic": Logistic(-1e6, TINY_TO_HUGE),
    "beta": Beta(TINY_TO_HUGE, TINY_TO_HUGE[::-1]),
    "half-normal": HalfNormal(TINY_TO_HUGE),
    "negative binomial": NegativeBinomial(np.array([1e-8, 1e-3, 1.0, 1e3, 1e6]), np.array([1e8, 0.01, 1.0, 1e3, 0.1])),
}


@pytest.mark.parametrize("name", EXTREME)
def test_extreme_parameters_give_numbers_without_a_warning(name: str) -> None:
    q = EXTREME[name]
    y = q.quantile(np.array([0.3]))[:, 0]
    for values in (q.mean(), q.entropy(), q.cdf(y), q.crps(y), q.kl(copy(q)), q.fisher_information().ravel()):
        assert not np.isnan(values).any()
    assert np.isfinite(q.entropy()).all()
    assert (q.kl(copy(q)) == 0).all()


def test_a_zero_inflated_density_is_mixed() -> None:
    """H = h(p) + (1 - p) H(of); P(0) is the atom's; the crps against draws of the absolute differences."""
    p, of, changed = np.array([0.3]), Gamma(np.array([2.0]), 1.5), Gamma(np.array([2.0]), 1.0)
    q = ZeroInflated(p, of)
    np.testing.assert_allclose(q.entropy(), -0.3 * np.log(0.3) - 0.7 * np.log(0.7) + 0.7 * of.entropy())
    np.testing.assert_allclose(q.log_prob(np.zeros(1)), np.log(0.3))
    assert q.atoms
    for y in (0.0, 2.0):
        score, _ = quad(lambda t, y=y: (q.cdf(np.array([t]))[0] - (t >= y)) ** 2, 0, 60, points=[y or 1.0])
        np.testing.assert_allclose(q.crps(np.array([y])), score, rtol=1e-7)
    np.testing.assert_array_equal(q.quantile(np.array([0.1, 0.29])), 0.0)
    other = ZeroInflated(np.array([0.5]), changed)
    expected = 0.3 * np.log(0.3 / 0.5) + 0.7 * np.log(0.7 / 0.5) + 0.7 * of.kl(changed)
    np.testing.assert_allclose(q.kl(other), expected)
    affinity = np.sqrt(0.3 * 0.5) + np.sqrt(0.7 * 0.5) * np.exp(-of.renyi_half(changed) / 2)
    np.testing.assert_allclose(q.renyi_half(other), -2 * np.log(affinity))


def test_the_upper_tail_of_a_discretised_normal_keeps_its_digits() -> None:
    k = np.array([9.0, 20.0])
    lower, upper = Discretised(Normal([0.0, 0.0], 1.0)).log_prob(-k), Discretised(Normal([0.0, 0.0], 1.0)).log_prob(k)
    np.testing.assert_allclose(upper, lower, rtol=1e-9)


def test_truncation_far_in_a_tail_keeps_its_moments() -> None:
    """A normal beyond 5 standard deviations: the mean is the inverse Mills ratio."""
    ratio = stats.norm.pdf(5) / stats.norm.sf(5)
    np.testing.assert_allclose(Truncated(Normal([0.0], 1.0), lower=5.0).mean(), ratio, rtol=1e-8)
