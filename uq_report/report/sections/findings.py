"""The findings register: every open finding with its evidence and owner, the waived ones, rules, and checks."""

from __future__ import annotations

from collections.abc import Iterator

from ...core.references import cite
from ...core.text import count
from ...document.blocks import make_table
from ...document.document import Badge, Block, Callout, Cell, Facts, Paragraph, Section, Tone
from ...document.evidence import OPEN, SEVERITY_TONES, Evidence, severity_badge
from ...document.text import clean, interval, items, joined, name, plain, sentence, value_words
from ...evidence.finding import Finding, Outcome, by_cause
from ...rules.rates import rates
from ..rating import RULE
from .waivers import waivers

TITLE = "Findings register"
SEVERITY = (
    "Severity: critical, unfit for the stated use; high, a conclusion or a limit of use changes; medium, a weakness "
    "with a compensating control; low, documentation; observation, nothing to do."
)
STATES: dict[str, Tone] = {
    "found": "warning",
    "passed": "good",
    "not_applicable": "unknown",
    "skipped": "unknown",
    "ignored": "neutral",
}


def findings(e: Evidence) -> Section:
    """Return the register, worst first, each finding in full, waivers, rules, and the state of every check."""
    blocks: list[Block] = [Paragraph(text=f"{SEVERITY} Overall rating: {RULE}")]
    blocks += [_register(e)] if e.findings else [Paragraph(text=nothing_open(e))]
    parts = (
        _in_full(e),
        waivers(e),
        Section(id="findings-rules", title="Rules and severities", blocks=_rules(e)),
        Section(id="findings-checks", title="How every check ended", blocks=_checks(e)),
    )
    return Section(
        id="findings", title=TITLE, blocks=tuple(blocks), sections=tuple(part for part in parts if part is not None)
    )


def nothing_open(e: Evidence) -> str:
    """Say that no finding is open, and that this is no pass where nothing was looked for."""
    if not e.run.outcomes:
        return "No check was run, so nothing was looked for."
    waived = f" {count(len(e.waived), 'finding')} {'is' if len(e.waived) == 1 else 'are'} waived." if e.waived else ""
    return f"No finding is open.{waived}"


def _register(e: Evidence) -> Block:
    columns = ("code", "severity", "finding", "about", "owner", "due", "since the previous run")
    arranged = by_cause(e.findings)
    rows = [
        (f.code, severity_badge(f.severity), _titled(f, cause), _about(f), *_followers(e, f), e.since(f))
        for f, cause in arranged
    ]
    explained = sum(cause is not None for _, cause in arranged)
    order = "worst first"
    if explained:
        order += f"; {explained} of them {'stands' if explained == 1 else 'stand'} under the one that explains it"
    caption = f"All {count(len(e.findings), 'open finding')}, {order}."
    return make_table("findings-register", caption, columns, rows)


def _titled(finding: Finding, cause: Finding | None) -> str:
    return sentence(finding.title) if cause is None else f"{sentence(finding.title)} It is {explained_by(cause)}."


def explained_by(cause: Finding) -> str:
    """Name the finding that explains another one."""
    features = f" ({joined(items(cause.features), 4)})" if cause.features else ""
    return f"explained by {clean(cause.code, 20)}{features}"


def _followers(e: Evidence, finding: Finding) -> tuple[Cell, ...]:
    """Return owner and due date, as short as a narrow column needs."""
    return tuple(Badge("open", "unknown") if cell == OPEN else cell for cell in e.action(finding))


def _about(finding: Finding) -> str:
    return joined(items(finding.features), 4) or "the model"


def _in_full(e: Evidence) -> Section | None:
    """Return every open finding with its numbers, what it rests on and what to do."""
    if not e.findings:
        return None
    arranged = by_cause(e.findings)
    blocks = [block for finding, cause in arranged for block in (about_finding(finding), _followed(e, finding, cause))]
    return Section(id="findings-open", title="Open findings in full", blocks=tuple(blocks))


def about_finding(finding: Finding) -> Callout:
    """Return a finding's statement with its evidence."""
    about = f" ({joined(items(finding.features), 4)})" if finding.features else ""
    return Callout(
        tone=SEVERITY_TONES[finding.severity],
        title=f"{clean(finding.code, 20)} ({finding.severity}): {clean(finding.title)}{about}",
        text=sentence(finding.statement),
        evidence=finding.evidence,
    )


