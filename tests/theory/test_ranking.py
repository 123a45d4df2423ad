"""Rank intervals: joint cover of all ranks by simulation, exact cases, and independent oracles.

A simulated cover p̂ of R repetitions has standard error √(p(1-p)/R); a test asks that p̂ is no more than three of
them below the promise, 0.93 (for 0.95 nominal).
"""

import os
from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from uq_report.core.statistics.inference import shuffled_pairs, standard_error
from uq_report.core.statistics.ranking import (
    RankIntervals,
    _pair_sd,
    normal_draws,
    rank_entropy,
    rank_intervals,
    ranks,
    term_covariance,
    top_overlap,
)
from uq_report.core.support.arrays import FloatArray

PROMISE = 0.93
TRUTHS = {
    "all equal": np.zeros(6),
    "some ties": np.array([0.0, 0.0, 0.0, 0.3, 0.3, 0.6]),
    "all distinct": np.array([0.0, 0.1, 0.2, 0.3, 0.4, 0.5]),
    "far apart": np.arange(6) * 1.0,
}


def found(rows: FloatArray, seed: int = 0, *, clusters: bool = False, absolute: bool = False) -> RankIntervals:
    n = rows.shape[1]
    codes = np.arange(n) // 4 if clusters else None
    K = term_covariance(rows, np.ones(n), codes)
    draws = normal_draws(K, 500, np.random.default_rng(seed))
    units = n // 4 if clusters else n
    return rank_intervals(rows.mean(axis=1), K, np.sqrt(np.diag(K)), draws, units, absolute=absolute)


