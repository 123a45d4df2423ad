"""Distributions of times with outcomes that may be censored: likelihood, restricted moments, expected loss, PIT."""

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from scipy import integrate, stats

from uq_report.core.predictive import Distribution
from uq_report.core.support.arrays import FloatArray
from uq_report.core.support.errors import InputError, UnsupportedError
from uq_report.core.validation.lifetimes import recorded
from uq_report.distributions import Censored, Laplace, LogLogistic, LogNormal, Poisson, Weibull

SHAPES, SCALES = np.array([0.6, 1.0, 1.7, 4.0]), np.array([3.0, 10.0, 0.5, 7.0])
N = len(SHAPES)
FAMILIES: dict[str, Callable[[], Distribution]] = {
    "weibull": lambda: Weibull(SHAPES, SCALES),
    "log-normal": lambda: LogNormal(np.log(SCALES), 1 / SHAPES),
    "log-logistic": lambda: LogLogistic(SCALES, SHAPES),
}
ORACLES = {
    "weibull": stats.weibull_min(SHAPES, scale=SCALES),
    "log-normal": stats.lognorm(1 / SHAPES, scale=SCALES),
    "log-logistic": stats.fisk(SHAPES, scale=SCALES),
}
LEVELS = np.array([0.1, 0.9])
families = pytest.mark.parametrize("name", FAMILIES)
SEEN, LATER = np.ones(N, dtype=bool), np.zeros(N, dtype=bool)


