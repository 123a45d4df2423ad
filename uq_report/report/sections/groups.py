"""Performance and uncertainty by group of a protected attribute, with intervals and numbers of rows."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from ...core.results import Result
from ...core.text import count
from ...plots import importance
from ...plots.words import axis_label
from ..blocks import interval_columns, intervals_caption, left_out, make_figure, make_table, notes_of
from ..document import Block, Column, Paragraph, Section
from ..evidence import Evidence
from ..text import joined, name, value_words
from .extras import extras

TITLE = "Groups"
KNOWN = ("groups", "groups.difference", "groups.proxy")
PANELS = 3
TOP = 12
COLUMNS = 6
PREFERRED = ("brier", "squared_error", "nll", "entropy")
LEAD = (
    "Groups of the attributes that were named as protected, each with its number of rows; small groups are withheld. "
    "A difference is a group less the rest. Intervals hold one by one, not for all groups at once; findings are "
    "adjusted for their number. A difference is no proof of unfairness, and its absence no proof of fairness."
)


def groups(e: Evidence) -> Section:
    """Return performance and uncertainty by group, or why there is none."""
    result = e.find("groups")
    if result is None or not len(result.estimates):
        text = e.why_missing("groups") if result is None else "No group has enough rows to be shown."
        return Section(id="groups", title=TITLE, blocks=(Paragraph(text=text), *left_out(result)))
    attributes = [str(a) for a in dict.fromkeys(result.estimates["feature"]) if a]
    notes = notes_of(result)
    blocks: tuple[Block, ...] = (
        Paragraph(text=LEAD),
        *e.warning([str(m) for m in dict.fromkeys(result.estimates["measure"])]),
        *([Paragraph(text=notes)] if notes else []),
        *left_out(result),
    )
    sections = [_attribute(e, result, attribute, k) for k, attribute in enumerate(attributes, 1)]
    return Section(
        id="groups", title=TITLE, blocks=blocks, sections=(*sections, *_proxy(e), *extras(e, "groups", KNOWN))
    )


def _attribute(e: Evidence, result: Result, attribute: str, k: int) -> Section:
    table = result.estimates[result.estimates["feature"].isin([attribute, ""])]
    held = [str(m) for m in dict.fromkeys(table["measure"])]
    shown = ([m for m in PREFERRED if m in held] or held)[:PANELS]
    blocks: list[Block] = [Paragraph(text=_apart(e, attribute))]
    blocks += [_figure(e, result, table, shown, (attribute, k)), _table(e, result, table, held, (attribute, k))]
    return Section(id=f"groups-{k}", title=name(attribute), blocks=(*blocks, *_differences(e, attribute, k)))


def _apart(e: Evidence, attribute: str) -> str:
    """Say which differences lie off 0 by their own interval."""
    result = e.find("groups.difference")
    if result is None:
        return "Groups were not compared."
    table = result.estimates[result.estimates["feature"] == attribute]
    off = table[(table["lower"] > 0) | (table["upper"] < 0)]
    told = [
        f"{e.words(str(r['measure'])).title} of {name(r['item'])} {value_words(r['estimate'], r['lower'], r['upper'])}"
        for r in off.to_dict("records")
    ]
    if not told:
        return "No difference between a group and the rest is shown."
    return f"Group less the rest, where the interval of that one difference excludes 0: {joined(told)}."


def _figure(e: Evidence, result: Result, table: pd.DataFrame, measures: Sequence[str], place: tuple[str, int]) -> Block:
    """Draw the leading measures side by side, a row per group."""
    attribute, k = place
    parts = {m: table[table["measure"] == m].assign(feature=lambda t: t["item"].astype(str)) for m in measures}
    labels = list(dict.fromkeys(str(i) for part in parts.values() for i in part["item"]))[:TOP]
    panels = [
        importance.Panel("", axis_label(m, result.meta), e.words(m).role, part.drop_duplicates("feature"))
        for m, part in parts.items()
    ]
    means = [
        f"{e.words(m).title}: " + joined([f"{name(r['item'])} {value_words(r['estimate'])}" for r in rows])
        for m, rows in ((m, part.to_dict("records")) for m, part in parts.items())
    ]
    return make_figure(
        f"groups-{k}-figure",
        f"Mean by group of {name(attribute)}, and over all rows. {intervals_caption(table)}",
        f"A dot with its interval per group of {name(attribute)}. {'. '.join(means)}.",
        lambda: importance.draw_panels(panels, labels),
        result.id,
    )


def _table(e: Evidence, result: Result, table: pd.DataFrame, measures: Sequence[str], place: tuple[str, int]) -> Block:
    """Return a column per group, those with the most rows where there are many."""
    attribute, k = place
    rows_of = table.groupby(table["item"].astype(str), sort=False)["n"].max().astype(int)
    shown = [str(i) for i in rows_of.sort_values(ascending=False, kind="stable").index[:COLUMNS]]
    cells = {
        (str(r["measure"]), str(r["item"])): value_words(r["estimate"], r["lower"], r["upper"])
        for r in table.to_dict("records")
    }
    rows = [[e.words(m).title, *(cells.get((m, label), "none") for label in shown)] for m in measures]
    columns = [Column("mean of"), *(Column(f"{name(label)} (n = {rows_of[label]})") for label in shown)]
    more = len(rows_of) - len(shown)
    cut = f" {count(more, 'smaller group')}: see the evidence groups." if more else ""
    caption = f"Every measure by group of {name(attribute)}.{cut} {intervals_caption(table)}"
    return make_table(f"groups-{k}-table", caption, columns, rows, evidence=result.id)


def _differences(e: Evidence, attribute: str, k: int) -> list[Block]:
    result = e.find("groups.difference")
    table = None if result is None else result.estimates[result.estimates["feature"] == attribute]
    if result is None or table is None or not len(table):
        return []
    interval = interval_columns(table)
    ends = ("lower", "upper") if interval else ()
    columns = [Column("group"), Column("measure"), Column("rows", "integer"), Column("rest", "integer")]
    columns += [Column("difference", "number"), *interval, Column("p", "pvalue"), Column("over all rows", "number")]
    rows = [
        (
            name(r["item"]),
            e.words(str(r["measure"])).title,
            int(r["n"]),
            int(r["n_rest"]),
            r["estimate"],
            *(r[end] for end in ends),
            r["p_value"],
            r["overall"],
        )
        for r in table.to_dict("records")
    ]
    caption = f"Each group of {name(attribute)} less the rest. {intervals_caption(table)}"
    return [make_table(f"groups-{k}-differences", caption, columns, rows, evidence=result.id, note=notes_of(result))]


def _proxy(e: Evidence) -> tuple[Section, ...]:
    """Return how well the model's other features tell the attribute, and the single ones that go with it."""
    result = e.find("groups.proxy")
    if result is None or not len(result.estimates):
        return ()
    text = (
        "A model that does not use an attribute can still follow it through features that go with it. Shown is how "
        "well the other features predict it together, and the association of each one."
    )
    columns = [Column("attribute"), Column("measure"), Column("by"), Column("value")]
    rows = [
        (
            name(r["feature"]),
            name(r["measure"]).replace("_", " "),
            name(r["item"]),
            value_words(r["estimate"], r["lower"], r["upper"]),
        )
        for r in result.estimates.to_dict("records")
    ]
    caption = f"How far other features stand in for a protected attribute. {intervals_caption(result.estimates)}"
    table = make_table("groups-proxy-table", caption, columns, rows, evidence=result.id, note=notes_of(result))
    return (Section(id="groups-proxy", title="Proxies", blocks=(Paragraph(text=text), table, *left_out(result))),)
