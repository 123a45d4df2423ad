"""What calibration computes, by hand: p-values of draws, statistics of draws that are certain, notes and figures."""

from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import optimize, special, stats

from uq_report.core.model.sampling import Sampling
from uq_report.core.statistics.score_intervals import auc_rows
from uq_report.core.statistics.time_blocks import Blocks
from uq_report.core.support.arrays import FloatArray, IntArray
from uq_report.core.support.numbers import share_words
from uq_report.core.validation.lifetimes import recorded
from uq_report.distributions import Categorical, Intervals, Normal, Survival
from uq_report.methods.calibration.check import Undercoverage
from uq_report.methods.calibration.explain import (
    Calibration,
    Setting,
    _estimates,
    _gains,
    _gap,
    _infinite,
    events_of,
    lifetimes_note,
)
from uq_report.methods.calibration.recalibration import (
    FLOOR,
    _derivatives,
    _fit,
    _log_masses,
    _log_ratios,
    class_gain,
    row_gain,
    shape_gain,
    smooth_statistic,
)
from uq_report.methods.calibration.scores import (
    CalibrationScore,
    MonteCarlo,
    class_baseline,
    class_scores,
    class_tests,
    coverage_gap,
    crps_baseline,
    crps_test,
    event_of,
    number_scores,
    pit_tests,
)
from uq_report.methods.calibration.tables import (
    Promise,
    at_most,
    bins_of,
    coverage,
    decisions,
    marginal,
    pit_histogram,
    promise,
    promised_coverage,
    promised_scores,
    reliability,
)
from uq_report.methods.shared.association import NumericColumn
from uq_report.runner import figures

from ..document import results


@pytest.mark.parametrize(
    ("observed", "above", "both"),
    [(9.5, 0.1, 0.2), (9.0, 0.2, 0.4), (8.0, 0.3, 0.6), (5.0, 0.6, 1.0), (1.0, 1.0, 0.4), (0.5, 1.0, 0.2)],
)
def test_p_values_count_the_draws_at_or_beyond_and_the_observed_itself(
    observed: float, above: float, both: float
) -> None:
    null = np.arange(1.0, 10.0)
    assert MonteCarlo("t", observed, null).p_value == pytest.approx(above)
    assert MonteCarlo("t", observed, null, two_sided=True).p_value == pytest.approx(both)


def test_classes_that_are_certain_are_drawn_as_such() -> None:
    """Rows 0 and 2 in the first bin, row 1 in the second, none in the third; row 1 turned out otherwise."""
    q = Categorical(np.array([[0.0, 1.0], [0.0, 1.0], [1.0, 0.0]]))
    member = np.array([[1.0, 0, 0], [0, 1, 0], [1, 0, 0]])
    weights = np.array([0.5, 0.25, 0.25])
    (brier, ece), shares = class_tests(q, np.array([1, 0, 0]), weights, member, np.random.default_rng(0), 7)
    assert (brier.item, brier.observed, brier.two_sided) == ("brier", 0.5, True)
    assert (ece.item, ece.observed, ece.two_sided) == ("ece", 0.25, False)
    np.testing.assert_array_equal([brier.null, ece.null], np.zeros((2, 7)))
    np.testing.assert_allclose(shares, np.tile([0.5 / 0.75, 1.0, np.nan], (7, 1)))


def test_events_are_the_positive_of_two_classes_and_else_the_predicted_class() -> None:
    two, three = np.array([[0.9, 0.1], [0.3, 0.7]]), np.array([[0.2, 0.5, 0.3], [0.6, 0.3, 0.1]])
    outcomes = np.array([[0, 1], [1, 0]])
    for p, confidence, events in (
        (two, [0.1, 0.7], [[False, True], [True, False]]),
        (three, [0.5, 0.6], [[False, False], [True, True]]),
    ):
        found, hits = event_of(Categorical(p))
        assert found.tolist() == confidence
        assert hits(outcomes).tolist() == events


def test_an_interval_holds_its_ends() -> None:
    """0.75 is the end of the central half: both values are in it, which misses the level by a half."""
    assert coverage_gap(np.array([[0.75, 0.5], [0.76, 0.5]]), np.array([0.5, 0.5])) == pytest.approx([0.5, 0.2])


def test_pit_tests_are_one_sided_and_of_uniform_draws() -> None:
    distance, gap, smooth = pit_tests(np.full(40, 0.5), np.full(40, 1 / 40), np.random.default_rng(0), 50)
    assert (distance.item, distance.two_sided) == ("pit_distance", False)
    assert (gap.item, gap.two_sided) == ("coverage_gap", False)
    assert [distance.observed, gap.observed] == pytest.approx([0.25, 0.5])
    assert len(distance.null) == len(gap.null) == 50
    assert distance.p_value == gap.p_value == smooth.p_value == 1 / 51
    assert (smooth.item, smooth.two_sided) == ("smooth_statistic", False)


def fair(pool: FloatArray) -> FloatArray:
    """Return every value's mean distance to the others less half that of all pairs, shape as `pool`."""
    m = len(pool)
    distance = np.abs(pool[:, None] - pool).sum(axis=1) / (m - 1)
    return np.asarray(distance - distance.mean(axis=0) / 2)


