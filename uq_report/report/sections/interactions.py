"""Interactions: Friedman and Popescu's H-statistic of pairs and of single features with all others."""

from __future__ import annotations

from typing import Any

import pandas as pd

from ...core.results import Result
from ...core.text import count
from ...plots import matrix
from ..blocks import TOP, left_out, make_figure, make_table, notes_of
from ..document import Block, Column, Paragraph, Section
from ..evidence import Evidence
from ..telling import ordered
from ..text import joined, name, value_words
from .extras import extras

TITLE = "Interactions: H-statistic"
PAIRS = 20
PANELS = 3
LEAD = (
    "H² of a pair is the share of the variance of their joint partial dependence that is no sum of the two single "
    "ones: 0 where a measure is additive in them. It is a ratio: a large H² of a pair that hardly moves the measure "
    "means little, so the strength stands beside it, in the measure's unit."
)
NO_INTERVAL = "There are no intervals: H² is computed on few rows and is biased upwards there."


def interactions(e: Evidence) -> Section:
    """Return H² by measure, or why there is none."""
    result = e.find("h_statistic")
    if result is None or not len(result.estimates):
        text = e.why_missing("h_statistic") if result is None else "No H-statistic is defined here."
        return Section(id="interactions", title=TITLE, blocks=(Paragraph(text=text), *left_out(result)))
    measures = [str(m) for m in dict.fromkeys(result.estimates["measure"])]
    other = " R-sens₂, below, measures interactions of the whole predictive distribution, with intervals."
    lead = f"{LEAD} {NO_INTERVAL}{other if e.find('rsens.interaction') is not None else ''}"
    blocks: list[Block] = [Paragraph(text=lead), *e.warning(measures), _totals(e, result, measures), *left_out(result)]
    sections = tuple(_measure(e, result, m, k) for k, m in enumerate(measures[:PANELS], 1))
    rest = measures[PANELS:]
    if rest:
        blocks.append(Paragraph(text=f"In the evidence: the pairs of {joined([e.words(m).title for m in rest])}."))
    return Section(
        id="interactions",
        title=TITLE,
        blocks=tuple(blocks),
        sections=(*sections, *extras(e, "h_statistic", ("h_statistic",))),
    )


def _ranked(table: pd.DataFrame) -> Any:
    return table["ranked"].astype(bool) if "ranked" in table else pd.Series(True, index=table.index)


def _totals(e: Evidence, result: Result, measures: list[str]) -> Block:
    """Return H² of each feature with all others, a column per measure."""
    table = result.estimates[result.estimates["feature_2"] == ""]
    cells = {m: {r["feature"]: _value(r) for r in table[table["measure"] == m].to_dict("records")} for m in measures}
    first = ordered(table[table["measure"] == measures[0]])["feature"]
    order = dict.fromkeys([*first, *table["feature"]])
    rows = [[name(f), *(cells[m].get(f, "undefined") for m in measures)] for f in order]
    columns = [Column("feature"), *(Column(f"H² for {e.words(m).title}") for m in measures)]
    caption = f"Each feature with all others together; the share of the measure's variance. {NO_INTERVAL}"
    return make_table("interactions-totals", caption, columns, rows, evidence=result.id, note=notes_of(result))


def _value(row: dict[Any, Any]) -> str:
    return f"{value_words(row['estimate'])}{'' if row.get('ranked', True) else ' (not ranked)'}"


def _measure(e: Evidence, result: Result, measure: str, number_of: int) -> Section:
    said = e.words(measure)
    held = result.estimates[(result.estimates["measure"] == measure) & (result.estimates["feature_2"] != "")]
    table, key = ordered(held), f"interactions-{number_of}"
    title = f"Pairs for {said.title}"
    if table.empty:
        return Section(id=key, title=title, blocks=(Paragraph(text="No pair has a defined H²."),))
    ranked, loose = table[_ranked(table)], table[~_ranked(table)]
    top = [f"{name(r.feature)} with {name(r.feature_2)} {value_words(r.estimate)}" for r in ranked.head(3).itertuples()]
    text = f"Largest H²: {joined(top)}." if top else "No pair is ranked."
    if len(loose):
        text += f" {count(len(loose), 'pair')} of {len(table)} barely move the measure together and are not ranked."
    blocks: list[Block] = [Paragraph(text=text)]
    features = list(dict.fromkeys([*table["feature"], *table["feature_2"]]))
    if len(features) > 2:
        blocks.append(_figure(result, table, (measure, said.title, text), key))
    rows = [
        (name(r["feature"]), name(r["feature_2"]), r["estimate"], r.get("strength"), "yes" if good else "no: unstable")
        for r, good in zip(table.to_dict("records"), _ranked(table), strict=True)
    ][:PAIRS]
    columns = [Column("one"), Column("other"), Column("H²", "number"), Column("strength", "number", said.unit)]
    more = f" The {PAIRS} largest of {len(table)}." if len(table) > PAIRS else ""
    caption = f"H² of pairs for {said.title}, largest first.{more} {NO_INTERVAL}"
    blocks.append(make_table(f"{key}-table", caption, [*columns, Column("ranked")], rows, evidence=result.id))
    return Section(id=key, title=title, blocks=tuple(blocks))


def _figure(result: Result, table: pd.DataFrame, told: tuple[str, str, str], key: str) -> Block:
    """Return the matrix of pairs; pairs that are not ranked are white, in brackets."""
    names = list(dict.fromkeys([*table["feature"], *table["feature_2"]]))[:TOP]
    square = pd.DataFrame(float("nan"), index=names, columns=names)
    for a, b, value in table[["feature", "feature_2", "estimate"]].itertuples(index=False):
        if a in square.index and b in square.index:
            square.loc[a, b] = square.loc[b, a] = value
    loose = table[~_ranked(table)]
    marked = set(zip(loose["feature"], loose["feature_2"], strict=True))
    white = " White, in brackets: not ranked." if marked else ""
    caption = f"H² of pairs for {told[1]}.{white} {NO_INTERVAL}"
    alt = f"Symmetric matrix of {count(len(names), 'feature')}. {told[2]}"
    return make_figure(
        f"{key}-figure", caption, alt, lambda: matrix.draw(square, matrix.Scale("H²", 0.0), marked), result.id
    )
