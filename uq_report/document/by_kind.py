"""One result as a part of the report, whatever explainer it comes from: a figure, a table, notes, omissions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.results import Result
from ..core.text import count
from ..evidence import columns as col
from .blocks import TOP, intervals_caption, left_out, make_figure, notes_of
from .document import Block, Bullets, Paragraph, Section
from .evidence import Evidence
from .plots import diagnostic
from .plots.importance import paired
from .plots.words import number
from .single_rows import single_rows
from .tables import plain_table, wide_table
from .telling import largest_words, order_words, range_words, verdict_words
from .text import clean, joined, name, sentence

PANELS = 3
PROFILES = 4


def part(e: Evidence, result: Result) -> Section:
    """Return one result as a section of its own."""
    blocks = PARTS.get(result.kind, table_only)(e, result)
    codes = [finding.code for finding in e.findings_on((result.id,))]
    about = [Paragraph(text=f"Findings on this result: {joined(codes)}.")] if codes else []
    title = clean(result.title, 120)
    return Section(id=f"result-{result.id}", title=title, blocks=(*about, *blocks, *left_out(result)))


def measures_of(result: Result) -> list[str]:
    """Return the measures a result has numbers of, at most those one figure can show."""
    table = result.estimates if len(result.estimates) else result.frame
    return [str(m) for m in dict.fromkeys(table[col.MEASURE])][:PANELS]


def table_only(e: Evidence, result: Result) -> list[Block]:  # noqa: ARG001 - one signature for every kind
    """Return the estimates, else the frame, as they are."""
    table = result.estimates if len(result.estimates) else result.frame
    if table.empty:
        return [Paragraph(text="This result holds no numbers.")]
    caption = f"{clean(result.title)}."
    if len(result.estimates):
        caption = f"{caption} {intervals_caption(result.estimates)}"
    return [plain_table(table, f"{result.id}-table", caption, result.id, notes_of(result))]


def _figure(e: Evidence, result: Result, caption: str, alt: str, ordinal: int = 0, **choice: Any) -> Block:
    key = f"{result.id}-figure-{ordinal}" if ordinal else f"{result.id}-figure"
    return make_figure(key, f"{clean(result.title)}{caption}", alt, lambda: e.draw(result, **choice), result.id)


def _importance(e: Evidence, result: Result) -> list[Block]:
    measures = measures_of(result)
    if not len(result.estimates):
        return table_only(e, result)
    parts = {e.words(m, result): result.estimates[result.estimates[col.MEASURE] == m] for m in measures}
    words = tuple(
        sentence(f"{facts.title}: {largest_words(t, facts)} {verdict_words(t) if col.VERDICT in t else ''}")
        for facts, t in parts.items()
    )
    first, features = next(iter(parts)), max(len(t) for t in parts.values())
    capped = f", the {TOP} {'largest' if first.sign > 0 else 'lowest'} of {features}" if features > TOP else ""
    caption = f"{capped}. {intervals_caption(result.estimates)}"
    figure = _figure(e, result, caption, " ".join(words), measure=measures, top=TOP)
    table = wide_table(e, result, f"{result.id}-table", f"{clean(result.title)}, {order_words(first)}.", measures)
    return [Bullets(items=words), figure, table]


def _interaction(e: Evidence, result: Result) -> list[Block]:
    if not len(result.estimates):
        return table_only(e, result)
    pairs = result.estimates.assign(feature=paired(result.estimates))
    leading = largest_words(pairs, e.words(measures_of(result)[0], result))
    alt = f"{clean(result.title)}, a dot per pair of features. {leading}"
    return [_figure(e, result, f". {intervals_caption(result.estimates)}", alt), *table_only(e, result)]


def _profile(e: Evidence, result: Result) -> list[Block]:
    """Return figures of the first features or pairs; the points stand in the evidence."""
    surface = (result.frame[col.FEATURE_2].astype(str) != "").any()
    blocks = _surfaces(e, result) if surface else _curves(e, result)
    return [*blocks, *([Paragraph(text=notes_of(result))] if result.notes else [])]


def _curves(e: Evidence, result: Result) -> list[Block]:
    features = [str(f) for f in dict.fromkeys(result.frame[col.FEATURE])]
    blocks = [_curve(e, result, feature, k) for k, feature in enumerate(features[:PROFILES], 1)]
    return [*blocks, *_further(result, len(features), "feature")]


def _further(result: Result, total: int, noun: str) -> list[Block]:
    """Say how many profiles have no figure."""
    more = count(total - PROFILES, f"further {noun}")
    return [Paragraph(text=f"{more}: see the evidence {result.id}.")] if total > PROFILES else []


def _curve(e: Evidence, result: Result, feature: str, ordinal: int) -> Block:
    table = result.estimates[result.estimates[col.FEATURE] == feature]
    located = measures_of(result) if {col.X, col.LEVEL} <= set(table.columns) else ()
    ranges = (range_words(table[table[col.MEASURE] == m], e.words(m)) for m in located)
    alt = " ".join(filter(None, (f"{clean(result.title)} of {name(feature)}.", *ranges)))
    return _figure(e, result, f": {name(feature)}. {intervals_caption(table)}", alt, ordinal, feature=feature)


def _surfaces(e: Evidence, result: Result) -> list[Block]:
    pairs = list(dict.fromkeys(zip(result.frame[col.FEATURE], result.frame[col.FEATURE_2], strict=True)))
    jobs = [(pair, measure) for pair in pairs[:PROFILES] for measure in measures_of(result)]
    blocks = [_surface(e, result, pair, measure, k) for k, (pair, measure) in enumerate(jobs, 1)]
    return [*blocks, *_further(result, len(pairs), "pair")]


def _surface(e: Evidence, result: Result, pair: tuple[str, str], measure: str, ordinal: int) -> Block:
    frame = result.frame
    here = (frame[col.MEASURE] == measure) & (frame[col.FEATURE] == pair[0]) & (frame[col.FEATURE_2] == pair[1])
    values = frame.loc[here & (frame[col.CURVE] < 0), col.VALUE]
    what = f"average {e.words(measure).title} along {name(pair[0])} and {name(pair[1])}"
    alt = f"Map of the {what}, from {number(float(values.min()))} to {number(float(values.max()))}."
    caption = f"{what[0].upper()}{what[1:]}, in ten levels of equal width; the map has no intervals."
    key = f"{result.id}-figure-{ordinal}"
    return make_figure(key, caption, alt, lambda: e.draw(result, measure=measure, pair=pair), result.id)


def _diagnostic(e: Evidence, result: Result) -> list[Block]:
    """Return a figure where items run along x, and the table in any case."""
    alt = f"{clean(result.title)}: {count(len(result.frame), 'value')}; the numbers stand in the table."
    figures = [_figure(e, result, ".", alt)] if diagnostic.runs(result.frame) else []
    return [*figures, *table_only(e, result)]


PARTS: dict[str, Callable[[Evidence, Result], list[Block]]] = {
    "importance": _importance,
    "interaction": _interaction,
    "profile": _profile,
    "attribution": single_rows,
    "diagnostic": _diagnostic,
}
