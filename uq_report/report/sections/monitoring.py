"""Every threshold that was used: its rule, where it comes from, how it stands now, and what happens when crossed."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pandas as pd

from ...core.results import Result
from ...core.text import count
from ...document.document import Badge, Column, Facts, Section, Table
from ...document.evidence import Evidence
from ...document.plots.frames import optional
from ...document.text import clean, name, sentence
from ...evidence import columns as col
from ...evidence.finding import Finding, Outcome, RuleRecord
from ..optional import paragraphs, tables
from ..rating import NO_VERDICT
from .rules import observed_words, threshold_words

TITLE = "Monitoring thresholds"
DEFAULT = "default"
# what checks say of a rule they could not decide -> its state
OPEN_STATES = {"is undetermined": "undetermined", "was not judged": "not assessed"}
LEAD = (
    "These rules were applied to this run. Watched over time they are the thresholds of a monitoring plan; whether "
    "they fit the use of the model is for its owner to decide."
)


def monitoring(e: Evidence) -> Section:
    """Return the thresholds of checks and of verdicts, the response procedure, and the next review."""
    procedure = (("Response when a threshold is crossed", e.about_cell("response")), ("Next review", e.about_cell("next_review")))
    blocks = (*paragraphs(LEAD, _now(e)), Facts(rows=procedure), *_rules(e), *_margins(e))
    return Section(id="monitoring", title=TITLE, blocks=blocks)


def _now(e: Evidence) -> str:
    """Count how the rules stand."""
    states = [_state(outcome, rule)[0].text for outcome in e.run.outcomes for rule in outcome.rules]
    if not states:
        return "No check of this run states a rule."
    counts = [f"{states.count(state)} {state}" for state in dict.fromkeys(states)]
    return f"{count(len(states), 'rule')}: {', '.join(counts)}."


def _rules(e: Evidence) -> tuple[Table, ...]:
    rows = [
        (rule.code, sentence(rule.when), _source(e, f"rules.{outcome.check}"), *_state(outcome, rule))
        for outcome in e.run.outcomes
        for rule in outcome.rules
    ]
    columns = ("code", "raised when", "source", "now", "observed, threshold")
    caption = "Rules of the checks, and how they stand now."
    return tables("monitoring-rules", caption, columns, sorted(rows, key=lambda row: row[0]))


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


def _source(e: Evidence, key: str) -> str:
    """Return the settings key that was given for a plugin, or that its defaults hold."""
    options = e.run.settings.get("options")
    own = options.get(key) if isinstance(options, Mapping) else None
    names = sorted(own) if isinstance(own, Mapping) else ()
    return clean(", ".join(f"options.{key}.{option}" for option in names), 200) or DEFAULT


def _margins(e: Evidence) -> tuple[Table, ...]:
    """Return the margins inside which a verdict says “about 0”."""
    rows = [row for result in e.results if len(result.estimates) for row in _margins_of(e, result)]
    columns = ("result", "measure", Column("about 0 within ±", "number"), "unit", "source")
    return tables("monitoring-margins", "Margins of the verdicts.", columns, rows)


def _margins_of(e: Evidence, result: Result) -> list[tuple[object, ...]]:
    margin = pd.to_numeric(optional(result.estimates, col.MARGIN))
    largest = margin.groupby(result.estimates[col.MEASURE].astype(str), sort=False).max().dropna()
    return [
        (name(result.id), e.words(str(m)).title, value, e.words(str(m)).unit, _source(e, result.explainer))
        for m, value in largest.items()
    ]
