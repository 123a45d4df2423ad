"""One result of any explainer as a part of the report: a figure, a table, notes, omissions."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ..core.model.measures import without_parts
from ..core.model.results import Result
from ..core.support.text import count
from ..document.blocks import MAX_ROWS, intervals_caption, left_out, make_figure, make_section, make_table, notes_of
from ..document.document import Block, Bullets, Column, Paragraph, Section, Table
from ..document.plots import attribution, style
from ..document.plots.frames import number
from ..document.plots.importance import paired
from ..document.plots.registered import runs
from ..document.text import clean, joined, name, sentence, spaced
from ..evidence import columns as col
from ..evidence.rows import Attributions
from ..evidence.view import by_key
from .run_reader import RunReader
from .sentences import largest_words, margin_words, range_words, verdict_words
from .tables import ends_table, importance_table, plain_table

PANELS = 3
TOP = 20  # features in a figure
PROFILES = 4
ROWS = 6


def part(e: RunReader, result: Result) -> Section:
    """Return one result as a section of its own."""
    blocks = PARTS.get(result.kind, table_only)(e, result)
    codes = [finding.code for finding in e.findings if result.id in finding.evidence]
    about = [Paragraph(text=f"Findings on this result: {joined([*dict.fromkeys(codes)])}.")] if codes else []
    title = clean(result.title, 120)
    return make_section(f"result-{result.id}", title, (*about, *blocks, *left_out(result)))


def measures_of(result: Result) -> list[str]:
    """Return the measures a result has numbers of, at most those one figure can show."""
    table = result.estimates if len(result.estimates) else result.frame
    return without_parts(map(str, table[col.MEASURE]))[:PANELS]


def table_only(e: RunReader, result: Result) -> list[Block]:
    """Return the estimates, else the frame, as they are; many values without a mean stay in the evidence."""
    table = result.estimates if len(result.estimates) else result.frame
    if table.empty:
        return [Paragraph(text="This result has no numbers.")]
    if len(table) > MAX_ROWS and not len(result.estimates):
        return [Paragraph(text=spaced(f"{len(table)} values: see the evidence {result.id}.", notes_of(result)))]
    intervals = intervals_caption(result.estimates) if len(result.estimates) else ""
    return [plain_table(e, result, table, f"{result.id}-table", spaced(f"{clean(result.title)}.", intervals))]


def _figure(e: RunReader, result: Result, caption: str, alt: str, ordinal: int = 0, **choice: Any) -> Block:
    """Return the figure registered for a result, which takes companions from the others."""
    key = f"{result.id}-figure-{ordinal}" if ordinal else f"{result.id}-figure"

    def draw() -> style.Figure:
        return e.draw(result, others=e.results, **choice)

    return make_figure(key, f"{clean(result.title)}{caption}", alt, draw, result.id)


def _importance(e: RunReader, result: Result) -> list[Block]:
    """Return the leading features by each measure in words, a figure of the first measures and a table of each."""
    if not len(result.estimates):
        return table_only(e, result)
    every = list(dict.fromkeys(map(str, result.estimates[col.MEASURE])))
    measures = measures_of(result)
    parts = {e.words(m, result): result.estimates[result.estimates[col.MEASURE] == m] for m in measures}
    words = tuple(
        sentence(spaced(f"{facts.title}: {largest_words(t, facts)}", verdict_words(t), margin_words(t, facts.unit)))
        for facts, t in parts.items()
    )
    first, features = next(iter(parts)), max(len(t) for t in parts.values())
    capped = f", the {TOP} {'largest' if first.sign > 0 else 'lowest'} of {features}" if features > TOP else ""
    thin = f" Thin lines: {clean(result.meta['spread'])}, which is no interval." if result.meta.get("spread") else ""
    caption = f"{capped}. {intervals_caption(result.estimates)}{thin}"
    choice: dict[str, Any] = {} if result.id in e.figures else {"measure": measures}
    figure = _figure(e, result, caption, " ".join(words), top=TOP, **choice)
    tables = (importance_table(e, result, m, f"{result.id}-table-{k}", noted=k == 1) for k, m in enumerate(every, 1))
    return [Bullets(items=words), figure, *tables]


def _interaction(e: RunReader, result: Result) -> list[Block]:
    if not len(result.estimates):
        return table_only(e, result)
    pairs = result.estimates.assign(feature=paired(result.estimates))
    leading = largest_words(pairs, e.words(measures_of(result)[0], result))
    alt = f"{clean(result.title)}, a dot per pair of features. {leading}"
    return [_figure(e, result, f". {intervals_caption(result.estimates)}", alt), *table_only(e, result)]


def _profile(e: RunReader, result: Result) -> list[Block]:
    """Return figures of the first features or pairs; the points are in the evidence."""
    frame = result.frame
    pairs = list(dict.fromkeys(zip(frame[col.FEATURE].astype(str), frame[col.FEATURE_2].astype(str), strict=True)))
    if any(other for _, other in pairs):
        noun, jobs = "pair", [(pair, measure) for pair in pairs[:PROFILES] for measure in measures_of(result)]
        blocks = [_surface(e, result, pair, measure, k) for k, (pair, measure) in enumerate(jobs, 1)]
    else:
        noun, features = "feature", [feature for feature, _ in pairs]
        blocks = [_curve(e, result, feature, k) for k, feature in enumerate(features[:PROFILES], 1)]
        blocks += ends_table(e, result, features, f"{result.id}-table")
    if len(pairs) > PROFILES:
        more = count(len(pairs) - PROFILES, f"further {noun}")
        blocks.append(Paragraph(text=f"{more}: see the evidence {result.id}."))
    return [*blocks, *([Paragraph(text=notes_of(result))] if result.notes else [])]


def _curve(e: RunReader, result: Result, feature: str, ordinal: int) -> Block:
    table = result.estimates[result.estimates[col.FEATURE] == feature]
    located = measures_of(result) if {col.X, col.LEVEL} <= set(table.columns) else ()
    ranges = (range_words(table[table[col.MEASURE] == m], e.words(m)) for m in located)
    alt = " ".join(filter(None, (f"{clean(result.title)} of {name(feature)}.", *ranges)))
    return _figure(e, result, f": {name(feature)}. {intervals_caption(table)}", alt, ordinal, feature=feature)


def _surface(e: RunReader, result: Result, pair: tuple[str, str], measure: str, ordinal: int) -> Block:
    frame = result.frame
    here = (frame[col.MEASURE] == measure) & (frame[col.FEATURE] == pair[0]) & (frame[col.FEATURE_2] == pair[1])
    values = frame.loc[here & (frame[col.CURVE] < 0), col.VALUE]
    what = f"average {e.words(measure).title} along {name(pair[0])} and {name(pair[1])}"
    alt = f"Map of the {what}, from {number(float(values.min()))} to {number(float(values.max()))}."
    caption = f"{what[0].upper()}{what[1:]}, in ten levels of equal width; the map has no intervals."
    key = f"{result.id}-figure-{ordinal}"
    return make_figure(key, caption, alt, lambda: e.draw(result, measure=measure, pair=pair), result.id)


def _attribution(e: RunReader, result: Result) -> list[Block]:
    """Return one figure, with the measures that fit, and one table for each explained observation."""
    blocks: list[Block] = [Paragraph(text=notes_of(result))] if result.notes else []
    for k, (row, role) in enumerate(list(_roles(result).items())[:ROWS], 1):
        here = result.frame[result.frame[col.ROW] == row]
        measures = without_parts(map(str, here[col.MEASURE]))[: attribution.PANELS]
        blocks += [_row_figure(e, result, here, measures, role, k), _row_table(e, result, here, measures, k)]
    return blocks


def _roles(result: Result) -> dict[int, str]:
    """Return the observations to show with their role: those that the result names, else the first."""
    named = Attributions.from_result(result).rows
    roles = named.items() if isinstance(named, Mapping) else ()
    words = by_key((int(row), name(role)) for role, rows in roles for row in np.atleast_1d(rows))
    present = [int(row) for row in dict.fromkeys(result.frame[col.ROW])]
    return {row: ", ".join(words[row]) for row in words if row in present} or dict.fromkeys(present[:1], "")


def _row_figure(
    e: RunReader, result: Result, here: pd.DataFrame, measures: Sequence[str], role: str, ordinal: int
) -> Block:
    row = int(here[col.ROW].iloc[0])
    what = f"Observation {row}{f', {role}' if role else ''}"
    caption = f"{what}: contributions from the base (a mean over background observations) to its value."
    alt = f"{what}. {' '.join(_way(e, here, measure) for measure in measures)}"
    key = f"{result.id}-figure-{ordinal}"
    return make_figure(key, caption, alt, lambda: attribution.draw(result, measure=measures, row=row), result.id)


def _way(e: RunReader, here: pd.DataFrame, measure: str) -> str:
    """Return the base and the value of a measure, and its largest contribution."""
    part = here[here[col.MEASURE] == measure]
    base, values = float(part[col.BASE].iloc[0]), part[col.VALUE]
    top = part.iloc[int(values.abs().to_numpy().argmax())]
    largest = f"{name(top[col.FEATURE])} ({number(float(top[col.VALUE]))})"
    ends = f"from {number(base)} to {number(base + float(values.sum()))}"
    return f"{e.words(measure).title} {ends}; largest contribution: {largest}."


def _row_table(e: RunReader, result: Result, here: pd.DataFrame, measures: Sequence[str], k: int) -> Table:
    once = here.drop_duplicates([col.MEASURE, col.FEATURE])
    parts = [once[once[col.MEASURE] == m].set_index(col.FEATURE)[col.VALUE] for m in measures]
    row = int(here[col.ROW].iloc[0])
    own_values = attribution.row_values(result, row)
    columns = [Column("feature"), *([Column("value")] if own_values else [])]
    columns += [Column(e.words(m).title, "number", e.words(m).unit) for m in measures]
    rows = []
    for feature in parts[0].abs().sort_values(ascending=False, kind="stable").index:
        own = [name(own_values.get(str(feature), ""))] if own_values else []
        rows.append([name(feature), *own, *(part.get(feature) for part in parts)])
    caption = f"Contributions to observation {row}, by size for {e.words(measures[0]).title}. {_exactness(result, row)}"
    return make_table(f"{result.id}-table-{k}", caption, columns, rows, evidence=result.id)


def _exactness(result: Result, row: int) -> str:
    """Return the Monte-Carlo error of the contributions."""
    table = result.estimates
    if col.ROW not in table.columns or not table[col.STD_ERROR].notna().any():
        return f"No intervals: {clean(result.explainer)} provides none."
    error = float(table.loc[table[col.ROW] == row, col.STD_ERROR].max())
    if error == 0:
        return "Exact for the given background, without Monte-Carlo error."
    return f"Largest Monte-Carlo standard error: {number(error)}."


def _diagnostic(e: RunReader, result: Result) -> list[Block]:
    """Return the figure of a result that has one of its own, or whose items are along x, and the table."""
    alt = f"{clean(result.title)}: {count(len(result.frame), 'value')} in the evidence {result.id}."
    drawn = result.id in e.figures or runs(result.frame)
    return [*([_figure(e, result, ".", alt)] if drawn else []), *table_only(e, result)]


PARTS: dict[str, Callable[[RunReader, Result], list[Block]]] = {
    "importance": _importance,
    "interaction": _interaction,
    "profile": _profile,
    "attribution": _attribution,
    "diagnostic": _diagnostic,
}
