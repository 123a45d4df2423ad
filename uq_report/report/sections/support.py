"""Extrapolation and support: how many rows, as they are and after shuffling, lie outside what the model was shown."""

from __future__ import annotations

import pandas as pd

from ...core.results import Result
from ...core.text import count
from ...plots import importance
from ..blocks import TOP, interval_columns, intervals_caption, left_out, make_figure, make_table, notes_of
from ..document import Block, Column, Paragraph, Section
from ..evidence import Evidence
from ..telling import ordered
from ..text import clean, joined, name, value_words
from .extras import extras

TITLE = "Extrapolation and support"
KNOWN = ("support", "support.rows", "support.values")
LEAD = (
    "A row lies outside the support if it is farther from its nearest training rows than all but a small share of "
    "training rows are. Methods that shuffle or replace a feature make rows of their own: the share of those outside "
    "says how far such numbers rest on extrapolation."
)


def support(e: Evidence) -> Section:
    """Return the share of rows outside the training support, by shuffled feature, and values never seen."""
    result = e.find("support")
    if result is None or not len(result.estimates):
        text = e.why_missing("support") if result is None else "No share could be computed."
        return Section(id="support", title=TITLE, blocks=(Paragraph(text=text), *left_out(result)))
    shuffled = ordered(result.estimates[result.estimates["item"] == "shuffled"])
    blocks: list[Block] = [Paragraph(text=LEAD), Paragraph(text=_told(result, shuffled))]
    if len(shuffled):
        blocks += [_figure(result, shuffled), _table(result, shuffled)]
    blocks += [*_values(e), *left_out(result)]
    if e.find("support.rows") is not None:
        blocks.append(Paragraph(text="The conformal p-value of every row stands in the evidence support.rows."))
    return Section(id="support", title=TITLE, blocks=tuple(blocks), sections=extras(e, "support", KNOWN))


def _told(result: Result, shuffled: pd.DataFrame) -> str:
    """Say how many rows lie outside, against what training rows would give, and which shuffles add most."""
    expected = result.meta.get("expected")
    against = f"; of training rows it would be {value_words(expected)}" if isinstance(expected, float) else ""
    told = []
    for row in result.estimates[result.estimates["item"] == "outside"].to_dict("records"):
        p = row.get("p_value")
        test = "" if p is None or pd.isna(p) else f" (p {'< 0.001' if p < 0.001 else f'{p:.3f}'}, one-sided)"
        share = value_words(row["estimate"], row["lower"], row["upper"])
        told.append(f"Share of audited rows outside: {share}{against}{test}.")
    top = [f"{name(r['feature'])} {value_words(r['estimate'], r['lower'], r['upper'])}" for r in _records(shuffled, 3)]
    return " ".join([*told, *([f"Largest after shuffling: {joined(top)}."] if top else [])])


def _records(table: pd.DataFrame, most: int) -> list[dict[str, object]]:
    return [{str(key): value for key, value in row.items()} for row in table.head(most).to_dict("records")]


def _figure(result: Result, shuffled: pd.DataFrame) -> Block:
    capped = f", the {TOP} largest of {len(shuffled)}" if len(shuffled) > TOP else ""
    panel = importance.Panel("", "share of rows outside the training support", "", shuffled)
    top = [f"{name(r['feature'])} {value_words(r['estimate'])}" for r in _records(shuffled, 3)]
    return make_figure(
        "support-figure",
        f"Rows outside the training support after each feature is shuffled{capped}. {intervals_caption(shuffled)}",
        f"A dot with its interval per feature. Largest: {joined(top)}.",
        lambda: importance.draw_panels([panel], [str(f) for f in shuffled["feature"].head(TOP)]),
        result.id,
    )


def _table(result: Result, shuffled: pd.DataFrame) -> Block:
    interval = interval_columns(shuffled)
    ends = ("lower", "upper") if interval else ()
    columns = [Column("shuffled feature"), Column("share outside", "number"), *interval]
    rows = [(name(r["feature"]), r["estimate"], *(r[end] for end in ends)) for r in shuffled.to_dict("records")]
    caption = f"The same shares as numbers. {intervals_caption(shuffled)}"
    return make_table("support-table", caption, columns, rows, evidence=result.id, note=notes_of(result))


def _values(e: Evidence) -> list[Block]:
    """Return values that do not occur in the training rows."""
    result = e.find("support.values")
    if result is None:
        return []
    if not len(result.estimates):
        return [Paragraph(text="No feature has a value outside its range or levels in the training rows.")]
    columns = [Column("feature"), Column("what"), Column("rows", "integer"), Column("of", "integer")]
    columns += [Column("training bound or levels"), Column("p", "pvalue")]
    rows = [
        (name(r["feature"]), clean(r["item"], 40), int(r["estimate"]), int(r["n"]), clean(r["bound"]), r["p_value"])
        for r in result.estimates.to_dict("records")
    ]
    caption = f"Values of audited rows that no training row has: {count(len(rows), 'line')}. Counts, no intervals."
    return [make_table("support-values", caption, columns, rows, evidence=result.id, note=notes_of(result))]
