"""A check whose findings are not what its printed rules allow is skipped with that reason, and the others go on."""

from typing import Any, ClassVar

import pytest

from uq_report.checks.rule import Rule
from uq_report.evidence import ids
from uq_report.evidence.finding import Finding, Outcome
from uq_report.evidence.run import Run
from uq_report.runner import plugins
from uq_report.runner.judge import Checked, judge
from uq_report.runner.settings import Settings

from .importances import pfi, run

RULE = Rule(
    code="X1",
    title="Too many",
    thresholds={"most": 3},
    when="More than {most}.",
    raised=("count > most",),
    grades=("medium",),
    rests_on="x",
)
PRINTED: dict[str, Any] = {"code": "X1", "title": "Too many", "severity": "medium", "evidence": (ids.PFI,)}


class Odd:
    """A check that returns what it is given."""

    name: ClassVar[str] = ids.SUPPORT
    title: ClassVar[str] = "Odd"
    api_version: ClassVar[int] = 1
    rules = (RULE,)

    def __init__(self, returned: Any) -> None:
        self.returned = returned

    def check(self, run: Run) -> Any:
        return self.returned


class Calm(Odd):
    name: ClassVar[str] = "claims"
    title: ClassVar[str] = "Calm"


def judged(*findings: Finding, returned: Any = None) -> Checked:
    """Return how the check ends that returns these findings, and the one after it."""
    odd = Odd(returned or Outcome(check=Odd.name, state="found", findings=findings))
    calm = Calm(Outcome(check=Calm.name, state="passed"))
    every = plugins.find(plugins.CHECKS)
    registered = tuple(plugins.named(every, check.name, "check") for check in (odd, calm))
    results = run(pfi({"nll": {"a": (0.1, 0.01)}}))
    return judge({plugins.CHECKS: registered}, {odd.name: odd, calm.name: calm}, results, Settings(as_of="2026-01-01"))


def finding(**parts: Any) -> Finding:
    return Finding(**(PRINTED | {"statement": "There are 5.", "rests_on": "x"} | parts))


@pytest.mark.parametrize("severity", ["medium", "low", "observation"])
def test_what_the_rule_allows_is_taken_with_the_rule(severity: str) -> None:
    first, second = judged(finding(severity=severity)).outcomes
    assert [one.severity for one in first.findings] == [severity]
    assert (first.title, first.rules) == ("Odd", (RULE.record,))
    assert second.state == "passed"


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ({"severity": "high"}, "must raise X1 at worst as medium, as its rule is printed; got high"),
        ({"severity": "critical"}, "must raise X1 at worst as medium, as its rule is printed; got critical"),
        ({"title": "Too few"}, "must title X1 'Too many', as its rule is printed; got 'Too few'"),
        ({"code": "UQ301"}, "must raise codes of its own rules, ['X1']; got UQ301"),
        ({"evidence": (ids.PFI, ids.ALE)}, "must rest X1 on results of the run; got ale, which it has not"),
    ],
)
def test_what_it_does_not_allow_is_refused_by_name(parts: dict[str, Any], reason: str) -> None:
    done = judged(finding(), finding(**parts))
    first, second = done.outcomes
    assert (first.check, first.state, first.findings) == (Odd.name, "skipped", ())
    assert f"check 'support' {reason}." in first.reason
    assert [(one.name, one.group, one.reason) for one in done.failed] == [("support", "checks", first.reason)]
    assert second.state == "passed"


def test_every_breach_is_named_at_once() -> None:
    reason = judged(finding(severity="high", title="Too few"), finding(code="X2")).outcomes[0].reason
    assert all(words in reason for words in ("must title X1", "at worst as medium", "got X2"))


@pytest.mark.parametrize("returned", ["passed", Outcome(check="other", state="passed")])
def test_only_its_own_outcome_is_taken(returned: Any) -> None:
    first, second = judged(returned=returned).outcomes
    assert "check 'support' must return its own Outcome" in first.reason
    assert (first.state, second.state) == ("skipped", "passed")