@pytest.mark.parametrize(("n", "blocks"), [(3, [3]), (50_001, [50_000, 1])])
def test_the_crps_of_draws_is_the_fair_form_in_blocks(n: int, blocks: list[int]) -> None:
    """39 draws and the outcome are forty numbers a row, of which two million are made at a time."""
    drawn: list[FloatArray] = []

    class Kept(Normal):
        """A normal whose draws are kept."""

        def take(self, rows: Any) -> "Kept":
            return Kept(self.loc[rows], self.scale[rows])

        def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
            drawn.append(super().sample(rng, size))
            return drawn[-1]

    rng = np.random.default_rng(1)
    y, weights = rng.normal(size=n), rng.dirichlet(np.ones(n))
    test = crps_test(Kept(rng.normal(size=n), np.ones(n)), y, weights, np.random.default_rng(0), 39)
    assert [part.shape[1] for part in drawn] == blocks
    pool = np.concatenate([y[None], np.concatenate(drawn, axis=1)])
    parts = np.array_split(np.arange(n), max(1, n // 500))
    expected = np.sum([fair(pool[:, rows]) @ weights[rows] for rows in parts], axis=0)
    assert (test.item, test.two_sided) == ("crps", True)
    assert test.observed == pytest.approx(expected[0])
    np.testing.assert_allclose(test.null, expected[1:])


def note(n: int, events: int, time: float = 1.0, survival: tuple[float, ...] = (0.8, 0.4, 0.2)) -> str:
    q = Survival([1.0, 2.0, 3.0], np.tile(survival, (n, 1)))
    return lifetimes_note(q, recorded(np.full(n, time), np.arange(n) < events))


@pytest.mark.parametrize(
    ("n", "events", "turned"), [(100, 80, True), (100, 93, True), (100, 94, False), (100, 20, False), (18, 9, False)]
)
def test_flags_are_doubted_where_only_the_censored_rows_are_as_many_as_expected(
    n: int, events: int, turned: bool
) -> None:
    """A fifth of the rows is expected, within three of its roots: 20 ± 13.4, and 3.6 ± 5.7."""
    words = note(n, events)
    assert f"{events} of {n} observations had an event and {n - events} were censored" in words
    assert f"the model expects {0.2 * n:.0f} in the times observed." in words
    assert (f"If 1 stood for censored, the events would be {n - events}" in words) is turned


def test_events_beyond_the_horizon_and_in_cells_without_mass_are_told() -> None:
    assert "in the times observed, up to 3.00, where 0 were seen." in note(4, 2, time=5.0)
    assert "In 2 observations the event fell into a cell of the time axis without mass" in note(
        4, 2, 2.0, (0.8, 0.8, 0.2)
    )
    assert "without mass" not in note(4, 2, 2.0)


def test_an_event_at_the_horizon_is_seen() -> None:
    q = Survival([1.0, 2.0, 3.0], np.tile([0.75, 0.5, 0.25], (2, 1)))
    assert events_of(q, recorded(np.array([3.0, 3.1]), np.ones(2, dtype=bool)))[0] == 1


@pytest.mark.parametrize(("n", "turned"), [(4, False), (5, True)])
def test_three_roots_of_the_expected_events_are_by_chance(n: int, turned: bool) -> None:
    """A quarter of 4 rows is one event: 4 are three more, and of 5 rows 5 are 3.75 more than 1.25."""
    words = note(n, n, survival=(0.75, 0.5, 0.25))
    assert ("If 1 stood for censored" in words) is turned


def test_what_is_missed_is_told_with_its_interval() -> None:
    words = Undercoverage(stated=0.1, excess=0.05, lower=0.02, upper=0.08).words
    assert words.startswith(share_words(0.15, 0.12, 0.18, confidence=0.9))
    assert words.endswith(f"all but {share_words(0.1)}")
    assert np.isnan(Undercoverage.of(None).excess)


def lined(points: list[tuple[float, float, float, float]], id: str, null: Any = None) -> Any:
    """Return the drawn axes of a table of x, estimate and the ends of its interval, and the words of the key."""
    names = ("x", "estimate", "lower", "upper")
    rows = [{"item": f"bin {k}", "n": 9, **dict(zip(names, point, strict=True))} for k, point in enumerate(points)]
    rows = [row | ({} if ends is None else {"null_lower": ends[0], "null_upper": ends[1]})
            for row, ends in zip(rows, null or [None] * len(rows), strict=True)]  # fmt: skip
    figure = figures.draw(results.diagnostic(id, rows))
    return figure.axes[0], [text.get_text() for text in figure.legends[0].get_texts()]


@pytest.mark.parametrize(("lowest", "start"), [(0.3, 0.25), (0.45, 0.35), (0.02, 0.0)])
def test_coverage_is_drawn_from_below_its_lowest_point(lowest: float, start: float) -> None:
    axes, _ = lined([(0.5, 0.5, lowest, 0.6), (0.9, 0.9, 0.8, 1.0)], "calibration.coverage")
    assert axes.get_xlim() == axes.get_ylim() == pytest.approx((start, 1.02))
    assert axes.lines[0].get_xydata().tolist() == [[0, 0], [1, 1]]


def test_reliability_is_drawn_over_all_probabilities_with_the_key_of_any_interval() -> None:
    axes, key = lined([(0.2, 0.3, np.nan, np.nan), (0.7, 0.6, 0.5, 0.7)], "calibration.reliability")
    assert axes.get_xlim() == axes.get_ylim() == (-0.03, 1.03)
    assert axes.lines[0].get_xydata().tolist() == [[0, 0], [1, 1]]
    assert (len(key), key[0]) == (2, "as stated")
    assert len(lined([(0.2, 0.3, np.nan, np.nan)], "calibration.reliability")[1]) == 1


def test_the_range_of_a_right_model_is_drawn_where_one_bin_has_it() -> None:
    points = [(0.2, 0.3, 0.2, 0.4), (0.7, 0.6, 0.5, 0.7)]
    axes, key = lined(points, "calibration.reliability", [(0.1, 0.3), (np.nan, np.nan)])
    assert (len(axes.collections), key[-1]) == (1, "points of a calibrated model")
    axes, key = lined(points, "calibration.reliability", [(np.nan, np.nan)] * 2)
    assert (len(axes.collections), len(key)) == (0, 2)


def test_bars_of_the_pit_stand_beside_each_other_and_the_line_at_one() -> None:
    axes, _ = lined([(0.25, 1.4, 1.3, 1.5), (0.75, 0.6, 0.5, 0.7)], "calibration.pit")
    assert [bar.get_width() for bar in axes.patches] == pytest.approx([0.46, 0.46])
    assert axes.get_xlim() == (0, 1)
    assert list(axes.lines[-1].get_ydata()) == [1.0, 1.0]


def mean_nll(theta: FloatArray, logits: FloatArray, y: Any, share: FloatArray) -> float:
    log_q = special.log_softmax(theta[0] * logits + theta[1:], axis=1)
    return float(-share @ log_q[np.arange(len(y)), y])


def test_the_derivatives_of_the_recalibration_are_those_of_its_loss() -> None:
    rng = np.random.default_rng(3)
    logits, y, share = rng.normal(size=(9, 3)), rng.integers(0, 3, 9), rng.dirichlet(np.ones(9))
    theta, steps = np.array([0.7, 0.3, -0.2, 0.5]), 1e-5 * np.eye(4)
    gradient, hessian = _derivatives(logits, y, share, theta)

    def slope(of: Any) -> FloatArray:
        return np.array([(of(theta + step) - of(theta - step)) / 2e-5 for step in steps])

    np.testing.assert_allclose(gradient, slope(lambda t: mean_nll(t, logits, y, share)), atol=1e-8)
    np.testing.assert_allclose(hessian, slope(lambda t: _derivatives(logits, y, share, t)[0]), atol=1e-8)


def test_the_gain_of_classes_is_that_of_the_map_fitted_on_the_other_fold() -> None:
    """The largest posterior density, prior 1 row of N((1, 0 ...), 1), by a search that knows no derivative."""
    rng = np.random.default_rng(4)
    p, y, fold = rng.dirichlet([2, 1, 1], 30), rng.integers(0, 3, 30), np.arange(30) % 3
    weights = rng.uniform(0.5, 2.0, 30)
    expected = np.empty(30)
    for k in range(3):
        used, share = fold != k, weights[fold != k] / weights[fold != k].sum()

        def loss(theta: FloatArray, used: Any = used, share: FloatArray = share) -> float:
            prior = np.square(theta - [1, 0, 0, 0]).sum() / (2 * used.sum())
            return mean_nll(theta, np.log(p[used]), y[used], share) + float(prior)

        best = optimize.minimize(
            loss,
            np.array([1.0, 0, 0, 0]),
            method="Nelder-Mead",
            options={"xatol": 1e-9, "fatol": 1e-13, "maxiter": 4000},
        ).x
        after = special.log_softmax(best[0] * np.log(p) + best[1:], axis=1)
        expected[~used] = (after - np.log(p))[np.arange(30), y][~used]
    np.testing.assert_allclose(class_gain(p, y, weights, fold), expected, atol=1e-6)


def sinh_arcsinh(z: FloatArray, theta: FloatArray) -> FloatArray:
    """Return the S(z) of Jones & Pewsey."""
    m, s, skew, tails = theta
    return np.asarray(stats.norm.cdf(np.sinh(np.exp(tails) * np.arcsinh((z - m) * np.exp(-s)) - skew)))


def log_ratio(z: FloatArray, theta: FloatArray) -> FloatArray:
    """Return log S'(z) / φ(z), the derivative taken numerically."""
    slope = (sinh_arcsinh(z + 1e-5, theta) - sinh_arcsinh(z - 1e-5, theta)) / 2e-5
    return np.asarray(np.log(slope) - stats.norm.logpdf(z))


def best_of_other_folds(scores: Any, weights: FloatArray, fold: IntArray) -> FloatArray:
    """Return the scores with the largest posterior of the other folds, by a search that knows no derivative."""
    found = np.empty(len(fold))
    for k in np.unique(fold):
        used = fold != k
        share = weights[used] / weights[used].sum()

        def loss(theta: FloatArray, used: Any = used, share: FloatArray = share) -> float:
            return float(theta @ theta / (2 * used.sum()) - share @ scores(theta)[used])

        options: Any = {"xatol": 1e-7, "fatol": 1e-12, "maxiter": 6000, "maxfev": 6000}
        best = optimize.minimize(loss, np.zeros(4), method="Nelder-Mead", options=options).x
        found[~used] = scores(best)[~used]
    return found


def test_the_gain_of_numbers_is_that_of_the_best_map_of_the_other_fold() -> None:
    rng = np.random.default_rng(5)
    z, weights, fold = stats.gamma(4).rvs(60, random_state=rng) / 2 - 2, rng.uniform(0.5, 2.0, 60), np.arange(60) % 2
    pit = stats.norm.cdf(z)
    expected = best_of_other_folds(lambda theta: log_ratio(z, theta), weights, fold)
    np.testing.assert_allclose(shape_gain(pit, pit, pit, weights, fold), expected, atol=1e-3)


def test_the_gain_of_masses_is_that_of_the_best_map_of_the_other_fold() -> None:
    """Half of the rows are known by the ends of their PIT only; one row of N(0, 1) on each parameter."""
    rng = np.random.default_rng(6)
    z, weights, fold = rng.normal(0.5, 0.7, 40), rng.uniform(0.5, 2.0, 40), np.arange(40) % 2
    atom = np.arange(40) % 4 < 2
    lower, upper = (stats.norm.cdf(z + np.where(atom, side, 0.0)) for side in (-0.4, 0.3))
    upper[0], lower[1] = 1.0, 0.0

    def scores(theta: FloatArray) -> FloatArray:
        ends = [sinh_arcsinh(stats.norm.ppf(end), theta) for end in (lower, upper)]
        mass, before = (np.where(atom, high - low, 1.0) for low, high in (ends, (lower, upper)))
        return np.where(atom, np.log(mass / before), log_ratio(z, theta))

    expected = best_of_other_folds(scores, weights, fold)
    np.testing.assert_allclose(shape_gain(lower, upper, stats.norm.cdf(z), weights, fold), expected, atol=2e-3)


@pytest.mark.parametrize("theta", [np.zeros(4), np.array([0.3, -0.2, 0.4, 0.3]), np.array([-1.0, 0.5, -0.6, -0.4])])
def test_the_slopes_of_the_recalibration_are_those_of_its_scores(theta: FloatArray) -> None:
    z = np.array([-3.0, -0.2, 0.0, 1.5])
    ends = np.array([[-np.inf, -0.5, 1.0, 2.0], [-1.0, 0.7, np.inf, 2.5]])
    scores: tuple[Any, ...] = (partial(_log_ratios, z), partial(_log_masses, ends))
    for score in scores:
        slopes = [(score(theta + step)[0] - score(theta - step)[0]) / 2e-6 for step in 1e-6 * np.eye(4)]
        np.testing.assert_allclose(score(theta)[1], slopes, atol=1e-7)


def test_masses_far_in_either_tail_keep_their_digits() -> None:
    ends = np.array([[9.0, -9.5], [9.5, -9.0]])
    assert _log_masses(ends, np.zeros(4))[0] == pytest.approx(np.log(stats.norm.sf(9.0) - stats.norm.sf(9.5)), rel=1e-9)


def test_a_spread_by_segment_is_that_of_the_leaf_shrunk_by_ten_rows() -> None:
    """One column of two values: the tree has two leaves, and each gives N(m, v) of the other fold."""
    rng = np.random.default_rng(7)
    x, fold = np.arange(200) % 2, np.arange(200) // 2 % 2
    z = rng.normal(size=200) * np.where(x > 0, 1.5, 0.5)
    weights = np.full(200, 1 / 200)
    columns = [NumericColumn("flat", np.ones(200), ordered=True), NumericColumn("x", x.astype(float), ordered=False)]
    found, shares = row_gain(columns, z, weights, fold)
    expected = np.empty(200)
    for k, level in ((k, level) for k in (0, 1) for level in (0, 1)):
        used, out = (fold != k) & (x == level), (fold == k) & (x == level)
        m = z[used].sum() / (used.sum() + 10)
        v = (np.square(z[used] - m).sum() + 10) / (used.sum() + 10)
        expected[out] = stats.norm.logpdf(z[out], m, np.sqrt(v)) - stats.norm.logpdf(z[out])
    np.testing.assert_allclose(found, expected)
    assert shares.tolist() == [0.0, 1.0]


def test_levels_of_a_segment_are_ordered_by_their_spread_and_missing_values_are_a_segment() -> None:
    rng = np.random.default_rng(8)
    level = rng.integers(0, 6, 1200)
    z = rng.normal(size=1200) * np.where(level % 2 > 0, 1.6, 0.6)
    fold, weights = np.arange(1200) % 5, np.full(1200, 1 / 1200)
    gain, _ = row_gain([NumericColumn("level", level.astype(float), ordered=False)], z, weights, fold)
    ideal = stats.norm.logpdf(z, 0, np.where(level % 2 > 0, 1.6, 0.6)) - stats.norm.logpdf(z)
    assert gain.mean() == pytest.approx(ideal.mean(), abs=0.01)
    numbers = np.where(level % 2 > 0, np.nan, rng.normal(size=1200))  # scikit-learn 1.5 does not split a constant
    again, shares = row_gain([NumericColumn("gap", numbers, ordered=True)], z, weights, fold)
    assert again.mean() == pytest.approx(ideal.mean(), abs=0.01)
    assert shares.tolist() == pytest.approx([1.0])


def test_few_rows_have_one_segment_and_name_none() -> None:
    z = np.random.default_rng(9).normal(size=40)
    gain, shares = row_gain([NumericColumn("x", z, ordered=True)], z, np.full(40, 1 / 40), np.arange(40) % 5)
    assert np.isfinite(gain).all()
    assert shares.tolist() == [0.0]


def test_the_smooth_statistic_is_the_score_of_four_legendre_polynomials() -> None:
    u, weights = np.random.default_rng(10).random((3, 50)), np.random.default_rng(11).dirichlet(np.ones(50))
    terms = [(2 * k + 1) * (special.eval_legendre(k, 2 * u - 1) @ weights) ** 2 for k in range(1, 5)]
    np.testing.assert_allclose(smooth_statistic(u, weights), np.sum(terms, axis=0) / np.square(weights).sum())


def test_features_are_named_only_where_segments_gain_more_than_the_shape() -> None:
    """A standard deviation that is too small everywhere is no matter of segments, nor what the interval leaves open."""
    rng = np.random.default_rng(12)
    x, y = rng.normal(size=(2, 600))
    for scale, named in ((np.full(600, 1.6), ()), (np.exp(0.2 * x), ()), (np.exp(0.25 * x), ("x",))):
        q = Normal(np.zeros(600), 1.0)
        place = replace(setting(equal(600), n_splits=5), columns=lambda: [NumericColumn("x", x, ordered=True)])
        pit = q.cdf(scale * y)
        scores, features, _ = _gains(q, pit, pit, pit, place)
        assert [score.item for score in scores] == ["recalibration_gain", "recalibration_gain_by_segment"]
        assert features == named


def test_a_sample_too_small_for_segments_has_the_gain_of_the_shape_alone() -> None:
    x = np.random.default_rng(13).normal(size=48)
    for n, there in ((48, False), (50, True)):
        z = np.resize(x, n)
        column = NumericColumn("x", z, ordered=True)
        place = replace(setting(equal(n), n_splits=5), columns=partial(list, [column]))
        pit = stats.norm.cdf(z)
        scores, _, omissions = _gains(Normal(np.zeros(n), 1.0), pit, pit, pit, place)
        assert [score.item for score in scores][1:] == ["recalibration_gain_by_segment"] * there
        assert [gap.reason for gap in omissions] == ["the sample is too small for segments"] * (not there)


def test_where_blocks_of_time_were_cut_nothing_is_recalibrated() -> None:
    blocks = Blocks(np.arange(60), 3, cut=True)
    found, (omission,) = setting(Sampling(np.full(60, 1 / 60), 20, blocks.codes, blocks)).folds()
    assert found is None
    assert omission.reason == "the autocorrelation asks for longer blocks of time than the sample has room for"
    assert setting(Sampling(np.full(60, 1 / 60), 20, blocks.codes, replace(blocks, cut=False))).folds()[0] is not None


def test_interval_scores_stand_beside_those_of_the_outcomes_alone() -> None:
    """Width and 2/(1 - level) times the way outside; the baseline holds the middle half of the training outcomes."""
    q = Intervals([0.5], np.zeros((2, 1)), np.full((2, 1), 2.0), np.ones(2))
    y = np.array([1.0, 3.0])
    found = {score.item: score.rows for score in promised_scores(q, y, np.array([0.0, 4.0]))}
    assert found["interval_score"].tolist() == [2.0, 6.0]
    assert found["interval_score_baseline"].tolist() == [2.0, 2.0]
    assert found["interval_score_skill"].tolist() == [0.0, -4.0]
    assert found["sharpness_width"].tolist() == [2.0, 2.0]
    assert marginal(y, np.array([0.0, 4.0]), 0.5).upper.tolist() == [[3.0], [3.0]]
    alone = {score.item: score.rows for score in promised_scores(q, y, None)}
    assert alone["interval_score_baseline"].tolist() == [8.0, 8.0]
    assert "interval_score_baseline" not in {s.item for s in promised_scores(q.take(np.array([0])), y[:1], None)}


def equal(n: int) -> Sampling:
    return Sampling(np.full(n, 1 / n), n)


def setting(sampling: Sampling, train: Any = None, n_splits: int = 2) -> Setting:
    n = len(sampling.weights)
    rng = np.random.default_rng
    options = Calibration(n_draws=99, n_splits=n_splits)
    return Setting(np.zeros(n, dtype=int), train, sampling, lambda _: rng(0), options, 0.95, list)


@pytest.mark.parametrize(("n", "each", "there"), [(20, 1, True), (19, 1, False), (40, 2, True), (38, 2, False)])
def test_folds_are_of_twenty_units_and_keep_clusters(n: int, each: int, there: bool) -> None:
    codes = None if each == 1 else np.arange(n) // each
    fold, omissions = setting(Sampling(np.full(n, 1 / n), n // each, codes)).folds()
    if there:
        assert fold is not None
        assert np.bincount(fold).tolist() == [n // 2, n // 2]
        assert codes is None or (fold[::2] == fold[1::2]).all()
        assert omissions == ()
    else:
        what = "observations" if each == 1 else "clusters or blocks"
        assert fold is None
        assert [gap.reason for gap in omissions] == [f"recalibration needs 20 {what}; there are 19"]


def test_the_source_of_the_baseline_is_named() -> None:
    assert setting(equal(3)).baseline == "the other test observations"
    assert setting(equal(3), np.zeros(3)).baseline == "the training sample"


def estimates(*scores: CalibrationScore, tests: Any = ()) -> Any:
    return _estimates(scores, tests, setting(equal(4)), {}).set_index("item")


def test_a_confidence_gap_is_tested_by_t_unless_it_is_rounding() -> None:
    rows = np.array([0.1, 0.2, -0.1, 0.4])
    line = estimates(CalibrationScore("confidence_gap", "nats", rows)).loc["confidence_gap"]
    assert line["p_value"] == pytest.approx(stats.ttest_1samp(rows, 0.0).pvalue)
    assert line["null_mean"] == 0.0
    assert (line["lower"], line["upper"]) == pytest.approx(stats.t.interval(0.95, 3, 0.15, stats.sem(rows)))
    assert (line["lower_90"], line["upper_90"]) == pytest.approx(stats.t.interval(0.9, 3, 0.15, stats.sem(rows)))
    for size, p in ((0.9e-12, 1.0), (1.1e-12, 0.0)):
        constant = estimates(CalibrationScore("confidence_gap", "nats", np.full(4, size)))
        assert constant.loc["confidence_gap", "p_value"] == p


def test_tests_stand_beside_their_scores_or_alone_and_are_adjusted_together() -> None:
    null = np.array([1.0, 3.0, 3.0, 5.0])
    found = estimates(
        CalibrationScore("brier", "squared probability", np.full(4, 0.5)),
        CalibrationScore("accuracy", "share of observations", np.full(4, 0.25)),
        tests=(MonteCarlo("brier", 6.0, null), MonteCarlo("ece", 4.0, null), MonteCarlo("crps", 4.0, null)),
    )
    assert found["estimate"].to_dict() == {"brier": 0.5, "accuracy": 0.25, "ece": 4.0, "crps": 4.0}
    assert found["unit"].to_dict() == {
        "brier": "squared probability", "accuracy": "share of observations", "ece": "probability",
        "crps": "units of the outcome",
    }  # fmt: skip
    assert found.loc[["brier", "ece"], "p_value"].tolist() == [0.2, 0.4]
    assert found.loc[["brier", "ece", "crps"], "p_adjusted"].tolist() == pytest.approx([0.6, 0.8, 0.8])
    assert found.loc[["brier", "ece"], "null_mean"].tolist() == [3.0, 3.0]
    assert np.isnan(found.loc["accuracy", ["p_value", "p_adjusted", "null_mean"]].astype(float)).all()
    assert np.isnan(found.loc["ece", ["std_error", "lower", "lower_90"]].astype(float)).all()


def test_infinite_rows_of_a_score_are_counted_with_advice_for_likelihoods() -> None:
    rows = np.array([1.0, np.inf, np.nan])
    gap = _infinite(CalibrationScore("log_score", "nats", rows))
    assert gap.measure == "log_score"
    assert gap.reason.startswith(
        "infinite in 2 of 3 observations, usually because the model gave what happened a probability"
    )
    assert _infinite(CalibrationScore("crps", "units of the outcome", rows)).reason == "infinite in 2 of 3 observations"


def test_scores_of_classes_are_their_means_beside_the_baseline() -> None:
    q = Categorical(np.array([[0.25, 0.75], [0.5, 0.5], [0.8, 0.2]]))
    y, base = np.array([1, 0, 1]), np.tile([0.4, 0.6], (3, 1))
    found = {score.item: score.rows for score in class_scores(q, y, base, np.full(3, 1 / 3))}
    np.testing.assert_allclose(found["log_score"], -np.log([0.75, 0.5, 0.2]))
    np.testing.assert_allclose(found["log_score_baseline"], -np.log([0.6, 0.4, 0.6]))
    np.testing.assert_allclose(found["log_score_skill"], np.log([0.75 / 0.6, 0.5 / 0.4, 0.2 / 0.6]))
    np.testing.assert_allclose(found["brier"], [2 * 0.25**2, 0.5, 2 * 0.8**2])
    np.testing.assert_allclose(found["brier_baseline"], [2 * 0.4**2, 2 * 0.6**2, 2 * 0.4**2])
    np.testing.assert_allclose(found["brier_skill"], found["brier_baseline"] - found["brier"])
    assert found["roc_auc"].mean() == pytest.approx(0.5)
    for weights in ([0.0, 1.0, 0.0], [0.5, 0.0, 0.5]):  # of one class alone there is no curve
        assert "roc_auc" not in {score.item for score in class_scores(q, y, base, np.array(weights))}
    three = Categorical(np.full((3, 3), 1 / 3))
    assert "roc_auc" not in {s.item for s in class_scores(three, y, np.full((3, 3), 1 / 3), np.full(3, 1 / 3))}


def test_the_rows_of_the_area_are_delongs() -> None:
    """Of scores 1, 2 | 2, 3 the area is 7/8; an event adds (F - A)/π, another (1 - F - A)/(1 - π)."""
    score, event = np.array([1.0, 2.0, 2.0, 3.0]), np.array([False, False, True, True])
    below, above = np.array([0.75, 1.0]), np.array([1.0, 0.75])
    expected = 7 / 8 + np.r_[(above - 7 / 8) / 0.5, (below - 7 / 8) / 0.5]
    np.testing.assert_allclose(auc_rows(score, event, np.full(4, 0.25)), expected)
    heavy = auc_rows(score, event, np.array([0.5, 0.25, 0.125, 0.125]))
    area = (0.5 * (2 / 3 + 1 / 6) + 0.5 * 1.0) / 1.0
    assert heavy @ [0.5, 0.25, 0.125, 0.125] == pytest.approx(area)


def test_the_weights_of_rows_are_those_of_the_class_baseline() -> None:
    """Of four rows of weights 0.4, 0.3, 0.2, 0.1 the first two are of class 0; each leaves itself out of 4 rows."""
    found = class_baseline(np.array([0, 0, 1, 1]), 2, np.array([0.4, 0.3, 0.2, 0.1]), None)
    counts = np.array([[1.2, 1.2], [1.6, 1.2], [2.8, 0.4], [2.8, 0.8]]) + 0.5
    np.testing.assert_allclose(found, counts / counts.sum(axis=1, keepdims=True))


def test_scores_of_numbers_are_those_of_the_normal() -> None:
    q, y = Normal([0.0, 1.0], [1.0, 2.0]), np.array([0.5, -1.0])
    found = {score.item: score.rows for score in number_scores(q, y, np.array([0.75, 2.0]), np.full(2, 0.5))}
    np.testing.assert_allclose(found["mean_error"], [0.5, -2.0])
    np.testing.assert_allclose(found["squared_error"], [0.25, 4.0])
    np.testing.assert_allclose(found["sharpness_sd"], [1.0, 2.0])
    np.testing.assert_allclose(found["sharpness_width_90"], 2 * stats.norm.ppf(0.95) * np.array([1.0, 2.0]))
    np.testing.assert_allclose(found["crps_skill"], [0.75, 2.0] - found["crps"])
    np.testing.assert_allclose(found["log_score"], -stats.norm.logpdf(y, [0, 1], [1, 2]))
    assert not {"crps_baseline", "crps_skill"} & {score.item for score in number_scores(q, y, None, np.full(2, 0.5))}
    assert crps_baseline(y[:1], None) is None
    two = crps_baseline(y, None)
    assert two is not None
    np.testing.assert_allclose(two, [1.5, 1.5])


def test_bins_are_of_equal_numbers_of_rows() -> None:
    assert bins_of(np.arange(9.0), 3).tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert bins_of(np.array([3.0, 1.0, 1.0, 2.0]), 2).tolist() == [1, 0, 0, 1]
    assert bins_of(np.zeros(3), 4).tolist() == [0, 0, 0]


def test_reliability_is_the_share_of_events_beside_the_mean_stated_and_the_range_of_draws() -> None:
    q = Categorical(np.column_stack([1 - (p := np.array([0.1, 0.3, 0.6, 0.8])), p]), classes=["no", "yes"])
    sampling = Sampling(np.array([0.1, 0.3, 0.6, 0.0]), 3)
    null = np.column_stack([np.linspace(0, 1, 101), np.linspace(0, 0.5, 101), np.zeros(101)])
    found = reliability(q, np.array([0, 1, 1, 1]), np.array([0, 0, 1, 2]), null, sampling, 0.9)
    table = found.estimates.set_index("item")
    assert list(table.index) == ["bin 1", "bin 2"]  # the rows of the third weigh nothing
    assert table["x"].tolist() == pytest.approx([0.25, 0.6])
    assert table["estimate"].tolist() == pytest.approx([0.75, 1.0])
    assert table["n"].tolist() == [2, 1]
    assert table[["null_lower", "null_upper"]].to_numpy() == pytest.approx(np.array([[0.05, 0.95], [0.025, 0.475]]))
    assert (found.meta["event"], found.meta["form"]) == ("P(y = yes)", "positive class")
    three = Categorical(np.array([[0.5, 0.3, 0.2]] * 4))
    top = reliability(three, np.array([0, 1, 0, 0]), np.zeros(4, dtype=int), null, equal(4), 0.9)
    assert top.estimates["estimate"].tolist() == [0.75]
    assert (top.meta["event"], top.meta["form"]) == ("P(the predicted class is right)", "top label")


def test_the_pit_is_counted_in_ten_bins_and_spread_where_it_has_a_width() -> None:
    """Values on an edge belong to the bin below; a row from 0.25 to 0.5 is spread over three bins."""
    q = Normal(np.zeros(4), np.ones(4))
    u = np.array([0.0, 0.1, 0.55, 1.0])
    found = pit_histogram(q, u, u, equal(4), 0.95).estimates
    assert found["estimate"].tolist() == pytest.approx([5, 0, 0, 0, 0, 2.5, 0, 0, 0, 2.5])
    assert found["x"].tolist() == pytest.approx([0.05 + 0.1 * k for k in range(10)])
    assert found["item"].tolist() == [f"bin {k}" for k in range(1, 11)]
    exact = stats.binomtest(2, 4).proportion_ci(0.95, "exact")
    assert (found["lower"][0], found["upper"][0]) == pytest.approx((10 * exact.low, 10 * exact.high))
    assert found["std_error"][0] == pytest.approx(10 * np.array([1.0, 1, 0, 0]).std(ddof=1) / 2)
    lower, upper = np.array([0.25, 0.0, 0.0, 0.0]), np.array([0.5, 0.05, 0.1, 1.0])
    spread = pit_histogram(q, lower, upper, equal(4), 0.95).estimates["estimate"].to_numpy() / 10 * 4
    assert spread == pytest.approx([2.1, 0.1, 0.3, 0.5, 0.5, 0.1, 0.1, 0.1, 0.1, 0.1])


def test_spread_rows_of_the_pit_have_intervals_of_their_mean() -> None:
    u = np.array([0.05, 0.05, 0.55, 0.95])
    for atoms, censored in ((True, False), (False, True)):
        q: Any = SimpleNamespace(atoms=atoms, censored=censored, discrete=False)
        first = pit_histogram(q, u, u, equal(4), 0.95).estimates.iloc[0]
        hits = np.array([10.0, 10, 0, 0])
        assert (first["lower"], first["upper"]) == pytest.approx(stats.t.interval(0.95, 3, 5.0, stats.sem(hits)))


def test_decisions_have_recall_and_precision_where_there_are_rows() -> None:
    q = Categorical(np.array([[0.9, 0.1, 0.0]] * 3 + [[0.2, 0.8, 0.0]] * 2), classes=["a", "b", "c"])
    y = np.array([0, 0, 1, 1, 0])
    found = decisions(q, y, equal(5), 0.95)
    table = found.estimates.set_index(["item", "label"])
    assert table["estimate"].to_dict() == pytest.approx(
        {("recall", "a"): 2 / 3, ("precision", "a"): 2 / 3, ("recall", "b"): 0.5, ("precision", "b"): 0.5}
    )
    assert table["n"].tolist() == [3, 3, 2, 2]
    assert table["n_effective"].tolist() == pytest.approx([3, 3, 2, 2])
    assert found.meta["counts"] == [[2, 1, 0], [1, 1, 0], [0, 0, 0]]
    assert [gap.reason for gap in found.omissions] == [
        "recall of c: no observation is of this class",
        "precision of c: the model predicts this class for no observation",
    ]


@pytest.mark.parametrize("k", [20, 21])
def test_pairs_of_up_to_twenty_classes_are_counted(k: int) -> None:
    q = Categorical(np.eye(k) * 0.5 + 0.5 / k)
    assert len(decisions(q, np.arange(k), equal(k), 0.95).meta["counts"]) == (k if k == 20 else 0)


def test_a_promise_is_tested_at_the_level_nearest_to_ninety_percent() -> None:
    q = Intervals([0.5, 0.8], np.tile([0.0, -1.0], (10, 1)), np.tile([1.0, 2.0], (10, 1)), np.zeros(10))
    y = np.r_[np.full(6, 0.5), np.full(4, 9.0)]
    found = promise(q, y, equal(10))
    assert isinstance(found, Promise)
    assert (found.item, found.observed, found.null.tolist()) == ("miscoverage", 0.4, pytest.approx([0.2]))
    assert found.p_value == pytest.approx(stats.binom.cdf(6, 10, 0.8))
    assert at_most(10.0, 10.0, 0.2) == 1.0
    held = promised_coverage(q, y, equal(10), 0.95).estimates[["x", "width", "estimate", "n"]]
    assert held.to_numpy(dtype=float) == pytest.approx(np.array([[0.5, 1.0, 0.6, 10], [0.8, 3.0, 0.6, 10]]))


def test_the_middle_of_a_marginal_interval_is_that_of_its_ends() -> None:
    assert marginal(np.zeros(1), np.array([0.0, 4.0]), 0.5).point.tolist() == [2.0]


def check_minimum(logits: FloatArray, y: IntArray) -> FloatArray:
    """Check that a fit to four rows of equal weight has no slope left, and return it."""
    share = np.full(4, 0.25)
    found = _fit(logits, y, share)
    gradient, _ = _derivatives(logits, y, share, found)
    np.testing.assert_allclose(gradient + (found - [1, 0, 0]) / 4, 0, atol=1e-7)
    return found


def test_the_fit_is_the_minimum() -> None:
    """scipy's minimiser finds no better (a, b) than our Newton steps."""
    rng = np.random.default_rng(0)
    logits, weights = rng.normal(size=(80, 3)), rng.random(80)
    y, share = rng.integers(0, 3, 80), weights / weights.sum()

    def loss(theta: FloatArray) -> float:
        log_q = special.log_softmax(theta[0] * logits + theta[1:], axis=1)
        return float(np.square(theta - [1, 0, 0, 0]).sum() / 160 - share @ log_q[np.arange(80), y])

    theirs = optimize.minimize(loss, np.array([1.0, 0, 0, 0]), method="BFGS", options={"gtol": 1e-7})
    np.testing.assert_allclose(_fit(logits, y, weights), theirs.x, atol=1e-5)


def test_a_step_that_does_not_help_is_halved_until_it_does() -> None:
    """So certain a start that a whole Newton step overshoots: the fit is still the minimum."""
    logits = np.array([[40.0, 0.0], [0.0, 40.0], [40.0, 0.0], [0.0, 30.0]])
    check_minimum(logits, np.array([0, 1, 1, 1]))


def test_a_class_without_probability_counts_as_1e_12_in_what_is_fitted_alone() -> None:
    p, fold = np.array([[1.0, 0.0], [0.5, 0.5], [0.25, 0.75], [1.0, 0.0]]), np.array([0, 0, 1, 1])
    floored = np.maximum(p, FLOOR)
    y = np.array([0, 1, 1, 0])
    np.testing.assert_allclose(class_gain(p, y, np.ones(4), fold), class_gain(floored, y, np.ones(4), fold), atol=1e-9)
    assert class_gain(p, np.array([1, 1, 1, 0]), np.ones(4), fold)[0] == np.inf


def test_scores_that_are_all_one_number_have_a_finite_gain() -> None:
    for pit in (np.full(600, 0.75), np.full(600, 0.5), np.ones(600), np.zeros(600)):
        found = shape_gain(pit, pit, pit, np.ones(600), np.arange(600) % 5)
        assert np.isfinite(found).all()
        assert (found > 5).all()


def test_a_mass_of_rounding_is_compared_by_density() -> None:
    """Masses of 1e-12 and less are rounding: the row at 0.5 has the density of its score."""
    lower = np.array([0.5, 0.2, 0.6, 0.9, 0.1, 0.3])
    fold = np.arange(6) % 2
    for mass, density in ((0.9e-12, True), (1e-10, False)):
        found = shape_gain(lower, lower + np.r_[mass, np.zeros(5)], lower, np.ones(6), fold)
        plain = shape_gain(lower, lower, lower, np.ones(6), fold)
        assert np.isfinite(found).all()
        assert bool((found == plain).all()) is density


def test_a_value_at_the_end_of_a_central_interval_is_inside() -> None:
    q = Normal(np.zeros(4), np.ones(4))
    found = coverage(q, np.array([0.75, 0.25, 0.9, 0.76]), np.array([1.0, 2, 3, 4]), equal(4), 0.9).estimates
    assert found["estimate"].tolist() == [0.5, 1.0, 1.0, 1.0]
    assert found[["x", "width"]].to_numpy().tolist() == [[0.5, 1.0], [0.8, 2.0], [0.9, 3.0], [0.95, 4.0]]
    exact = stats.binomtest(2, 4).proportion_ci(0.9, "exact")
    assert (found["lower"][0], found["upper"][0]) == pytest.approx((exact.low, exact.high))
    assert coverage(q, np.full(4, 0.5), None, equal(4), 0.9).estimates["width"].isna().all()


def test_what_a_distribution_lacks_for_a_gap_is_named_in_order() -> None:
    for supports, lacking in ((set(), "entropy"), ({"entropy"}, "log_prob"), ({"log_prob"}, "entropy")):
        q: Any = SimpleNamespace(supports=supports, why_not=lambda need: f"no {need}")
        scores, gaps = _gap(q, np.zeros(1))
        assert (scores, [gap.reason for gap in gaps]) == ([], [f"no {lacking}"])


def test_errors_of_the_mean_are_those_of_numbers_that_are_seen() -> None:
    for supports, censored in (({"mean"}, True), (set(), False), (set(), True)):
        q: Any = SimpleNamespace(supports=supports, censored=censored, mean=lambda: np.zeros(2))
        assert number_scores(q, np.ones(2), None, np.full(2, 0.5)) == []
    q = SimpleNamespace(supports={"mean"}, censored=False, mean=lambda: np.zeros(2))
    found = number_scores(q, np.array([1.0, 2.0]), None, np.full(2, 0.5))
    assert [score.item for score in found] == ["mean_error", "squared_error", "r2"]
    alike = number_scores(q, np.ones(2), None, np.full(2, 0.5))
    assert [score.item for score in alike] == ["mean_error", "squared_error"]  # no variance, no share of it


def test_classes_that_are_alike_have_no_offset_and_their_own_temperature() -> None:
    logits = np.array([[4.0, 0.0], [0.0, 4.0], [6.0, 0.0], [0.0, 6.0]])
    found = check_minimum(logits, np.array([0, 1, 1, 0]))
    np.testing.assert_allclose(found[1:], 0, atol=1e-12)


def test_keys_of_figures_have_the_width_of_their_lines() -> None:
    rows = [{"item": "bin 1", "n": 9, "x": 0.5, "estimate": 0.5, "lower": 0.4, "upper": 0.6}]
    lines = figures.draw(results.diagnostic("calibration.reliability", rows)).legends[0].get_lines()
    assert [line.get_linewidth() for line in lines] == [0.9, 1.3]


def test_draws_that_rounding_sets_apart_from_what_is_observed_count_as_equal() -> None:
    """A share of rows that is observed is that of many draws, whose sums were added up in another order."""
    shares = np.array([0.1 + 0.2, 0.3, 0.2, 0.4, 0.3 - 1e-16])
    assert MonteCarlo("gap", 0.3, shares).p_value == 5 / 6
    assert MonteCarlo("gap", 0.3, np.array([0.3 - 1e-9, np.inf])).p_value == 2 / 3
