"""What was looked for: every rule, what it observed against its limit, and how every check ended."""

from __future__ import annotations

from collections.abc import Sequence

from ...core.references import cite
from ...core.text import count
from ...document.document import Badge, Block, Section, Table, Tone
from ...document.evidence import Evidence, severity_badge
from ...document.text import clean, interval, items, joined, name, plain, sentence, value_words
from ...evidence.finding import Finding, Outcome
from ...rules.rates import rates
from ..optional import paragraphs, tables
from ..rating import NO_VERDICT, tally

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
ENDS = (
    (("found",), "raised findings"),
    (("passed",), "passed"),
    (("ignored",), "raised waived findings only"),
    (NO_VERDICT, "gave no verdict"),
)


def rules(e: Evidence) -> Section:
    """Return every rule of the checks that ran, and what each open finding was judged by."""
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
    columns = ("code", "finding", "at worst", "raised when", "false alarms", "rests on")
    caption = (
        "What every check looks for, and how severe it is. False alarms: audits of honest, fitted models in which the "
        "rule claimed more than an observation, in the design where that was most often."
    )
    blocks: tuple[Block, ...] = tables(
        "rules-table", caption, columns, sorted(rows, key=lambda row: row[0]), note=SEVERITY
    )
    blocks = blocks or paragraphs("No check of this run states a rule.")
    return Section(id="rules", title="Rules and severities", blocks=(*blocks, *_observations(e)))


def _observations(e: Evidence) -> tuple[Table, ...]:
    """Return what was observed against its limit, finding by finding."""
    rows = [(clean(f.code, 20), about(f.features), observed_words(f), threshold_words(f)) for f in e.findings]
    columns = ("finding", "feature", "observed (interval)", "limit")
    return tables("rules-judged", "What the open findings were judged by, in the units of their rules.", columns, rows)


def checks_ended(e: Evidence) -> Section:
    """Return the state of every check, with what it raised or why it gave no verdict."""
    rows = [
        (name(o.title or o.check), Badge(o.state.replace("_", " "), STATES[o.state]), _reason(o))
        for o in e.run.outcomes
    ]
    columns, caption = ("check", "state", "findings or reason"), "Each check ends in exactly one state."
    blocks = (*paragraphs(ended(e)), *tables("checks-table", caption, columns, rows))
    return Section(id="checks", title="How every check ended", blocks=blocks)


def ended(e: Evidence) -> str:
    """Say how many checks raised findings, passed or gave no verdict, and whether all registered ones are among them.

    ``"Of 11 checks 5 raised findings, 4 passed and 2 gave no verdict."``
    """
    ran = len(e.run.outcomes)
    registered = sum(plugin.group.removeprefix("uq_report.") == "rules" for plugin in e.run.plugins)
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