def drawn(rng: np.random.Generator, d: int, n: int, noise: str) -> FloatArray:
    if noise == "skewed":
        return rng.exponential(size=(d, n)) - 1
    if noise == "clusters":
        return rng.normal(size=(d, n // 4)).repeat(4, axis=1) + rng.normal(size=(d, n))
    return 0.7 * rng.normal(size=n) + 0.7 * rng.normal(size=(d, n))


def cover(truth: FloatArray, n: int, noise: str, repetitions: int, *, absolute: bool = False) -> float:
    """Return how often all intervals hold all ranks that a tie allows."""
    rng = np.random.default_rng(len(truth) + n)
    ranked = np.abs(truth) if absolute else truth
    best = 1 + (ranked > ranked[:, None]).sum(axis=1)
    worst = len(truth) - (ranked < ranked[:, None]).sum(axis=1)
    hits = 0
    for seed in range(repetitions):
        rows = truth[:, None] + drawn(rng, len(truth), n, noise)
        bounds = found(rows, seed, clusters=noise == "clusters", absolute=absolute)
        hits += bool((bounds.lower <= best).all() and (bounds.upper >= worst).all())
    return hits / repetitions


def least(repetitions: int) -> float:
    return PROMISE - 3 * float(np.sqrt(PROMISE * (1 - PROMISE) / repetitions))


@pytest.mark.parametrize("truth", TRUTHS)
@pytest.mark.parametrize("noise", ["normal", "skewed", "clusters"])
def test_all_ranks_are_covered_together(truth: str, noise: str) -> None:
    assert cover(TRUTHS[truth], 120, noise, 150) >= least(150)


def test_sizes_are_covered_where_signs_differ() -> None:
    truth = np.array([0.3, -0.3, 0.0, 0.6, -0.6, 0.05])
    assert cover(truth, 120, "normal", 150, absolute=True) >= least(150)


@pytest.mark.study
@pytest.mark.parametrize("truth", TRUTHS)
@pytest.mark.parametrize("noise", ["normal", "skewed", "clusters"])
@pytest.mark.parametrize("n", [48, 400])
def test_all_ranks_are_covered_together_in_full(truth: str, noise: str, n: int) -> None:
    repetitions = int(os.environ.get("UQ_STUDY_REPS", "100"))
    assert cover(TRUTHS[truth], n, noise, repetitions) >= least(repetitions)


def test_percentiles_of_bootstrap_ranks_fail_where_all_are_equal() -> None:
    rng = np.random.default_rng(3)
    hits = 0
    for _ in range(60):
        rows = rng.normal(size=(6, 120))
        K = term_covariance(rows, np.ones(120))
        low, high = np.percentile(ranks(rows.mean(axis=1) + normal_draws(K, 500, rng)), [2.5, 97.5], axis=0)
        hits += bool((low == 1).all() and (high == 6).all())
    assert hits / 60 < 0.2


def test_intervals_are_narrow_where_features_are_far_apart_and_wide_where_they_tie() -> None:
    rng = np.random.default_rng(0)
    bounds = found(TRUTHS["far apart"][:, None] + rng.normal(size=(6, 400)))
    assert bounds.lower.tolist() == bounds.upper.tolist() == [6, 5, 4, 3, 2, 1]
    rows = rng.normal(size=400) + np.zeros((3, 1))
    assert found(rows).lower.tolist() == [1, 1, 1]
    assert found(rows).upper.tolist() == [3, 3, 3]


def test_the_covariance_is_that_of_means_of_units() -> None:
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(4, 60))
    np.testing.assert_allclose(term_covariance(rows, np.full(60, 2.0)), np.cov(rows) / 60, rtol=1e-12)
    codes = np.arange(60) // 3
    sums = rows.reshape(4, 20, 3).mean(axis=2)
    np.testing.assert_allclose(term_covariance(rows, np.ones(60), codes), np.cov(sums) / 20, rtol=1e-12)
    whole = np.concatenate([rows, rows[:, :30]], axis=1)
    weights = np.concatenate([np.full(30, 2.0), np.ones(30)])
    np.testing.assert_allclose(rows @ weights / 90, whole.mean(axis=1))
    deviations = weights / 90 * (rows - whole.mean(axis=1)[:, None])
    np.testing.assert_allclose(term_covariance(rows, weights), deviations @ deviations.T * 60 / 59, rtol=1e-12)


def test_draws_have_the_law_of_the_normal_multiplier_bootstrap() -> None:
    rng = np.random.default_rng(2)
    rows = np.vstack([rng.normal(size=(3, 50)), np.zeros((1, 50))])
    rows = np.vstack([rows, rows[:1]])
    K = term_covariance(rows, np.ones(50))
    draws = normal_draws(K, 200_000, rng)
    # The standard error of an entry is at most sqrt(2/B) times the largest variance.
    np.testing.assert_allclose(np.cov(draws.T), K, atol=5 * np.sqrt(2 / 200_000) * K.max())
    assert (draws[:, 3] == 0).all()
    np.testing.assert_allclose(draws[:, 4], draws[:, 0], atol=1e-7 * np.abs(draws).max())


def test_the_critical_value_of_two_is_a_t_quantile() -> None:
    rng = np.random.default_rng(4)
    rows = rng.normal(size=(2, 30))
    K = term_covariance(rows, np.ones(30))
    bounds = rank_intervals(rows.mean(axis=1), K, np.sqrt(np.diag(K)), normal_draws(K, 200_000, rng), 30)
    assert bounds.critical == pytest.approx(stats.t.ppf(0.975, 29), abs=0.02)


def test_two_features_are_judged_as_a_paired_t_test_does() -> None:
    rng = np.random.default_rng(5)
    for shift in (0.05, 0.3, 0.6):
        rows = np.vstack([rng.normal(size=40) + shift, 0.5 * rng.normal(size=40)])
        K = term_covariance(rows, np.ones(40))
        bounds = rank_intervals(rows.mean(axis=1), K, np.sqrt(np.diag(K)), normal_draws(K, 20_000, rng), 40)
        test = stats.ttest_rel(rows[0], rows[1])
        assert abs(test.pvalue - 0.05) > 0.01
        assert bool(bounds.above[0, 1]) == bool(test.pvalue < 0.05 and test.statistic > 0)


def permuted(rng: np.random.Generator, n: int, m: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return estimates, errors and terms of squared-error importance of z and w, where y = z + 0.8 w + noise."""
    z, w, e = rng.normal(size=(3, n))
    terms = []
    for kept, moved in ((0.8 * w, z), (z, 0.8 * w)):
        donors = np.stack([rng.permutation(n) for _ in range(m)])
        T = (z + 0.8 * w + e - kept - moved[donors]) ** 2
        terms.append(shuffled_pairs(T[None], (e**2)[None], donors, np.ones(n)))
    rows = np.concatenate([one.rows for one in terms])
    error = np.array([float(standard_error(one, np.ones(n))[0]) for one in terms])
    return np.array([one.repeats.mean() for one in terms]), error, rows


def test_the_variance_of_a_difference_counts_the_noise_of_both_features_shuffles() -> None:
    """Over new rows and new shuffles; its simulated value has a relative standard error of √(2/R)."""
    repetitions, n, m = 400, 60, 3
    rng = np.random.default_rng(6)
    gaps, said, bare = np.empty((3, repetitions))
    for r in range(repetitions):
        estimate, error, rows = permuted(rng, n, m)
        K = term_covariance(rows, np.ones(n))
        bounds = rank_intervals(estimate, K, error, normal_draws(K, 10, rng), n)
        assert bounds.rank.tolist() == stats.rankdata(-estimate).tolist()
        gaps[r] = estimate[0] - estimate[1]
        said[r] = _pair_sd(K, error**2, -1)[0, 1] ** 2
        bare[r] = _pair_sd(K, np.diag(K), -1)[0, 1] ** 2
    truth, tolerance = gaps.var(ddof=1), 4 * np.sqrt(2 / repetitions)
    assert said.mean() == pytest.approx(truth, rel=tolerance)
    assert bare.mean() > (1 + tolerance) * truth


def test_what_is_known_without_error_is_ranked_without_error_and_rounding_ties() -> None:
    rows = np.repeat(np.array([[1.0], [2.0], [2.0 + 1e-15], [0.0]]), 30, axis=1)
    bounds = found(rows)
    assert bounds.rank.tolist() == [3, 1, 1, 4]
    assert bounds.lower.tolist() == [3, 1, 1, 4]
    assert bounds.upper.tolist() == [3, 2, 2, 4]


def test_one_feature_has_one_rank() -> None:
    bounds = found(np.random.default_rng(0).normal(size=(1, 30)))
    assert (bounds.rank.tolist(), bounds.lower.tolist(), bounds.upper.tolist()) == ([1], [1], [1])


def test_sizes_and_signs_rank_alike_where_nothing_is_negative() -> None:
    rows = np.abs(np.random.default_rng(7).normal(size=(4, 300))) + np.array([[0.0], [1.0], [2.0], [2.0]])
    signed, sized = found(rows), found(rows, absolute=True)
    assert signed.lower.tolist() == sized.lower.tolist()
    assert signed.upper.tolist() == sized.upper.tolist()
    flipped = found(rows * np.array([[1.0], [-1.0], [1.0], [-1.0]]), absolute=True)
    assert flipped.lower.tolist() == sized.lower.tolist()


def test_the_order_of_features_and_the_unit_do_not_matter() -> None:
    rng = np.random.default_rng(8)
    rows = rng.normal(size=(5, 200)) + rng.normal(size=(5, 1)) / 4
    order = rng.permutation(5)
    K = term_covariance(rows, np.ones(200))
    draws, error = normal_draws(K, 2000, rng), np.sqrt(np.diag(K))
    plain = rank_intervals(rows.mean(axis=1), K, error, draws, 200)
    block = np.ix_(order, order)
    moved = rank_intervals(
        1e6 * rows.mean(axis=1)[order], 1e12 * K[block], 1e6 * error[order], 1e6 * draws[:, order], 200
    )
    assert plain.lower[order].tolist() == moved.lower.tolist()
    assert plain.upper[order].tolist() == moved.upper.tolist()


def test_ranks_are_scipys() -> None:
    values = np.random.default_rng(9).integers(0, 4, size=(20, 7)).astype(float)
    np.testing.assert_array_equal(ranks(values), stats.rankdata(-values, method="min", axis=1))


def test_entropy_of_ranks_is_scipys_and_its_ends_are_known() -> None:
    rng = np.random.default_rng(10)
    draws = rng.normal(size=(500, 4)) + np.array([0.0, 0.5, 1.0, 9.0])
    places = stats.rankdata(-draws, method="min", axis=1)
    expected = [stats.entropy(np.unique(column, return_counts=True)[1]) for column in places.T]
    np.testing.assert_allclose(rank_entropy(draws), expected, rtol=1e-12)
    assert rank_entropy(draws)[3] == 0
    # All equal: log d less the bias of a plug-in entropy, about (d - 1)/(2B), and its noise.
    equal = rank_entropy(rng.normal(size=(20_000, 4)))
    np.testing.assert_allclose(equal, np.log(4), atol=2e-3)


def test_overlap_of_leading_features_by_counting() -> None:
    rng = np.random.default_rng(11)
    for _ in range(20):
        a, b = rng.normal(size=(2, 8))
        leading = [set(np.argsort(-values)[:3].tolist()) for values in (a, b)]
        assert top_overlap(ranks(a), ranks(b), 3) == pytest.approx(len(leading[0] & leading[1]) / 3)
    tied, apart = ranks(np.array([1.0, 1.0, 1.0, 0.0])), ranks(np.array([3.0, 2.0, 1.0, 0.0]))
    assert top_overlap(tied, apart, 1) == pytest.approx(1 / 3)


def test_the_largest_difference_is_over_all_pairs() -> None:
    rng = np.random.default_rng(12)
    rows = rng.normal(size=(4, 50)) * np.array([[1.0], [2.0], [0.1], [3.0]])
    K = term_covariance(rows, np.ones(50))
    draws = normal_draws(K, 999, rng)
    sd = {(a, b): np.sqrt(K[a, a] + K[b, b] - 2 * K[a, b]) for a, b in combinations(range(4), 2)}
    largest = np.max([np.abs(draws[:, a] - draws[:, b]) / s for (a, b), s in sd.items()], axis=0)
    bounds = rank_intervals(rows.mean(axis=1), K, np.sqrt(np.diag(K)), draws, 50)
    normal = np.quantile(largest, 0.95, method="higher")
    assert bounds.critical == pytest.approx(stats.t.isf(stats.norm.sf(normal), 49), rel=1e-9)


def test_ranks_count_what_is_larger_by_more_than_rounding() -> None:
    rng = np.random.default_rng(4)
    values = rng.integers(0, 4, (30, 9)) + 0.4e-12 * rng.integers(0, 8, (30, 9))  # ties, and chains of near ties
    values[0] = 0.0
    slack = 1e-12 * np.abs(values).max(axis=1, keepdims=True)
    larger = [[int((row > x + t).sum()) for x in row] for row, t in zip(values, slack[:, 0], strict=True)]
    np.testing.assert_array_equal(ranks(values), 1 + np.array(larger))
    np.testing.assert_array_equal(ranks(values[3]), ranks(values)[3])
    assert ranks(np.zeros((2, 0))).shape == (2, 0)


def test_draws_in_blocks_have_the_same_largest_statistic(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.random.default_rng(0).normal(size=(5, 60)) + np.arange(5)[:, None] / 10
    K, error = term_covariance(rows, np.ones(60)), np.full(5, 0.2)
    draws = normal_draws(K, 300, np.random.default_rng(1))
    whole = rank_intervals(rows.mean(axis=1), K, error, draws, 60, absolute=True)
    monkeypatch.setattr("uq_report.core.statistics.ranking._CELLS", 64)
    assert rank_intervals(rows.mean(axis=1), K, error, draws, 60, absolute=True).critical == whole.critical


@pytest.mark.parametrize("least", [0.0, 7e-17])
def test_equal_estimates_tie_whatever_a_version_takes_for_the_median(
    monkeypatch: pytest.MonkeyPatch, least: float
) -> None:
    """Student's quantile of one half is 0, and some versions give 7e-17; the critical value is never negative."""
    monkeypatch.setattr("uq_report.core.statistics.ranking.stdtrit", lambda df, p: least)
    found = rank_intervals(np.zeros(3), np.zeros((3, 3)), np.zeros(3), np.zeros((10, 3)), 10)
    assert (found.lower.tolist(), found.upper.tolist(), found.critical) == ([1, 1, 1], [3, 3, 3], 0.0)
