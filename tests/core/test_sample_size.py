"""Sample sizes from a stated true value: exact numbers, both sides of every threshold, and what cannot be advised."""

import math

import numpy as np
import pytest
from scipy.stats import norm

from uq_report.core.statistics.verdicts import (
    SampleSize,
    beyond,
    equivalence,
    equivalence_chance,
    largest,
    within,
)


def test_the_factors_are_those_of_the_normal_quantiles() -> None:
    assert equivalence(1.0, 1.0) == pytest.approx(8.563847, abs=1e-6)
    assert equivalence(1.0, 1.0, 0.5) == pytest.approx(24.730229, abs=1e-6)
    found = beyond(1, 1.0, 1.0)
    assert found is not None
    assert found.needed == pytest.approx(7.848880, abs=1e-6)


def test_a_chance_is_80_percent_at_the_advised_size() -> None:
    size = equivalence(0.482**2, 0.05)
    assert equivalence_chance(math.ceil(size), 0.482**2, 0.05) == pytest.approx(0.8, abs=1e-3)
    limit = beyond(100, 0.03, 0.05)
    assert limit is not None
    again = beyond(round(limit.needed), 0.03 * math.sqrt(100 / limit.needed), 0.05)
    assert again is not None
    assert again.chance == pytest.approx(0.8, abs=1e-6)


def test_a_family_of_tests_needs_more() -> None:
    alone, many = (beyond(100, 0.1, 0.1, tests=d) for d in (1, 10))
    assert alone is not None
    assert many is not None
    quantiles = norm.ppf(1 - 0.0025) + norm.ppf(0.8), norm.ppf(0.975) + norm.ppf(0.8)
    assert many.needed / alone.needed == pytest.approx((quantiles[0] / quantiles[1]) ** 2)
    assert many.chance < alone.chance


@pytest.mark.parametrize(("needed", "rounded"), [(9.2, 10), (99.0, 99), (100.0, 100), (101.0, 110), (795.8, 800),
                                                 (2298.2, 2300), (2301.0, 2400), (82_000.0, 82_000)])  # fmt: skip
def test_an_advised_size_is_rounded_up_to_two_digits(needed: float, rounded: int) -> None:
    assert SampleSize(5, needed, 0.5).rounded == rounded


@pytest.mark.parametrize(("chance", "words"), [(0.0999, "below 10%"), (0.1, "of 10%"), (0.5, "of 50%")])
def test_a_small_chance_is_named_as_such(chance: float, words: str) -> None:
    assert SampleSize(250, 800.0, chance).words.endswith(f"the present sample had a chance {words})")


@pytest.mark.parametrize(("needed", "asked"), [(250.0, False), (250.1, True)])
def test_no_more_is_asked_for_where_the_sample_was_large_enough(needed: float, asked: bool) -> None:
    size = SampleSize(250, needed, 0.8, "this holds")
    assert size.is_larger == ("observations give 80% power if this holds" in size.sentence) == asked


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
def test_without_a_variance_or_a_tolerance_nothing_is_advised(bad: float) -> None:
    assert within(100, bad, 0.1) is within(100, 0.1, bad) is beyond(100, bad, 0.1) is beyond(100, 0.1, bad) is None
    assert largest([None, within(100, bad, 0.1)]) is None
    assert within(0, 0.1, 0.1) is beyond(0, 0.1, 0.1) is None


def test_the_largest_of_several_sizes_is_named() -> None:
    small, large = SampleSize(10, 20.0, 0.5), SampleSize(10, 30.0, 0.5)
    assert largest([small, None, large]) == large


@pytest.mark.parametrize("true", [0.0, 0.025, -0.025])
def test_a_fresh_sample_of_the_advised_size_shows_equivalence(true: float) -> None:
    rng, variance, tolerance = np.random.default_rng(1), 0.482**2, 0.05
    n = math.ceil(equivalence(variance, tolerance, true))
    means = true + rng.normal(0, math.sqrt(variance / n), 20_000)
    reach = norm.ppf(0.95) * math.sqrt(variance / n)
    assert (np.abs(means) + reach < tolerance).mean() == pytest.approx(0.8, abs=0.01)
