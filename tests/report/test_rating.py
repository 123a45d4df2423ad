"""The recommendation follows the printed rule, and never contradicts the verdict on the calibration."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product

import pytest

from uq_report.evidence import ids
from uq_report.evidence.finding import SEVERITIES, Finding, Outcome, Severity
from uq_report.evidence.run import Run
from uq_report.ops.run import summary_of
from uq_report.ops.tracking.record import tags
from uq_report.reading.rating import (
    CALIBRATION,
    CONDITIONAL,
    DECIDES,
    FIT,
    INCONCLUSIVE,
    RULE,
    UNFIT,
    USES,
    WORDS,
    UseCondition,
    rating,
    recommend,
)
from uq_report.reading.run_reader import SEVERITY_TONES, gate_of
from uq_report.report.kinds import document

from .findings_made import PASSED, finding, run_with, waived


def found(*severities: Severity, code: str = "UQ700") -> Outcome:
    return Outcome(check="other", state="found", findings=tuple(finding(code, one) for one in severities))


@pytest.mark.parametrize(
    ("severities", "expected"),
    [
        (("critical",), UNFIT),
        (("low", "high", "medium"), UNFIT),
        (("medium", "observation"), CONDITIONAL),
        (("low",), FIT),
        (("observation",), FIT),
    ],
)
def test_the_most_severe_open_finding_decides(severities: tuple[Severity, ...], expected: object) -> None:
    assert rating([PASSED, found(*severities)]) == expected


def calibration(*findings: Finding, waive: bool = False) -> Outcome:
    if waive:
        return Outcome(check=ids.CALIBRATION, state="ignored", reason="w", waived=tuple(map(waived, findings)))
    return Outcome(check=ids.CALIBRATION, state="found", findings=findings)


SKIPPED = Outcome(check="other", state="skipped", reason="too slow")
PASSED_OTHER = Outcome(check="other", state="passed")
SKILL = Outcome(check="performance", state="passed")
ABSENT = Outcome(check=ids.CALIBRATION, state="not_applicable", reason="no y")
UNJUDGED = calibration(finding("UQ102", "observation"))
SMALL = finding("UQ101", "observation", threshold=0.02, observed=0.005, lower=0.001, upper=0.01)


@pytest.mark.parametrize(
    ("severity", "waive", "expected"),
    [
        ("observation", False, FIT),
        ("low", False, CONDITIONAL),
        ("medium", False, CONDITIONAL),
        ("high", False, UNFIT),
        ("low", True, CONDITIONAL),
        ("high", True, CONDITIONAL),
    ],
)
def test_calibration_that_is_not_acceptable_is_at_most_conditional(
    severity: Severity, waive: bool, expected: object
) -> None:
    assert rating([SKILL, calibration(finding("UQ101", severity), waive=waive)]) == expected


@pytest.mark.parametrize(
    ("severity", "expected"), [("observation", FIT), ("low", CONDITIONAL), ("medium", CONDITIONAL), ("high", UNFIT)]
)
def test_the_use_of_a_protected_attribute_is_conditional_from_low_on(severity: Severity, expected: object) -> None:
    assert rating([PASSED, found(severity, code="UQ803")]) == expected
    assert rating([PASSED, found(severity, code="UQ802")]) == (FIT if severity == "low" else expected)


@pytest.mark.parametrize("outcomes", [(), (found("low"),), (ABSENT,), (ABSENT, PASSED_OTHER), (UNJUDGED,)])
def test_what_was_not_compared_with_outcomes_is_inconclusive(outcomes: tuple[Outcome, ...]) -> None:
    assert rating(outcomes) == INCONCLUSIVE


def test_more_severe_grades_precede_inconclusive() -> None:
    assert rating([SKIPPED, ABSENT, found("high")]) == UNFIT
    assert rating([SKIPPED, found("medium")]) == CONDITIONAL


@pytest.mark.parametrize(
    ("outcome", "word"),
    [
        (PASSED, "acceptable"),
        (calibration(SMALL), "acceptable"),
        (calibration(replace(SMALL, upper=0.02)), "inconclusive"),
        (calibration(finding("UQ101", "observation")), "inconclusive"),
        (UNJUDGED, "inconclusive"),
        (ABSENT, "not tested"),
        (calibration(finding("UQ101", "low")), "not acceptable"),
        (calibration(finding("UQ101", "low"), waive=True), "not acceptable, waived"),
    ],
)
def test_the_verdict_on_the_calibration(outcome: Outcome, word: str) -> None:
    assert gate_of([outcome]).word == word


CALIBRATIONS = (None, PASSED, ABSENT, UNJUDGED, calibration(SMALL), *(
    calibration(finding("UQ101", severity), waive=waive) for severity in SEVERITIES for waive in (False, True)
))  # fmt: skip
OTHERS = tuple(finding(code, severity) for code in ("UQ803", "UQ401") for severity in SEVERITIES)


@pytest.mark.parametrize("skill", [None, SKILL, Outcome(check="performance", state="skipped", reason="few")])
@pytest.mark.parametrize("own", CALIBRATIONS)
def test_not_acceptable_never_stands_beside_fit_for_purpose(own: Outcome | None, skill: Outcome | None) -> None:
    """All combinations of a calibration, a skill and up to two further findings."""
    for size, by_waiver in product(range(3), (False, True)):
        for findings in combinations(OTHERS, size):
            other = Outcome(check="x", state="found", findings=findings) if findings else PASSED_OTHER
            if by_waiver and findings:
                other = Outcome(check="x", state="ignored", reason="w", waived=tuple(map(waived, findings)))
            outcomes = [outcome for outcome in (own, skill, other) if outcome is not None]
            advice, gate = recommend(outcomes, 250), gate_of(outcomes)
            assert not (gate.tone == "bad" and advice.badge in (FIT, INCONCLUSIVE))
            words = {"warning": "; calibration inconclusive at n = 250", "unknown": "; calibration not tested"}
            assert [text in advice.basis for text in words.values()] == [
                advice.badge in (FIT, CONDITIONAL) and gate.tone == tone for tone in words
            ]
            severities = {f.severity for outcome in outcomes for f in outcome.findings}
            assert (advice.badge == UNFIT) == bool(severities & {"critical", "high"})
            assert bool(advice.conditions) == (advice.badge == CONDITIONAL)


def test_a_waived_finding_is_not_open() -> None:
    both = Outcome(check="x", state="ignored", reason="w", waived=(waived(finding("UQ803", "medium", "sex")),))
    assert rating([PASSED, both]) == FIT
    assert recommend([PASSED, both]).basis.startswith("By rule: no open finding is above low; 1 finding waived. ")


@pytest.mark.parametrize(
    ("outcomes", "sentence"),
    [
        ((PASSED, SKIPPED), "By rule: no open finding is above low."),
        ((PASSED, found("medium", "observation")), "By rule: a medium finding is open (UQ700)."),
        ((found("low", "high", "high"),), "By rule: a critical or high finding is open (UQ700)."),
        ((ABSENT,), "By rule: neither calibration nor skill could be judged."),
        ((SKILL, UNJUDGED), "By rule: no open finding is above low; calibration inconclusive at n = 40."),
        (
            (calibration(finding("UQ101", "medium")), found("low", code="UQ803")),
            f"By rule: {CALIBRATION} (UQ101); {USES} (UQ803).",
        ),
    ],
)
def test_the_part_of_the_rule_is_printed_and_who_decides(outcomes: tuple[Outcome, ...], sentence: str) -> None:
    assert recommend(outcomes, 40).basis == f"{sentence} {DECIDES}"
    assert DECIDES == "Recommendation of the validation; the decision rests with the approver."


def test_conditions_are_built_from_the_findings_that_caused_the_grade() -> None:
    used = tuple(finding("UQ803", "low", attribute) for attribute in ("sex", "age"))
    advice = recommend([
        calibration(finding("UQ101", "low")),
        Outcome(check="groups", state="found", findings=(*used, finding("UQ700", "low", remedy="Do nothing."))),
        Outcome(check="x", state="found", findings=(finding("UQ401", "medium", remedy="Reduce it. Or not."),)),
    ])  # fmt: skip
    assert advice.conditions == (
        UseCondition("UQ101", "recalibrate the model before its probabilities or intervals are used"),
        UseCondition("UQ803", "document the legal basis for using sex and age", ("sex", "age")),
        UseCondition("UQ401", "reduce it"),
    )
    assert advice.conditions_of_use == (
        "Conditions of use: recalibrate the model before its probabilities or intervals are used (UQ101); document the "
        "legal basis for using sex and age (UQ803); reduce it (UQ401)."
    )


def test_conditions_of_other_grades() -> None:
    assert recommend([PASSED]).conditions_of_use == "Conditions of use: to be set by the approver."
    assert recommend([]).conditions_of_use == "Conditions of use: to be set by the approver."
    assert recommend([found("high")]).conditions_of_use == (
        "Conditions of use: none can be set while a critical or high finding is open."
    )
    accepted = recommend([SKILL, calibration(finding("UQ101", "high"), waive=True)])
    assert accepted.conditions[0].text == (
        "calibration that is not acceptable is accepted by A. Person until 2026-12-31"
    )
    many = [finding(f"UQ{k}", "medium") for k in range(5)]
    line = recommend([Outcome(check="x", state="found", findings=tuple(many))]).conditions_of_use
    assert line.endswith("; 2 more (see the findings).")


def test_a_check_that_does_not_apply_does_not_change_it() -> None:
    assert rating([PASSED, Outcome(check="groups", state="not_applicable", reason="no attribute")]) == FIT
    assert RULE.startswith("Not fit for purpose: a critical or high finding")


def test_a_more_severe_finding_is_never_recommended_more() -> None:
    assert list(SEVERITY_TONES) == list(SEVERITIES)
    ratings = [rating([PASSED, found(severity)]) for severity in SEVERITIES]
    order = list(WORDS.values())
    assert [order.index(badge) for badge in ratings] == sorted(order.index(badge) for badge in ratings)


RUNS = {
    "fit": run_with(PASSED),
    "conditional": run_with(SKILL, calibration(finding("UQ101", "low"))),
    "not fit": run_with(found("high")),
    "inconclusive": run_with(),
}


@pytest.mark.parametrize("run", RUNS.values(), ids=list(RUNS))
def test_every_output_has_the_same_recommendation(run: Run) -> None:
    advice = recommend(run.outcomes, run.subject["n"])
    summary = summary_of(run, (), "")
    assert (summary["recommendation"], summary["basis"]) == (advice.badge.text, advice.basis)
    assert [condition["code"] for condition in summary["conditions"]] == [c.code for c in advice.conditions]
    assert tags(run, "0")["uq_report.recommendation"] == advice.badge.text
    for kind in ("audit", "brief", "model-card"):
        assert document(run, kind, appendix="none", draws=False).recommendation == advice.badge