def _followed(e: Evidence, finding: Finding, cause: Finding | None) -> Facts:
    """Return the numbers of a finding, its source, what to do, and who does it until when."""
    owner, due = e.action(finding)
    stated = (
        ("Affected", sentence(finding.affected)),
        ("Size", size_words(finding)),
        ("Cause", "" if cause is None else sentence(explained_by(cause))),
    )
    return Facts(
        rows=(
            ("Observed (its interval)", observed_words(finding)),
            ("Threshold", threshold_words(finding)),
            *(row for row in stated if row[1]),
            ("Rests on", sentence(cite(finding.rests_on))),
            ("What to do", sentence(finding.remedy) or "not stated"),
            ("Owner and due date", OPEN if owner == OPEN else f"{owner}, until {due}"),
            ("Since the previous run", e.since(finding)),
        )
    )


def size_words(finding: Finding) -> str:
    """Return the size as a percentage of the model's skill; empty where it is not stated.

    Examples
    --------
    >>> size_words(Finding(code="UQ1", title="", severity="low", statement="", evidence=("a",), rests_on="", size=0.25))
    "25 % of the model's skill"
    """
    return "" if finding.size is None else f"{100 * finding.size:.3g} % of the model's skill"


def observed_words(finding: Finding) -> str:
    """Return the observed value with its interval in brackets.

    Examples
    --------
    >>> observed_words(Finding(code="UQ1", title="", severity="low", statement="", evidence=("a",), rests_on="",
    ...                        observed=0.05, lower=0.03, upper=0.07))
    '0.050 (0.030 to 0.070)'
    """
    if finding.observed is not None:
        return value_words(finding.observed, finding.lower, finding.upper)
    around = interval(finding.lower, finding.upper)
    return f"interval {around}" if around else "see the statement"


def threshold_words(finding: Finding) -> str:
    """Return the threshold, or that a verdict decided."""
    return "a verdict, no number" if finding.threshold is None else plain(finding.threshold)


def _rules(e: Evidence) -> tuple[Block, ...]:
    measured = rates()
    rows = [
        (
            rule.code,
            sentence(rule.title),
            severity_badge(rule.severity),
            sentence(rule.when),
            measured[rule.code].words if rule.code in measured else "not measured",
            cite(rule.rests_on),
        )
        for outcome in e.run.outcomes
        for rule in outcome.rules
    ]
    if not rows:
        return (Paragraph(text="No check of this run states a rule."),)
    columns = ("code", "finding", "at worst", "raised when", "false alarms", "rests on")
    caption = (
        "What every check looks for, and how severe it is. False alarms: audits of honest, fitted models in which the "
        "rule claimed more than an observation, in the design where that was most often."
    )
    return (make_table("findings-rules-table", caption, columns, sorted(rows, key=lambda row: row[0])),)


def _checks(e: Evidence) -> tuple[Block, ...]:
    if not e.run.outcomes:
        return (Paragraph(text="No check was run."),)
    rows = [
        (name(o.title or o.check), Badge(o.state.replace("_", " "), STATES[o.state]), _reason(o))
        for o in e.run.outcomes
    ]
    columns = ("check", "state", "findings or reason")
    table = make_table("findings-states", "Each check ends in exactly one state.", columns, rows)
    return (Paragraph(text=ended(e)), table)


def ended(e: Evidence) -> str:
    """Count the checks by how they ended, against the registered ones."""
    states = joined([f"{number_of} {state.replace('_', ' ')}" for state, number_of in _states(e)]) or "none"
    registered = sum(plugin.group.removeprefix("uq_report.") == "rules" for plugin in e.run.plugins)
    ran = len(e.run.outcomes)
    if registered == ran:
        return f"{count(ran, 'check')} registered: {states}."
    return f"{count(ran, 'check')}: {states}. Registered are {registered}: the run does not account for all of them."


def _states(e: Evidence) -> Iterator[tuple[str, int]]:
    for state in STATES:
        number_of = sum(outcome.state == state for outcome in e.run.outcomes)
        if number_of:
            yield state, number_of


def _reason(outcome: Outcome) -> str:
    codes = list(dict.fromkeys(finding.code for finding in outcome.findings))
    waived = list(dict.fromkeys(one.finding.code for one in outcome.waived))
    parts = [joined(codes), f"waived: {joined(waived)}" if waived else "", sentence(outcome.reason)]
    return "; ".join(filter(None, parts))
