"""The Tweedie distribution against the Poisson sum of gammas that it is."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.special import entr
from scipy.stats import gamma, kstest, poisson

from uq_report.core.support.arrays import FloatArray
from uq_report.core.support.errors import InputError, UnsupportedError
from uq_report.distributions import Tweedie

CASES = [(1.0, 2.0, 1.5), (4.0, 0.3, 1.2), (0.2, 1.0, 1.8), (30.0, 5.0, 1.5), (0.01, 1.0, 1.3), (2.0, 0.5, 1.05)]
cases = pytest.mark.parametrize(("mean", "dispersion", "power"), CASES)
Function = Callable[[FloatArray], FloatArray]


def compound(mu: float, phi: float, p: float) -> tuple[float, Function, Function]:
    """Return the probability of 0, the density above, and the distribution function (Dunn & Smyth 2005, eq. 3)."""
    rate, shape, scale = mu ** (2 - p) / (phi * (2 - p)), (2 - p) / (p - 1), phi * (p - 1) * mu ** (p - 1)
    n = np.arange(1, int(rate + 15 * np.sqrt(rate) + 60))
    weights, summed = poisson.pmf(n, rate), gamma(n * shape, scale=scale)
    zero = float(np.exp(-rate))
    return zero, lambda y: summed.pdf(y[:, None]) @ weights, lambda y: zero + summed.cdf(y[:, None]) @ weights


def over_logarithms(q: Tweedie, function: Function) -> float:
    """Return the integral of ``function(y)`` over y > 0, by Gauss's rule in pieces of log y; one ends at 1.3 means."""
    far = [-300.0, -150.0, -75.0, -35.0, -18.0, -9.0, -5.0]
    edges = np.log(q.mean()[0]) + np.sort([*far, *np.linspace(-3, 8, 67), np.log(1.3)])
    nodes, weights = np.polynomial.legendre.leggauss(24)
    middle, half = (edges[1:] + edges[:-1]) / 2, np.diff(edges) / 2
    places = np.exp(middle[:, None] + half[:, None] * nodes)
    values = function(places.ravel()).reshape(places.shape)
    return float((half[:, None] * weights * places * values).sum())


