"""Where the model is less sure, or more wrong, than elsewhere: the leading segments of rows, in short."""

from __future__ import annotations

from ...document.blocks import make_table
from ...document.document import Block, Column, Section
from ...document.evidence import Evidence
from ...document.text import clean, name, value_words
from ...evidence.segments import SegmentFeatures, SegmentLine, Segments
from ..optional import paragraphs

TITLE = "Where is it unsure or wrong?"
MOST = 4  # segments in the front part
NONE = (
    "No segment of rows that a small tree sets apart is shown to be less sure, or more wrong, than the others on rows "
    "that the tree has not seen."
)


def unsure(e: Evidence) -> Section | None:
    """Return the leading segments with their doubt and loss; None where none were looked for."""
    view = Segments.find(e.run)
    if view is None or not view.lines:
        return None
    keys = view.raised(1)[:MOST]
    blocks: tuple[Block, ...] = paragraphs(NONE)
    if keys:
        titles = [e.words(measure, view.result).title for measure in view.measures]
        columns: list[Column | str] = ["rows where", Column("rows", "integer"), *titles]
        columns.append("brought closest by exchanging")
        rows = [_row(view, key, SegmentFeatures.find(e.run)) for key in keys]
        caption = "Segments of rows that stand out, on rows that did not make them."
        blocks = (make_table("sure-segments-table", caption, columns, rows, evidence=view.id),)
    return Section(id="sure-segments", title=TITLE, blocks=blocks)


def _row(view: Segments, key: str, features: SegmentFeatures | None) -> tuple[str | int, ...]:
    lines = view.of(key)
    first = next(iter(lines.values()))
    closest = None if features is None else features.leading(key, first.grown)
    means = (_mean(lines.get(measure)) for measure in view.measures)
    return (clean(first.item), first.n, *means, "" if closest is None else name(closest.feature))


def _mean(line: SegmentLine | None) -> str:
    return "" if line is None else value_words(line.estimate, line.lower, line.upper)
