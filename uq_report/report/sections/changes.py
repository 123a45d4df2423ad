"""What changed since the previous run: findings, values beyond the interval of their difference, and inputs."""

from __future__ import annotations

from ...core.run import Changes, ValueChange
from ...core.text import count
from ..blocks import make_table
from ..document import Badge, Block, Bullets, Column, Facts, Paragraph, Section, Tone
from ..evidence import Evidence, as_cell
from ..text import clean, items, joined, name, sentence

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
    found = e.run.changes
    if found is None:
        return Section(id="changes", title=TITLE, blocks=(Paragraph(text="No previous run was given."),))
    rows = tuple((name(key).replace("_", " "), as_cell(value)) for key, value in sorted(found.previous.items()))
    blocks: list[Block] = [Paragraph(text=in_short(found)), Facts(rows=rows or (("Previous run", as_cell(None)),))]
    blocks += [*_findings(found), *_values(e, found), *_inputs(found), *_not_compared(found)]
    return Section(id="changes", title=TITLE, blocks=tuple(blocks))


def in_short(found: Changes) -> str:
    """Say in one sentence what changed."""
    numbers = [(kind, sum(one.change == kind for one in found.findings)) for kind in TONES]
    told = joined([f"{number} {kind}" for kind, number in numbers if number]) or "none"
    moved = sum(one.changed for one in found.values)
    differing = count(len(found.inputs), "hash, version or setting", "hashes, versions or settings")
    return (
        f"Findings against the previous run: {told}. Of {count(len(found.values), 'compared value')}, {moved} changed "
        f"beyond what new rows would explain. {differing} {'differs' if len(found.inputs) == 1 else 'differ'}."
    )


def _findings(found: Changes) -> list[Block]:
    moved = [one for one in found.findings if one.change != "unchanged"]
    if not moved:
        return []
    order = list(TONES)
    columns = [Column("code"), Column("change"), Column("finding"), Column("about"), Column("before"), Column("now")]
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


def _values(e: Evidence, found: Changes) -> list[Block]:
    """Return values before and now, those that changed first."""
    if not found.values:
        return []
    columns = [Column("result"), Column("measure"), Column("feature")]
    columns += [Column(label, "number") for label in ("before", "now", "difference", "from", "to")]
    ordered = sorted(found.values, key=lambda one: not one.changed)
    kinds = joined([clean(kind) for kind in dict.fromkeys(one.interval for one in found.values) if kind])
    caption = (
        "Values before and now. Changed: the difference stays apart from 0 when adjusted for all compared values "
        f"(Holm); of ranks, that the two intervals have no rank in common. Intervals: {kinds or 'none'}."
    )
    table = [*columns, Column("changed")]
    return [make_table("changes-values", caption, table, [_value(e, one) for one in ordered])]


def _value(e: Evidence, one: ValueChange) -> tuple[object, ...]:
    known = one.lower is not None and one.upper is not None
    said = Badge("changed", "warning") if one.changed else "not shown" if known else "no interval"
    about = name(one.feature) if one.feature else "all"
    told = (name(one.result), e.words(one.measure).title if one.measure else "", about)
    return (*told, one.before, one.now, one.difference, one.lower, one.upper, said)


def _inputs(found: Changes) -> list[Block]:
    if not found.inputs:
        return [Paragraph(text="No hash, version or setting differs.")]
    rows = [(name(one.what), clean(one.before or "none", 120), clean(one.now or "none", 120)) for one in found.inputs]
    columns = [Column("input"), Column("before"), Column("now")]
    return [make_table("changes-inputs", "Hashes, versions and settings that differ.", columns, rows)]


def _not_compared(found: Changes) -> list[Block]:
    told = tuple(f"Not compared: {clean(one).rstrip('.')}." for one in found.not_compared)
    return [Bullets(items=told)] if told else []
