"""Intervals of scores: the exact examples, their ranges, and what they are at the ends of a range."""

import numpy as np
import pytest
from scipy import stats

from uq_report.core.model.sampling import Sampling
from uq_report.core.statistics.score_intervals import (
    area_interval,
    auc_rows,
    difference_interval,
    exclusive,
    explained_interval,
    on_log_scale,
    paired_share_interval,
    wilson,
)
from uq_report.core.support.arrays import FloatArray
from uq_report.methods.calibration.scores import r2_rows
from uq_report.methods.shared.estimates import area_of, explained_of, rate_of, size_of

T29, T5 = float(stats.t.ppf(0.975, 29)), float(stats.t.ppf(0.975, 5))


def even(n: int) -> Sampling:
    return Sampling(np.full(n, 1 / n), n)


def test_wilson_at_an_effective_number() -> None:
    assert wilson(0.25, 7.03125, 1.96) == pytest.approx((0.066209, 0.610451), abs=1e-6)
    assert wilson(0.0, 10, 1.96)[0] == 0.0
    assert wilson(1.0, 10, 1.96)[1] == 1.0
    assert np.isnan(wilson(0.5, 0.0, 1.96)).all()
    z = 1.96
    low, high = wilson(0.3, 40, z)  # where the score test is just not rejected
    for theta in (low, high):
        assert (0.3 - theta) ** 2 == pytest.approx(z * z * theta * (1 - theta) / 40)


def test_the_area_is_the_wider_of_two_at_each_end() -> None:
    assert area_interval(0.9, 0.06, (10, 20), T29) == pytest.approx((0.687668, 0.972367), abs=1e-6)
    assert area_interval(0.9, 0.0, (10, 20), T29) == pytest.approx((0.687668, 0.970492), abs=1e-6)
    assert area_interval(1.0, 0.0, (10, 20), T29) == pytest.approx((0.836520, 1.0), abs=1e-6)
    assert area_interval(0.0, 0.0, (10, 20), T29) == pytest.approx((0.0, 1 - 0.836520), abs=1e-6)
    end = 1 / (1 + np.exp(T29 * 0.2 / 0.25))  # on the logit scale, where a large error makes that the wider one
    assert area_interval(0.5, 0.2, (10, 20), T29) == pytest.approx((end, 1 - end))
    wide = area_interval(0.9, 0.06, (10, 20), T29, design=4.0)
    assert wide[0] < 0.687668
    assert wide[1] > 0.972367
    assert np.isnan(area_interval(0.9, 0.06, (0, 20), T29)).all()


def test_r2_is_on_the_scale_of_what_is_left() -> None:
    y, mean = np.arange(1.0, 7.0), np.array([1.2, 1.7, 3.1, 4.2, 4.6, 6.3])
    rows = r2_rows((y - mean) ** 2, (y - y.mean()) ** 2, np.full(6, 1 / 6))
    found = explained_of(rows, even(6), 0.95)
    assert [found[name] for name in ("estimate", "lower", "upper")] == pytest.approx(
        [0.975429, 0.923219, 0.992137], abs=1e-6
    )
    perfect = r2_rows(np.zeros(6), (y - y.mean()) ** 2, np.full(6, 1 / 6))
    assert perfect.tolist() == [1.0] * 6
    assert explained_interval(1.0, 0.0, T5) == (1.0, 1.0)


def test_a_size_stays_above_zero() -> None:
    assert on_log_scale(2.0, 0.2, 2.0) == pytest.approx((2 * np.exp(-0.2), 2 * np.exp(0.2)))
    assert on_log_scale(0.0, 0.0, 2.0) == (0.0, 0.0)
    assert np.isnan(on_log_scale(-0.1, 0.2, 2.0)).all()  # no such quantity is below 0
    assert np.isnan(on_log_scale(0.1, 0.2, 6366.0)).all()  # two rows and an extreme level: no number


def test_a_net_benefit_by_its_two_shares() -> None:
    hits, alarms, w = 0.10, 0.05, 0.25
    own, other = wilson(hits, 100, 1.96), tuple(w * end for end in wilson(alarms, 100, 1.96))
    found = difference_interval(hits, own, w * alarms, (other[0], other[1]), exclusive(hits, alarms))
    assert found == pytest.approx((0.039038, 0.162746), abs=2e-6)
    assert [exclusive(1.0, 0.0), exclusive(0.4, 0.6)] == pytest.approx([0.0, -1.0])


def test_accuracy_less_that_of_the_majority() -> None:
    assert paired_share_interval(12, 5, 100, 1.96) == pytest.approx((-0.011803, 0.149057), abs=2e-6)
    assert paired_share_interval(0, 0, 1, 1.96)[1] < 1
    assert paired_share_interval(1, 0, 1, 10.0)[1] == 1.0
    assert np.isnan(paired_share_interval(0, 0, 0, 1.96)).all()


@pytest.mark.parametrize("seed", range(20))
def test_every_interval_lies_in_its_range_and_holds_the_estimate(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 40))
    weights = rng.exponential(size=n) if seed % 2 else np.ones(n)
    codes = np.arange(n) // 2 if seed % 3 == 0 else None
    sampling = Sampling(weights, n, codes).part(np.arange(n))
    event = np.arange(n) < 2
    score = rng.normal(size=n) + (3 + seed % 4) * event
    cases: list[tuple[dict[str, float], float, float]] = [
        (rate_of(event.astype(float), sampling, 0.95), 0, 1),
        (size_of(rng.exponential(size=n) ** 3, sampling, 0.95), 0, np.inf),
        (size_of(np.resize([1.99, 2.0, 1.5], n), sampling, 0.95, most=2.0), 0, 2),
        (area_of(auc_rows(score, event, sampling.weights), sampling, 0.95, score=score, event=event), 0, 1),
        (explained_of(_r2(rng, n, sampling.weights), sampling, 0.95), -np.inf, 1),
    ]
    for found, least, most in cases:
        assert least <= found["lower"] <= found["estimate"] + 1e-12
        assert found["estimate"] - 1e-12 <= found["upper"] <= most


def _r2(rng: np.random.Generator, n: int, weights: FloatArray) -> FloatArray:
    y = rng.normal(size=n)
    return r2_rows((0.1 * rng.normal(size=n)) ** 2, (y - weights @ y) ** 2, weights)


def test_equal_clusters_of_one_row_change_no_area() -> None:
    rng = np.random.default_rng(1)
    event, score = np.arange(40) < 12, rng.normal(size=40)
    rows = auc_rows(score, event, np.full(40, 1 / 40))
    plain = area_of(rows, even(40), 0.95, score=score, event=event)
    own = area_of(rows, Sampling(np.full(40, 1 / 40), 40, np.arange(40)), 0.95, score=score, event=event)
    assert own["lower"] == pytest.approx(plain["lower"])
    assert own["upper"] == pytest.approx(plain["upper"])


def test_a_design_counts_at_least_half() -> None:
    """Clusters that balance each other may lower a variance; Newcombe's limits follow to one half of it only."""
    score, event = np.array([0.0, 1.0] * 10), np.array([False, True, True, False] * 5)
    sampling = Sampling(np.full(20, 0.05), 5, np.arange(20) // 4)
    found = area_of(auc_rows(score, event, sampling.weights), sampling, 0.95, score=score, event=event)
    t = float(stats.t.ppf(0.975, 4))
    assert found["std_error"] == pytest.approx(0.0, abs=1e-12)
    assert (found["lower"], found["upper"]) == pytest.approx(area_interval(0.5, 0.0, (10, 10), t, 0.5), abs=1e-9)
