"""The overall rating is the worst open finding, and never green where nothing was compared with outcomes."""

from __future__ import annotations

import pytest

from uq_report.evidence import ids
from uq_report.evidence.finding import Outcome, Severity
from uq_report.report.rating import AMBER, GREEN, NOT_ASSESSED, RED, RULE, rating, rests_on

from .findings_made import PASSED, finding, waived


def found(*severities: Severity) -> Outcome:
    return Outcome(check="other", state="found", findings=tuple(finding("UQ700", one) for one in severities))


@pytest.mark.parametrize(
    ("severities", "expected"),
    [
        (("critical",), RED),
        (("low", "high", "medium"), RED),
        (("medium", "observation"), AMBER),
        (("low",), GREEN),
        (("observation",), GREEN),
    ],
)
def test_the_worst_open_finding_decides(severities: tuple[Severity, ...], expected: object) -> None:
    assert rating([PASSED, found(*severities)]) == expected


SKIPPED = Outcome(check="other", state="skipped", reason="too slow")
PASSED_OTHER = Outcome(check="other", state="passed")
ABSENT = Outcome(check=ids.CALIBRATION, state="not_applicable", reason="no y")
UNJUDGED = Outcome(check=ids.CALIBRATION, state="found", findings=(finding("UQ102", "observation"),))
FAILED_WAIVED = Outcome(check=ids.CALIBRATION, state="ignored", reason="w", waived=(waived(finding("UQ101", "high")),))


@pytest.mark.parametrize("outcomes", [(), (found("low"),), (ABSENT,), (ABSENT, PASSED_OTHER), (UNJUDGED,)])
def test_what_was_not_compared_with_outcomes_is_never_green(outcomes: tuple[Outcome, ...]) -> None:
    assert rating(outcomes) == NOT_ASSESSED


def test_something_worse_than_not_assessed_is_told_first() -> None:
    assert rating([SKIPPED, ABSENT, found("high")]) == RED
    assert rating([SKIPPED, found("medium")]) == AMBER


def test_a_waived_finding_is_not_open_and_a_waiver_of_a_failure_keeps_its_verdict() -> None:
    assert rating([FAILED_WAIVED]) == GREEN


def test_a_sound_model_is_green_although_few_rows_show_little() -> None:
    assert rating([found("observation"), UNJUDGED, SKIPPED, Outcome(check="performance", state="passed")]) == GREEN


@pytest.mark.parametrize(
    ("outcomes", "sentence"),
    [
        ((PASSED, SKIPPED), "Green: nothing is open above an observation, by 1 check of 2."),
        ((PASSED, found("medium", "observation")), "Amber: 1 medium open, first UQ700, by 2 checks."),
        ((found("low", "high", "high"),), "Red: 2 high and 1 low open, first UQ700, by 1 check."),
        ((ABSENT,), "Not assessed: nothing is open above an observation, by 0 checks of 1."),
        ((FAILED_WAIVED,), "Green: nothing is open above an observation, by 1 check; 1 finding waived."),
    ],
)
def test_what_the_rating_rests_on_is_one_sentence(outcomes: tuple[Outcome, ...], sentence: str) -> None:
    assert rests_on(outcomes) == sentence


def test_a_check_that_does_not_apply_does_not_spoil_green() -> None:
    assert rating([PASSED, Outcome(check="groups", state="not_applicable", reason="no attribute")]) == GREEN
    assert RULE.startswith("Red: a critical or high finding")
