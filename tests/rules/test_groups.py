"""Every rule on groups: raised, silent, undetermined, and not judged without its evidence."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from uq_report import testing
from uq_report.checks.groups import GroupsCheck
from uq_report.core.engine import Engine
from uq_report.core.errors import InputError
from uq_report.core.results import ESTIMATE_COLUMNS, Diagnostic, Importance, Result
from uq_report.evidence.finding import Outcome
from uq_report.evidence.run import NotRun, Run
from uq_report.explainers.groups import Groups

from .importances import UNREAD

SMALL = 0.01  # half the width of an interval that decides


def interval(value: float, reach: float) -> dict[str, Any]:
    bounds = {"lower": value - reach, "upper": value + reach, "std_error": reach / 2, "confidence": 0.95}
    return {**bounds, "estimate": value, "covers": "new test rows"}


def difference(measure: str, value: float, reach: float = SMALL, p: float = 0.5, item: str = "f") -> dict[str, Any]:
    place = {"measure": measure, "feature": "sex", "item": item, "n": 80, "n_rest": 120, "unit": "nats"}
    return {**place, **interval(value, reach), "p_value": p, "overall": 0.4}


def gap(value: float, reach: float = SMALL, p: float = 0.5, item: str = "f") -> dict[str, Any]:
    place = {"measure": "confidence_gap", "feature": "sex", "item": item, "n": 80, "unit": "nats"}
    return {**place, **interval(value, reach), "p_value": p}


def association(item: str, value: float) -> dict[str, Any]:
    place = {"measure": "cramers_v", "feature": "sex", "item": item, "n": 200, "covers": "none"}
    return {**place, "estimate": value, "lower": np.nan, "upper": np.nan}


def diagnostic(id: str, rows: list[dict[str, Any]], **meta: Any) -> Diagnostic:
    columns = [*ESTIMATE_COLUMNS, "item", "n", "n_rest", "unit", "p_value", "overall"]
    return Diagnostic(
        id=id,
        explainer="groups",
        title="",
        frame=pd.DataFrame(columns=list(Diagnostic.columns)),
        estimates=pd.DataFrame(rows, columns=columns),
        meta=meta,
    )


def importance(*rows: tuple[str, str, float, float]) -> Importance:
    """Return a pfi of (feature, verdict, estimate, standard error)."""
    table = [
        {"measure": "nll", "feature": f, "verdict": v, **interval(e, 2 * s), "std_error": s, "margin": SMALL, **UNREAD}
        for f, v, e, s in rows
    ]
    return Importance(
        id="pfi",
        explainer="pfi",
        title="",
        frame=pd.DataFrame(columns=list(Importance.columns)),
        estimates=pd.DataFrame(table, columns=[*ESTIMATE_COLUMNS, "verdict", "margin", *UNREAD]),
        meta={"degrees_of_freedom": 199},
    )


def judged(
    differences: list[dict[str, Any]] | None = None,
    gaps: list[dict[str, Any]] | None = None,
    proxies: list[dict[str, Any]] | None = None,
    pfi: Importance | None = None,
    *,
    used: bool = False,
    withheld: tuple[str, ...] = (),
    check: GroupsCheck | None = None,
) -> Outcome:
    attributes = {"sex": {"groups": ["f", "m"], "withheld": list(withheld), "edges": None, "feature": used}}
    overall = {**gap(0.0), "feature": "", "item": "all rows", "p_value": np.nan}
    results: list[Result] = [
        diagnostic("groups", [overall, *(gaps or [gap(0.0)])], attributes=attributes, n_min=30),
        diagnostic("groups.difference", differences or [difference("brier", 0.0)]),
        diagnostic("groups.proxy", proxies or [association("a", 0.1)]),
        pfi or importance(("a", "positive", 0.3, 0.01), ("sex", "about 0", 0.0, 0.001)),
    ]
    return (check or GroupsCheck()).check(run(results=tuple(results)))


def run(**parts: Any) -> Run:
    return Run(as_of="2026-01-01", subject={"n": 200}, settings={}, environment={}, **parts)


def test_all_is_well() -> None:
    outcome = judged()
    assert outcome.state == "passed"
    assert "No group differs from the rest beyond the margins" in outcome.reason
    assert "Every group has at least 30 rows" in outcome.reason


@pytest.mark.parametrize(
    ("line", "severity", "threshold"),
    [
        (difference("brier", 0.05, 0.02, p=0.001), "medium", 0.04),
        (difference("brier", 0.08, 0.02, p=0.001), "high", 0.04),
        (difference("squared_error", -0.08, 0.02, p=0.001), "high", 0.04),
        (difference("coverage_90", -0.2, 0.1, p=0.001), "high", 0.05),
        (difference("false_negative_rate", 0.06, 0.02, p=0.001), "medium", 0.05),
        (difference("confidence_gap", 0.2, 0.1, p=0.001), "high", 0.05),
    ],
)
def test_uq801_is_raised_beyond_margin_and_test(line: dict[str, Any], severity: str, threshold: float) -> None:
    finding = judged([line]).findings[0]
    assert (finding.code, finding.severity, finding.features) == ("UQ801", severity, ("sex",))
    assert finding.threshold == pytest.approx(threshold)
    assert "sex = f (80 rows)" in finding.statement


def test_uq801_stays_silent_or_undetermined() -> None:
    assert judged([difference("brier", 0.01, 0.005, p=0.001)]).state == "passed"
    unsure = judged([difference("brier", 0.05, 0.06, p=0.1)])
    assert (unsure.state, "UQ801 is undetermined for Brier score of sex = f" in unsure.reason) == ("skipped", True)


def test_uq801_is_adjusted_over_groups_and_measures() -> None:
    line = difference("brier", 0.08, 0.02, p=0.02)
    assert judged([line]).findings
    assert judged([line, difference("coverage_90", 0.0)]).state == "skipped"


@pytest.mark.parametrize(("value", "reach", "severity"), [(0.2, 0.1, "high"), (-0.08, 0.05, "medium")])
def test_uq802_is_raised(value: float, reach: float, severity: str) -> None:
    finding = judged(gaps=[gap(value, reach, p=0.001)]).findings[0]
    assert (finding.code, finding.severity, finding.observed) == ("UQ802", severity, value)
    assert ("over-confident" if value > 0 else "under-confident") in finding.statement


def test_uq802_stays_silent_or_undetermined() -> None:
    assert judged(gaps=[gap(0.02, 0.01, p=0.001)]).state == "passed"
    assert "UQ802 is undetermined for sex = f" in judged(gaps=[gap(0.1, 0.1, p=0.06)]).reason
    both = [gap(0.2, 0.1, p=0.02), gap(0.0, item="m")]
    assert judged(gaps=both).state == "skipped"


def test_uq803_asks_for_a_protected_feature_or_a_proxy_that_matters() -> None:
    strong = importance(("a", "positive", 0.3, 0.01), ("sex", "positive", 0.1, 0.01))
    finding = judged(pfi=strong, used=True).findings[0]
    assert (finding.code, finding.features, finding.severity) == ("UQ803", ("sex",), "medium")
    assert "sex is protected" in finding.statement
    proxy = judged(proxies=[association("a", 0.7)]).findings[0]
    assert (proxy.code, proxy.features) == ("UQ803", ("a",))
    assert "a is a proxy of sex (association 0.70)" in proxy.statement
    assert judged(pfi=strong).state == "passed"


def test_uq803_is_adjusted_and_undetermined_where_pfi_is() -> None:
    two = [association("a", 0.7), association("b", 0.9)]
    weak = importance(("a", "positive", 0.021, 0.01), ("b", "undetermined", 0.0, 0.1))
    outcome = judged(proxies=two, pfi=weak)
    assert (outcome.state, "UQ803 is undetermined for a and b" in outcome.reason) == ("skipped", True)


def test_uq803_says_where_all_features_together_tell_the_attribute() -> None:
    together = {**association("all features", 0.8), **interval(0.8, 0.1)}
    finding = judged(proxies=[together]).findings[0]
    assert (finding.code, finding.severity, finding.features) == ("UQ803", "observation", ("sex",))
    assert judged(proxies=[{**together, "lower": 0.4}]).state == "passed"


def test_uq804_names_groups_that_cannot_be_judged_without_their_size() -> None:
    finding = judged(withheld=("x", "y")).findings[0]
    assert (finding.code, finding.severity, finding.observed) == ("UQ804", "observation", None)
    assert "Of sex, x and y cannot be judged: fewer than 30 rows" in finding.statement


def test_without_protected_attributes_it_does_not_apply() -> None:
    outcome = GroupsCheck().check(run(not_run=(NotRun("groups", "explainers", "groups.protected must be given"),)))
    assert (outcome.state, outcome.reason) == ("not_applicable", "groups was not run: groups.protected must be given")


def test_what_is_missing_is_not_judged() -> None:
    attributes: dict[str, Any] = {"sex": {"groups": [], "withheld": [], "edges": None, "feature": False}}
    bare = diagnostic("groups", [], attributes=attributes, n_min=30)
    outcome = GroupsCheck().check(run(results=(bare,)))
    assert outcome.state == "skipped"
    for code in ("UQ801", "UQ802", "UQ803"):
        assert f"{code} was not judged" in outcome.reason


def test_thresholds_are_options_and_stand_in_the_rules() -> None:
    check = GroupsCheck(loss=0.5, effect=0.5, proxy=0.9)
    line = difference("brier", 0.08, 0.02, p=0.001)
    assert judged([line], [gap(0.2, 0.1, p=0.001)], [association("a", 0.7)], check=check).state == "passed"
    assert "at least 50 % of the overall loss" in check.rules[0].text
    for option in ("level", "loss", "rate", "effect", "proxy", "skill"):
        with pytest.raises(InputError, match=rf"groups\.{option} must be"):
            GroupsCheck(**{option: 0.0})


def test_the_explainer_and_the_check_fit_together() -> None:
    given = testing.linear_subject(300)
    women = np.arange(300) % 2 == 0
    mean = given.model.distribution(given.X).mean()
    y = np.asarray(given.y).copy()
    y[women] = mean[women] + 2.5 * (y[women] - mean[women])
    given = replace(given, y=y, protected={"sex": np.where(women, "f", "m"), "tiny": np.arange(300) < 5})
    results = Groups().explain(given, Engine(given, testing.measures()).bound("groups"), {})
    outcome = GroupsCheck().check(run(results=tuple(results)))
    assert {f.code for f in outcome.findings} == {"UQ801", "UQ802", "UQ804"}
    assert {f.features for f in outcome.findings if f.code != "UQ804"} == {("sex",)}
