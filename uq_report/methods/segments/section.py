"""Segments: where the model is less sure, or more wrong, than elsewhere, and what changes that."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar

from ...core.model.results import Result
from ...core.support.text import count
from ...document import slots
from ...document.blocks import intervals_caption, left_out, make_figure, make_table, paragraphs
from ...document.document import Block, Column
from ...document.plots import importance
from ...document.plots.frames import axis_label, several, words
from ...document.plots.registered import figure_plugin
from ...document.text import clean, joined, name, value_words
from ...evidence import ids
from ...evidence.segments import ALL_ROWS, LEVEL, SegmentFeatures, SegmentLine, SegmentResiduals, SegmentsView
from ...evidence.view import table_of
from ...reading.run_reader import RunReader
from ...reading.tables import Field, line_table
from ..shared.wording import ResultSection, words_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST = 3  # segments of each tree


def draw(result: Result, measure: Sequence[str] | str | None = None, top: int = 16) -> Figure:
    """Draw the mean of each measure in the segments that stand out, and over all judged rows.

    Parameters
    ----------
    result : Diagnostic
        As the explainer ``segments`` returns it.
    measure : str or sequence of str, optional
        One panel each; the first three by default.
    top : int
        Segments to show; all of them, the largest of each tree first, where none stands out.
    """
    view = SegmentsView.from_result(result)
    chosen = several(result, "measure", measure, view.measures)[: None if measure else importance.PANELS]
    names = {x.segment: x.item for x in reversed(view.lines)}
    keys = view.raised(MOST) or tuple(dict.fromkeys(x.segment for x in view.lines if x.segment != ALL_ROWS))
    shown = (*keys[:top], ALL_ROWS)
    rows = {key: "all judged observations" if key == ALL_ROWS else f"{k} {names[key]}" for k, key in labelled(shown)}
    panels = []
    for one in chosen:
        table = table_of([view.of(key)[one] for key in shown]).assign(feature=[*rows.values()])
        role = words(one, result.measures).role
        panels.append(importance.ImportancePanel("", axis_label(one, result.measures), role, table))
    return importance.draw_panels(panels, [*rows.values()])


def labelled(keys: Sequence[str]) -> list[tuple[str, str]]:
    """Return segments with the letters that they have in table and figure.

    Examples
    --------
    >>> labelled(("nll 1", "entropy 2"))
    [('A', 'nll 1'), ('B', 'entropy 2')]
    """
    return [(chr(ord("A") + k % 26) + (str(k // 26) if k >= 26 else ""), key) for k, key in enumerate(keys)]


SegmentsFigure = figure_plugin(ids.SEGMENTS, draw)
PeriodsFigure = figure_plugin(ids.SEGMENTS_PERIODS, draw)


LEAD = (
    "Half of the observations grew a small tree for each measure; the other half gives every number here. A segment "
    "is a leaf of at most half of these observations. Shown are segments with more uncertainty or a higher loss than "
    "the other observations. Uncertainty and loss differ between observations in a calibrated model, too. The loss "
    "beyond expectation (the loss minus the loss that the model expects) has a mean of 0 in every segment of one."
)
EXCHANGED = (
    "The last column names the feature whose permutation brings the segment closest to the others, with the difference "
    "to them before and after. It describes the model in this segment, not a cause."
)


WRONG = (
    "Segments by outcome minus prediction come from trees of their own: each half of the observations grows one, and "
    "the other half judges it. A calibrated model has a mean residual of 0 in every segment."
)


class SegmentsSection(ResultSection[SegmentsView]):
    """The segments that stand out, with their means and the feature that changes them most, as table and figure."""

    name: ClassVar[str] = SegmentsView.id
    slot: ClassVar[str] = slots.SEGMENTS
    shows: ClassVar[tuple[str, ...]] = (SegmentsView.id, SegmentFeatures.id, SegmentResiduals.id, ids.SEGMENTS_ROWS)
    of = SegmentsView
    key = SegmentsView.id
    title = "Segments of observations"
    empty = "No measure has a value for each observation."

    def blocks(self, e: RunReader, view: SegmentsView) -> Iterable[Block]:
        """Return a sentence, the table and the figure."""
        keys, features = view.raised(MOST), SegmentFeatures.find(e.run)
        yield from paragraphs(LEAD, _summary(e, view))
        if keys:
            yield from paragraphs(EXCHANGED if features is not None and features.lines else "")
            yield from _shown(e, view, features, keys)
        wrong = SegmentResiduals.find(e.run)
        yield from _residuals(wrong) if wrong is not None and wrong.lines else ()
        yield from left_out(*(None if x is None else x.result for x in (view, features, wrong)))


def _residuals(view: SegmentResiduals) -> list[Block]:
    """Return the segments whose predictions are farthest from their outcomes."""
    lines = sorted(view.lines, key=lambda line: -abs(line.estimate))[: 2 * MOST]
    level: Field = ("class", lambda line: clean(line.level))
    where: Field = ("observations where", lambda line: clean(line.item))
    means: tuple[Field, ...] = (
        (Column("mean outcome", "number"), "outcome"),
        (Column("mean prediction", "number"), "predicted"),
    )
    size: Field = ("difference in standard deviations of the model", words_of)
    classes = [level] if any(line.level for line in lines) else []
    fields = (where, (Column("n", "integer"), "n"), *classes, *means, size, (Column("nats", "number"), "nats"))
    shown = f"The {count(len(lines), 'segment')} of {len(view.lines)}"
    caption = f"{shown} with the largest difference of outcome and prediction."
    return [*paragraphs(WRONG), line_table("segments-residuals", caption, lines, fields, of=view.result)]


def _summary(e: RunReader, view: SegmentsView) -> str:
    """Say how many segments were tested and how many stand out, measure by measure."""
    parts = []
    for measure in view.measures:
        own = [x for x in view.tested() if x.measure == measure and x.grown]
        if own:
            above = len([x for x in own if x.p_adjusted <= LEVEL and x.difference > 0])
            parts.append(f"{above} of {count(len(own), 'segment')} by {e.words(measure, view.result).title}")
    if not parts:
        return "No measure partitions these observations into segments."
    return f"Above the other observations, adjusted for all tests: {joined(parts)}."


def _shown(e: RunReader, view: SegmentsView, features: SegmentFeatures | None, keys: Sequence[str]) -> list[Block]:
    measures, last = view.measures, view.measures[-1]
    facts = [e.words(measure, view.result) for measure in measures]
    titles = [f"{fact.title}, {fact.unit}" if fact.unit else fact.title for fact in facts]
    ends = [f"{letter} {value_words(view.of(key)[last].estimate)}" for letter, key in labelled(keys)]
    columns: list[Column | str] = [
        "",
        "observations where",
        Column("n", "integer"),
        Column("share", "percent"),
        *titles,
    ]
    rows = []
    for letter, key in (*labelled(keys), ("", ALL_ROWS)):
        lines = view.of(key)
        first = next(iter(lines.values()))
        cells = (words_of(lines.get(measure)) for measure in measures)
        rows.append((letter, clean(first.item), first.n, first.share, *cells, _closest(features, first, measures)))
    caption = f"Segments that stand out, and all judged observations. {intervals_caption(table_of(view.lines))}"
    table = make_table("segments-table", caption, [*columns, "brought closest by"], rows, of=view.result)
    figure = make_figure(
        "segments-figure",
        f"The same segments, measure by measure. {intervals_caption(table_of(view.lines))}",
        f"A dot with its interval per segment. {last.replace('_', ' ')}: {joined(ends)}.",
        lambda: draw(view.result),
        view.id,
    )
    return [table, figure]


def _closest(features: SegmentFeatures | None, line: SegmentLine, measures: Sequence[str]) -> str:
    """Name the feature that brings the segment closest by the measure that made it, with what remains."""
    if features is None:
        return ""
    tried = (features.leading(line.segment, m) for m in ((line.grown,) if line.grown else measures))
    found = next((x for x in tried if x is not None), None)
    return f"{name(found.feature)} ({value_words(found.before)} to {value_words(found.after)})" if found else ""