@families
@pytest.mark.parametrize("time", [0.01, 2.0, 30.0])
def test_events_score_the_density_and_censored_rows_the_survival_function(name: str, time: float) -> None:
    times, at = Censored(FAMILIES[name]()), np.full(N, time)
    np.testing.assert_allclose(times.log_prob(recorded(at, SEEN)), ORACLES[name].logpdf(at), rtol=1e-9)
    np.testing.assert_allclose(times.log_prob(recorded(at, LATER)), ORACLES[name].logsf(at), rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(times.cumulative_hazard(at), -ORACLES[name].logsf(at), rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("name", ["weibull", "log-normal", "log-logistic"])
def test_a_survival_probability_below_all_floats_of_1_minus_cdf_keeps_its_logarithm(name: str) -> None:
    far = np.full(N, 1e9)
    assert np.isfinite(FAMILIES[name]().log_survival(far)).all()


def test_without_an_own_form_log_survival_follows_from_the_cdf() -> None:
    dist = Laplace([0.0, 1.0], 1.0)
    np.testing.assert_allclose(dist.log_survival(np.array([0.5, 3.0])), stats.laplace([0.0, 1.0]).logsf([0.5, 3.0]))
    np.testing.assert_array_equal(dist.log_survival(np.array([50.0, 50.0])), -np.inf)


def _weighted(name: str, power: int, t: float) -> FloatArray:
    return np.asarray(power * t ** (power - 1) * ORACLES[name].sf(t))


@families
@pytest.mark.parametrize("horizon", [0.2, 6.0, 400.0])
def test_restricted_moments_are_integrals_of_the_survival_function(name: str, horizon: float) -> None:
    """E min(T, h) = ∫_0^h S dt, E min(T, h)² = ∫_0^h 2 t S dt."""
    times = Censored(FAMILIES[name](), horizon)
    edges = np.unique(np.clip([1e-9, 1e-6, 1e-3, 0.1, 1.0, 5.0, 20.0, 100.0, horizon], 0, horizon))
    for power, value in ((1, times.mean()), (2, times.variance() + times.mean() ** 2)):
        moment = np.zeros(N)
        for low, high in zip([0.0, *edges], edges, strict=False):
            moment += integrate.quad_vec(partial(_weighted, name, power), low, high)[0]
        np.testing.assert_allclose(value, moment, rtol=1e-7)


@families
def test_without_a_horizon_everything_is_that_of_the_times(name: str) -> None:
    of = FAMILIES[name]()
    times = Censored(of)
    for method in ("mean", "variance", "entropy", "fisher_information"):
        np.testing.assert_array_equal(getattr(times, method)(), getattr(of, method)())
    np.testing.assert_array_equal(times.parameters, of.parameters)
    np.testing.assert_array_equal(times.quantile(LEVELS), of.quantile(LEVELS))
    other = Censored(of.take(np.arange(N)[::-1]))
    np.testing.assert_array_equal(times.kl(other), of.kl(other.of))
    np.testing.assert_array_equal(times.renyi_half(other), of.renyi_half(other.of))
    assert times.supports == of.supports - {"crps"}
    assert (times.family, len(times)) == (of.family, N)


@families
def test_a_horizon_cuts_quantiles_and_draws(name: str) -> None:
    times = Censored(FAMILIES[name](), 2.0)
    assert times.quantile(np.array([0.5, 0.999])).max() == 2.0
    draws = times.sample(np.random.default_rng(0), 20_000)
    assert draws.max() == 2.0
    assert (np.abs(draws.mean(axis=0) - times.mean()) < 5 * np.sqrt(times.variance() / 20_000)).all()


def test_the_expected_loss_of_exponential_times_has_a_closed_form() -> None:
    """With a constant hazard h the sum is h t (1 - log h)."""
    scale, t = np.array([0.1, 2.0, 50.0]), np.array([0.3, 5.0, 200.0])
    times = Censored(Weibull(1.0, scale))
    np.testing.assert_allclose(times.expected_nll(recorded(t, t > 1)), t / scale * (1 + np.log(scale)), rtol=1e-8)


@families
def test_without_censoring_the_expected_loss_has_the_entropy_as_its_mean(name: str) -> None:
    levels = (np.arange(4000) + 0.5) / 4000
    of = FAMILIES[name]()
    for row in range(N):
        one = of.take(np.full(len(levels), row))
        t = of.take(np.array([row])).quantile(levels)[0]
        expected = Censored(one).expected_nll(recorded(t, np.ones(len(t), dtype=bool)))
        assert abs(expected.mean() - one.entropy()[0]) < 0.01


@families
@pytest.mark.parametrize("longest", [np.inf, 12.0], ids=["all seen", "censored at any time"])
def test_gap_and_pit_are_right_under_any_independent_censoring(name: str, longest: float) -> None:
    rng, n = np.random.default_rng(6), 8000
    times = Censored(FAMILIES[name]().take(rng.integers(0, N, n)))
    drawn = times.sample(rng, 1)[0]
    until = np.full(n, longest) if np.isinf(longest) else rng.uniform(0, longest, n)
    y = recorded(np.minimum(drawn, until), drawn <= until)
    gap = -times.log_prob(y) - times.expected_nll(y)
    assert abs(gap.mean()) < 4.5 * gap.std() / np.sqrt(n)
    lower, upper = times.pit_bounds(y)
    assert stats.kstest(lower + rng.random(n) * (upper - lower), "uniform").pvalue > 1e-4


@families
def test_a_row_is_the_same_bit_by_bit_alone_and_among_others(name: str) -> None:
    times, y = Censored(FAMILIES[name](), 6.0), recorded(np.array([1.0, 2.0, 3.0, 4.0]), np.array([1, 0, 1, 0]) > 0)
    for row in range(N):
        one = times.take(np.array([row]))
        for method in ("mean", "variance", "entropy"):
            assert getattr(one, method)() == getattr(times, method)()[[row]]
        for method in ("log_prob", "expected_nll"):
            assert getattr(one, method)(y[[row]]) == getattr(times, method)(y)[[row]]


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(InputError, match=r"censored.of must be a continuous distribution .* got a Poisson one"):
        Censored(Poisson([1.0]))
    with pytest.raises(InputError, match="a continuous distribution"):
        Censored(Censored(Weibull([1.0], 1.0)))
    with pytest.raises(InputError, match="horizon must be a time > 0; got 0"):
        Censored(Weibull([1.0], 1.0), 0.0)
    times = Censored(Weibull([1.0], 1.0))
    with pytest.raises(InputError, match=r"Weibull.y must be times with events"):
        times.encode([1.0])
    with pytest.raises(InputError, match=r"weibull.y must be greater than 0; got 0 in row 0"):
        times.encode(recorded(np.zeros(1), np.ones(1, dtype=bool)))
    with pytest.raises(UnsupportedError, match="no proper score"):
        times.crps(np.ones(1))
    assert "ensemble" in times.why_not("epistemic")


def test_the_moments_of_the_log_logistic_are_infinite_where_they_do_not_exist() -> None:
    dist = LogLogistic(2.0, [0.5, 1.0, 1.5, 2.0, 2.5])
    np.testing.assert_array_equal(np.isinf(dist.mean()), [True, True, False, False, False])
    np.testing.assert_array_equal(np.isinf(dist.variance()), [True, True, True, True, False])
    oracle = stats.fisk(2.5, scale=2.0)
    moments = [dist.mean()[4], dist.variance()[4], dist.entropy()[4]]
    np.testing.assert_allclose(moments, [*oracle.stats(), oracle.entropy()])
    cdf = dist.cdf(np.array([-1.0, 0.0, 1.0, 2.0, 3.0]))
    np.testing.assert_allclose(cdf[:4], [0, 0, stats.fisk(1.5).cdf(0.5), 0.5])
    with pytest.raises(UnsupportedError, match=r"needs a shape above 1; got less on 2 rows"):
        dist.crps(np.ones(5))


@pytest.mark.parametrize("y", [0.3, 2.0, 9.0])
def test_the_crps_of_the_log_logistic_is_its_integral(y: float) -> None:
    cdf = stats.fisk(2.5, scale=2.0).cdf
    pieces = integrate.quad(lambda t: cdf(t) ** 2, 0, y)[0] + integrate.quad(lambda t: (1 - cdf(t)) ** 2, y, np.inf)[0]
    np.testing.assert_allclose(LogLogistic(2.0, [2.5]).crps(np.array([y])), pieces, rtol=1e-6)
