"""Faults of the data that mislead importances and scores: gaps, copies, duplicates, rows seen in training."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import ClassVar

from ...core.support.text import count
from ...document import slots
from ...document.blocks import TOP, left_out, make_table
from ...document.document import Block, Column, Paragraph, Table
from ...document.text import joined, name
from ...evidence.rows import CLASS, DataQualityView, MissingView
from ...evidence.view import largest_first
from ...reading.run_reader import RunReader
from ...reading.tables import FEATURE, INTERVAL, line_table
from ..shared.wording import ResultSection

KINDS = {
    "missing": "missing values",
    "missing_train": "missing values, training sample",
    "constant": "constant column",
    "copied_column": "copy of a column",
    "sparse": "mostly one value",
    "duplicate_rows": "duplicate observations",
    "overlap": "observations that occur in training",
    "overlap_other_y": "observations that occur in training with another outcome",
    "placeholder": "possible placeholder",
    CLASS: "class",
    "type_change": "type differs from training",
}


class QualitySection(ResultSection[DataQualityView]):
    """Every fault of the data as a sentence and a table, or why none was sought."""

    name: ClassVar[str] = "quality"
    slot: ClassVar[str] = slots.QUALITY
    shows: ClassVar[tuple[str, ...]] = (DataQualityView.id, MissingView.id)
    of = DataQualityView
    key = "data-quality"
    title = "Data quality"

    def blocks(self, e: RunReader, view: DataQualityView) -> Iterable[Block]:
        """Return the number of faults of each kind, and every count."""
        tables = (_table(view),) if view.lines else ()
        return (Paragraph(text=_faults(view)), *tables, *_missing(e), *left_out(view.result))


def _missing(e: RunReader) -> list[Table]:
    """Return the differences of the shares of missing values, where there are some."""
    view = MissingView.find(e.run)
    if view is None or not view.lines:
        return []
    lines = largest_first(view.lines)[:TOP]
    shares = (Column("share", "percent"), "share"), (Column("share in training", "percent"), "share_train")
    caption = "Missing values, and the difference of their share to that in training."
    return [line_table("data-quality-missing", caption, lines, (FEATURE, *shares, INTERVAL), of=view.result)]


def _faults(view: DataQualityView) -> str:
    """Count the columns or lines of each kind of fault; classes are no fault."""
    numbers = Counter(line.measure for line in view.lines if line.measure != CLASS and line.count > 0)
    if not numbers:
        return "None of the faults that were looked for was found."
    kinds = [f"{KINDS.get(kind, name(kind))} ({many})" for kind, many in numbers.items()]
    return f"Found, with the number of columns or lines: {joined(kinds, 12)}."


def _table(view: DataQualityView) -> Table:
    counts = Column("count", "integer"), Column("of", "integer"), Column("share", "percent")
    rows = []
    for line in view.lines:
        what = (KINDS.get(line.measure, name(line.measure)), name(line.feature) or "all", name(line.item))
        rows.append((*what, line.count, line.n, line.estimate))
    caption = f"{count(len(rows), 'fact')} about the data. These are counts, so there are no intervals."
    return make_table("data-quality-table", caption, ("what", "column", "detail", *counts), rows, of=view.result)
