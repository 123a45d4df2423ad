"""Which intervals are not to be trusted: few events, and a variance that a few rows carry."""

import numpy as np
import pytest

from uq_report.core.statistics.verdicts import (
    LEAST_EFFECTIVE,
    LEAST_EVENTS,
    effective_units,
    events,
    few_events,
    heavy_tails,
)

RNG = np.random.default_rng(0)


def test_events_are_the_rows_outside_the_most_frequent_class() -> None:
    assert events(np.repeat([0, 1, 2], [70, 20, 10])) == 30
    assert events(np.zeros(9)) == 0


def test_both_sides_of_the_least_number_of_events() -> None:
    assert few_events(LEAST_EVENTS, 100).reason == ""
    below = few_events(LEAST_EVENTS - 1, 190)
    assert below.reason == f"few events ({LEAST_EVENTS - 1} of 190 observations)"
    assert below.rows == 200


def test_units_of_equal_parts_count_in_full_normal_ones_by_a_third_and_one_row_as_one() -> None:
    n = 20_000
    assert effective_units(np.resize([1.0, -1.0], n), np.ones(n)) == pytest.approx(n)
    assert effective_units(RNG.normal(size=n), np.ones(n)) == pytest.approx(n / 3, rel=0.05)
    one = np.zeros(n)
    one[0] = 1.0
    assert effective_units(one, np.ones(n)) == pytest.approx(1, abs=1e-3)


def test_scale_shift_order_and_copies_within_clusters_do_not_matter() -> None:
    g = RNG.exponential(size=60)
    own = effective_units(g, np.ones(60))
    assert effective_units(5 + 1e9 * g, np.ones(60)) == pytest.approx(own, rel=1e-6)
    assert effective_units(RNG.permutation(g), np.ones(60)) == pytest.approx(own)
    assert effective_units(np.repeat(g, 3), np.ones(180), np.repeat(np.arange(60), 3)) == pytest.approx(own)
    assert effective_units(g, np.full(60, 0.1)) == pytest.approx(own)


def test_both_sides_of_the_least_number_of_effective_rows() -> None:
    assert heavy_tails(LEAST_EFFECTIVE, 100).reason == ""
    below = heavy_tails(LEAST_EFFECTIVE / 2, 100, "clusters")
    assert below.reason == "heavy tails (the variance rests on about 5 of 100 clusters)"
    assert below.rows == 200


def test_normal_terms_are_trusted_in_small_samples_too() -> None:
    unreliable_words = [
        heavy_tails(effective_units(RNG.normal(size=n), np.ones(n)), n).reason for n in (20, 50, 200) * 200
    ]
    assert sum(map(bool, unreliable_words)) <= 0.05 * len(unreliable_words)
