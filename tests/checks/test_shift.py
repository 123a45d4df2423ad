"""Shift: a column that moved is named with its size; columns drawn alike are not; both sides of every threshold."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import uq_report as uq
from uq_report.core.support.errors import InputError
from uq_report.evidence.finding import Finding, Outcome
from uq_report.evidence.rows import SupportShift
from uq_report.methods.support.check import Shift
from uq_report.methods.support.explain import Paired, shifts

from . import importances
from .importances import audited, diagnostic, outcome


class Blind:
    """A spread about 0 that looks at nothing."""

    def predict(self, X: pd.DataFrame, return_std: bool = False) -> Any:
        zero = np.zeros(len(X))
        return (zero, zero + 1.0) if return_std else zero


def drawn(n: int, seed: int, move: float = 0.0, scale: float = 1.0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"x0": move + scale * rng.normal(size=n), "x1": rng.normal(size=n)})


def judged(test: pd.DataFrame, train: pd.DataFrame) -> tuple[Any, Outcome]:
    """Return the view and the outcome of an audit of the two samples."""
    rng = np.random.default_rng(0)
    y, y_train = rng.normal(size=len(test)), rng.normal(size=len(train))
    subject = uq.explain(Blind(), test, y, train=(train, y_train))
    made = audited(subject, ["support"], checks=["shift"])
    return SupportShift.from_result(made.result(SupportShift.id)), outcome(made, "shift")


def only(found: Outcome) -> Finding:
    (finding,) = found.findings
    return finding


def test_the_distance_is_that_of_kolmogorov_and_smirnov() -> None:
    test, train = drawn(300, 1, 0.3), drawn(500, 2)
    view, _ = judged(test, train)
    for line in view.lines:
        expected = stats.ks_2samp(test[line.feature], train[line.feature]).statistic
        assert line.estimate == pytest.approx(expected)
        assert line.lower <= line.estimate <= line.upper


@pytest.mark.parametrize(
    ("move", "scale", "severity"),
    [(3.0, 1.0, "high"), (1.5, 1.0, "medium"), (0.7, 1.0, "low"), (0.0, 1000.0, "medium")],
)
def test_a_column_that_moved_is_named_by_its_size(move: float, scale: float, severity: str) -> None:
    finding = only(judged(drawn(800, 3, move, scale), drawn(3000, 4))[1])
    assert (finding.code, finding.features, finding.severity) == ("UQ304", ("x0",), severity)
    assert "median" in finding.statement


def test_columns_drawn_alike_are_not_accused() -> None:
    for seed in range(20):
        assert judged(drawn(200, seed), drawn(400, 100 + seed))[1].state == "passed"


def test_levels_count_by_total_variation() -> None:
    rng = np.random.default_rng(5)
    old = drawn(1000, 6).assign(x1=rng.choice(["a", "b"], 1000, p=[0.9, 0.1]))
    new = drawn(1000, 7).assign(x1=rng.choice(["a", "b"], 1000, p=[0.3, 0.7]))
    rows = [(frame["x1"] == "a").mean() for frame in (old, new)]
    subject = uq.explain(Blind(), new, rng.normal(size=1000), train=(old, rng.normal(size=1000)))
    made = audited(subject, ["support"], checks=["shift"])
    (line,) = (line for line in SupportShift.from_result(made.result(SupportShift.id)).lines if line.feature == "x1")
    assert line.estimate == pytest.approx(abs(rows[0] - rows[1]))
    assert "in training" in only(outcome(made, "shift")).statement


def test_intervals_are_those_of_massart_and_of_weissman_for_all_columns_at_once() -> None:
    """P(distance > e) is at most 2^k exp(-2 n e²), k = 1 of numbers and the levels of others: half of 1.25% each."""
    rng = np.random.default_rng(0)
    numbers, levels = rng.normal(size=(2, 400)), rng.integers(0, 3, (2, 400)).astype(float)
    columns = [
        Paired("number", True, numbers[0], numbers[1]),
        Paired("level", False, levels[0], levels[1], ("a", "b", "c")),
        Paired("far", True, numbers[0], numbers[1] + 9),
        Paired("missing", True, numbers[0], np.full(400, np.nan)),
    ]
    table = shifts(columns, np.arange(400), np.ones(400), 0.95).estimates
    lines = {line["feature"]: line for line in table.to_dict("records")}
    assert list(lines) == ["number", "level", "far"]
    for feature, k in (("number", 1), ("level", 3)):
        line = lines[feature]
        reach = (line["upper"] - line["estimate"]) / 2
        assert (line["lower"], line["n"]) == (0, 400)
        assert 2**k * np.exp(-2 * 400 * reach**2) == pytest.approx(0.05 / 4 / 2)
    assert (lines["far"]["estimate"], lines["far"]["upper"]) == (1, 1)
    assert lines["far"]["lower"] == pytest.approx(1 - (lines["number"]["upper"] - lines["number"]["estimate"]))


@pytest.mark.parametrize(
    ("lower", "severity"),
    [(0.099, None), (0.1, "low"), (0.249, "low"), (0.25, "medium"), (0.499, "medium"), (0.5, "high")],
)
def test_both_sides_of_every_threshold(lower: float, severity: str | None) -> None:
    table = [{"feature": "x0", "item": "moved", "estimate": 0.6, "lower": lower, "upper": 0.7, "n": 100}]
    found = Shift().check(importances.run(diagnostic("support.shift", table)))
    assert [finding.severity for finding in found.findings] == ([severity] if severity else [])


def test_what_a_moved_column_explains_stands_under_it() -> None:
    finding = only(judged(drawn(800, 3, 3.0), drawn(3000, 4))[1])
    assert {symptom.code for symptom in finding.explains} >= {"UQ303", "UQ301", "UQ101"}


def test_without_training_rows_nothing_is_judged() -> None:
    made = audited(uq.explain(Blind(), drawn(50, 1), np.zeros(50)), ["support"], checks=["shift"])
    assert outcome(made, "shift").state == "not_applicable"


def test_thresholds_must_be_in_order() -> None:
    with pytest.raises(InputError, match=r"shift.low must be numbers 0 < low < medium < high < 1"):
        Shift(low=0.3)


@pytest.mark.parametrize(
    "options", [{"low": 0.0}, {"low": 0.25}, {"medium": 0.5}, {"high": 1.0}, {"high": 1.5}, {"low": -0.1}]
)
def test_thresholds_at_their_ends_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(InputError, match=r"shift\.low must be numbers 0 < low < medium < high < 1"):
        Shift(**options)
