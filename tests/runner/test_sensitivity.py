"""Thresholds are halved and doubled one at a time; findings and recommendation follow, on both sides of each."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import pytest

from uq_report.checks.rule import Rule
from uq_report.core.support.errors import InputError
from uq_report.document.document import Paragraph
from uq_report.evidence.comparisons import SensitivityView
from uq_report.evidence.finding import Outcome
from uq_report.evidence.run import NotRun, Run
from uq_report.reading.run_reader import RunReader
from uq_report.report.sections.findings import sensitivity as section
from uq_report.runner.judge import outcome_of, sensitivity
from uq_report.runner.settings import WaiverSettings

LACKS = (NotRun("pfi", "explainers", "it was not asked for", "limit"),)
EMPTY = Run(as_of="2026-01-01", subject={}, settings={}, environment={}, not_run=LACKS)


@dataclass(frozen=True)
class Shares:
    """Raises a finding where the share observed is above its limit; high from `much` on."""

    limit: float = 0.1
    much: float = 0.3
    count: int = 5
    observed: float = 0.15

    name: ClassVar[str] = "shares"
    title: ClassVar[str] = "Shares"
    api_version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        if self.observed > 0.25:
            raise InputError("shares.observed must be at most 0.25.")

    @property
    def rules(self) -> tuple[Rule, ...]:
        rule = Rule(
            code="UQ1",
            title="Too many",
            options=("limit", "much"),
            when="Above {limit}.",
            raised=("share > limit",),
            grades=("high if share >= much", "medium"),
            rests_on="simulation",
        )
        return (rule.of(self),)

    def check(self, run: Run) -> Outcome:
        (rule,) = self.rules
        severity = rule.judge(share=self.observed)
        if severity is None:
            return Outcome(check=self.name, state="passed")
        return Outcome(check=self.name, state="found", findings=(rule.finding(severity, "It is.", ("pfi",)),))


def judged(check: Shares, waivers: tuple[WaiverSettings, ...] = ()) -> Any:
    outcomes = (Outcome(check="performance", state="passed"), outcome_of(check, EMPTY))
    run = replace(EMPTY, outcomes=outcomes)
    (result,) = sensitivity({"shares": check, "performance": check}, run, waivers)
    return SensitivityView.from_result(result), run, result


@pytest.mark.parametrize(
    ("observed", "changes"),
    [
        (0.2, {("shares.limit", 2.0): ("medium", "none"), ("shares.much", 0.5): ("medium", "high")}),
        (0.2001, {("shares.much", 0.5): ("medium", "high")}),
        (0.149, {("shares.limit", 2.0): ("medium", "none")}),
        (0.04, {}),
        (0.051, {("shares.limit", 0.5): ("none", "medium")}),
    ],
)
def test_findings_open_close_and_change_their_grade(observed: float, changes: dict[Any, Any]) -> None:
    view, _, _ = judged(Shares(observed=observed))
    assert {(x.item, x.factor): (x.before, x.after) for x in view.lines if "observed" not in x.item} == changes


def test_the_recommendation_follows() -> None:
    view, _, _ = judged(Shares(observed=0.2))
    by_item = {x.item: x.recommendation for x in view.lines}
    assert view.recommendation == "Fit for purpose with conditions"
    assert by_item["shares.much"] == "Not fit for purpose"
    assert by_item["shares.limit"] == "Fit for purpose"
    assert view.varied == 6  # three numbers of each of two checks; counts stay


def test_a_waived_finding_is_none() -> None:
    waiver = WaiverSettings(code="UQ1", owner="me", reason="known", expires="2030-01-01")
    view, _, _ = judged(Shares(observed=0.051), (waiver,))
    assert view.lines == ()


def test_what_reached_no_verdict_is_not_judged_again() -> None:
    outcome = Outcome(check="shares", state="not_applicable", reason="no rows")
    assert sensitivity({"shares": Shares()}, replace(EMPTY, outcomes=(outcome,)), ()) == ()


def test_the_appendix_names_what_changes() -> None:
    _, run, result = judged(Shares(observed=0.2))
    made = section(RunReader(replace(run, results=(result,))))
    assert made is not None
    text, table = made.blocks
    assert isinstance(text, Paragraph)
    assert "Each of 6 thresholds was halved and doubled" in text.text
    assert "and the recommendation for 3 (to “Fit for purpose” and “Not fit for purpose”)" in text.text
    assert "UQ1 (medium to high)" in str(table)
