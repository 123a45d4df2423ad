"""Every number of every registered rule is printed and decides: changing it changes the words and the decision."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from string import Formatter

import pytest

from uq_report.checks.rule import Rule, ThresholdLimit, limits
from uq_report.core.support.errors import InputError
from uq_report.evidence import ids
from uq_report.evidence.finding import SEVERITIES, Outcome
from uq_report.runner import plugins
from uq_report.testing import linear_subject

from .importances import audited, outcome

Observed = Mapping[str, float]
CHECKS = [plugins.load(plugin)() for plugin in plugins.find(plugins.CHECKS)]
RULES = [pytest.param(rule, id=rule.code) for check in CHECKS for rule in check.rules]
NUMBERS = [
    pytest.param(rule, name, id=f"{rule.code}-{name}")
    for check in CHECKS
    for rule in check.rules
    for name in rule.thresholds
]
# Numbers that are no thresholds: the level of the intervals that calibration gives, and values of a column.
WORDS = {
    "UQ101": {"90"}, "UQ102": {"90"}, "UQ111": {"90"}, "UQ123": {"2", "90"}, "UQ305": {"1", "99.5"},
    "UQ401": {"80"},
    "UQ703": {"1", "9", "99"}, "UQ802": {"2"},
}  # fmt: skip
# What is asked where nothing else is configured: decisions, not to be changed in passing.
USUAL: dict[str, dict[str, float]] = {
    "UQ001": {"margin": 0.01, "small_gain": 0.03, "worse": 0.1, "events": 10},
    "UQ002": {"recall": 0.2, "level": 0.05, "rows": 10, "common": 0.2, "least": 0.1, "order": 0.9},
    "UQ003": {"level": 0.05, "margin": 0.01, "high": 0.5, "events": 10},
    "UQ101": {"level": 0.05, "effect": 0.02, "medium": 0.05, "high": 0.1, "missed": 0.02, "some": 0.05, "many": 0.1},
    "UQ102": {"margin": 0.05, "events": 20, "units": 20, "pass_margin": 0.05},
    "UQ111": {"power": 2.93, "errors": 10, "constant": 0.05, "part": 0.5},
    "UQ121": {"level": 0.025, "margin": 0.05, "loss": 0.1, "medium": 2, "high": 4, "share": 0.1},
    "UQ122": {"level": 0.025, "entropy": 0.2, "spread": 0.5},
    "UQ123": {"level": 0.05, "margin": 0.05, "medium": 2, "high": 4, "small": 0.02},
    "UQ201": {"level": 0.05},
    "UQ202": {"level": 0.05, "margin": 0.01, "predictable": 0.1},
    "UQ203": {"level": 0.05, "repeated": 0.9},
    "UQ301": {"level": 0.025, "high": 0.25, "medium": 0.1, "margin": 0.05},
    "UQ302": {"level": 0.05, "shuffled": 0.2},
    "UQ303": {"level": 0.025, "low": 0.02, "medium": 0.05, "high": 0.5},
    "UQ304": {"low": 0.1, "medium": 0.25, "high": 0.5},
    "UQ305": {"copies": 0.02, "copies_medium": 0.05, "copies_high": 0.2},
    "UQ311": {"level": 0.05, "margin": 0.01},
    "UQ312": {"level": 0.025, "min_share": 0.1},
    "UQ401": {"level": 0.05, "min_size": 0.05, "min_share": 0.15, "medium": 0.8, "high": 0.5},
    "UQ402": {"level": 0.05},
    "UQ411": {"share": 0.75, "high": 0.9, "critical": 0.98, "events": 10, "variance": 0.98},
    "UQ501": {"top": 3, "half": 0.5},
    "UQ502": {"max_shuffle_variance": 0.1, "level": 0.05},
    "UQ503": {"row_share": 0.01},
    "UQ601": {"top": 3, "half": 0.5, "min_rank_gap": 2},
    "UQ602": {"top": 3, "half": 0.5, "level": 0.05},
    "UQ701": {"share": 0.01, "high": 0.05},
    "UQ702": {"share": 0.01, "medium": 0.05},
    "UQ703": {"share": 0.005, "medium": 0.05},
    "UQ704": {},
    "UQ705": {"share": 0.05, "change": 0.02, "low": 0.05, "medium": 0.2},
    "UQ706": {},
    "UQ707": {"share": 0.05, "even": 0.5},
    "UQ708": {"few": 100},
    "UQ801": {"level": 0.025, "spread": 0.1, "high": 4},
    "UQ802": {"level": 0.025, "effect": 0.02, "some": 0.05, "much": 0.1, "rate": 0.05, "loss": 0.1, "high": 4},
    "UQ803": {"level": 0.05, "spread": 0.1, "used": 0.01, "proxy": 0.5, "stand_in": 0.7, "skill": 0.5},
    "UQ804": {},
    "UQ805": {"level": 0.025, "loss": 0.1, "entropy": 0.05, "rate": 0.05},
    "UQ901": {"level": 0.05, "min_size": 0.02, "high_size": 0.25},
    "UQ951": {},
    "UQ952": {},
}


def inside(condition: Sequence[ThresholdLimit], thresholds: Mapping[str, float]) -> dict[str, float]:
    """Return observed numbers that are well within limits; of several on one number, the last counts."""
    numbers = {}
    for limit in condition:
        bound = float(thresholds.get(str(limit.threshold), limit.threshold))
        numbers[limit.observed] = bound + (1 if ">" in limit.side else -1) * (1 + abs(bound))
    return numbers


def cases(rule: Rule, threshold: str, between: float) -> Iterator[Observed]:
    """Yield what may be observed where one number, judged by the threshold, is `between` and the others are inside."""
    for raised in rule.raised:
        for condition in (limits(raised), *((*limits(raised), *grade.limits) for grade in rule.graded)):
            latest = {limit.observed: limit for limit in condition}
            for name, limit in latest.items():
                if limit.threshold == threshold:
                    yield inside([*latest.values()], rule.thresholds) | {name: between}


def decisions(rule: Rule, threshold: str, value: float) -> set[tuple[str | None, str | None]]:
    """Return the severities before and after a threshold is `value`, of numbers between the two."""
    moved = replace(rule, thresholds={**rule.thresholds, threshold: value})
    between = (rule.thresholds[threshold] + value) / 2
    return {(rule.judge(**observed), moved.judge(**observed)) for observed in cases(rule, threshold, between)}


@pytest.mark.parametrize("factor", [0.9, 1.1])
@pytest.mark.parametrize(("rule", "threshold"), NUMBERS)
def test_a_threshold_is_printed_and_decides(rule: Rule, threshold: str, factor: float) -> None:
    value = rule.thresholds[threshold] * factor
    assert replace(rule, thresholds={**rule.thresholds, threshold: value}).text != rule.text
    assert any(before != after for before, after in decisions(rule, threshold, value))


def test_the_usual_thresholds() -> None:
    assert {rule.code: dict(rule.thresholds) for check in CHECKS for rule in check.rules} == USUAL


def test_checks_are_of_the_contract_that_plugins_are_asked_for() -> None:
    assert {check.api_version for check in CHECKS} == {plugins.API_VERSION}


def test_limits_beside_the_thresholds_are_at_zero_but_two() -> None:
    parts = [(rule, part) for check in CHECKS for rule in check.rules for part in rule.conditions]
    fixed = {(rule.code, limit.observed): limit for rule, part in parts for limit in part}
    numbers = {key: limit for key, limit in fixed.items() if not isinstance(limit.threshold, str)}
    assert {key: limit for key, limit in numbers.items() if limit.threshold != 0} == {
        ("UQ802", "times"): ThresholdLimit("times", ">", 1),
        ("UQ503", "rows"): ThresholdLimit("rows", "<=", 1),
    }
    assert {key for key, limit in numbers.items() if (limit.side, limit.threshold) == ("<=", 0)} == {
        ("UQ001", "use"), ("UQ001", "lower"), ("UQ111", "lower"), ("UQ602", "lowered"),
    }  # fmt: skip


@pytest.mark.parametrize("rule", RULES)
def test_words_and_limits_name_the_same_thresholds(rule: Rule) -> None:
    named = [limit.threshold for part in rule.conditions for limit in part]
    printed = {name for _, name, _, _ in Formatter().parse(rule.when) if name}
    assert printed == set(rule.thresholds) == {name for name in named if isinstance(name, str)}


@pytest.mark.parametrize("rule", RULES)
def test_words_hold_no_number_beside_the_thresholds(rule: Rule) -> None:
    words = re.sub(r"{\w+(:\w+)?}", "", rule.when)
    assert set(re.findall(r"\b\d+(?:\.\d+)?", words)) <= {"0"} | WORDS.get(rule.code, set())
    assert not re.search(r"\b(half|third|quarter|tenth|twice)\b", words)


@pytest.mark.parametrize("rule", RULES)
def test_the_severity_is_the_worst_grade(rule: Rule) -> None:
    assert rule.severity == SEVERITIES[min(SEVERITIES.index(grade.severity) for grade in rule.graded)]
    assert (rule.record.severity, rule.record.when) == (rule.severity, rule.text)


@pytest.mark.parametrize("last", [(), ("low if share > 0",)])
def test_a_rule_without_a_last_grade_is_refused(last: tuple[str, ...]) -> None:
    with pytest.raises(InputError, match="grades must end with a grade without limits"):
        Rule(code="UQ000", title="", when="", rests_on="", grades=last)


def test_thresholds_that_limits_name_and_a_rule_has_not_are_listed_in_order() -> None:
    raised = ("share > z and p_value <= a",)
    with pytest.raises(InputError, match=r"missing \['a', 'z'\]"):
        Rule(code="UQ000", title="", when="", rests_on="", raised=raised)


@pytest.mark.parametrize("condition", ["share", "share = most", "share > -1", "share > most or rows > 0", ""])
def test_a_condition_of_another_form_is_refused(condition: str) -> None:
    with pytest.raises(InputError, match="A limit of a rule must be 'OBSERVED"):
        limits(condition)


def test_a_grade_of_another_severity_is_refused() -> None:
    with pytest.raises(InputError, match=r"A grade must begin with one of .*; got 'worst if share > most'"):
        Rule(code="UQ000", title="", when="", rests_on="", grades=("worst if share > most", "low"))


def test_nothing_is_raised_by_what_was_not_observed() -> None:
    assert all(rule.judge() is None for check in CHECKS for rule in check.rules)


def test_an_edited_option_stands_in_the_rule_and_in_the_findings() -> None:
    subject = linear_subject(150, train=True)

    def judged(**options: float) -> Outcome:
        given = {"checks.support": options}
        return outcome(audited(subject, [ids.SUPPORT], checks=[ids.SUPPORT], options=given), ids.SUPPORT)

    strict, lax = judged(shuffled=0.01), judged(shuffled=0.99)
    assert "More than 1% of the observations are outside the training domain after" in strict.rules[1].when
    assert "More than 99% of the observations are outside the training domain after" in lax.rules[1].when
    assert (strict.rules[1].thresholds["shuffled"], lax.rules[1].thresholds["shuffled"]) == (0.01, 0.99)
    assert {finding.threshold for finding in strict.findings if finding.code == "UQ302"} == {0.01}
    assert not any(finding.code == "UQ302" for finding in lax.findings)