@cases
def test_log_prob_and_cdf_are_those_of_the_sum(mean: float, dispersion: float, power: float) -> None:
    zero, density, below = compound(mean, dispersion, power)
    y = mean * np.array([0.02, 0.4, 0.97, 1.4, 2.5])
    q = Tweedie(np.full(5, mean), dispersion, power)
    np.testing.assert_allclose(q.log_prob(y), np.log(density(y)), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(q.cdf(y), below(y), rtol=1e-12)
    np.testing.assert_allclose(q.log_prob(np.zeros(5)), np.log(zero), rtol=1e-12)
    np.testing.assert_allclose(q.cdf(np.zeros(5)), zero, rtol=1e-12)
    assert (q.log_prob(np.full(5, -1.0)) == -np.inf).all()
    assert (q.cdf(np.full(5, -1e-300)) == 0).all()


@cases
def test_entropy_is_that_of_the_mixed_measure(mean: float, dispersion: float, power: float) -> None:
    zero, density, _ = compound(mean, dispersion, power)
    q = Tweedie([mean], dispersion, power)

    expected = -zero * np.log(zero) + over_logarithms(q, lambda y: entr(density(y)))
    np.testing.assert_allclose(q.entropy(), expected, atol=2e-9)
    assert zero + over_logarithms(q, density) == pytest.approx(1.0, abs=1e-9)


@cases
def test_crps_is_the_integral_of_the_squared_gap(mean: float, dispersion: float, power: float) -> None:
    _, _, below = compound(mean, dispersion, power)
    q = Tweedie([mean], dispersion, power)
    for y in (0.0, 1.3 * mean):
        expected = over_logarithms(q, lambda t, y=y: (below(t) - (t >= y)) ** 2)  # type: ignore[misc]
        np.testing.assert_allclose(q.crps(np.array([y])), expected, rtol=1e-7)


@cases
def test_quantile_is_the_smallest_value_that_reaches_its_level(mean: float, dispersion: float, power: float) -> None:
    q, levels = Tweedie([mean], dispersion, power), np.array([1e-4, 0.05, 0.5, 0.975, 0.99999])
    zero = float(np.exp(q.log_prob(np.zeros(1)))[0])
    values = q.quantile(levels)[0]
    assert (values[levels <= zero] == 0).all()
    reached = Tweedie(np.full(5, mean), dispersion, power).cdf(values)
    np.testing.assert_allclose(reached[levels > zero], levels[levels > zero], rtol=1e-11)


def test_draws_follow_the_distribution() -> None:
    q = Tweedie([3.0], 1.5, 1.6)
    y = q.sample(np.random.default_rng(0), 20_000)[:, 0]
    many = Tweedie(np.full(len(y), 3.0), 1.5, 1.6)
    lower = many.cdf(np.nextafter(y, -np.inf))
    u = lower + np.random.default_rng(1).random(len(y)) * (many.cdf(y) - lower)
    assert kstest(u, "uniform").pvalue > 1e-3
    assert (y == 0).mean() == pytest.approx(np.exp(q.log_prob(np.zeros(1))[0]), abs=0.01)
    assert -many.log_prob(y).mean() == pytest.approx(q.entropy()[0], abs=5 * many.log_prob(y).std() / np.sqrt(len(y)))


@cases
def test_divergences_are_expectations_of_the_likelihood_ratio(mean: float, dispersion: float, power: float) -> None:
    p, q = Tweedie([mean], dispersion, power), Tweedie([1.2 * mean], dispersion, power)

    def expected(function: Callable[[Any, Any], Any]) -> float:
        def at(y: FloatArray) -> FloatArray:
            rows = np.zeros(len(y), dtype=int)
            return np.asarray(function(p.take(rows).log_prob(y), q.take(rows).log_prob(y)))

        return float(at(np.zeros(1))[0]) + over_logarithms(p, at)

    np.testing.assert_allclose(p.kl(q), expected(lambda a, b: np.exp(a) * (a - b)), rtol=1e-8, atol=1e-10)
    half = -2 * np.log(expected(lambda a, b: np.exp((a + b) / 2)))
    np.testing.assert_allclose(p.renyi_half(q), half, rtol=1e-7, atol=1e-9)


def test_fisher_information_is_the_curvature_of_kl() -> None:
    h, q = 1e-4, Tweedie([2.0], 0.7, 1.4)
    curvature = 2 * q.kl(Tweedie([2.0 + h], 0.7, 1.4)) / h**2
    np.testing.assert_allclose(q.fisher_information()[:, 0, 0], curvature, rtol=1e-3)


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_another_unit_of_y_scales_what_is_above_0(factor: float) -> None:
    """Y c has mean mu c and dispersion phi c^(2-p)."""
    q, scaled = Tweedie([2.0], 0.7, 1.4), Tweedie([2.0 * factor], 0.7 * factor**0.6, 1.4)
    y = np.array([1.5])
    above = 1 - np.exp(q.log_prob(np.zeros(1)))
    np.testing.assert_allclose(scaled.entropy(), q.entropy() + above * np.log(factor), rtol=1e-9)
    np.testing.assert_allclose(scaled.log_prob(y * factor), q.log_prob(y) - np.log(factor), rtol=1e-9)
    np.testing.assert_allclose(scaled.crps(y * factor), q.crps(y) * factor, rtol=1e-8)


def test_entropy_and_crps_go_on_smoothly_to_the_expansion() -> None:
    """At a squared skewness of 1e-3 quadrature gives way to the expansion."""
    power = 1.2
    shape = (2 - power) / (power - 1)
    rate = (shape + 2) ** 2 / (shape * (shape + 1) * 1e-3)
    dispersion = 1 / (rate * np.array([1 - 1e-9, 1 + 1e-9]) * (2 - power))
    q = Tweedie([1.0, 1.0], dispersion, power)
    assert np.abs(np.diff(q.entropy()))[0] < 3e-9
    assert np.abs(np.diff(q.crps(np.ones(2))))[0] < 1e-8 * q.crps(np.ones(2))[0]


def test_small_dispersion_is_almost_normal() -> None:
    q = Tweedie([5.0], 1e-5, 1.5)
    assert q.entropy()[0] == pytest.approx(0.5 * np.log(2 * np.pi * np.e * q.variance()[0]), abs=1e-5)
    assert q.log_prob(np.array([5.0]))[0] == pytest.approx(-0.5 * np.log(2 * np.pi * q.variance()[0]), abs=1e-5)


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        (([1.0, -1.0], 1.0, 1.5), r"tweedie\.mean must be greater than 0; got -1 in row 1"),
        (([1.0], 0.0, 1.5), r"tweedie\.dispersion must be greater than 0; got 0 in row 0"),
        (([1.0], 1e-9, 1.5), r"tweedie\.dispersion must be at least .* Use Normal"),
        (([1.0], 1.0, 1.0), r"tweedie\.power must be one number between 1 and 2; got 1\.0"),
        (([1.0], 1.0, 2.0), r"got 2\.0"),
        (([1.0], 1.0, [1.5]), r"got \[1\.5\]"),
    ],
)
def test_refusals(arguments: Any, match: str) -> None:
    with pytest.raises(InputError, match=match):
        Tweedie(*arguments)


def test_negative_outcomes_are_refused() -> None:
    q = Tweedie([1.0, 1.0], 1.0, 1.5)
    with pytest.raises(InputError, match=r"tweedie\.y must be >= 0; got -0\.1 in row 1"):
        q.encode([0.0, -0.1])
    with pytest.raises(InputError, match=r"tweedie\.y must be >= 0; got no number in row 0"):
        q.encode([np.nan, 0.1])
    np.testing.assert_array_equal(q.encode([0, 2]), [0.0, 2.0])


def test_divergence_from_another_dispersion_is_refused() -> None:
    with pytest.raises(UnsupportedError, match=r"tweedie\.kl needs two distributions of one power and dispersion"):
        Tweedie([1.0], 1.0, 1.5).kl(Tweedie([1.0], 2.0, 1.5))
