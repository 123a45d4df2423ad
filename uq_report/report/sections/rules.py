"""What was looked for: every rule, what it observed against its limit, how every check ended, and what to monitor."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

import pandas as pd

from ...checks.rule import rates
from ...core.model.results import Result
from ...core.support.references import cite
from ...core.support.text import count
from ...document.blocks import paragraphs, tables
from ...document.document import Badge, Block, Column, Facts, Section, Table, Tone
from ...document.plots.frames import optional
from ...document.text import clean, interval, items, joined, name, plain, sentence, spaced, value_words
from ...evidence import columns as col
from ...evidence.finding import Finding, Outcome, RuleRecord
from ...reading.run_reader import RunReader, severity_badge
from ..rating import NO_VERDICT, tally

SEVERITY = (
    "Severity: critical, unfit for the stated use; high, a conclusion or a limit of use changes; medium, a weakness "
    "with a compensating control; low, documentation; observation, nothing to do."
)
STATES: dict[str, Tone] = {
    "found": "warning", "passed": "good", "not_applicable": "unknown", "skipped": "unknown", "ignored": "neutral",
}  # fmt: skip
ENDS = (
    (("found",), "raised findings"), (("passed",), "passed"), (("ignored",), "raised waived findings only"),
    (NO_VERDICT, "gave no verdict"),
)  # fmt: skip
MONITORING = "Monitoring thresholds"
DEFAULT = "default"
# what checks say of a rule they could not decide -> its state
OPEN_STATES = {"is undetermined": "undetermined", "was not judged": "not assessed"}
MONITORING_LEAD = (
    "These rules were applied to this run. Watched over time they are the thresholds of a monitoring plan; whether "
    "they fit the use of the model is for its owner to decide."
)


def rules(e: RunReader) -> Section:
    """Return every rule of the checks that ran, and what each open finding was judged by."""
    measured = rates()
    rows = [
        (
            spaced(rule.code, sentence(rule.title)),
            severity_badge(rule.severity),
            measured[rule.code].words if rule.code in measured else "not measured",
            spaced(sentence(rule.when), _basis(cite(rule.rests_on))),
        )
        for outcome in e.run.outcomes
        for rule in outcome.rules
    ]
    columns = ("finding", "at worst", "false alarms", "raised when")
    caption = (
        "What every check looks for, and how severe it is. False alarms: audits of honest, fitted models in which the "
        "rule claimed more than an observation, in the design where that was most often."
    )
    blocks: tuple[Block, ...] = tables(
        "rules-table", caption, columns, sorted(rows, key=lambda row: row[0]), note=SEVERITY
    )
    blocks = blocks or paragraphs("No check of this run states a rule.")
    return Section(id="rules", title="Rules and severities", blocks=(*blocks, *_observations(e)))


def _basis(reference: str) -> str:
    return f"Rests on: {clean(reference).rstrip('.')}." if reference else ""


def _observations(e: RunReader) -> tuple[Table, ...]:
    """Return what was observed against its limit, finding by finding."""
    rows = [(clean(f.code, 20), about(f.features), observed_words(f), threshold_words(f)) for f in e.findings]
    columns = ("finding", "feature", "observed (interval)", "limit")
    return tables("rules-judged", "What the open findings were judged by, in the units of their rules.", columns, rows)


def checks_ended(e: RunReader) -> Section:
    """Return the state of every check, with what it raised or why it gave no verdict."""
    rows = [
        (name(o.title or o.check), Badge(o.state.replace("_", " "), STATES[o.state]), _reason(o))
        for o in e.run.outcomes
    ]
    columns, caption = ("check", "state", "findings or reason"), "Each check ends in exactly one state."
    blocks: tuple[Block, ...] = (*paragraphs(ended(e)), *tables("checks-table", caption, columns, rows))
    return Section(id="checks", title="How every check ended", blocks=blocks)


def ended(e: RunReader) -> str:
    """Say how many checks raised findings, passed or gave no verdict, and whether all registered ones are among them.

    ``"Of 11 checks 5 raised findings, 4 passed and 2 gave no verdict."``
    """
    ran = len(e.run.outcomes)
    registered = sum(plugin.group.removeprefix("uq_report.") == "checks" for plugin in e.run.plugins)
    words = f"Of {count(ran, 'check')} {tally(e.run.outcomes, ENDS)}." if ran else "No check was run."
    if registered == ran:
        return words
    return f"{words} Registered are {registered}: the run does not account for all of them."


def _reason(outcome: Outcome) -> str:
    codes = list(dict.fromkeys(finding.code for finding in outcome.findings))
    waived = list(dict.fromkeys(waived.finding.code for waived in outcome.waived))
    parts = [joined(codes), f"waived: {joined(waived)}" if waived else "", sentence(outcome.reason)]
    return "; ".join(filter(None, parts))


def about(features: Sequence[str]) -> str:
    """Name what a finding is about, in a cell.

    Examples
    --------
    >>> about(("age", "income")), about(())
    ('age and income', 'the model')
    """
    return joined(items(features), 4) or "the model"


def size_words(finding: Finding) -> str:
    """Return the size as a percentage of the model's skill; empty where it is not stated.

    Examples
    --------
    >>> size_words(Finding(code="UQ1", title="", severity="low", statement="", evidence=("a",), rests_on="", size=0.25))
    "25 % of the model's skill"
    """
    return "" if finding.size is None else f"{100 * finding.size:.3g} % of the model's skill"


def observed_words(finding: Finding) -> str:
    """Return the observed value with its interval in brackets; an interval of another quantity is left out.

    Examples
    --------
    >>> observed_words(Finding(code="UQ1", title="", severity="low", statement="", evidence=("a",), rests_on="",
    ...                        observed=0.05, lower=0.03, upper=0.07))
    '0.050 (0.030 to 0.070)'
    """
    if finding.observed is not None:
        lower, upper = finding.lower, finding.upper
        own = lower is not None and upper is not None and lower <= finding.observed <= upper
        return value_words(finding.observed, lower, upper) if own else value_words(finding.observed)
    around = interval(finding.lower, finding.upper)
    return f"interval {around}" if around else "see the statement"


def threshold_words(finding: Finding) -> str:
    """Return the threshold, or that a verdict decided."""
    return "a verdict, no number" if finding.threshold is None else plain(finding.threshold)


def monitoring(e: RunReader) -> Section:
    """Return the thresholds of checks and of verdicts, the response procedure, and the next review."""
    procedure = (
        ("Response when a threshold is crossed", e.about_cell("response")),
        ("Next review", e.about_cell("next_review")),
    )
    rows = [
        (rule.code, sentence(rule.when), _source(e, f"checks.{outcome.check}"), *_state(outcome, rule))
        for outcome in e.run.outcomes
        for rule in outcome.rules
    ]
    counts = ", ".join(f"{number} {state}" for state, number in Counter(row[3].text for row in rows).items())
    now = f"{count(len(rows), 'rule')}: {counts}." if rows else "No check of this run states a rule."
    columns = ("code", "raised when", "source", "now", "observed, threshold")
    caption = "Rules of the checks, and how they stand now."
    table = tables("monitoring-rules", caption, columns, sorted(rows, key=lambda row: row[0]))
    blocks: tuple[Block, ...] = (*paragraphs(MONITORING_LEAD, now), Facts(rows=procedure), *table, *_margins(e))
    return Section(id="monitoring", title=MONITORING, blocks=blocks)


def _state(outcome: Outcome, rule: RuleRecord) -> tuple[Badge, str]:
    """Return how one rule stands, with the numbers of its worst finding."""
    raised = [f for f in outcome.findings if f.code == rule.code]
    if raised:
        return Badge("raised", "bad" if rule.severity in ("critical", "high") else "warning"), _observed(raised)
    waived = [waived.finding for waived in outcome.waived if waived.finding.code == rule.code]
    if waived:
        return Badge("raised but waived", "neutral"), _observed(waived)
    undecided = _undecided(outcome)
    if rule.code in undecided:
        return undecided[rule.code]
    if outcome.state in NO_VERDICT and not undecided:
        return Badge("not assessed", "unknown"), sentence(outcome.reason)
    return Badge("not raised", "good"), ""


def _undecided(outcome: Outcome) -> dict[str, tuple[Badge, str]]:
    """Return the rules that a check says it could not decide, with what it says of each."""
    codes = "|".join(re.escape(rule.code) for rule in outcome.rules)
    if not codes:
        return {}
    parts = re.split(rf"\b({codes}) ({'|'.join(OPEN_STATES)})[: ]", outcome.reason)[1:]
    reasons = zip(parts[::3], parts[1::3], parts[2::3], strict=True)
    return {code: (Badge(OPEN_STATES[state], "unknown"), clean(why.strip(" ."), 300)) for code, state, why in reasons}


def _observed(findings: list[Finding]) -> str:
    first = findings[0]
    limit = "" if first.threshold is None else f", threshold {threshold_words(first)}"
    more = f"; and {count(len(findings) - 1, 'further finding')}" if len(findings) > 1 else ""
    return f"{observed_words(first)}{limit}{more}"


def _source(e: RunReader, key: str) -> str:
    """Return the settings key that was given for a plugin, or that its defaults hold."""
    options = e.run.settings.get("options")
    own = options.get(key) if isinstance(options, Mapping) else None
    names = sorted(own) if isinstance(own, Mapping) else ()
    return clean(", ".join(f"options.{key}.{option}" for option in names), 200) or DEFAULT


def _margins(e: RunReader) -> tuple[Table, ...]:
    """Return the margins inside which a verdict says “about 0”."""
    rows = [row for result in e.results if len(result.estimates) for row in _margins_of(e, result)]
    columns = ("result", "measure", Column("about 0 within ±", "number"), "unit", "source")
    return tables("monitoring-margins", "Margins of the verdicts.", columns, rows)


def _margins_of(e: RunReader, result: Result) -> list[tuple[object, ...]]:
    margin = pd.to_numeric(optional(result.estimates, col.MARGIN))
    largest = margin.groupby(result.estimates[col.MEASURE].astype(str), sort=False).max().dropna()
    return [
        (name(result.id), e.words(str(m)).title, value, e.words(str(m)).unit, _source(e, result.explainer))
        for m, value in largest.items()
    ]
