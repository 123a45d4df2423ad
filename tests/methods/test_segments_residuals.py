"""Segments where predictions are wrong on average: planted offsets are found with their size, both halves judge."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

import uq_report as uq
from uq_report import testing
from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.model.results import Omission
from uq_report.core.model.sampling import Sampling
from uq_report.core.model.subject import Subject
from uq_report.core.support.arrays import FloatArray
from uq_report.distributions import Categorical, Normal
from uq_report.evidence import ids
from uq_report.evidence.segments import SegmentResiduals
from uq_report.methods.segments.explain import Segments
from uq_report.methods.segments.tree import JudgedLeaf, ResidualTarget, Segment, residual_targets

MEASURES = testing.measures()


def view(given: Subject, **options: Any) -> SegmentResiduals:
    engine = Engine(given, MEASURES).bound(ids.SEGMENTS)
    results = {result.id: result for result in Segments(**options).explain(given, engine, {})}
    return SegmentResiduals.from_result(results[SegmentResiduals.id])


def too_low(n: int = 800, by: float = 1.0, sd: float = 2.0, **more: Any) -> Subject:
    """Return outcomes that are `by` standard deviations above the prediction 3 where x0 is above 0.5."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(n, 3))
    y = 3 + sd * (rng.normal(size=n) + by * (X[:, 0] > 0.5))
    return uq.explain(lambda Z: Normal(np.full(len(Z), 3.0), sd), X, y, **more)


def test_a_planted_offset_is_found_by_both_halves_with_its_size() -> None:
    found = [line for line in view(too_low()).lines if line.lower > 0.5]
    assert sum(line.n for line in found) == pytest.approx(400, abs=40)
    for line in found:
        assert line.item.startswith("x0 above 0.")
        assert abs(line.estimate - 1.0) < 3 * line.std_error
        assert (line.outcome - line.predicted) / 2 == pytest.approx(line.estimate)
        assert line.nats == pytest.approx(line.estimate**2 / 2)
        assert (line.unit, line.level) == ("units of the outcome", "")
        assert line.predicted == pytest.approx(3.0)
    whole = view(too_low())
    assert sum(line.n for line in whole.lines) == 800  # every observation judges once
    assert set(whole.made_of) == {line.segment for line in whole.lines}


def test_size_and_errors_are_those_of_the_judging_observations() -> None:
    """By hand: residuals 1 and 3 of standard deviation 2 in the leaf, 0 in the others."""
    outcome = np.r_[np.tile([1.0, 3.0], 10), np.zeros(20)]
    target = ResidualTarget("", "units of the outcome", outcome, np.zeros(40), np.full(40, 4.0))
    leaf = JudgedLeaf(target, Segment("low", ("a",), np.arange(40) < 20), np.ones(40, dtype=bool))
    line = leaf.line("k", Sampling(np.full(40, 1 / 40), 40), 0.95)
    assert not isinstance(line, Omission)
    assert (line["estimate"], line["difference"]) == pytest.approx((1.0, 1.0))
    # the model's own 2/√20 is larger than the empirical 1.03/√20, so it counts; in standard deviations 1/√20
    assert line["std_error"] == pytest.approx(1 / np.sqrt(20))
    assert line["difference_std_error"] == pytest.approx(np.sqrt(2 / 20))
    assert (line["freedom"], line["units"], line["share"]) == (19, 20, pytest.approx(0.5))
    assert line["upper"] == pytest.approx(1 + stats.t.ppf(0.975, 19) / np.sqrt(20))
    wide = replace_outcome(target, 10 * outcome)
    spread = leaf._replace(target=wide).line("k", Sampling(np.full(40, 1 / 40), 40), 0.95)
    assert not isinstance(spread, Omission)
    assert spread["std_error"] == pytest.approx(stats.sem(10 * outcome[:20]) / 2)


def replace_outcome(target: ResidualTarget, outcome: FloatArray) -> ResidualTarget:
    return target._replace(outcome=outcome)


