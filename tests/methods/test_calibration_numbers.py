"""What calibration computes, by hand: p-values of draws, statistics of draws that are certain, notes and figures."""

from typing import Any

import numpy as np
import pytest
from scipy import optimize, special, stats

from uq_report.core.arrays import FloatArray
from uq_report.core.distributions import Categorical, Intervals, Normal, Survival
from uq_report.core.lifetimes import recorded
from uq_report.core.numbers import share_words
from uq_report.methods.calibration import nulls
from uq_report.methods.calibration.lifetimes import lifetimes_note
from uq_report.methods.calibration.missing import Missed
from uq_report.methods.calibration.nulls import MonteCarlo, class_tests, coverage_gap, crps_test, event_of, pit_tests
from uq_report.methods.calibration.promised import marginal, promised_scores
from uq_report.methods.calibration.recalibration import _derivatives, class_gain, number_gain
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
    distance, gap = pit_tests(np.full(40, 0.5), np.full(40, 1 / 40), np.random.default_rng(0), 50)
    assert (distance.item, distance.two_sided) == ("pit_distance", False)
    assert (gap.item, gap.two_sided) == ("coverage_gap", False)
    assert [distance.observed, gap.observed] == pytest.approx([0.25, 0.5])
    assert len(distance.null) == len(gap.null) == 50
    assert distance.p_value == gap.p_value == 1 / 51


def fair(pool: FloatArray) -> FloatArray:
    """Return every value's mean distance to the others less half that of all pairs, shape as `pool`."""
    m = len(pool)
    distance = np.abs(pool[:, None] - pool).sum(axis=1) / (m - 1)
    return np.asarray(distance - distance.mean(axis=0) / 2)


@pytest.mark.parametrize("cells", [1, 18, 2_000_000])
def test_the_crps_of_draws_is_the_fair_form_in_blocks_of_any_size(monkeypatch: pytest.MonkeyPatch, cells: int) -> None:
    """Eight draws and the outcome are nine numbers a row, so 18 cells are two rows."""
    monkeypatch.setattr(nulls, "CELLS", cells)
    drawn: list[FloatArray] = []

    class Kept(Normal):
        """A normal whose draws are kept."""

        def take(self, rows: Any) -> "Kept":
            return Kept(self.loc[rows], self.scale[rows])

        def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
            drawn.append(super().sample(rng, size))
            return drawn[-1]

    y, weights = np.array([0.3, -2.0, 1.5]), np.array([0.5, 0.2, 0.3])
    test = crps_test(Kept(np.arange(3.0), np.ones(3)), y, weights, np.random.default_rng(0), 8)
    assert [part.shape[1] for part in drawn] == {1: [1, 1, 1], 18: [2, 1]}.get(cells, [3])
    expected = fair(np.concatenate([y[None], np.concatenate(drawn, axis=1)])) @ weights
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
    assert f"{events} of {n} rows had an event and {n - events} were censored" in words
    assert f"the model expects {0.2 * n:.0f} in the times observed." in words
    assert (f"If 1 stood for censored, the events would be {n - events}" in words) is turned


def test_events_beyond_the_horizon_and_in_cells_without_mass_are_told() -> None:
    assert "in the times observed, up to 3.00, where 0 were seen." in note(4, 2, time=5.0)
    assert "In 2 rows the event fell into a cell of the time axis without mass" in note(4, 2, 2.0, (0.8, 0.8, 0.2))
    assert "without mass" not in note(4, 2, 2.0)


def test_what_is_missed_is_told_with_its_interval() -> None:
    words = Missed(stated=0.1, excess=0.05, lower=0.02, upper=0.08).words
    assert words.startswith(share_words(0.15, 0.12, 0.18, confidence=0.9))
    assert words.endswith(f"all but {share_words(0.1)}")
    assert not Missed.of(None).known


def lined(points: list[tuple[float, float, float, float]], id: str) -> Any:
    """Return the drawn axes of a table of x, estimate and the ends of its interval, and the words of the key."""
    names = ("x", "estimate", "lower", "upper")
    rows = [{"item": f"bin {k}", "n": 9, **dict(zip(names, point, strict=True))} for k, point in enumerate(points)]
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


def test_the_gain_of_numbers_is_that_of_the_normal_scores_of_the_other_fold() -> None:
    rng = np.random.default_rng(5)
    z, weights, fold = rng.normal(0.4, 1.3, 20), rng.uniform(0.5, 2.0, 20), np.arange(20) % 2
    pit = stats.norm.cdf(z)
    expected = np.empty(20)
    for k in range(2):
        share = weights[fold != k] / weights[fold != k].sum()
        m = share @ z[fold != k]
        s = np.sqrt(share @ (z[fold != k] - m) ** 2)
        expected[fold == k] = stats.norm.logpdf(z[fold == k], m, s) - stats.norm.logpdf(z[fold == k])
    np.testing.assert_allclose(number_gain(pit, pit, pit, weights, fold), expected)


def test_the_gain_of_masses_is_that_of_the_best_normal_of_the_other_fold() -> None:
    """Half of the rows are known by the ends of their PIT only; one row of N(0, 1) on the mean and on log s."""
    rng = np.random.default_rng(6)
    z, weights, fold = rng.normal(0.5, 0.7, 24), rng.uniform(0.5, 2.0, 24), np.arange(24) % 2
    atom = np.arange(24) % 4 < 2
    lower, upper = (stats.norm.cdf(z + np.where(atom, side, 0.0)) for side in (-0.4, 0.3))
    upper[0], lower[1] = 1.0, 0.0
    expected = np.empty(24)

    def scores(m: float, log_s: float) -> FloatArray:
        mass = np.diff(stats.norm.cdf((stats.norm.ppf([lower, upper]) - m) / np.exp(log_s)), axis=0)[0]
        return np.where(atom, np.log(np.where(atom, mass, 1.0)), stats.norm.logpdf(z, m, np.exp(log_s)))

    for k in range(2):
        used = fold != k
        share = weights[used] / weights[used].sum()

        def loss(theta: FloatArray, used: Any = used, share: FloatArray = share) -> float:
            return float(theta @ theta / (2 * used.sum()) - share @ scores(*theta)[used])

        best = optimize.minimize(loss, np.zeros(2), method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-13}).x
        expected[~used] = (scores(*best) - scores(0.0, 0.0))[~used]
    found = number_gain(lower, upper, stats.norm.cdf(z), weights, fold)
    np.testing.assert_allclose(found, expected, atol=1e-4)


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
