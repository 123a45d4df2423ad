"""Means over rows with weights and clusters, of tables of any number of dimensions."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from uq_report.core.model.sampling import FEW_CLUSTERS, Sampling, share_interval, t_quantile
from uq_report.core.statistics.inference import MIN_CLUSTERS
from uq_report.core.statistics.ranking import term_covariance
from uq_report.core.statistics.time_blocks import Blocks
from uq_report.testing import linear_subject


@pytest.mark.parametrize("clustered", [False, True])
def test_every_dimension_gives_the_numbers_of_its_rows_one_by_one(clustered: bool) -> None:
    rng = np.random.default_rng(0)
    n = 3 * MIN_CLUSTERS
    weights = rng.uniform(1, 2, n)
    codes = rng.permutation(np.arange(n) // 3) if clustered else None
    sampling = Sampling(weights / weights.sum(), MIN_CLUSTERS if clustered else n, codes)
    values = rng.normal(size=(2, 4, n))
    mean, error = sampling.mean(values)
    assert mean.shape == error.shape == (2, 4)
    one_by_one = [[sampling.mean(row) for row in table] for table in values]
    np.testing.assert_allclose(np.stack([mean, error], axis=-1), one_by_one, rtol=1e-12)
    variances = [np.diag(term_covariance(table, weights, codes)) for table in values]
    np.testing.assert_allclose(error**2, variances, rtol=1e-12)
    assert sampling.mean(values[:0])[1].shape == (0, 4)


def test_two_units_have_the_covariance_of_their_difference() -> None:
    """Of a mean of a and b it is (a - b)²/4: s² = (a - b)²/2, divided by 2."""
    rows = np.array([[1.0, 4.0], [2.0, 0.0]])
    expected = np.array([[9.0, -6.0], [-6.0, 4.0]]) / 4
    np.testing.assert_allclose(term_covariance(rows, np.ones(2)), expected)
    np.testing.assert_allclose(term_covariance(np.repeat(rows, 3, axis=1), np.ones(6), np.arange(6) // 3), expected)
    assert not term_covariance(rows, np.ones(2), np.zeros(2, dtype=np.int64)).any()


EVEN = Sampling(np.full(8, 1 / 8), 8)


def test_rows_of_a_subject_count_by_their_weights_and_clusters() -> None:
    """Row 0 has no weight, and with it cluster 0."""
    weights = np.array([0.0, 1, 1, 2, 2, 2])
    subject = replace(linear_subject(6), weights=weights, clusters=np.array([0, 1, 1, 2, 2, 3]))
    whole = Sampling.of(subject)
    np.testing.assert_allclose(whole.weights, np.array([0, 1, 1, 2, 2, 2]) / 8)
    assert whole.units == 3
    some = Sampling.of(subject, np.array([1, 2, 4]))
    np.testing.assert_allclose(some.weights, [0.25, 0.25, 0.5])
    assert (some.units, some.codes is not None and some.codes.tolist()) == (2, [1, 1, 2])
    masked = whole.part(weights == 2)
    np.testing.assert_allclose(masked.weights, np.full(3, 1 / 3))
    assert masked.units == 2
    assert (Sampling.of(linear_subject(6)).units, Sampling.of(linear_subject(6)).codes) == (6, None)


def test_rows_without_any_weight_have_none() -> None:
    empty = Sampling(np.array([0.0, 0.5, 0.5]), 2).part(np.array([0]))
    assert (empty.weights.tolist(), empty.units) == ([0.0], 0)


@pytest.mark.parametrize("codes", [None, np.array([0, 0, 1, 1, 2, 2, 3, 3])])
def test_independent_rows_are_one_of_each_unit_of_weight(codes: Any) -> None:
    sampling = replace(EVEN, weights=np.array([1, 1, 1, 0, 1, 1, 0, 0.0]) / 5, codes=codes)
    drawn = [sampling.independent_rows(np.random.default_rng(seed)).tolist() for seed in range(40)]
    assert all(rows == sorted(set(rows)) for rows in drawn)
    if codes is None:
        assert drawn == [[0, 1, 2, 4, 5]] * 40
    else:
        assert {tuple(codes[rows]) for rows in drawn} == {(0, 1, 2)}
        assert {row for rows in drawn for row in rows} == {0, 1, 2, 4, 5}


def test_an_interval_is_that_of_student_and_needs_two_units() -> None:
    lower, upper = EVEN.interval(2.0, 0.5, 0.9)
    assert (lower, upper) == pytest.approx(stats.t.interval(0.9, 7, 2.0, 0.5))
    two, one = (replace(EVEN, units=units).mean(np.arange(8.0)) for units in (2, 1))
    assert np.isfinite(two[1])
    assert one[0] == 3.5
    assert np.isnan(one[1])
    assert np.isnan(t_quantile(0.9, 0))
    assert t_quantile(0.9, 1) == pytest.approx(stats.t.ppf(0.9, 1))


def test_a_mean_over_infinite_values_says_so_without_a_warning() -> None:
    mean, error = EVEN.mean(np.array([np.inf, *range(7)]))
    assert np.isposinf(mean)
    assert np.isnan(error)


@pytest.mark.parametrize("share", [0.25, 0.5, 1e-9, 1 - 1e-9])
def test_equal_independent_rows_count_in_full(share: float) -> None:
    error = np.sqrt(share * (1 - share) / 7)
    assert EVEN.effective_n(share, error) == pytest.approx(8)
    assert EVEN.effective_n(share, error * np.sqrt(2)) == pytest.approx(4)


@pytest.mark.parametrize(("share", "error"), [(0.0, 1e-3), (1.0, 1e-3), (1e-13, 1e-3), (1 - 1e-13, 1e-3), (0.5, 0.0)])
def test_a_share_without_an_error_counts_units_or_kish(share: float, error: float) -> None:
    assert EVEN.effective_n(share, error) == pytest.approx(8)
    assert replace(EVEN, units=3).effective_n(share, error) == 3
    heavy = replace(EVEN, weights=np.array([0.5, 0.5, *[0.0] * 6]))
    assert heavy.effective_n(share, error) == pytest.approx(2)


@pytest.mark.parametrize(("hits", "n"), [(0, 12), (1, 12), (5, 12), (11, 12), (12, 12)])
def test_the_interval_of_a_share_is_exact(hits: int, n: int) -> None:
    exact = stats.binomtest(hits, n).proportion_ci(0.9, "exact")
    assert share_interval(hits / n, n, 0.9) == pytest.approx((exact.low, exact.high))


@pytest.mark.parametrize(
    ("units", "end"), [(FEW_CLUSTERS, "."), (FEW_CLUSTERS - 1, "with fewer than 20 clusters intervals are rough.")]
)
def test_notes_say_what_standard_errors_are_over(units: int, end: str) -> None:
    assert EVEN.notes() == ()
    codes = np.arange(8)
    (clustered,) = replace(EVEN, units=units, codes=codes).notes()
    assert (
        clustered
        == f"Standard errors are over {units} clusters, not single observations{'' if end == '.' else '; '}{end}"
    )
    weighted = replace(EVEN, weights=np.arange(8) / 28)
    assert weighted.notes() == ("Means and standard errors use the sample weights.",)
    assert len(replace(weighted, units=units, codes=codes).notes()) == 2
    blocks = Blocks(np.arange(8), 4)
    (by_time,) = replace(EVEN, units=units, codes=codes, blocks=blocks).notes()
    assert by_time.startswith(f"Standard errors are over {units} {blocks.words}, not single observations")
    assert ("with fewer than 20 blocks intervals are rough" in by_time) == (units < FEW_CLUSTERS)
