"""The recommendation is by the worst open finding, and never to use where nothing was compared with outcomes."""

from __future__ import annotations

import pytest

from uq_report.evidence import ids
from uq_report.evidence.finding import SEVERITIES, Outcome, Severity
from uq_report.reading.run_reader import SEVERITY_TONES
from uq_report.report.rating import LIMITS, NOT_YET, RULE, UNSAID, USE, WHY, rating, rests_on

from .findings_made import PASSED, finding, waived


def found(*severities: Severity) -> Outcome:
    return Outcome(check="other", state="found", findings=tuple(finding("UQ700", one) for one in severities))


@pytest.mark.parametrize(
    ("severities", "expected"),
    [
        (("critical",), NOT_YET),
        (("low", "high", "medium"), NOT_YET),
        (("medium", "observation"), LIMITS),
        (("low",), USE),
        (("observation",), USE),
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
def test_what_was_not_compared_with_outcomes_is_never_to_use(outcomes: tuple[Outcome, ...]) -> None:
    assert rating(outcomes) == UNSAID


def test_something_worse_than_unsaid_is_told_first() -> None:
    assert rating([SKIPPED, ABSENT, found("high")]) == NOT_YET
    assert rating([SKIPPED, found("medium")]) == LIMITS


def test_a_waived_finding_is_not_open_and_a_waiver_of_a_failure_keeps_its_verdict() -> None:
    assert rating([FAILED_WAIVED]) == USE


def test_a_sound_model_is_to_use_although_few_rows_show_little() -> None:
    assert rating([found("observation"), UNJUDGED, SKIPPED, Outcome(check="performance", state="passed")]) == USE


@pytest.mark.parametrize(
    ("outcomes", "sentence"),
    [
        ((PASSED, SKIPPED), "By rule: no open finding is above low."),
        ((PASSED, found("medium", "observation")), "By rule: a medium finding is open, none above it."),
        ((found("low", "high", "high"),), "By rule: a critical or high finding is open."),
        ((ABSENT,), "By rule: no open finding is above low, and neither calibration nor skill could be judged."),
        ((FAILED_WAIVED,), "By rule: no open finding is above low (1 finding waived)."),
    ],
)
def test_the_line_of_the_rule_is_told_and_who_decides(outcomes: tuple[Outcome, ...], sentence: str) -> None:
    assert rests_on(outcomes) == f"{sentence} The decision stays with the approver."


def test_a_check_that_does_not_apply_does_not_spoil_it() -> None:
    assert rating([PASSED, Outcome(check="groups", state="not_applicable", reason="no attribute")]) == USE
    assert RULE.startswith("Do not use yet: a critical or high finding")


def test_every_severity_has_a_tone_and_a_worse_one_is_never_recommended_more() -> None:
    assert list(SEVERITY_TONES) == list(SEVERITIES)
    ratings = [rating([PASSED, found(severity)]) for severity in SEVERITIES]
    order = list(WHY)
    assert [order.index(badge) for badge in ratings] == sorted(order.index(badge) for badge in ratings)
