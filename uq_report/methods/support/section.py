"""Extrapolation and support: how many rows, as they are and after shuffling, lie outside what the model was shown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isfinite, isnan
from typing import ClassVar

from ...core.support.numbers import is_number, share_words
from ...core.support.text import count
from ...document import slots
from ...document.blocks import TOP, intervals_caption, left_out, make_figure, make_table, paragraphs
from ...document.document import Block, Column, Paragraph
from ...document.plots import importance
from ...document.text import clean, joined, name, plain, value_words
from ...evidence.rows import (
    OUTSIDE,
    SHUFFLED,
    SupportCopies,
    SupportLine,
    SupportRows,
    SupportShift,
    SupportValues,
    SupportView,
)
from ...evidence.view import largest_first, table_of
from ...reading.run_reader import RunReader
from ...reading.tables import FEATURE, INTERVAL, line_table
from ..shared.wording import ResultSection, named, words_of

LEAD = (
    "A row lies outside the support if it is farther from its nearest training rows than all but a small share of "
    "training rows are. Methods that shuffle or replace a feature make rows of their own: the share of those outside "
    "says how far such numbers rest on extrapolation."
)


class SupportSection(ResultSection[SupportView]):
    """The share of rows outside the training support, as they are and shuffled, and values never seen."""

    name: ClassVar[str] = SupportView.id
    slot: ClassVar[str] = slots.SUPPORT
    shows: ClassVar[tuple[str, ...]] = (
        *(SupportView.id, SupportRows.id, SupportValues.id, SupportShift.id),
        SupportCopies.id,
    )
    of = SupportView
    key = SupportView.id
    title = "Extrapolation and support"
    empty = "No share could be computed."

    def blocks(self, e: RunReader, view: SupportView) -> Iterable[Block]:
        """Return the shares in words, a figure and a table, and the values never seen."""
        shuffled = largest_first(line for line in view.lines if line.item == SHUFFLED)
        yield from paragraphs(LEAD, _shares(view, shuffled))
        yield from _after_shuffles(view, shuffled) if shuffled else ()
        yield from (*_values(e), *_shifted(e), *_copies(e), *left_out(view.result))
        if e.find(SupportRows.id) is not None:
            yield Paragraph(text=f"The conformal p-value of every row stands in the evidence {SupportRows.id}.")


def _shares(view: SupportView, shuffled: Sequence[SupportLine]) -> str:
    """Say how many rows lie outside, against what training rows would give, and which shuffles add most."""
    against = f"; of training rows it would be {value_words(view.expected)}" if isfinite(view.expected) else ""
    sentences = []
    for line in (line for line in view.lines if line.item == OUTSIDE):
        p = "< 0.001" if line.p_value < 0.001 else f"{line.p_value:.3f}"
        test = "" if isnan(line.p_value) else f" (p {p}, one-sided)"
        sentences.append(f"Share of audited rows outside: {words_of(line)}{against}{test}.")
    return " ".join([*sentences, *([f"Largest after shuffling: {named(shuffled[:3])}."] if shuffled else [])])


def _after_shuffles(view: SupportView, shuffled: Sequence[SupportLine]) -> list[Block]:
    """Return the shares after each feature is shuffled, as a figure and as numbers."""
    capped = f", the {TOP} largest of {len(shuffled)}" if len(shuffled) > TOP else ""
    table = table_of(shuffled)
    panel = importance.ImportancePanel("", "share of rows outside the training support", "", table)
    top = joined([f"{name(line.feature)} {value_words(line.estimate)}" for line in shuffled[:3]])
    figure = make_figure(
        "support-figure",
        f"Rows outside the training support after each feature is shuffled{capped}. {intervals_caption(table)}",
        f"A dot with its interval per feature. Largest: {top}.",
        lambda: importance.draw_panels([panel], [line.feature for line in shuffled[:TOP]]),
        view.id,
    )
    fields = (("shuffled feature", FEATURE[1]), (Column("share outside", "number"), "estimate"), INTERVAL)
    return [figure, line_table("support-table", "The same shares as numbers.", shuffled, fields, of=view.result)]


def _values(e: RunReader) -> list[Block]:
    """Return values that do not occur in the training rows."""
    view = SupportValues.find(e.run)
    if view is None:
        return []
    if not view.lines:
        return [Paragraph(text="No feature has a value outside its range or levels in the training rows.")]
    counts = Column("rows", "integer"), Column("of", "integer")
    columns: list[Column | str] = ["feature", "what", *counts, "training bound or levels", Column("p", "pvalue")]
    rows = []
    for line in view.lines:
        bound = plain(line.bound) if is_number(line.bound) else clean(line.bound)
        rows.append((name(line.feature), clean(line.item, 40), int(line.estimate), line.n, bound, line.p_value))
    caption = f"Values of audited rows that no training row has: {count(len(rows), 'line')}. Counts, no intervals."
    return [make_table("support-values", caption, columns, rows, of=view.result)]


def _shifted(e: RunReader) -> list[Block]:
    """Return the columns that are farthest from their distribution in training."""
    view = SupportShift.find(e.run)
    if view is None or not view.lines:
        return []
    lines = largest_first(view.lines)[:TOP]
    fields = (FEATURE, (Column("distance", "number"), "estimate"), INTERVAL, ("how", lambda line: clean(line.item, 80)))
    capped = f", the {TOP} farthest of {len(view.lines)}" if len(view.lines) > TOP else ""
    caption = f"How far columns are from their distribution in training{capped}."
    return [line_table("support-shift", caption, lines, fields, of=view.result)]


def _copies(e: RunReader) -> list[Block]:
    """Say how many observations are near copies of a training observation, here and in training."""
    view = SupportCopies.find(e.run)
    return [
        Paragraph(
            text=f"Near copies of a training observation: {share_words(line.share)} of {line.n} audited observations, "
            f"{share_words(line.share_train)} of {line.n_train} training observations; difference {words_of(line)}."
        )
        for line in (view.lines if view is not None else ())
    ]
