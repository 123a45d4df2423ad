"""Extrapolation: how many observations, as they are and permuted, are outside the training domain; shifted features."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import isfinite, isnan
from typing import TYPE_CHECKING, Any, ClassVar

from ...core.model.results import Result
from ...core.support.numbers import is_number, share_words
from ...core.support.text import count
from ...document import slots
from ...document.blocks import TOP, intervals_caption, left_out, make_figure, make_table, paragraphs
from ...document.document import Block, Column, Paragraph
from ...document.plots import importance, style
from ...document.plots.registered import figure_plugin
from ...document.text import clean, joined, name, plain, value_words
from ...evidence import columns as col
from ...evidence import ids
from ...evidence.rows import (
    OUTSIDE,
    SHUFFLED,
    SupportCopies,
    SupportDistribution,
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

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(result: Result, features: Sequence[str] | None = None) -> Figure:
    """Draw the share of training and test sample by bin or level, a panel for each of the first four features.

    Parameters
    ----------
    result : Diagnostic
        ``support.distribution``.
    features : sequence of str, optional
        The features to draw; the first ones by default.
    """
    view, frame = SupportDistribution.from_result(result), result.frame
    chosen = [feature for feature in features or view.edges if feature in view.edges][:PANELS]
    with style.drawing(1.7) as figure:
        for axes, feature in zip(figure.subplots(1, len(chosen), squeeze=False)[0], chosen, strict=True):
            style.plain(axes, "y")
            own, edges = frame[frame[col.FEATURE] == feature], view.edges[feature]
            for item, look in SAMPLES.items():
                axes.stairs(own.loc[own[col.ITEM] == item, col.VALUE], edges, **look)
            if labels := view.labels.get(feature):
                axes.set_xticks(range(len(labels)), [style.name(label, 10) for label in labels], rotation=30)
            axes.set_xlabel(style.name(feature))
        figure.axes[0].set_ylabel("share")
        key = [style.patch(color=look["color"], label=f"{item} sample") for item, look in SAMPLES.items()]
        style.key(figure, key, columns=2)
    return figure


DistributionFigure = figure_plugin(ids.SUPPORT_DISTRIBUTION, draw)
PANELS = 4
SAMPLES: Mapping[str, dict[str, Any]] = {
    "training": {"color": style.SPREAD, "fill": True},
    "test": {"color": style.ROLE["prediction"], "linewidth": 1.6},
}
LEAD = (
    "An observation is outside the training domain if it is farther from its nearest training observations than all "
    "but a small share of the training observations are from theirs. Methods that permute or replace a feature make "
    "new observations: the share of these that is outside shows how far such numbers rest on extrapolation."
)


class SupportSection(ResultSection[SupportView]):
    """The share of rows outside the training support, as they are and shuffled, and values never seen."""

    name: ClassVar[str] = SupportView.id
    slot: ClassVar[str] = slots.SUPPORT
    shows: ClassVar[tuple[str, ...]] = (
        *(SupportView.id, SupportRows.id, SupportValues.id, SupportShift.id),
        *(SupportCopies.id, SupportDistribution.id),
    )
    of = SupportView
    key = SupportView.id
    title = "Extrapolation"
    empty = "No share could be computed."

    def blocks(self, e: RunReader, view: SupportView) -> Iterable[Block]:
        """Return the shares in words, a figure and a table, and the values never seen."""
        shuffled = largest_first(line for line in view.lines if line.item == SHUFFLED)
        yield from paragraphs(LEAD, _shares(view, shuffled))
        yield from _after_shuffles(view, shuffled) if shuffled else ()
        yield from (*_values(e), *_shifted(e), *_copies(e), *left_out(view.result))
        if e.find(SupportRows.id) is not None:
            yield Paragraph(text=f"The evidence {SupportRows.id} has the conformal p-value of every observation.")


def _shares(view: SupportView, shuffled: Sequence[SupportLine]) -> str:
    """Say how many rows lie outside, against what training rows would give, and which shuffles add most."""
    against = f"; of training observations it would be {value_words(view.expected)}" if isfinite(view.expected) else ""
    sentences = []
    for line in (line for line in view.lines if line.item == OUTSIDE):
        p = "< 0.001" if line.p_value < 0.001 else f"{line.p_value:.3f}"
        test = "" if isnan(line.p_value) else f" (p {p}, one-sided)"
        sentences.append(f"Share of the test sample outside: {words_of(line)}{against}{test}.")
    return " ".join([*sentences, *([f"Largest after permutation: {named(shuffled[:3])}."] if shuffled else [])])


def _after_shuffles(view: SupportView, shuffled: Sequence[SupportLine]) -> list[Block]:
    """Return the shares after each feature is shuffled, as a figure and as numbers."""
    capped = f", the {TOP} largest of {len(shuffled)}" if len(shuffled) > TOP else ""
    table = table_of(shuffled)
    panel = importance.ImportancePanel("", "share of observations outside the training domain", "", table)
    top = joined([f"{name(line.feature)} {value_words(line.estimate)}" for line in shuffled[:3]])
    figure = make_figure(
        "support-figure",
        f"Observations outside the training domain after each feature is permuted{capped}. {intervals_caption(table)}",
        f"A dot with its interval per feature. Largest: {top}.",
        lambda: importance.draw_panels([panel], [line.feature for line in shuffled[:TOP]]),
        view.id,
    )
    fields = (("permuted feature", FEATURE[1]), (Column("share outside", "number"), "estimate"), INTERVAL)
    return [figure, line_table("support-table", "The same shares as numbers.", shuffled, fields, of=view.result)]


def _values(e: RunReader) -> list[Block]:
    """Return values that do not occur in the training rows."""
    view = SupportValues.find(e.run)
    if view is None:
        return []
    if not view.lines:
        return [Paragraph(text="No feature has a value outside its range or levels in the training sample.")]
    counts = Column("observations", "integer"), Column("of", "integer")
    columns: list[Column | str] = ["feature", "what", *counts, "training bound or levels", Column("p", "pvalue")]
    rows = []
    for line in view.lines:
        bound = plain(line.bound) if is_number(line.bound) else clean(line.bound)
        rows.append((name(line.feature), clean(line.item, 40), int(line.estimate), line.n, bound, line.p_value))
    caption = f"Values that do not occur in the training sample: {count(len(rows), 'line')}. Counts, no intervals."
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
            text=f"Near copies of a training observation: {share_words(line.share)} of {line.n} test observations, "
            f"{share_words(line.share_train)} of {line.n_train} training observations; difference {words_of(line)}."
        )
        for line in (view.lines if view is not None else ())
    ]
