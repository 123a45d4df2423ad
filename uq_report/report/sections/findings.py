"""The findings register: every finding with its evidence, and how every check ended."""

from __future__ import annotations

from ...core.finding import Finding, Outcome
from ..blocks import make_table
from ..document import Badge, Block, Callout, Column, Paragraph, Section, Tone
from ..evidence import SEVERITY_TONES, Evidence, severity_badge
from ..text import count, interval, items, joined, name, sentence

TOLD = 15  # findings in full words
RULE = (
    "Severity: critical, unfit for the stated use; high, a conclusion or a limit of use changes; medium, a weakness "
    "with a compensating control; low, documentation; observation, nothing to do. The overall rating is the worst "
    "open finding."
)
STATES: dict[str, Tone] = {
    "found": "warning",
    "passed": "good",
    "not_applicable": "unknown",
    "skipped": "unknown",
    "ignored": "unknown",
}


def findings(e: Evidence) -> Section:
    """Return the register, worst first, and the state of every check."""
    blocks: list[Block] = [Paragraph(text=RULE)]
    if not e.findings:
        blocks.append(Paragraph(text="No finding is open."))
    blocks += [_told(finding) for finding in e.findings[:TOLD]]
    if len(e.findings) > TOLD:
        blocks.append(_register(e))
    checks = Section(id="findings-checks", title="How every check ended", blocks=_checks(e))
    return Section(id="findings", title="Findings", blocks=tuple(blocks), sections=(checks,))


def _told(finding: Finding) -> Callout:
    return Callout(
        tone=SEVERITY_TONES[finding.severity],
        title=f"{finding.code} ({finding.severity}): {sentence(finding.title)}",
        text=" ".join(filter(None, (sentence(finding.statement), _numbers(finding), _basis(finding)))),
        evidence=finding.evidence,
    )


def _numbers(finding: Finding) -> str:
    """Say what was observed, with its interval, against which threshold."""
    from_to = interval(finding.lower, finding.upper)
    parts = [
        f"observed {finding.observed:.4g}" if finding.observed is not None else "",
        f"interval {from_to}" if from_to else "",
        f"threshold {finding.threshold:.4g}" if finding.threshold is not None else "",
    ]
    told = ", ".join(filter(None, parts))
    return f"{told[0].upper()}{told[1:]}." if told else ""


def _basis(finding: Finding) -> str:
    remedy = f"What to do: {sentence(finding.remedy)} " if finding.remedy else ""
    return f"{remedy}Rests on: {sentence(finding.rests_on)} Owner and due date: open, to be completed."


def _register(e: Evidence) -> Block:
    columns = [Column("code"), Column("severity"), Column("finding"), Column("about"), Column("evidence")]
    rows = [
        (
            f.code,
            severity_badge(f.severity),
            sentence(f.title),
            joined(items((*f.features, *f.measures))),
            ", ".join(f.evidence),
        )
        for f in e.findings
    ]
    caption = f"All {count(len(e.findings), 'finding')}, worst first; the first {TOLD} stand above in words."
    return make_table("findings-register", caption, columns, rows)


def _checks(e: Evidence) -> tuple[Block, ...]:
    if not e.run.outcomes:
        return (Paragraph(text="No check was run."),)
    rows = [(name(o.check), Badge(o.state.replace("_", " "), STATES[o.state]), _reason(o)) for o in e.run.outcomes]
    columns = [Column("check"), Column("state"), Column("reason or findings")]
    return (make_table("findings-states", "Each registered check ends in exactly one state.", columns, rows),)


def _reason(outcome: Outcome) -> str:
    codes = list(dict.fromkeys(finding.code for finding in outcome.findings))
    return joined(codes) if codes else sentence(outcome.reason)
