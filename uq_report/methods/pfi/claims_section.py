"""Claimed and delivered importance: of what the model claims its features to be worth, what unseen rows confirm."""

from __future__ import annotations

from math import isfinite
from typing import ClassVar

from ...document import slots
from ...document.blocks import interval_columns, intervals_caption, left_out, make_figure, make_table, notes_of
from ...document.document import Block, Column, Paragraph, Section, Table
from ...document.text import name, value_words
from ...evidence.importance import ALL_FEATURES, CLAIMED, DELIVERED, DIFFERENCE, Claims
from ...evidence.view import by_feature, largest_first, table_of
from ...reading.run_reader import RunReader
from ...reading.tables import FEATURE, INTERVAL, line_table
from ..shared.wording import BuiltInSection, absent, named, words_of

LED = 3  # features named where nothing is delivered
TITLE = "Claimed and delivered importance"
LEAD = (
    "When values of a feature are wrong, the model expects its loss to rise by what it claims; the outcomes of unseen "
    "rows show what it delivers. The two are equal in expectation for a model whose stated probabilities are right. "
    "More claimed than delivered: over-fitted, over-confident, or leaking; less: it makes too little of the feature."
)


class ClaimsSection(BuiltInSection):
    """The claim of all features together in a sentence, then claimed against delivered by feature."""

    name: ClassVar[str] = "claims"
    slot: ClassVar[str] = slots.CLAIMS
    shows: ClassVar[tuple[str, ...]] = (Claims.id,)

    def section(self, evidence: RunReader) -> Section | None:
        """Return the sentence, the figure and the table, or why no claim is judged; None where none was computed."""
        view = Claims.find(evidence.run)
        if view is None:
            return None
        if not view.lines:
            empty = Section(id="claims", title=TITLE)
            return absent(evidence, empty, Claims.id, view, "No claim could be computed.")
        if not view.part(DELIVERED):
            return _unconfirmed(evidence, view)
        words = _together(evidence, view)
        caption = "Claimed against delivered importance; on the dashed line the model is honest."
        blocks = (Paragraph(text=LEAD), *_figure(evidence, view, words, caption, DELIVERED), _table(evidence, view))
        return Section(id="claims", title=TITLE, blocks=(*blocks, *left_out(view.result)))


def _figure(e: RunReader, view: Claims, words: str, caption: str, item: str) -> tuple[Block, Block]:
    """Return the sentence and the figure under it."""
    text = f"{caption} {intervals_caption(table_of(view.part(item)))}"
    return Paragraph(text=words), make_figure("claims-figure", text, words, lambda: e.draw(view.result), view.id)


def _unconfirmed(e: RunReader, view: Claims) -> Section:
    """Return the section of an audit without outcomes: what is claimed only."""
    lines, unit = largest_first(view.part(CLAIMED)), e.words(view.measures[0], view.result).unit
    leading = named([line for line in lines if line.feature != ALL_FEATURES][:LED], unit)
    words = f"By the model's own account wrong values would cost most of {leading}. Without outcomes "
    words += "nothing shows whether unseen rows confirm it."
    caption = "Claimed importance, largest first."
    figure = _figure(e, view, words, caption, CLAIMED)
    fields = (FEATURE, (Column("claimed", "number", unit), "estimate"), INTERVAL)
    table = line_table("claims-table", caption, lines, fields, of=view.result)
    return Section(id="claims", title="Claimed importance", blocks=(*figure, table, *left_out(view.result)))


def _together(e: RunReader, view: Claims) -> str:
    """Say what all features together claim, what is delivered, and the share."""
    claimed, delivered, whole = (
        by_feature(view.part(item)).get(ALL_FEATURES) for item in (CLAIMED, DELIVERED, DIFFERENCE)
    )
    if claimed is None or whole is None:
        return "All features together could not be judged."
    unit = e.words(claimed.measure, view.result).unit
    share = value_words(100 * whole.share, 100 * whole.share_lower, 100 * whole.share_upper, "%")
    sure = isfinite(whole.share_lower) and not whole.unreliable
    return (
        f"Wrong values of all features together would cost {words_of(claimed, unit=unit)} by the model's own account; "
        f"the outcomes show {words_of(delivered, unit=unit)}{f': a delivered share of {share}' if sure else ''}."
    )


def _table(e: RunReader, view: Claims) -> Table:
    claimed, delivered = (by_feature(view.part(item)) for item in (CLAIMED, DELIVERED))
    unit = e.words(view.measures[0], view.result).unit
    interval = interval_columns(table_of(view.part(DELIVERED)))
    columns = [Column("feature"), Column("claimed", "number", unit), Column("delivered", "number", unit), *interval]
    columns += [Column("delivered share", "percent"), Column("p", "pvalue")]
    rows = []
    for line in sorted(view.part(DIFFERENCE), key=lambda line: -claimed[line.feature].estimate):
        claim, value = claimed[line.feature].estimate, delivered[line.feature]
        sure = claim >= view.margin and not line.unreliable and isfinite(line.share_lower)
        ends = (value.lower, value.upper) if interval else ()
        share = line.share if sure else float("nan")
        rows.append((name(line.feature), claim, value.estimate, *ends, share, line.p_value))
    intervals = intervals_caption(table_of(view.part(DELIVERED)))
    caption = f"Claimed and delivered importance, largest claim first. {intervals}"
    note = (
        f"{notes_of(view.result)} No share is given where less than the margin is claimed or its interval is in doubt."
    )
    return make_table("claims-table", caption, columns, rows, evidence=view.id, note=note)
