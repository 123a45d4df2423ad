"""The contract of checks, which register under `uq_report.checks`."""

from __future__ import annotations

from collections.abc import Callable
from string import Formatter

from ..checks.rule import Check, Rule
from ..core.support.errors import PluginError
from ..evidence.finding import Outcome
from ..evidence.run import Run
from ..runner import plugins
from ..runner.judge import outcome_of
from .contract import ContractError, require, require_declared
from .known import EMPTY, known_runs


def rule_checks() -> tuple[Callable[[type[Check]], None], ...]:
    """Return every contract test of a check class."""
    return (
        check_rule_declares_itself,
        check_rule_prints_its_thresholds,
        check_rule_judges_nothing_without_evidence,
        check_rule_keeps_within_what_it_prints,
        check_rule_repeats_itself,
    )


def check_rule_declares_itself(cls: type[Check]) -> None:
    """Require the members of the contract, and at least one rule, each with a code of its own."""
    require_declared(plugins.CHECKS, cls)
    rules = cls().rules
    require(bool(rules) and all(isinstance(rule, Rule) for rule in rules), cls, "must have rules, each a Rule")
    codes = [rule.code for rule in rules]
    require(len(set(codes)) == len(codes), cls, f"must have one rule per code; got {codes}")


def check_rule_prints_its_thresholds(cls: type[Check]) -> None:
    """Require that the text of a rule names every threshold, so that the report prints every number that decides."""
    for rule in cls().rules:
        printed = {name for _, name, _, _ in Formatter().parse(rule.when)}
        hidden = sorted(set(rule.thresholds) - printed)
        require(not hidden, cls, f"must name the thresholds of {rule.code} in its text; missing {hidden}")
        require(bool(rule.text and rule.rests_on), cls, f"must say when {rule.code} is raised and what it rests on")


def check_rule_judges_nothing_without_evidence(cls: type[Check]) -> None:
    """Require that a run without results is not applicable or skipped, with a reason."""
    outcome = _outcome(cls, EMPTY)
    require(outcome.state in ("not_applicable", "skipped"), cls, "must not judge a run without evidence")


def check_rule_keeps_within_what_it_prints(cls: type[Check]) -> None:
    """Require one outcome of its own per run, whose findings have code, title and severity of a rule, and evidence."""
    for run in known_runs():
        _outcome(cls, run)


def check_rule_repeats_itself(cls: type[Check]) -> None:
    """Require that the same run gives the same outcome."""
    for run in known_runs():
        require(_outcome(cls, run) == _outcome(cls, run), cls, "must judge the same run alike")


def _outcome(cls: type[Check], run: Run) -> Outcome:
    """Return the outcome as the host takes it, which refuses breaches by name."""
    try:
        return outcome_of(cls(), run)
    except PluginError as error:
        raise ContractError(str(error)) from error
