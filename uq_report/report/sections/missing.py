"""What was not run, left out or not judged, each with its reason; and what only people can judge."""

from __future__ import annotations

from ..blocks import make_table
from ..document import Block, Bullets, Column, Paragraph, Section
from ..evidence import Evidence
from ..text import clean, count, name, sentence

PEOPLE = (
    "Purpose, intended users and materiality of the model.",
    "Whether the features may be used for this purpose, by law and by policy.",
    "Whether the direction of each effect agrees with what is known of the subject.",
    "Whether the audited rows stand for the population the model is used on.",
    "Independence of the validation, approval and sign-off.",
)


def not_run(e: Evidence) -> Section:
    """Return everything a reader might look for and not find."""
    blocks: list[Block] = [Paragraph(text="A part that is missing here was neither passed nor failed.")]
    blocks += [*_parts(e), *_omissions(e), *_checks(e)]
    people = Section(
        id="people",
        title="What only people can judge",
        blocks=(
            Paragraph(text="This report holds no evidence on the following; it is open, to be completed."),
            Bullets(items=PEOPLE),
        ),
    )
    return Section(id="not-run", title="What was not run, and why", blocks=tuple(blocks), sections=(people,))


def _parts(e: Evidence) -> list[Block]:
    if not e.run.not_run:
        return [Paragraph(text="Every explainer and check that was asked for ran.")]
    rows = [
        (clean(entry.group).removeprefix("uq_report."), name(entry.name), sentence(entry.reason))
        for entry in e.run.not_run
    ]
    return [
        make_table(
            "not-run-table",
            "Explainers and checks that did not run.",
            [Column("group"), Column("name"), Column("reason")],
            rows,
        )
    ]


def _omissions(e: Evidence) -> list[Block]:
    """Return every omission once, with the results that share it."""
    shared: dict[tuple[str, str, str], list[str]] = {}
    for result in e.run.results:
        for gap in result.omissions:
            ids = shared.setdefault((gap.measure, gap.feature, gap.reason), [])
            if result.id not in ids:
                ids.append(result.id)
    if not shared:
        return [Paragraph(text="No part that ran left anything out.")]
    rows = [
        (", ".join(ids), name(measure) if measure else "all", name(feature) if feature else "all", sentence(reason))
        for (measure, feature, reason), ids in shared.items()
    ]
    columns = [Column("result"), Column("measure"), Column("feature"), Column("reason")]
    return [
        make_table(
            "not-run-omissions",
            f"Left out inside parts that ran: {count(len(rows), 'entry', 'entries')}.",
            columns,
            rows,
        )
    ]


def _checks(e: Evidence) -> list[Block]:
    rows = [
        (name(o.check), o.state.replace("_", " "), sentence(o.reason))
        for o in e.run.outcomes
        if o.state not in ("found", "passed")
    ]
    if not rows:
        return []
    columns = [Column("check"), Column("state"), Column("reason")]
    return [make_table("not-run-checks", "Checks that reached no verdict.", columns, rows)]