@pytest.mark.parametrize(("n", "judged"), [(9, False), (10, True), (30, True), (31, False)])
def test_ten_units_of_a_leaf_and_of_the_others_judge_it(n: int, judged: bool) -> None:
    target = ResidualTarget("", "units of the outcome", np.zeros(40), np.zeros(40), np.ones(40))
    leaf = JudgedLeaf(target, Segment("low", ("a",), np.arange(40) < n), np.ones(40, dtype=bool))
    assert isinstance(leaf.line("k", Sampling(np.full(40, 1 / 40), 40), 0.95), Omission) is not judged


def test_a_leaf_whose_model_states_no_variance_is_left_out() -> None:
    target = ResidualTarget("a", "probability", np.zeros(40), np.zeros(40), np.zeros(40))
    leaf = JudgedLeaf(target, Segment("low", ("a",), np.arange(40) < 20), np.ones(40, dtype=bool))
    line = leaf.line("k", Sampling(np.full(40, 1 / 40), 40), 0.95)
    assert isinstance(line, Omission)
    assert line.reason == "low: the model's variance is 0"


def test_trees_see_residuals_in_clipped_standard_deviations() -> None:
    target = ResidualTarget(
        "",
        "units of the outcome",
        np.array([1.0, -9.0, 5.0, 0.0, -1.0]),
        np.zeros(5),
        np.array([4.0, 4.0, 0.0, 0.0, 0.0]),
    )
    assert target.grown_on.tolist() == [0.5, -3.0, 3.0, 0.0, -3.0]
    of_class = ResidualTarget("a", "probability", np.array([1.0, 0.0]), np.array([0.2, 0.3]), np.array([0.16, 0.21]))
    assert of_class.grown_on.tolist() == [0.8, -0.3]


def rated(labels: str, y: Any, probabilities: Any) -> Engine:
    p = np.asarray(probabilities, dtype=float)
    given = uq.explain(lambda Z: Categorical(p[Z[:, 0].astype(int)], tuple(labels)), np.arange(len(p))[:, None], y)
    return Engine(given, MEASURES)


def test_two_classes_have_one_residual_and_more_one_each_with_events_enough() -> None:
    y = np.array(["a", "b"] * 20)
    targets, omitted = residual_targets(rated("ab", y, np.tile([0.3, 0.7], (40, 1))))
    assert [(t.level, t.unit) for t in targets] == [("b", "probability")]
    assert targets[0].residual[:2].tolist() == pytest.approx([-0.7, 0.3])
    assert targets[0].variance == pytest.approx(0.21)
    assert omitted == ()
    p = np.tile([0.45, 0.34, 0.21], (40, 1))
    targets, omitted = residual_targets(rated("abc", y, p))
    assert [t.level for t in targets] == ["a", "b"]  # 8.4 outcomes of c are expected, none was observed
    assert omitted[0].reason == "c: fewer than 10 outcomes are of this class, observed or expected"
    assert [t.level for t in residual_targets(rated("abc", y, np.tile([0.4, 0.34, 0.26], (40, 1))))[0]] == list("abc")


def test_nothing_is_judged_without_outcomes_or_a_finite_variance() -> None:
    given = replace(too_low(100), y=None)
    assert view(given).lines == ()
    assert view(given).omissions[0].reason == "it needs outcomes, which were not given"
    heavy = uq.explain(lambda Z: uq.dist.StudentT(1.5, np.zeros(len(Z)), 1.0), np.zeros((100, 1)), np.zeros(100))
    assert "infinite" in residual_targets(Engine(heavy, MEASURES))[1][0].reason


def test_clusters_stay_together() -> None:
    codes = np.repeat(np.arange(200), 4)
    found = view(replace(too_low(800), clusters=codes))
    assert all(line.units <= 100 for line in found.lines)
    assert {line.n + line.n_rest for line in found.lines} == {400}
