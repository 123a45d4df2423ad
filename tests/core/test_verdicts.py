"""Intervals and verdicts against scipy's t distribution, and the test that the spread stands for."""

import math
from itertools import permutations

import numpy as np
import pytest
from scipy import stats

from uq_report.core.statistics.verdicts import effective_units, judge, permutation_p_value, variance_freedom


@pytest.mark.parametrize(
    ("estimate", "se", "verdict"),
    [
        (0.05, 0.01, "positive"),
        (-0.05, 0.01, "negative"),
        (0.001, 0.003, "about 0"),
        (0.001, 0.02, "undetermined"),
        (0.006, 0.001, "about 0"),  # excludes 0 too: small for certain
        (0.0099, 0.001, "positive"),  # small or not is open, but it is above 0
        (0.0, 0.0, "about 0"),
    ],
)
def test_verdicts(estimate: float, se: float, verdict: str) -> None:
    judged = judge(estimate, se, 199, 0.01, n=200)
    assert judged.verdict == verdict
    if se:
        lower, upper = stats.t.interval(0.95, 199, loc=estimate, scale=se)
        assert (judged.lower, judged.upper) == pytest.approx((lower, upper), abs=1e-12)


@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.99])
def test_about_zero_is_two_one_sided_tests(confidence: float) -> None:
    for estimate in np.linspace(-0.02, 0.02, 41):
        for se in (0.001, 0.004, 0.006):
            p_low = stats.t.sf((estimate + 0.01) / se, 50)
            p_high = stats.t.cdf((estimate - 0.01) / se, 50)
            said = judge(float(estimate), se, 50, 0.01, n=51, confidence=confidence).verdict == "about 0"
            assert said == (max(p_low, p_high) < 0.05)


def test_the_sample_size_asked_for_decides_in_80_percent_of_samples() -> None:
    n, se, margin = 200, 0.008, 0.01
    needed = judge(0.0, se, 10**6, margin, n=n).n_needed
    assert needed == math.ceil(n * (2.9264 * se / margin) ** 2)
    smaller = se * math.sqrt(n / needed)
    inside = margin / smaller - stats.norm.ppf(0.95)
    assert stats.norm.cdf(inside) - stats.norm.cdf(-inside) == pytest.approx(0.8, abs=0.002)


def test_without_a_standard_error_or_margin_nothing_is_decided_by_force() -> None:
    unknown = judge(1.0, math.nan, 10, 0.01, n=11)
    assert unknown.verdict == "undetermined"
    assert np.isnan([unknown.lower, unknown.upper, unknown.n_needed]).all()
    assert judge(0.1, 1.0, 10, 0.0, n=11).verdict == "undetermined"
    assert math.isnan(judge(0.1, 1.0, 10, 0.0, n=11).n_needed)


def test_the_p_value_is_exact_under_exchangeability() -> None:
    """Among all orders of one unshuffled and four shuffled means, each p-value k/5 comes equally often."""
    p = [permutation_p_value(np.array(order[1:]) - order[0]) for order in permutations(range(5))]
    assert sorted(set(p)) == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0])
    assert [p.count(value) for value in set(p)] == [24] * 5


@pytest.mark.parametrize(("parts", "kurtosis"), [("normal", 3.0), ("exponential", 9.0)])
def test_the_freedom_of_a_variance_is_that_of_its_own_relative_error(parts: str, kurtosis: float) -> None:
    n, rng = 400, np.random.default_rng(0)
    drawn = getattr(rng, parts)(size=(4000, n))
    variances = drawn.var(axis=1, ddof=1)
    relative = variances.var() / variances.mean() ** 2  # 2/df of a chi-square
    assert 2 / variance_freedom(n / kurtosis, n) == pytest.approx(relative, rel=0.1)
    assert variance_freedom(effective_units(drawn.ravel(), np.ones(drawn.size)), drawn.size) == pytest.approx(
        min(drawn.size - 1, 2 * drawn.size / (kurtosis - 1)), rel=0.1
    )


@pytest.mark.parametrize(
    ("effective", "freedom"), [(100.0, 99.0), (math.inf, 99.0), (34.0, 99.0), (33.0, 98.507), (1.0, 2.02)]
)
def test_the_freedom_of_a_variance_is_at_most_that_of_the_units(effective: float, freedom: float) -> None:
    assert variance_freedom(effective, 100) == pytest.approx(freedom, abs=1e-3)
