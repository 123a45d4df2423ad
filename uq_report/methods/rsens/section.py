"""R-sens: how fast the whole predictive distribution moves with a feature, or with two; and comparators."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import ClassVar

from ...core.support.text import count
from ...document import slots
from ...document.blocks import TOP, intervals_caption, left_out, make_figure, make_table, notes_of, paragraphs
from ...document.document import Block, Callout, Column, Paragraph, Section, Table
from ...document.plots import importance, matrix
from ...document.text import clean, joined, name, sentence, value_words
from ...evidence import columns as col
from ...evidence.importance import (
    RAW,
    RSENS,
    RSENS2,
    RSensComparators,
    RSensInteraction,
    RSensPairLine,
    RSensView,
)
from ...evidence.view import largest_first, of_measure, table_of
from ...reading.rank_ranges import ranked_features
from ...reading.run_reader import RunReader
from ...reading.sentences import largest_words
from ...reading.tables import FEATURE, INTERVAL, Field, line_table
from ..shared.wording import SHORT, ResultSection

PAIRS = 15
LEAD = (
    "R-sens is the rate at which the model's whole predictive distribution changes with a small change of one feature "
    "at the observed values. It is a length in the Fisher metric: a change of the mean is measured relative to the "
    "predictive uncertainty, and a change of the spread counts as well. It needs no outcomes and extrapolates by no "
    "more than the step."
)
FINITE = (
    "This model has no usable derivatives (it is piecewise constant or has kinks): the values are changes of the "
    "distribution over a step of the stated size. They depend on the step and are not comparable with the R-sens of a "
    "smooth model."
)
TOGETHER = "R-sens₂ is the change of these derivatives with a second feature: 0 where two features do not interact."
COMPARED = (
    "The same sample, for the prediction alone: mean absolute derivative, absolute mean derivative, average predictive "
    "comparison, variance along the feature given the others, and the spread of its partial dependence. A feature that "
    "ranks higher by R-sens than by all of these may affect the uncertainty more than the mean."
)
HESSIANS = {"eah": "E|∂²f|", "aeh": "|E ∂²f|"}


class SensitivitySection(ResultSection[RSensView]):
    """R-sens of features, of pairs, and the comparators; or why there are none."""

    name: ClassVar[str] = "sensitivity"
    slot: ClassVar[str] = slots.SENSITIVITY
    shows: ClassVar[tuple[str, ...]] = (RSensView.id, RSensInteraction.id, RSensComparators.id)
    of = RSensView
    title = "R-sens: sensitivity of the predictive distribution"
    empty = "R-sens has no value for any feature."

    def blocks(self, e: RunReader, view: RSensView) -> Iterable[Block]:
        """Return R-sens as a figure and a table."""
        called = f"R-sens{', finite-step form,' if view.is_finite_step else ''} {_scaled(view)}"
        text = largest_words(view.to_frame(), e.words(RSENS))
        yield from paragraphs(LEAD, f"{_method(view)} {text}")
        if view.is_finite_step:
            title = "Finite changes, not derivatives"
            yield Callout(tone="neutral", title=title, text=FINITE, evidence=(view.id,))
        yield from (*_main(e, view, called, text), *_steps(view), *left_out(view.result))

    def parts(self, e: RunReader, view: RSensView) -> Iterable[Section]:
        """Return a part on pairs and on the comparators."""
        return (*_pairs(e), *_comparators(e, view))


def _scaled(view: RSensView) -> str:
    return "per unit" if view.ranked_by == RAW else "per standard deviation of the feature"


def _method(view: RSensView | RSensInteraction) -> str:
    method = clean(view.method, 300)
    return sentence(f"How it was computed: {method}") if method else ""


def _main(e: RunReader, view: RSensView, called: str, text: str) -> tuple[Block, Table]:
    """Return R-sens of each feature as a figure and a table."""
    frame, lines, facts = view.to_frame(), largest_first(view.lines), e.words(RSENS)
    capped = f", the {TOP} largest of {len(frame)}" if len(frame) > TOP else ""
    panel = importance.ImportancePanel("", called, facts.role, frame)
    figure = make_figure(
        "sensitivity-figure",
        f"{called}: mean over observations{capped}. {intervals_caption(frame)}",
        f"A dot with its interval per feature, {called}. {text}",
        lambda: importance.draw_panels([panel], [line.feature for line in lines[:TOP]]),
        view.id,
    )
    place = ranked_features(e.run, view.id, RSENS, frame)
    fields: tuple[Field, ...] = (
        *(FEATURE, ("rank", lambda line: place[line.feature].words), (Column(called, "number"), "estimate"), INTERVAL),
        ("raw, per unit of the feature", lambda line: value_words(line.raw)),
        ("std. deviation", lambda line: value_words(line.spread)),
    )
    table = line_table("sensitivity-table", "R-sens of each feature.", lines, fields, of=view.result)
    if view.ranked_by == RAW:
        table = replace(table, caption=table.caption.replace(".", ", in one shared unit.", 1))
    else:
        table = replace(table, caption=f"{table.caption} Raw values have different units and cannot be ranked.")
    return figure, table


def _steps(view: RSensView) -> list[Block]:
    """Return steps and errors of differences; nothing where derivatives are exact."""
    if not view.steps:
        return []
    rows = [(name(feature), step, view.relative_error.get(feature)) for feature, step in sorted(view.steps.items())]
    columns = [Column("feature"), Column("step", "number"), Column("largest relative error", "number")]
    caption = "Steps of the differences and their error."
    return [make_table("sensitivity-steps", caption, columns, rows, evidence=view.id)]


def _pairs(e: RunReader) -> tuple[Section, ...]:
    """Return R-sens₂ as a symmetric matrix, and its leading pairs."""
    view = RSensInteraction.find(e.run)
    if view is None:
        return ()
    lines = largest_first(of_measure(view.lines, RSENS2))
    lead, gaps = Paragraph(text=" ".join(filter(None, (TOGETHER, _method(view))))), left_out(view.result)
    if not lines:
        blocks: tuple[Block, ...] = (lead, Paragraph(text="No pair has a value."), *gaps)
        return (Section(id="sensitivity-pairs", title="R-sens₂: pairs", blocks=blocks),)
    pairs = table_of(lines).assign(feature=[f"{line.feature} × {line.feature_2}" for line in lines])
    text = largest_words(pairs, e.words(RSENS2))
    blocks = (lead, Paragraph(text=text), *_pair_figure(view, text), _pair_table(view, lines), *gaps)
    return (Section(id="sensitivity-pairs", title="R-sens₂: pairs of features", blocks=blocks),)


def _pair_figure(view: RSensInteraction, text: str) -> list[Block]:
    """Return the full symmetric matrix; two features need none."""
    frame = view.result.frame
    square = frame.pivot_table(col.VALUE, col.FEATURE, col.FEATURE_2, sort=False)
    names = [f for f in dict.fromkeys(frame[col.FEATURE]) if f in square.columns][:TOP]
    if len(names) < 3:
        return []
    values, scale = square.reindex(index=names, columns=names), matrix.ColourScale("R-sens₂", 0.0)
    figure = make_figure(
        "sensitivity-pairs-figure",
        "R-sens₂ of every pair; the diagonal is a feature with itself. The intervals are in the table.",
        f"Symmetric matrix of {count(len(names), 'feature')}. {text}",
        lambda: matrix.draw(values, scale, diagonal=True),
        view.id,
    )
    return [figure]


def _pair_table(view: RSensInteraction, lines: Sequence[RSensPairLine]) -> Table:
    """Return the leading pairs with the Hessians of the prediction beside, where they are known."""
    further: dict[str, dict[tuple[str, str], float]] = {m: {} for m in view.measures if m != RSENS2}
    for line in (line for line in view.lines if line.measure in further):
        further[line.measure][line.feature, line.feature_2] = line.estimate
    fields: list[Field] = [
        *(("one", FEATURE[1]), ("other", lambda line: name(line.feature_2))),
        *((Column("R-sens₂", "number"), "estimate"), INTERVAL),
    ]
    for measure, values in further.items():
        title = HESSIANS.get(measure, clean(measure, 40))
        fields.append((Column(title, "number"), partial(_of_pair, values)))
    more = f" The {PAIRS} largest of {len(lines)}." if len(lines) > PAIRS else ""
    caption = f"Pairs by R-sens₂, largest first.{more}"
    return line_table("sensitivity-pairs-table", caption, lines[:PAIRS], fields, of=view.result)


def _of_pair(values: Mapping[tuple[str, str], float], line: RSensPairLine) -> float | None:
    return values.get((line.feature, line.feature_2))


def _comparators(e: RunReader, main: RSensView) -> tuple[Section, ...]:
    """Return a column per method: value and rank, in the order of R-sens."""
    view = RSensComparators.find(e.run)
    if view is None:
        return ()
    measures = tuple(dict.fromkeys((*main.measures, *view.measures)))
    cells = [_ranked(e, main if measure in main.measures else view, measure) for measure in measures]
    features = dict.fromkeys(line.feature for line in (*largest_first(main.lines), *view.lines))
    rows = [(name(feature), *(words.get(feature, "none") for words in cells)) for feature in features]
    columns = [Column("feature"), *(Column(SHORT.get(m, e.words(m).title), unit=e.words(m).unit) for m in measures)]
    short = joined([f"{SHORT[m]}: {e.words(m).title}" for m in measures if m in SHORT])
    caption = "Value and rank interval (in brackets) by method. Intervals of the values are in the evidence."
    note = f"{short}. {notes_of(view.result)}" if short else notes_of(view.result)
    table = make_table("sensitivity-comparators-table", caption, columns, rows, evidence=view.id, note=note)
    blocks: tuple[Block, ...] = (Paragraph(text=COMPARED), *([table] if view.lines else []), *left_out(view.result))
    return (Section(id="sensitivity-comparators", title="Other methods on the same sample", blocks=blocks),)


def _ranked(e: RunReader, view: RSensView, measure: str) -> dict[str, str]:
    """Return value and places of each feature by one method."""
    lines = of_measure(view.lines, measure)
    place = ranked_features(e.run, view.id, measure, table_of(lines))
    return {line.feature: f"{value_words(line.estimate)} ({place[line.feature].words})" for line in lines}
