"""Every registered check ends in exactly one state; waivers are applied here, so that no check knows of them."""

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from time import perf_counter
from typing import Any, NamedTuple

import pandas as pd

from ..checks.rule import Check
from ..core.model.results import Diagnostic, Result, bare_estimates
from ..core.support.errors import FOREIGN, PluginError, words_of
from ..evidence import codec, ids
from ..evidence.finding import SEVERITIES, Finding, Outcome, RuleRecord, Waived, Waiver
from ..evidence.run import NotRun, Run
from ..reading.rating import NO_VERDICT, rating
from . import plugins
from .plugins import Catalog
from .provenance import options_of
from .settings import Settings, WaiverSettings

_log = logging.getLogger(__name__)


class Checked(NamedTuple):
    """The outcomes of all registered checks, those that failed, and the seconds each took."""

    outcomes: tuple[Outcome, ...]
    failed: tuple[NotRun, ...]
    seconds: Mapping[str, float]


class _Watched(Run):
    """A run that notes which results a check asks for."""

    asked: list[str] = field(default_factory=list)

    def find(self, id: str) -> Result | None:
        """Return the result with this id, or None."""
        self.asked.append(id)
        return super().find(id)


def judge(catalog: Catalog, checks: Mapping[str, Check], run: Run, settings: Settings) -> Checked:
    """Let every check judge the run; one that fails is skipped, with its reason, and the others go on."""
    outcomes, failed, seconds = [], [], {}
    for plugin in catalog[plugins.CHECKS]:
        check = checks.get(plugin.name)
        start = perf_counter()
        try:
            if check is None:
                reason = next((n.reason for n in run.not_run if (n.group, n.name) == ("checks", plugin.name)), "")
                outcome = Outcome(check=plugin.name, state="skipped", reason=reason, title=plugin.name)
            else:
                outcome = waive(outcome_of(check, run), settings.waivers, run.as_of)
        except FOREIGN as error:  # foreign code: a failing check is told, and the others go on
            _log.warning("check %s failed", plugin.name, exc_info=True)
            reason = f"it failed: {words_of(error)}"
            failed.append(NotRun(plugin.name, "checks", reason, "fault"))
            outcome = Outcome(check=plugin.name, state="skipped", reason=reason)
        outcomes.append(outcome)
        seconds[f"checks.{plugin.name}"] = perf_counter() - start
    return Checked(tuple(outcomes), tuple(failed), seconds)


def waive(outcome: Outcome, waivers: Iterable[WaiverSettings], as_of: str) -> Outcome:
    """Return the outcome with the findings set apart that a waiver holds for on the day `as_of`."""
    pairs = [(finding, _waiver(finding, waivers, as_of)) for finding in outcome.findings]
    waived = tuple(Waived(finding=finding, waiver=waiver) for finding, waiver in pairs if waiver is not None)
    if not waived:
        return outcome
    still_open = tuple(finding for finding, waiver in pairs if waiver is None)
    if still_open:
        return replace(outcome, findings=still_open, waived=waived)
    reason = "; ".join(dict.fromkeys(f"waived by {w.waiver.owner} until {w.waiver.expires}" for w in waived))
    return replace(outcome, state="ignored", findings=(), waived=waived, reason=reason)


def _waiver(finding: Finding, waivers: Iterable[WaiverSettings], as_of: str) -> Waiver | None:
    """Return the first waiver that holds: dates compare as text, ``YYYY-MM-DD``."""
    for waiver in waivers:
        fits = waiver.code == finding.code and (not waiver.feature or finding.features == (waiver.feature,))
        if fits and as_of <= waiver.expires:
            return Waiver(**waiver.model_dump())
    return None


def outcome_of(check: Check, run: Run) -> Outcome:
    """Return a check's outcome as it is saved; refuse what its rules do not allow, by name."""
    watched = _Watched(**vars(run))
    outcome = check.check(watched)
    if not isinstance(outcome, Outcome) or outcome.check != check.name:
        raise PluginError(f"check {check.name!r} must return its own Outcome; got {outcome!r}.")
    rules = {rule.code: rule.record for rule in check.rules}
    # that an explainer did not run is evidence too: a rule that needs it stays open
    absent = {entry.name for entry in run.not_run if entry.group == "explainers"}
    evidence = {result.id for result in run.results} | absent
    breaches = [breach for finding in outcome.findings for breach in _breaches(finding, rules, evidence)]
    if breaches:
        raise PluginError(f"check {check.name!r} {'; '.join(breaches)}.")
    gave = {ids.explainer_of(result.id) for result in run.results}
    missing = dict.fromkeys(name for name in map(ids.explainer_of, watched.asked) if name not in gave)
    whole = replace(outcome, title=check.title, rules=tuple(rules.values()), missing=tuple(missing))
    return codec.outcome_as_saved(whole)


