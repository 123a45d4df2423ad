"""ROC, net benefit, grades, residuals and training scores: by hand, and against scikit-learn."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import ttest_ind
from sklearn.metrics import auc, log_loss, roc_auc_score

from uq_report import testing
from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.model.results import Diagnostic
from uq_report.core.model.sampling import Sampling
from uq_report.core.predictive import DecisionRule
from uq_report.core.statistics.score_intervals import normal_quantile, wilson
from uq_report.core.support.errors import InputError
from uq_report.distributions import Categorical, Normal
from uq_report.document.text import unmarked
from uq_report.evidence.comparisons import ERROR_SIZE, EXPECTED_COST, RESIDUAL, NetBenefit, PredictionResiduals, Roc
from uq_report.methods.calibration.comparisons import (
    ClassOutcomes,
    Training,
    by_grade,
    class_comparisons,
    class_curves,
    net_benefit,
    net_benefit_curve,
    residuals,
    roc,
    training_scores,
    welch,
)
from uq_report.methods.calibration.explain import Calibration
from uq_report.methods.calibration.figure import draw_residuals
from uq_report.methods.calibration.tables import histogram
from uq_report.report.sections.outcomes import benefit_curve_words, error_words, pattern_words, residual_words

MEASURES = testing.measures()
Z = normal_quantile(0.95)


def rng(_: str = "") -> np.random.Generator:
    return np.random.default_rng(0)


def outcomes(p: Sequence[float], y: Sequence[int], costs: tuple[float, ...] = ()) -> ClassOutcomes:
    q = Categorical(np.column_stack([1 - np.asarray(p), p]), classes=["good", "bad"])
    n = len(p)
    return ClassOutcomes(q, np.asarray(y), None, Sampling(np.full(n, 1 / n), n), np.arange(n), 0.95, costs)


def drawn(n: int, seed: int = 1) -> ClassOutcomes:
    random = np.random.default_rng(seed)
    p = random.beta(1, 3, n)
    return outcomes(p.tolist(), (random.random(n) < p).astype(int).tolist())


def some(result: Diagnostic | None) -> Diagnostic:
    assert result is not None
    return result


def test_the_area_under_the_curve_is_that_of_scikit_learn() -> None:
    given = drawn(40)
    found = some(roc(given)).estimates
    x, y = (np.concatenate([[0.0], found[name], [1.0]]) for name in ("x", "estimate"))
    assert auc(x, y) == pytest.approx(roc_auc_score(given.y, given.q.probabilities[:, 1]))
    assert (np.diff(x) >= 0).all()


def test_a_point_of_the_curve_has_the_limits_of_wilson() -> None:
    found = some(roc(outcomes([0.9, 0.8, 0.4, 0.7, 0.1], [1, 1, 1, 0, 0])))
    line = Roc.from_result(found).lines[1]  # from 0.8 on
    assert (line.threshold, line.x, line.estimate) == pytest.approx((0.8, 0.0, 2 / 3))
    assert (line.lower, line.upper) == pytest.approx(wilson(2 / 3, 3, Z))
    assert found.meta["decided"] == pytest.approx([0.5, 2 / 3])


@pytest.mark.parametrize("y", [[0, 0, 0], [1, 1, 1]])
def test_one_class_has_no_curve(y: list[int]) -> None:
    assert class_curves(outcomes([0.2, 0.4, 0.6], y), 0.5, (), 99, rng) == ([], [])


def test_the_curve_meets_the_net_benefit_of_the_decisions() -> None:
    given = drawn(300)
    found = NetBenefit.from_result(some(net_benefit_curve(given, 0.5, rng())))
    at = found.lines[9]
    chosen = (given.q.probabilities[:, 1] >= at.x).astype(int)
    own, gain = net_benefit(given._replace(q=given.q.deciding(DecisionRule("a threshold", 1, at.x), chosen)), 1, at.x)
    assert (at.estimate, at.lower, at.upper) == pytest.approx((own["estimate"], own["lower"], own["upper"]))
    assert (at.all, at.gain_lower) == pytest.approx((gain["reference"], gain["lower"]))
    assert all(line.band_lower < line.lower and line.band_upper > line.upper for line in found.lines if line.lower > 0)


@pytest.mark.parametrize(("events", "banded"), [(49, False), (50, True)])
def test_a_band_needs_fifty_events(events: int, banded: bool) -> None:
    p, y = np.linspace(0.1, 0.9, 200), np.arange(200) >= 200 - events
    found = some(net_benefit_curve(outcomes(p.tolist(), y.astype(int).tolist()), 0.5, rng()))
    assert found.estimates["band_lower"].notna().all() == banded
    assert found.estimates["band_lower"].notna().any() == banded


def test_thresholds_reach_over_the_probabilities_of_a_rare_event() -> None:
    p, y = np.full(500, 0.02), [1] * 10 + [0] * 490
    grid = some(net_benefit_curve(outcomes(p.tolist(), y), None, rng())).estimates["x"]
    assert (grid.iloc[0], grid.iloc[-1]) == pytest.approx((0.005, 0.1))


def test_a_grade_begins_at_its_cut() -> None:
    given = outcomes([0.05, 0.1, 0.2, 0.2, 0.6, 0.7], [0, 0, 1, 0, 1, 1])
    found = by_grade(given, (0.1, 0.25, 0.5), 99, rng()).estimates.set_index("item")
    assert found["n"].to_dict() == {"below 10%": 1, "10 to 25%": 3, "from 50% on": 2}
    assert found["x"].tolist() == pytest.approx([0.05, 0.5 / 3, 0.65])
    assert found["estimate"].tolist() == pytest.approx([0, 1 / 3, 1])
    assert found.loc["10 to 25%", "null_lower"] == 0


def test_grades_are_of_two_classes() -> None:
    q = Categorical(np.full((6, 3), 1 / 3), classes=list("abc"))
    given = outcomes([0.5] * 6, [0, 1] * 3)._replace(q=q)
    curves, omissions = class_curves(given, None, (0.5,), 99, rng)
    assert curves == []
    assert "one of two classes" in omissions[0].reason


def test_costs_imply_a_threshold() -> None:
    """A miss costs 4, a false alarm 1, so cases are taken from 0.2 on: one miss less, one false alarm more."""
    given = outcomes([0.9, 0.3, 0.25, 0.1], [1, 1, 0, 0], costs=(4.0, 1.0))
    assert given.ideal == pytest.approx(0.2)
    line = next(record for record in class_comparisons(given)[0] if record["item"] == EXPECTED_COST)
    assert (line["value"], line["reference"], line["estimate"]) == pytest.approx((1.0, 0.25, 0.75))
    assert all(record["item"] != EXPECTED_COST for record in class_comparisons(outcomes([0.9, 0.1], [1, 0]))[0])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"grades": (0.2, 0.1)}, "ascending numbers between 0 and 1"),
        ({"grades": (0.0, 0.1)}, "ascending numbers between 0 and 1"),
        ({"costs": (1.0,)}, "two numbers above 0"),
        ({"costs": (1.0, 0.0)}, "two numbers above 0"),
    ],
)
def test_options_that_cannot_be_used_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        Calibration(**options)


def test_residuals_by_quantile_group() -> None:
    mean, y = np.array([0.0, 0.0, 10.0, 10.0]), np.array([1.0, -1.0, 13.0, 14.0])
    (found,) = residuals(Normal(mean, np.array([1.0, 1.0, 3.0, 4.0])), y, 2, Sampling(np.full(4, 0.25), 4), 0.95, rng())
    view = PredictionResiduals.from_result(found)
    assert [(x.x, x.n, x.estimate) for x in view.of(RESIDUAL)] == [(0.0, 2, 0.0), (10.0, 2, 3.5)]
    for x, size in zip(view.of(ERROR_SIZE), (1.0, np.sqrt(12.5)), strict=True):
        assert (x.estimate, x.implied) == pytest.approx((size, size))
    assert found.frame["value"].tolist() == [1.0, -1.0, 3.0, 4.0]
    assert "No bias is shown in any of 2" in residual_words(view)
    assert "from 1" in error_words(view)
    assert "excludes" not in error_words(view)


def test_a_bias_and_a_wrong_spread_are_said() -> None:
    random = np.random.default_rng(0)
    y = random.normal(1.0, 1.0, 400)
    (found,) = residuals(Normal(np.arange(400.0) / 400, 0.2), y, 4, Sampling(np.full(400, 1 / 400), 400), 0.95, rng())
    view = PredictionResiduals.from_result(found)
    assert "differs from 0 in" in residual_words(view)
    assert "In 4 of 4 groups the interval excludes" in error_words(view)


def test_two_groups_have_the_p_value_of_the_t_test_of_unequal_variances() -> None:
    a, b = np.random.default_rng(1).normal(size=12), np.random.default_rng(2).normal(0.8, 3.0, 30)
    means, errors = ([f(x) for x in (a, b)] for f in (np.mean, lambda x: x.std(ddof=1) / np.sqrt(len(x))))
    p = welch(np.array(means), np.array(errors), np.array([11.0, 29.0]))
    assert p == pytest.approx(ttest_ind(a, b, equal_var=False).pvalue)


def by_feature(seed: int, slope: float) -> PredictionResiduals:
    """Residuals of a forecast that misses a slope in one of five features, with half of another missing."""
    random, n = np.random.default_rng(seed), 300
    numbers = {f"x{k}": random.normal(size=n) for k in range(5)} | {"still": np.ones(n)}
    numbers["x4"][::2] = np.nan
    y = slope * numbers["x3"] + random.normal(size=n)
    (found,) = residuals(Normal(np.zeros(n), 1.0), y, 10, Sampling(np.full(n, 1 / n), n), 0.95, rng(), numbers)
    return PredictionResiduals.from_result(found)


def test_residuals_change_along_the_feature_that_the_model_lacks() -> None:
    view = by_feature(0, 0.5)
    first, *others = view.by_feature().items()
    assert (first[0], len(others)) == ("x3", 2)
    assert [sum(x.n for x in lines) for feature, lines in (first, *others) if feature != "x4"] == [300] * (
        3 - ("x4" in view.by_feature())
    )
    assert first[1][0].p_adjusted < 0.001
    assert unmarked(pattern_words(view)) == (
        "The mean residual changes along x3 (p below 0.001), adjusted for all features."
    )
    assert {x.feature for x in view.of(RESIDUAL)} == {""}
    assert pattern_words(by_feature(1, 0.0)).startswith("No pattern of the residuals along a feature is shown")


def test_residuals_are_drawn_along_the_prediction_and_the_features_that_have_some() -> None:
    view = by_feature(0, 0.5)
    panels = draw_residuals(view.result, along="feature").axes
    assert [axes.get_xlabel() for axes in panels] == [*view.by_feature()]
    bare = replace(view.result, estimates=view.result.estimates[view.result.estimates["feature"] == ""])
    assert len(draw_residuals(bare).axes) == 1
    for along in ("feature", "row"):
        with pytest.raises(InputError, match=r"plot\.along must be one of \('prediction',\)"):
            draw_residuals(bare, along=along)


def test_a_pattern_is_shown_in_about_five_percent_of_sound_forecasts() -> None:
    hits = sum(
        any(lines[0].p_adjusted <= 0.05 for lines in by_feature(seed, 0.0).by_feature().values()) for seed in range(200)
    )
    assert 2 <= hits <= 20


def test_a_sample_of_many_residuals_is_kept() -> None:
    y = np.zeros(401)
    for n, kept in ((400, 400), (401, 400)):
        sampling = Sampling(np.full(n, 1 / n), n)
        (found,) = residuals(Normal(np.arange(float(n)), 1.0), y[:n], 10, sampling, 0.95, rng())
        assert len(found.frame) == kept


def test_training_scores_are_those_of_scikit_learn() -> None:
    subject = testing.logistic_subject(80, train=True)
    training = Training.of_subject(Engine(subject, MEASURES).bound("calibration"))
    assert training.engine is not None
    found, p = training_scores(training), training.engine.baseline.probabilities  # type: ignore[attr-defined]
    y = training.engine.y
    assert found["log_score"] == pytest.approx(log_loss(y, p[:, 1]))
    assert found["roc_auc"] == pytest.approx(roc_auc_score(y, p[:, 1]))
    assert not any(item.endswith("_skill") for item in found)


def test_a_histogram_counts_both_ends() -> None:
    counts = histogram(np.array([0.0, 0.05, 1.0]), np.array([1.0, 0.0, 1.0]))
    assert (counts["event"][0], counts["other"][1], counts["event"][19]) == (1, 1, 1)


def test_where_the_model_is_worth_more_is_said_from_paired_limits() -> None:
    good = drawn(2000)
    view = NetBenefit.from_result(some(net_benefit_curve(good, 0.5, rng())))
    worth = [x for x in view.lines if x.lower > 0 and x.gain_lower > 0]
    assert f"at {len(worth)} thresholds" in benefit_curve_words(view)
    flat = outcomes([0.3] * 100, [1] * 30 + [0] * 70)
    none = NetBenefit.from_result(some(net_benefit_curve(flat, 0.5, rng())))
    assert benefit_curve_words(none).startswith("At no threshold")
