"""What changed since the previous run: findings, values beyond the interval of their difference, and inputs."""

from __future__ import annotations

from ...core.text import count
from ...document.blocks import make_table
from ...document.document import Badge, Block, Bullets, Column, Facts, Paragraph, Section, Tone
from ...document.evidence import Evidence, as_cell
from ...document.text import clean, items, joined, name, sentence
from ...evidence.run import UNRELATED, Changes, ValueChange

TITLE = "Changes since the previous run"
TONES: dict[str, Tone] = {
    "new": "bad",
    "worse": "bad",
    "better": "good",
    "closed": "good",
    "unchanged": "neutral",
}
CLOSED = "A finding that is closed is no longer raised; whether its cause is gone is for people to say."


def changes(e: Evidence) -> Section:
    """Return the comparison, or the one sentence that there was nothing to compare with."""
    since = e.run.changes
    if since is None:
        return Section(id="changes", title=TITLE, blocks=(Paragraph(text="No previous run was given."),))
    facts = sorted((key, value) for key, value in since.previous.items() if key != UNRELATED)
    rows = tuple((name(key).replace("_", " "), as_cell(value)) for key, value in facts)
    blocks: list[Block] = [Paragraph(text=in_short(since)), Facts(rows=rows or (("Previous run", as_cell(None)),))]
    if since.unrelated:
        return Section(id="changes", title=TITLE, blocks=(*blocks, *_not_compared(since)))
    blocks += [*_findings(since), *_values(e, since), *_inputs(since), *_not_compared(since)]
    return Section(id="changes", title=TITLE, blocks=tuple(blocks))


def in_short(since: Changes) -> str:
    """Say in one sentence what changed, or that the two runs are unrelated."""
    if since.unrelated:
        return f"{clean(since.unrelated)}."
    numbers = [(kind, sum(one.change == kind for one in since.findings)) for kind in TONES]
    findings = joined([f"{number} {kind}" for kind, number in numbers if number]) or "none"
    moved = sum(one.changed for one in since.values)
    differing = count(len(since.inputs), "hash, version or setting", "hashes, versions or settings")
    return (
        f"Findings against the previous run: {findings}. Of {count(len(since.values), 'compared value')}, {moved} "
        f"changed beyond what new rows would explain. {differing} {'differs' if len(since.inputs) == 1 else 'differ'}."
    )


def _findings(since: Changes) -> list[Block]:
    moved = [one for one in since.findings if one.change != "unchanged"]
    if not moved:
        return []
    order = list(TONES)
    columns = [Column(label) for label in ("code", "change", "finding", "about", "before", "now")]
    rows = [
        (
            clean(one.code, 20),
            Badge(one.change, TONES[one.change]),
            sentence(one.title),
            joined(items(one.features), 4) or "the model",
            one.before or "none",
            one.now or "none",
        )
        for one in sorted(moved, key=lambda one: order.index(one.change))
    ]
    return [make_table("changes-findings", f"Findings that changed. {CLOSED}", columns, rows)]


def _values(e: Evidence, since: Changes) -> list[Block]:
    """Return values before and now, those that changed first."""
    if not since.values:
        return []
    columns = [Column("result"), Column("measure"), Column("feature")]
    columns += [Column(label, "number") for label in ("before", "now", "difference", "from", "to")]
    ordered = sorted(since.values, key=lambda one: not one.changed)
    kinds = joined([clean(kind) for kind in dict.fromkeys(one.interval for one in since.values) if kind])
    caption = (
        "Values before and now. Changed: the difference stays apart from 0 when adjusted for all compared values "
        f"(Holm); of ranks, that the two intervals have no rank in common. Intervals: {kinds or 'none'}."
    )
    table = [*columns, Column("changed")]
    return [make_table("changes-values", caption, table, [_value(e, one) for one in ordered])]


def _value(e: Evidence, one: ValueChange) -> tuple[object, ...]:
    interval = one.lower is not None and one.upper is not None
    verdict = Badge("changed", "warning") if one.changed else "not shown" if interval else "no interval"
    about = name(one.feature) if one.feature else "all"
    names = (name(one.result), e.words(one.measure).title if one.measure else "", about)
    return (*names, one.before, one.now, one.difference, one.lower, one.upper, verdict)


def _inputs(since: Changes) -> list[Block]:
    if not since.inputs:
        return [Paragraph(text="No hash, version or setting differs.")]
    rows = [(name(one.what), clean(one.before or "none", 120), clean(one.now or "none", 120)) for one in since.inputs]
    columns = ("input", "before", "now")
    return [make_table("changes-inputs", "Hashes, versions and settings that differ.", columns, rows)]


def _not_compared(since: Changes) -> list[Block]:
    sentences = tuple(f"Not compared: {clean(one).rstrip('.')}." for one in since.not_compared)
    return [Bullets(items=sentences)] if sentences else []
