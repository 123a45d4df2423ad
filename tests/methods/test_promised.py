"""Intervals and label sets against what they promise: exact tests, the gate on both sides, clusters."""

from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

from uq_report import testing
from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.model.results import Result
from uq_report.core.model.subject import Subject, make_subject
from uq_report.distributions import Categorical, Intervals, LabelSets
from uq_report.evidence.run import Run
from uq_report.methods.calibration.check import CalibrationGate
from uq_report.methods.calibration.explain import Calibration


class Given(testing.KnownTruth):
    """Returns the distributions themselves; the only column is the row's number."""

    def predict(self, model: Any, X: Any) -> Any:
        return model.take(np.asarray(X)[:, 0].astype(int))


def intervals(hits: int, n: int, levels: tuple[float, ...] = (0.5, 0.9), **options: Any) -> Subject:
    """Return rows of which `hits` lie in the 90% interval [-1, 1]; the 50% one is [0, 1]."""
    low, high = np.tile([0.0, -1.0], (n, 1))[:, -len(levels) :], np.ones((n, len(levels)))
    y = np.where(np.arange(n) < hits, 0.5, 3.0)
    q = Intervals(levels, low, high, np.zeros(n))
    return make_subject(q, Given(), np.arange(float(n))[:, None], y, **options)


def label_sets(hits: int, n: int) -> Subject:
    """Return rows of which `hits` have their class in the set; the probabilities are right, half and half."""
    sets = np.zeros((n, 2), dtype=bool)
    y = np.arange(n) % 2
    sets[np.arange(hits), y[:hits]] = True
    return make_subject(LabelSets(np.full((n, 2), 0.5), [0.9], sets), Given(), np.arange(float(n))[:, None], y)


def explain(subject: Subject) -> dict[str, Result]:
    return {r.id: r for r in Calibration(n_draws=99).explain(subject, Engine(subject, {}).bound("calibration"), {})}


def scores(subject: Subject) -> Any:
    return explain(subject)["calibration"].estimates.set_index("item")


def judged(subject: Subject) -> Any:
    results = tuple(explain(subject).values())
    return CalibrationGate().check(Run(as_of="2026-01-01", subject={}, settings={}, environment={}, results=results))


@pytest.mark.parametrize(("hits", "n"), [(170, 200), (180, 200), (200, 200), (0, 40)])
def test_the_test_and_the_interval_are_the_exact_binomial_ones(hits: int, n: int) -> None:
    line = scores(intervals(hits, n)).loc["miscoverage"]
    assert line["estimate"] == pytest.approx(1 - hits / n)
    assert line["p_value"] == pytest.approx(binomtest(hits, n, 0.9, "less").pvalue)
    exact = binomtest(n - hits, n).proportion_ci(0.9, "exact")
    assert (line["lower_90"], line["upper_90"]) == pytest.approx((exact.low, exact.high))
    assert line["null_mean"] == pytest.approx(0.1)


def test_coverage_is_of_every_level_in_order() -> None:
    table = explain(intervals(90, 100, levels=(0.9,)))["calibration.coverage"].estimates
    assert table[["x", "estimate", "width"]].to_numpy().ravel().tolist() == pytest.approx([0.9, 0.9, 2.0])
    both = explain(intervals(90, 100))["calibration.coverage"].estimates
    assert both["x"].tolist() == [0.5, 0.9]
    assert both["width"].tolist() == pytest.approx([1.0, 2.0])


@pytest.mark.parametrize(
    ("hits", "n", "ends"),
    [
        (1900, 2000, "passed"),  # 5% outside: more is held than stated
        (1800, 2000, "passed"),
        (1730, 2000, "UQ101 low"),  # 13.5% outside, 3.5 points more than stated
        (1650, 2000, "UQ101 medium"),
        (1500, 2000, "UQ101 high"),
        (879, 1000, "UQ101 low"),  # 2.1 points more than stated
        (881, 1000, "passed"),  # 1.9 points, though the test rejects
        (45, 50, "UQ102 observation"),
        (40, 50, "UQ101 high"),
    ],
)
def test_the_gate_of_intervals(hits: int, n: int, ends: str) -> None:
    outcome = judged(intervals(hits, n))
    found = [f"{finding.code} {finding.severity}" for finding in outcome.findings]
    assert (found[0] if found else outcome.state) == ends
    words = outcome.findings[0].statement if found else outcome.reason
    assert "lie outside what should hold all but 10%" in words
    assert "nats" not in words


def test_probabilities_and_sets_are_judged_together() -> None:
    """Right probabilities do not excuse sets that miss too much, and the other way round."""
    right, missing = judged(label_sets(1850, 2000)), judged(label_sets(1500, 2000))
    assert right.state == "passed"
    assert [f.code for f in missing.findings] == ["UQ101"]
    assert "lie outside what should hold all but 10%" in missing.findings[0].statement
    n = 2000
    wrong = LabelSets(np.tile([0.9, 0.1], (n, 1)), [0.9], np.ones((n, 2), dtype=bool))
    subject = make_subject(wrong, Given(), np.arange(float(n))[:, None], np.arange(n) % 2)
    assert "confident" in judged(subject).findings[0].statement


def test_empty_sets_are_counted() -> None:
    notes = explain(label_sets(30, 40))["calibration.coverage"].notes
    assert any("10 sets of 40 at 90% hold no class at all" in note for note in notes)


def test_copies_in_clusters_change_no_p_value() -> None:
    n = 100
    again = np.repeat(np.arange(n), 3)
    q = Intervals([0.9], -np.ones(3 * n), np.ones(3 * n), np.zeros(3 * n))
    y = np.where(again < 80, 0.5, 3.0)
    copied = make_subject(q, Given(), np.arange(3.0 * n)[:, None], y, clusters=again)
    once, thrice = (scores(subject).loc["miscoverage", "p_value"] for subject in (intervals(80, n), copied))
    assert once == pytest.approx(thrice, rel=0.1)


def test_the_skill_of_intervals_is_over_those_of_the_outcomes_alone() -> None:
    y = np.random.default_rng(0).normal(size=200)
    q = Intervals([0.9], y - 0.1, y + 0.1, y)
    found = scores(make_subject(q, Given(), np.arange(200.0)[:, None], y))["estimate"]
    assert found["interval_score"] == pytest.approx(0.2)
    assert found["interval_score_skill"] == pytest.approx(found["interval_score_baseline"] - 0.2)
    assert found["interval_score_baseline"] == pytest.approx(4.1, abs=0.5)  # 2 phi(z) / 0.05 of a standard normal


def test_plain_probabilities_promise_no_sets() -> None:
    n = 60
    subject = make_subject(Categorical(np.full((n, 2), 0.5)), Given(), np.arange(float(n))[:, None], np.arange(n) % 2)
    assert "miscoverage" not in scores(subject).index
    assert "calibration.coverage" not in explain(subject)
