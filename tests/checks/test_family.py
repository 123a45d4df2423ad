"""How the tests of one rule become its findings."""

from collections.abc import Iterable
from typing import Any

import pytest

from uq_report.checks.family import NotJudgedError, family, judged, needed, require, together
from uq_report.checks.reading import RuleOutcome
from uq_report.checks.rule import Rule
from uq_report.evidence.importance import Pfi
from uq_report.evidence.run import NotRun

from .importances import pfi, run

RULE = Rule(
    code="X1",
    title="Too large",
    thresholds={"level": 0.05, "large": 2},
    when="Above 0 (level {level}), high from {large}.",
    raised=("p_adjusted <= level and size > 0",),
    grades=("high if size >= large", "low"),
    rests_on="x",
)


def part(sizes: Iterable[float], p_values: Iterable[float], **options: Any) -> RuleOutcome:
    def said(*tests: float) -> dict[str, Any]:
        return {"statement": f"sizes {tests}", "evidence": ("x", "x")}

    return family(RULE, list(sizes), lambda size: {"size": size}, said, p_values=p_values, **options)


def test_every_test_that_raises_is_a_finding_of_its_severity() -> None:
    findings = part([1, -1, 3], [0.001, 0.001, 0.001]).findings
    assert [(one.code, one.severity, one.statement) for one in findings] == [
        ("X1", "low", "sizes (1,)"),
        ("X1", "high", "sizes (3,)"),
    ]
    assert findings[0].evidence == ("x",)


@pytest.mark.parametrize(("others", "found"), [([], 1), ([1.0], 0)])
def test_p_values_are_adjusted_together_with_those_of_tests_without_an_object(others: list[float], found: int) -> None:
    assert len(part([1], [0.03, *others]).findings) == found


def test_tests_of_one_key_are_one_finding_of_the_worst_severity() -> None:
    (finding,) = part([1, 3, -1], [0.001] * 3, by=together).findings
    assert (finding.severity, finding.statement) == ("high", "sizes (1, 3)")
    assert len(part([1, 3], [0.001] * 2, by=lambda size: size).findings) == 2


def test_what_raises_nothing_may_stay_open_with_its_reason() -> None:
    open_ended = part([1, 4], [0.5, 0.001], undecided=lambda rest: map(str, rest), because="too few", passed="None.")
    assert (open_ended.undecided, open_ended.because, open_ended.passed) == (("1",), "too few", "None.")


def test_without_p_values_the_numbers_of_a_test_decide() -> None:
    found = family(
        RULE, [0.01], lambda p: {"size": 1, "p_adjusted": p}, lambda _: {"statement": "", "evidence": ("x",)}
    )
    assert [one.severity for one in found.findings] == ["low"]


def test_a_rule_without_its_evidence_is_not_judged() -> None:
    def judge(rule: Rule, run: Any) -> RuleOutcome:
        require(needed(Pfi, run).lines, "nothing was shuffled")
        return RuleOutcome(code=rule.code, passed="Fine.")

    missing = run(not_run=(NotRun("pfi", "explainers", "y was not given", "data"),))
    assert judged(RULE, judge, missing).absent == "permutation importance was not computed: y was not given"
    assert judged(RULE, judge, run(pfi({"nll": {}}))).absent == "nothing was shuffled"
    assert judged(RULE, judge, run(pfi({"nll": {"a": (0.1, 0.01)}}))).passed == "Fine."
    with pytest.raises(NotJudgedError, match="no reason"):
        require(holds=False, reason="no reason")
