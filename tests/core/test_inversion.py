"""Quantiles from a cdf: brackets by doubled steps, and the first value that reaches a level."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

from uq_report.core.predictive import Distribution
from uq_report.distributions import (
    Beta,
    Gamma,
    HalfNormal,
    Histogram,
    LogLogistic,
    Normal,
    Poisson,
    StudentT,
    Weibull,
)
from uq_report.distributions.numerics.numeric import bracket, inverse

ONE = np.ones(1)


@pytest.mark.parametrize(
    ("p", "ends"),
    [(0.5, (-0.5, 0.5)), (1e-4, (-4.0, 0.5)), (1 - 1e-4, (-0.5, 4.0)), (0.4, (-0.5, 0.5)), (0.3, (-1.0, 0.5))],
)
def test_a_bracket_grows_by_doubled_steps_on_the_side_that_misses(p: float, ends: tuple[float, float]) -> None:
    """Φ(-0.5) = 0.309 and Φ(-4) = 3e-5."""
    lower, upper = bracket(Normal([0.0], 1.0), p * ONE, 0 * ONE, 0.5 * ONE)
    assert (lower[0], upper[0]) == ends
    shifted = bracket(Normal([7.0], 3.0), p * ONE, 7 * ONE, 1.5 * ONE)
    assert (shifted[0][0], shifted[1][0]) == (7 + 3 * ends[0], 7 + 3 * ends[1])


def test_each_row_has_its_own_bracket() -> None:
    lower, upper = bracket(Normal(np.zeros(3), 1.0), np.array([1e-4, 0.5, 0.9999]), np.zeros(3), np.full(3, 0.5))
    assert (lower.tolist(), upper.tolist()) == ([-4.0, -0.5, -0.5], [0.5, 0.5, 4.0])


LEVELS = np.array([1e-12, 0.01, 0.3, 0.5, 0.77, 1 - 1e-9])


@pytest.mark.parametrize(("lower", "upper"), [(-40.0, 40.0), (-1e9, 1e9), (-8.0, 7.0), (-1e300, 1e300)])
def test_the_inverse_does_not_depend_on_its_bracket(lower: float, upper: float) -> None:
    """Levels near 0 and 1 have the relative precision of the cdf."""
    found = inverse(Normal(np.zeros(6), 1.0), LEVELS, np.full(6, lower), np.full(6, upper))
    np.testing.assert_allclose(found, stats.norm.ppf(LEVELS * (1 - 1e-14)), rtol=1e-8, atol=1e-13)


@pytest.mark.parametrize("ends", [(-1e300, 1e300), (0.0, 1e300), (1e-300, 1e300)])
def test_ends_as_far_as_a_bracket_goes_cost_no_digits(ends: tuple[float, float]) -> None:
    p, near, far = np.array([0.3, 0.9, 1e-9]), np.full(3, ends[0]), np.full(3, ends[1])
    np.testing.assert_allclose(inverse(Gamma(1.0, np.full(3, 2.0)), p, near, far), -2 * np.log1p(-p), rtol=1e-10)
    heavy = inverse(StudentT(1.0, np.full(3, 1e6), 1.0), p, near, far)
    np.testing.assert_allclose(heavy, np.maximum(1e6 - 1 / np.tan(np.pi * p * (1 - 1e-14)), near), rtol=1e-10)


def test_what_the_lower_end_reaches_is_the_lower_end() -> None:
    found = inverse(Normal(np.zeros(2), 1.0), np.array([0.1, 0.9]), np.array([-1.0, -1.0]), np.array([2.0, 2.0]))
    assert found[0] == -1.0
    assert found[1] == pytest.approx(stats.norm.ppf(0.9))


def test_where_the_cdf_is_flat_the_first_value_counts() -> None:
    """Half of the mass lies in (0, 1], half in (3, 4]."""
    apart = Histogram([0.0, 1.0, 3.0, 4.0], [[0.5, 0.0, 0.5]] * 3)
    found = inverse(apart, np.array([0.25, 0.5, 0.75]), np.full(3, -1.0), np.full(3, 9.0))
    np.testing.assert_allclose(found, [0.5, 1.0, 3.5], atol=1e-12)


@pytest.mark.parametrize("ends", [(0.0, 40.0), (-3.0, 1e6), (-0.4, 39.7)])
def test_of_counts_it_is_the_smallest_that_reaches_the_level(ends: tuple[float, float]) -> None:
    rate, p = 4.2, np.array([1e-6, 0.01, 0.5, 0.9, 1 - 1e-6])
    found = inverse(Poisson(np.full(5, rate)), p, np.full(5, ends[0]), np.full(5, ends[1]))
    np.testing.assert_array_equal(found, stats.poisson.ppf(p, rate))
    exactly = stats.poisson.cdf(3, rate) * ONE
    assert inverse(Poisson([rate]), exactly, 0 * ONE, 40 * ONE)[0] == 3
    assert inverse(Poisson([rate]), exactly * (1 + 1e-12), 0 * ONE, 40 * ONE)[0] == 4


@pytest.mark.parametrize("p", [1e-300, 1e-18, 1e-9, 0.3])
@pytest.mark.parametrize(
    ("dist", "quantile"),
    [
        (Gamma(1.0, [2.0]), lambda p: -2 * np.log1p(-p)),
        (Weibull(1.0, [2.0]), lambda p: -2 * np.log1p(-p)),
        (Beta(1.0, [1.0]), lambda p: p),
        (Beta(1.0, [2.0]), lambda p: -np.expm1(np.log1p(-p) / 2)),
        (LogLogistic([3.0], [1.0]), lambda p: 3 * p / (1 - p)),
        (HalfNormal([2.0]), lambda p: 2 * stats.norm.isf((1 - p) / 2) if p > 1e-3 else 2 * p * np.sqrt(np.pi / 2)),
    ],
    ids=["exponential", "Weibull", "uniform", "triangle", "log-logistic", "half-normal"],
)
def test_quantiles_keep_their_digits_near_zero(dist: Distribution, quantile: Any, p: float) -> None:
    assert dist.quantile(np.array([p]))[0, 0] == pytest.approx(float(quantile(p)), rel=1e-12, abs=0)


@pytest.mark.parametrize("k", [0.5, 1.0, 3.0])
def test_upper_quantiles_of_gamma_are_those_of_the_survival(k: float) -> None:
    p = 1 - 2.0 ** -np.arange(1, 50)
    np.testing.assert_allclose(Gamma(k, [1.0]).quantile(p)[0], stats.gamma.isf(1 - p, k), rtol=1e-12)