def _breaches(finding: Finding, rules: Mapping[str, RuleRecord], evidence: Collection[str]) -> Iterator[str]:
    """Say where a finding is not what the printed rule of its code allows."""
    rule = rules.get(finding.code)
    if rule is None:
        yield f"must raise codes of its own rules, {sorted(rules)}; got {finding.code}"
        return
    if finding.title != rule.title:
        yield f"must title {rule.code} {rule.title!r}, as its rule is printed; got {finding.title!r}"
    if SEVERITIES.index(finding.severity) < SEVERITIES.index(rule.severity):
        yield f"must raise {rule.code} at worst as {rule.severity}, as its rule is printed; got {finding.severity}"
    unknown = sorted(set(finding.evidence) - set(evidence))
    if unknown:
        yield f"must rest {rule.code} on results of the run; got {', '.join(unknown)}, which it has not"


FACTORS = (0.5, 2.0)
NONE = "none"
COLUMNS = ("stated", "factor", "code", "about", "before", "after", "recommendation")


def sensitivity(checks: Mapping[str, Check], run: Run, waivers: Sequence[WaiverSettings]) -> tuple[Diagnostic, ...]:
    """Return a line for each finding that another threshold opens, closes or grades anew; nothing without verdicts.

    Checks that reached no verdict are not judged again.
    """
    lines: list[dict[str, Any]] = []
    judged = [checks[outcome.check] for outcome in run.outcomes if outcome.state not in NO_VERDICT]
    options = [(check, name, stated) for check in judged for name, stated in _thresholds(check).items()]
    if not options:
        return ()
    for check, name, stated in options:
        for factor in FACTORS:
            outcome = _again(check, {name: factor * stated}, run, waivers)
            if outcome is None:
                continue
            ended = tuple(outcome if each.check == check.name else each for each in run.outcomes)
            line = {"measure": "", "feature": "", "item": f"{check.name}.{name}", "x": factor, "value": factor * stated}
            line |= {"stated": stated, "factor": factor, "recommendation": rating(ended).text}
            lines += [line | change for change in _changes(run.outcomes, outcome)]
    table = pd.DataFrame(lines, columns=[*Diagnostic.columns, *COLUMNS])
    table = table.astype(dict.fromkeys(("x", "value", "stated", "factor"), float))
    result = Diagnostic(
        id=ids.SENSITIVITY,
        explainer=ids.SENSITIVITY,
        title="Sensitivity of findings and recommendation to thresholds",
        frame=table[list(Diagnostic.columns)],
        estimates=bare_estimates(table, "item", *COLUMNS),
        notes=("One threshold at a time is halved and doubled, and the saved evidence is judged again.",),
        meta={"varied": len(options), "recommendation": rating(run.outcomes).text},
    )
    return (result,)


def _thresholds(check: Check) -> dict[str, float]:
    """Return the options of a check that are numbers with a fraction, but not counts."""
    values = options_of(check)
    return {name: value for name, value in values.items() if isinstance(value, float) and value > 0}


def _again(check: Check, options: Mapping[str, float], run: Run, waivers: Iterable[WaiverSettings]) -> Outcome | None:
    """Return the outcome of a check with other options; None where it refuses them, or fails."""
    try:
        return waive(outcome_of(replace(check, **options), run), waivers, run.as_of)  # type: ignore[type-var] # see above
    except FOREIGN:  # the check refuses the value; it ran with the stated one
        return None


def _changes(before: Iterable[Outcome], after: Outcome) -> Iterator[dict[str, str]]:
    """Yield the findings whose severity differs, and their severities."""
    old = next((_severities(outcome.findings) for outcome in before if outcome.check == after.check), {})
    new = _severities(after.findings)
    for code, about in dict.fromkeys((*old, *new)):
        severities = old.get((code, about), NONE), new.get((code, about), NONE)
        if severities[0] != severities[1]:
            yield {"code": code, "about": about, "before": severities[0], "after": severities[1]}


def _severities(findings: Iterable[Finding]) -> dict[tuple[str, str], str]:
    return {(finding.code, ", ".join(finding.features)): finding.severity for finding in findings}
