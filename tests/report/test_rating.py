"""The overall rating is the worst open finding, and never green where something was not assessed."""

from __future__ import annotations

import pytest

from uq_report.evidence import ids
from uq_report.evidence.finding import Outcome, Severity
from uq_report.report.rating import AMBER, GREEN, NOT_ASSESSED, RED, RULE, calibration_judged, rating

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
ABSENT = Outcome(check=ids.CALIBRATION, state="not_applicable", reason="no y")
UNJUDGED_WAIVED = Outcome(check=ids.CALIBRATION, state="ignored", reason="w", waived=(waived(finding("UQ102")),))
FAILED_WAIVED = Outcome(check=ids.CALIBRATION, state="ignored", reason="w", waived=(waived(finding("UQ101", "high")),))


@pytest.mark.parametrize("outcomes", [(), (found("low"),), (PASSED, SKIPPED), (ABSENT,), (UNJUDGED_WAIVED,)])
def test_what_was_not_assessed_is_never_green(outcomes: tuple[Outcome, ...]) -> None:
    assert rating(outcomes) == NOT_ASSESSED


def test_something_worse_than_not_assessed_is_told_first() -> None:
    assert rating([SKIPPED, ABSENT, found("high")]) == RED
    assert rating([SKIPPED, found("medium")]) == AMBER


def test_a_waived_finding_is_not_open_and_a_waiver_of_a_failure_keeps_its_verdict() -> None:
    assert rating([FAILED_WAIVED]) == GREEN
    assert calibration_judged([FAILED_WAIVED])
    assert not calibration_judged([UNJUDGED_WAIVED])


def test_a_check_that_does_not_apply_does_not_spoil_green() -> None:
    assert rating([PASSED, Outcome(check="groups", state="not_applicable", reason="no attribute")]) == GREEN
    assert "worst open finding" in RULE
