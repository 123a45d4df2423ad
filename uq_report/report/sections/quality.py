"""Faults of the data that mislead importances and scores: gaps, copies, duplicates, rows seen in training."""

from __future__ import annotations

from ...core.results import Result
from ...core.text import count
from ..blocks import left_out, make_table, notes_of
from ..document import Block, Column, Paragraph, Section
from ..evidence import Evidence
from ..text import joined, name
from .extras import extras

TITLE = "Data quality"
KINDS = {
    "missing": "missing values",
    "missing_train": "missing values, training rows",
    "constant": "constant column",
    "copied_column": "copy of a column",
    "sparse": "mostly one value",
    "duplicate_rows": "duplicate rows",
    "overlap": "rows that occur in training",
    "overlap_other_y": "rows that occur in training with another outcome",
    "placeholder": "possible placeholder",
    "rare_class": "rare class",
    "class": "class",
    "type_change": "type differs from training",
}


def quality(e: Evidence) -> Section:
    """Return every fault found as a sentence and a table, or why none was sought."""
    result = e.find("data_quality")
    if result is None:
        return Section(id="data-quality", title=TITLE, blocks=(Paragraph(text=e.why_missing("data_quality")),))
    blocks: list[Block] = [Paragraph(text=_told(result)), *_table(result), *left_out(result)]
    more = extras(e, "data_quality", ("data_quality",))
    return Section(id="data-quality", title=TITLE, blocks=tuple(blocks), sections=more)


def _told(result: Result) -> str:
    """Count the columns or lines of each kind of fault; classes are no fault."""
    table = result.estimates
    faults = table[(table["measure"] != "class") & (table["count"] > 0)]
    numbers = faults.groupby("measure", sort=False).size()
    told = [f"{KINDS.get(str(kind), name(kind))} ({many})" for kind, many in numbers.items()]
    if not told:
        return "None of the faults that were looked for was found."
    return f"Found, with the number of columns or lines: {joined(told, 12)}."


def _table(result: Result) -> list[Block]:
    table = result.estimates
    if not len(table):
        return []
    columns = [Column("what"), Column("column"), Column("detail"), Column("count", "integer"), Column("of", "integer")]
    columns.append(Column("share", "percent"))
    rows = [
        (
            KINDS.get(str(row["measure"]), name(row["measure"])),
            name(row["feature"]) or "all",
            name(row["item"]),
            int(row["count"]),
            int(row["n"]),
            row["estimate"],
        )
        for row in table.to_dict("records")
    ]
    caption = f"{count(len(rows), 'fact')} about the data. These are counts, so there are no intervals."
    return [make_table("data-quality-table", caption, columns, rows, evidence=result.id, note=notes_of(result))]
