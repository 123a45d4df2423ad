"""Every threshold that was used: its rule, where it comes from, how it stands now, and what happens when crossed."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pandas as pd

from ...core.results import Result
from ...core.text import count
from ...document.blocks import make_table
from ...document.document import Badge, Block, Column, Facts, Paragraph, Section
from ...document.evidence import Evidence
from ...document.plots.frames import optional
from ...document.text import clean, name, sentence
from ...evidence import columns as col
from ...evidence.finding import Finding, Outcome, RuleRecord
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
    procedure = Facts(
        rows=(
            ("Response when a threshold is crossed", e.about_cell("response")),
            ("Next review", e.about_cell("next_review")),
        )
    )
    blocks: list[Block] = [Paragraph(text=LEAD), Paragraph(text=_now(e)), procedure, *_rules(e), *_margins(e)]
    return Section(id="monitoring", title=TITLE, blocks=tuple(blocks))


def _now(e: Evidence) -> str:
    """Count how the rules stand."""
    states = [_state(outcome, rule)[0].text for outcome in e.run.outcomes for rule in outcome.rules]
    if not states:
        return "No check of this run states a rule."
    counts = [f"{states.count(state)} {state}" for state in dict.fromkeys(states)]
    return f"{count(len(states), 'rule')}: {', '.join(counts)}."


def _rules(e: Evidence) -> list[Block]:
    rows = []
    for outcome in e.run.outcomes:
        for rule in outcome.rules:
            state, observed = _state(outcome, rule)
            rows.append((rule.code, sentence(rule.when), _source(e, f"rules.{outcome.check}"), state, observed))
    if not rows:
        return []
    columns = ("code", "raised when", "source", "now", "observed, threshold")
    rows.sort(key=lambda row: str(row[0]))
    return [make_table("monitoring-rules", "Rules of the checks, and how they stand now.", columns, rows)]


def _state(outcome: Outcome, rule: RuleRecord) -> tuple[Badge, str]:
    """Return how one rule stands, with the numbers of its worst finding."""
    raised = [f for f in outcome.findings if f.code == rule.code]
    if raised:
        return Badge("raised", "bad" if rule.severity in ("critical", "high") else "warning"), _observed(raised)
    waived = [one.finding for one in outcome.waived if one.finding.code == rule.code]
    if waived:
        return Badge("raised but waived", "neutral"), _observed(waived)
    undecided = _undecided(outcome)
    if rule.code in undecided:
        return undecided[rule.code]
    if outcome.state in ("not_applicable", "skipped") and not undecided:
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
    if not isinstance(own, Mapping) or not own:
        return DEFAULT
    return clean(", ".join(f"options.{key}.{option}" for option in sorted(own)), 200)


def _margins(e: Evidence) -> list[Block]:
    """Return the margins inside which a verdict says “about 0”."""
    rows = [row for result in e.results for row in _margins_of(e, result)]
    if not rows:
        return []
    columns = ("result", "measure", Column("about 0 within ±", "number"), "unit", "source")
    return [make_table("monitoring-margins", "Margins of the verdicts.", columns, rows)]


def _margins_of(e: Evidence, result: Result) -> list[tuple[object, ...]]:
    if not len(result.estimates):
        return []
    margin = pd.to_numeric(optional(result.estimates, col.MARGIN))
    largest = margin.groupby(result.estimates[col.MEASURE].astype(str), sort=False).max().dropna()
    return [
        (name(result.id), e.words(str(m)).title, value, e.words(str(m)).unit, _source(e, result.explainer))
        for m, value in largest.items()
    ]
