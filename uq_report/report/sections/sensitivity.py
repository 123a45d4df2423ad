"""R-sens: how fast the whole predictive distribution moves with a feature, or with two; and comparators."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from ...core.results import Result
from ...core.text import count
from ...plots import importance, matrix
from ..blocks import TOP, interval_columns, intervals_caption, left_out, make_figure, make_table, notes_of
from ..document import Block, Callout, Column, Paragraph, Section
from ..evidence import Evidence
from ..telling import largest_words, ordered
from ..text import clean, joined, name, sentence, value_words
from .extras import extras
from .rankings import SHORT

TITLE = "R-sens: sensitivity of the predictive distribution"
KNOWN = ("rsens", "rsens.interaction", "rsens.comparators")
PAIRS = 15
LEAD = (
    "R-sens is how fast the model's whole predictive distribution moves as one feature is changed a little at each "
    "row's own values: a length in the Fisher metric, so that a change of the mean counts by how sure the model is, "
    "and a change of its spread counts too. It needs no outcome and leaves the data only by the step."
)
COMPARED = (
    "The same rows, the prediction alone: mean absolute derivative, absolute mean derivative, average predictive "
    "comparison, variance along the feature given the others, and the spread of its partial dependence. A feature that "
    "ranks higher by R-sens than by all of these may move the uncertainty more than the mean."
)


def sensitivity(e: Evidence) -> Section:
    """Return R-sens of features, of pairs, and the comparators; or why there are none."""
    result = e.find("rsens")
    if result is None or not len(result.estimates):
        text = e.why_missing("rsens") if result is None else "R-sens has no value for any feature."
        return Section(id="sensitivity", title=TITLE, blocks=(Paragraph(text=text), *left_out(result)))
    said, table = e.words("rsens"), result.estimates
    scaled = "per unit" if result.meta.get("ranked_by") == "raw" else "per standard deviation of the feature"
    capped = f", the {TOP} largest of {len(table)}" if len(table) > TOP else ""
    text = largest_words(table, said)
    called = f"R-sens{', finite-step form,' if _is_finite(result) else ''} {scaled}"
    panel = importance.Panel("", called, said.role, table)
    shown = importance.largest(table, "rsens", TOP)
    figure = make_figure(
        "sensitivity-figure",
        f"{called}: mean over rows{capped}. {intervals_caption(table)}",
        f"A dot with its interval per feature, {called}. {text}",
        lambda: importance.draw_panels([panel], shown),
        result.id,
    )
    blocks: list[Block] = [
        Paragraph(text=LEAD),
        *e.warning(["rsens"]),
        Paragraph(text=f"{_method(result)} {text}"),
        *_finite(result),
        figure,
        _table(result, called),
        *_steps(result),
        *left_out(result),
    ]
    sections = (*_pairs(e), *_comparators(e, result), *extras(e, "rsens", KNOWN))
    return Section(id="sensitivity", title=TITLE, blocks=tuple(blocks), sections=sections)


def _is_finite(result: Result) -> bool:
    return "finite-step" in str(result.meta.get("method", ""))


def _finite(result: Result) -> list[Block]:
    """Warn where the numbers are changes over a step, because the model has no derivative to speak of."""
    if not _is_finite(result):
        return []
    text = (
        "This model has no useful derivatives (it is piecewise constant or has kinks): these values are changes of "
        "the distribution over a step of the stated size. Another step gives other values; do not set them beside "
        "the R-sens of a smooth model."
    )
    return [Callout(tone="neutral", title="Finite changes, not derivatives", text=text, evidence=(result.id,))]


def _method(result: Result) -> str:
    method = clean(result.meta.get("method", ""), 300)
    return sentence(f"How it was computed: {method}") if method else ""


def _table(result: Result, called: str) -> Block:
    table = ordered(result.estimates)
    rank = table["estimate"].rank(method="min", ascending=False).astype(int)
    interval = interval_columns(table)
    columns = [Column("feature"), Column("rank", "integer"), Column(called, "number"), *interval]
    columns += [Column("raw, per unit of the feature"), Column("std. deviation")]
    kept = ["estimate", *(["lower", "upper"] if interval else [])]
    rows = [
        [name(row["feature"]), place, *(row[c] for c in kept), *(value_words(row.get(c)) for c in ("raw", "spread"))]
        for row, place in zip(table.to_dict("records"), rank, strict=True)
    ]
    caption = f"R-sens of each feature. {intervals_caption(table)} Raw values have other units: do not rank them."
    if result.meta.get("ranked_by") == "raw":
        caption = f"R-sens of each feature, in one shared unit. {intervals_caption(table)}"
    return make_table("sensitivity-table", caption, columns, rows, evidence=result.id, note=notes_of(result))


def _steps(result: Result) -> list[Block]:
    """Return steps and errors of differences; nothing where derivatives are exact."""
    steps, errors = result.meta.get("steps"), result.meta.get("relative_error")
    if not isinstance(steps, Mapping) or not steps:
        return []
    known = errors if isinstance(errors, Mapping) else {}
    rows = [(name(feature), step, known.get(feature)) for feature, step in sorted(steps.items())]
    columns = [Column("feature"), Column("step", "number"), Column("largest relative error", "number")]
    return [
        make_table("sensitivity-steps", "Steps of the differences, and their error.", columns, rows, evidence=result.id)
    ]


def _pairs(e: Evidence) -> tuple[Section, ...]:
    """Return R-sens₂ as a symmetric matrix, and its leading pairs."""
    result = e.find("rsens.interaction")
    if result is None:
        return ()
    table = ordered(result.estimates[result.estimates["measure"] == "rsens2"])
    lead = "R-sens₂ is the change of these derivatives with a second feature: 0 where two features do not act together."
    blocks: list[Block] = [Paragraph(text=" ".join(filter(None, (lead, _method(result)))))]
    if table.empty:
        blocks.append(Paragraph(text="No pair has a value."))
        return (Section(id="sensitivity-pairs", title="R-sens₂: pairs", blocks=(*blocks, *left_out(result))),)
    paired = table.assign(feature=[f"{a} × {b}" for a, b in zip(table["feature"], table["feature_2"], strict=True)])
    text = largest_words(paired, e.words("rsens2"))
    blocks.append(Paragraph(text=text))
    blocks += [*_pair_figure(result, text), _pair_table(result, table), *left_out(result)]
    return (Section(id="sensitivity-pairs", title="R-sens₂: pairs of features", blocks=tuple(blocks)),)


def _pair_figure(result: Result, text: str) -> list[Block]:
    """Return the full symmetric matrix; two features need none."""
    square = result.frame.pivot_table("value", "feature", "feature_2", sort=False)
    names = [f for f in dict.fromkeys(result.frame["feature"]) if f in square.columns][:TOP]
    if len(names) < 3:
        return []
    shown = square.reindex(index=names, columns=names)
    caption = "R-sens₂ of every pair; the diagonal is a feature with itself. The intervals are in the table."
    alt = f"Symmetric matrix of {count(len(names), 'feature')}. {text}"
    scale = matrix.Scale("R-sens₂", 0.0)
    figure = make_figure(
        "sensitivity-pairs-figure", caption, alt, lambda: matrix.draw(shown, scale, diagonal=True), result.id
    )
    return [figure]


def _pair_table(result: Result, table: pd.DataFrame) -> Block:
    """Return the leading pairs with the Hessians of the prediction beside, where they are known."""
    further = {
        measure: part.set_index(["feature", "feature_2"])["estimate"].to_dict()
        for measure, part in result.estimates.groupby("measure", sort=False)
        if measure != "rsens2"
    }
    titles = {"eah": "E|∂²f|", "aeh": "|E ∂²f|"}
    columns = [Column("one"), Column("other"), Column("R-sens₂", "number"), *interval_columns(table)]
    columns += [Column(titles.get(str(m), clean(m, 40)), "number") for m in further]
    ends = ["lower", "upper"] if interval_columns(table) else []
    rows = []
    for row in table.to_dict("records")[:PAIRS]:
        pair = (row["feature"], row["feature_2"])
        rows.append([name(pair[0]), name(pair[1]), row["estimate"], *(row[c] for c in ends)])
        rows[-1] += [values.get(pair) for values in further.values()]
    more = f" The {PAIRS} largest of {len(table)}." if len(table) > PAIRS else ""
    caption = f"Pairs by R-sens₂, largest first.{more} {intervals_caption(table)}"
    return make_table("sensitivity-pairs-table", caption, columns, rows, evidence=result.id, note=notes_of(result))


def _comparators(e: Evidence, main: Result) -> tuple[Section, ...]:
    result = e.find("rsens.comparators")
    if result is None:
        return ()
    blocks: list[Block] = [Paragraph(text=COMPARED)]
    if len(result.estimates):
        blocks.append(_compared(e, main, result))
    blocks += left_out(result)
    return (Section(id="sensitivity-comparators", title="Other methods on the same rows", blocks=tuple(blocks)),)


def _compared(e: Evidence, main: Result, result: Result) -> Block:
    """Return a column per method: value and rank, in the order of R-sens."""
    both = pd.concat([main.estimates, result.estimates], ignore_index=True)
    measures = [str(m) for m in dict.fromkeys(both["measure"])]
    cells = {}
    for measure in measures:
        part = both[both["measure"] == measure].drop_duplicates("feature")
        rank = part["estimate"].rank(method="min", ascending=False).astype(int)
        pairs = zip(part["feature"], part["estimate"], rank, strict=True)
        cells[measure] = {feature: f"{value_words(value)} ({place})" for feature, value, place in pairs}
    order = dict.fromkeys([*ordered(main.estimates)["feature"], *result.estimates["feature"]])
    rows = [[name(f), *(cells[m].get(f, "none") for m in measures)] for f in order]
    columns = [Column("feature"), *(Column(SHORT.get(m, e.words(m).title), unit=e.words(m).unit) for m in measures)]
    known = joined([f"{SHORT[m]}: {e.words(m).title}" for m in measures if m in SHORT])
    caption = "Value, and rank in brackets, by each method. Intervals over new test rows are in the evidence."
    note = f"{known}. {notes_of(result)}" if known else notes_of(result)
    return make_table("sensitivity-comparators-table", caption, columns, rows, evidence=result.id, note=note)
