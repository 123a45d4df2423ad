"""Every rule on support: raised, silent, undetermined, and not judged without its evidence."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from uq_report import testing
from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.model.results import ESTIMATE_COLUMNS, Diagnostic
from uq_report.core.support.errors import InputError
from uq_report.evidence.finding import Outcome
from uq_report.evidence.run import NotRun, Run
from uq_report.methods.support.check import SupportCheck
from uq_report.methods.support.explain import Support


def share(item: str, feature: str, value: float, reach: float, p_value: float = np.nan) -> dict[str, Any]:
    bounds = {"lower": value - reach, "upper": value + reach, "std_error": reach / 2, "confidence": 0.95}
    names = {"measure": "share_outside", "feature": feature, "item": item, "covers": "new test samples"}
    return {**names, **bounds, "estimate": value, "n": 400, "p_value": p_value, "expected": 0.05}


def count(feature: str, item: str, rows: int, p_value: float, bound: str = "60") -> dict[str, Any]:
    names = {"measure": "count", "feature": feature, "item": item, "covers": "none", "bound": bound}
    return {**names, "estimate": float(rows), "n": 400, "share": rows / 400, "p_value": p_value}


def result(id: str, rows: list[dict[str, Any]], columns: tuple[str, ...], meta: dict[str, Any]) -> Diagnostic:
    return Diagnostic(
        id=id,
        explainer="support",
        title="",
        frame=pd.DataFrame(columns=list(Diagnostic.columns)),
        estimates=pd.DataFrame(rows, columns=[*ESTIMATE_COLUMNS, *columns]),
        meta=meta,
    )


COPIES = ("item", "n", "share", "share_train", "least", "ratio", "n_train")


def copies(least: float) -> dict[str, Any]:
    """Return an excess of near copies of at least so much."""
    bounds = {"least": least, "lower": 0.3, "upper": 0.4, "std_error": np.nan, "confidence": 0.99}
    names = {"measure": "near_copies", "feature": "", "item": "near copies", "covers": "new test and training rows"}
    return {**names, **bounds, "estimate": least + 0.05, "n": 400, "share": 0.31, "share_train": 0.01} | {
        "ratio": 0.1,
        "n_train": 900,
    }


def judged(
    outside: dict[str, Any] | None = None,
    shuffled: list[dict[str, Any]] | None = None,
    values: list[dict[str, Any]] | None = None,
    tests: int = 6,
    check: SupportCheck | None = None,
    least: float = 0.0,
) -> Outcome:
    first = outside or share("outside", "", 0.05, 0.02, p_value=0.5)
    rest = shuffled if shuffled is not None else [share("shuffled", "a", 0.05, 0.02)]
    results = (
        result("support", [first, *rest], ("item", "n", "p_value", "expected"), {"units": 400}),
        result("support.values", values or [], ("item", "n", "share", "p_value", "bound"), {"tests": tests}),
        result("support.copies", [copies(least)], COPIES, {}),
    )
    return (check or SupportCheck()).check(run(results=results))


def run(**parts: Any) -> Run:
    return Run(as_of="2026-01-01", subject={"n": 400}, settings={}, environment={}, **parts)


def test_all_is_well() -> None:
    outcome = judged()
    assert outcome.state == "passed"
    assert "5.0% (95% CI 3.0 to 7.0%) of the observations are outside the training domain" in outcome.reason


@pytest.mark.parametrize(
    ("least", "severities"),
    [
        (0.0199, []),
        (0.0201, ["low"]),
        (0.0499, ["low"]),
        (0.0501, ["medium"]),
        (0.199, ["medium"]),
        (0.201, ["high"]),
    ],
)
def test_near_copies_are_graded_by_the_least_excess(least: float, severities: list[str]) -> None:
    found = judged(least=least)
    assert [finding.severity for finding in found.findings] == severities
    if not severities:
        assert "31% of the test and 1% of the training observations." in found.reason
    for finding in found.findings:
        assert (finding.code, finding.threshold, finding.evidence) == ("UQ305", 0.02, ("support.copies",))
        assert "31% of 400 observations lie far closer to one training observation" in finding.statement


@pytest.mark.parametrize(
    ("value", "severity"), [(0.08, "observation"), (0.11, "low"), (0.16, "medium"), (0.31, "high")]
)
def test_uq301_is_raised_by_the_test_and_graded_by_the_excess(value: float, severity: str) -> None:
    finding = judged(outside=share("outside", "", value, 0.02, p_value=0.02)).findings[0]
    assert (finding.code, finding.severity, finding.observed, finding.threshold) == ("UQ301", severity, value, 0.05)
    assert finding.lower == pytest.approx(value - 0.02)
    assert "support.rows" in finding.evidence


@pytest.mark.parametrize(
    ("excess", "severity"),
    [
        (0.0499, "observation"),
        (0.0501, "low"),
        (0.0999, "low"),
        (0.1001, "medium"),
        (0.2499, "medium"),
        (0.2501, "high"),
    ],
)
def test_both_sides_of_the_grades_of_uq301(excess: float, severity: str) -> None:
    (finding,) = judged(outside=share("outside", "", 0.05 + excess, 0.02, p_value=0.025)).findings
    assert finding.severity == severity
    assert judged(outside=share("outside", "", 0.05 + excess, 0.001, p_value=0.026)).findings == ()


@pytest.mark.parametrize(("reach", "state"), [(0.099, "passed"), (0.101, "skipped")])
def test_a_share_that_may_be_a_tenth_more_than_expected_is_open(reach: float, state: str) -> None:
    assert judged(outside=share("outside", "", 0.05, reach, p_value=0.5)).state == state


@pytest.mark.parametrize(
    ("rows", "severity"), [(7, "observation"), (8, "low"), (19, "low"), (20, "medium"), (199, "medium"), (200, "high")]
)
def test_both_sides_of_the_grades_of_uq303(rows: int, severity: str) -> None:
    (finding,) = judged(values=[count("a", "above range", rows, 0.025)], tests=1).findings
    assert finding.severity == severity
    assert bool(finding.explains) is (severity != "observation")
    assert all(symptom.possible is (severity == "low") for symptom in finding.explains)
    assert judged(values=[count("a", "above range", rows, 0.026)], tests=1).findings == ()


def test_uq303_of_a_feature_is_that_of_the_most_rows() -> None:
    lines = [count("a", "below range", 9, 1e-6, bound="3"), count("a", "newly missing", 30, 1e-6)]
    (finding,) = judged(values=lines).findings
    assert (finding.severity, finding.observed) == ("medium", 30 / 400)
    missing = "30 missing, while no value is missing in training, of 400 observations"
    assert f"9 below the training minimum 3 and {missing}" in finding.statement


def test_uq301_is_neither_raised_nor_cleared_by_a_wide_interval() -> None:
    outcome = judged(outside=share("outside", "", 0.08, 0.1, p_value=0.03))
    assert outcome.state == "skipped"
    assert "UQ301 is undetermined for the share of observations outside, 8%" in outcome.reason


def test_uq302_is_raised_stays_silent_or_undetermined() -> None:
    clear, silent, open_ = (share("shuffled", f, v, 0.05) for f, v in (("a", 0.6), ("b", 0.1), ("c", 0.22)))
    outcome = judged(shuffled=[clear, silent, open_])
    assert [(f.code, f.features, f.severity) for f in outcome.findings] == [("UQ302", ("a",), "observation")]
    assert outcome.reason.startswith("UQ302 is undetermined for c (17 to 27% of the observations): ")
    assert outcome.reason.endswith("the limit is 20%.")
    exact = share("shuffled", "a", 1.0, 0.0)
    assert judged(shuffled=[exact]).findings[0].features == ("a",)
    assert judged(shuffled=[share("shuffled", "a", 0.0, 0.0)]).state == "passed"


@pytest.mark.parametrize(("reach", "state"), [(0.125, "passed"), (0.126, "skipped")])
def test_an_interval_that_ends_at_the_limit_clears_uq302(reach: float, state: str) -> None:
    check = SupportCheck(shuffled=0.25)
    assert judged(shuffled=[share("shuffled", "a", 0.125, reach)], check=check).state == state


def test_uq303_is_held_against_no_such_row() -> None:
    (finding,) = judged(values=[count("a", "above range", 40, 1e-6)]).findings
    assert (finding.threshold, finding.observed) == (0.0, 0.1)


def test_uq302_is_one_finding_that_names_all_features() -> None:
    (finding,) = judged(shuffled=[share("shuffled", f, v, 0.05) for f, v in (("a", 0.6), ("b", 0.8))]).findings
    assert (finding.features, finding.observed) == (("b", "a"), 0.8)
    assert "outside the training domain; so does a (60%)." in finding.statement


def test_uq302_is_adjusted_for_the_number_of_features() -> None:
    borderline = share("shuffled", "a", 0.3, 0.1)  # one-sided p = 0.023
    assert judged(shuffled=[borderline]).findings
    others = [share("shuffled", f"b{i}", 0.05, 0.02) for i in range(5)]
    assert judged(shuffled=[borderline, *others]).state == "skipped"


def test_a_column_out_of_range_as_a_whole_leads_what_it_explains() -> None:
    whole, part = (judged(values=[count("a", "above range", n, 1e-9)]).findings[0] for n in (300, 9))
    assert (whole.severity, part.severity) == ("high", "low")
    assert {symptom.code for symptom in whole.explains} >= {"UQ301", "UQ302", "UQ101", "UQ401"}
    other = replace(whole, code="UQ101", features=(), explains=())
    assert other.is_explained_by(whole)
    assert not other.is_explained_by(part)  # too few rows to be claimed as the cause
    assert other.may_be_explained_by(part)
    assert not other.may_be_explained_by(whole)


@pytest.mark.parametrize(("value", "causes"), [(0.0999, set()), (0.1001, {True}), (0.1499, {True}), (0.1501, {False})])
def test_rows_outside_are_a_cause_from_medium_on_and_possibly_related_below(value: float, causes: set[bool]) -> None:
    (finding,) = judged(outside=share("outside", "", value, 0.02, p_value=0.02)).findings
    assert {symptom.possible for symptom in finding.explains} == causes
    assert {symptom.code for symptom in finding.explains} >= ({"UQ101", "UQ401"} if causes else set())


def test_uq303_is_adjusted_for_all_tests_there_were() -> None:
    found = judged(values=[count("a", "above range", 30, 1e-6), count("a", "newly missing", 9, 1e-4)])
    assert [(f.code, f.features, f.severity) for f in found.findings] == [("UQ303", ("a",), "medium")]
    assert "30 above the training maximum 60 and 9 missing" in found.findings[0].statement
    one = [count("a", "new level", 3, 0.004, bound="w")]
    finding = judged(values=one).findings[0]
    assert (finding.severity, finding.observed) == ("observation", 3 / 400)
    assert "3 with a level that does not occur in training (w)" in finding.statement
    assert judged(values=one, tests=7).state == "passed"


def test_without_training_rows_it_does_not_apply() -> None:
    outcome = SupportCheck().check(
        run(not_run=(NotRun("support", "explainers", "support.train must be given", "data"),))
    )
    assert (outcome.state, outcome.reason) == (
        "not_applicable",
        "the comparison with the training sample was not computed: support.train must be given",
    )


def test_thresholds_are_options_and_stand_in_the_rules() -> None:
    check = SupportCheck(shuffled=0.7, tolerance=0.5, level=0.01)
    assert judged(shuffled=[share("shuffled", "a", 0.6, 0.05)], check=check).state == "passed"
    assert "More than 70%" in check.rules[1].text
    assert "level 0.005" in check.rules[0].text
    for option in ("level", "shuffled", "margin", "tolerance"):
        with pytest.raises(InputError, match=rf"support\.{option} must be"):
            SupportCheck(**{option: 1.0})


def test_the_explainer_and_the_check_fit_together() -> None:
    given = testing.linear_subject(300, train=True)
    results = Support().explain(given, Engine(given, testing.measures()).bound("support"), {})
    outcome = SupportCheck().check(run(results=tuple(results)))
    assert {f.code for f in outcome.findings} <= {"UQ302"}  # a and b are correlated
    X = given.X
    assert isinstance(X, pd.DataFrame)
    moved = testing.linear_subject(300, train=True)
    object.__setattr__(moved, "X", X + 3)
    results = Support().explain(moved, Engine(moved, testing.measures()).bound("support"), {})
    assert {"UQ301", "UQ303"} <= {f.code for f in SupportCheck().check(run(results=tuple(results))).findings}
