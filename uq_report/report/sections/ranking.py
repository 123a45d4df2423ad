"""Rankings of different questions and methods beside each other."""

from __future__ import annotations

import pandas as pd

from ...core.text import count
from ...plots import importance, ranks
from ...plots.frames import interval_words
from ..blocks import TOP, intervals_caption, make_figure, make_table
from ..document import Block, Column, Table
from ..evidence import Evidence
from ..questions import Answer
from ..telling import largest_words, ordered
from ..telling import ranks as places_of
from ..text import joined, name, value_words

SIDE = 12  # features in the figure with all questions
COLUMNS = 10
ROWS = 10  # features in the table with all questions
# results whose importances are compared by rank, and what they are called there
RANKED = (("pfi", "PFI"), ("shap.importance", "SHAP"), ("dalex.model_parts", "DALEX"))
ROLES = ("prediction", "loss", "uncertainty")


def side_by_side(told: list[Answer], most: int = SIDE) -> list[Block]:
    """Return the figure with one panel per question, ordered by the loss where it is there."""
    if not told:
        return []
    leader = next((answer for answer in told if answer.heading == "loss"), told[0])
    order = [str(f) for answer in (leader, *told) for f in ordered(answer.table)["feature"]]
    shown = list(dict.fromkeys(order))[:most]
    alt = " ".join(f"{a.heading.capitalize()} ({a.said.title}). {largest_words(a.table, a.said)}" for a in told)
    covers = " ".join(f"{a.heading.capitalize()}: {a.method}. {intervals_caption(a.table)}" for a in told)
    lead = f"The questions side by side for {count(len(shown), 'feature')}, ordered by {leader.said.title}."
    panels = [answer.panel() for answer in told]
    evidence = leader.result.id
    return [
        make_figure("drivers-side", f"{lead} {covers}", alt, lambda: importance.draw_panels(panels, shown), evidence)
    ]


def drivers_table(e: Evidence, told: list[Answer], key: str, top: int = ROWS) -> Table:
    """Return ranks and importances side by side, one pair of columns per question."""
    places = [places_of(answer.table) for answer in told]
    features = list(dict.fromkeys(f for place in places for f in place))
    features.sort(key=lambda f: (min(p.get(f, 10**6) for p in places), sum(p.get(f, 10**6) for p in places)))
    columns = [Column("feature")]
    for answer in told:
        columns += [Column("rank", "integer"), Column(answer.heading, "text", answer.said.unit)]
    rows = []
    for feature in features[:top]:
        cells: list[str | int | None] = [name(feature)]
        for answer, place in zip(told, places, strict=True):
            row = answer.table[answer.table["feature"] == feature]
            said = value_words(*row.iloc[0][["estimate", "lower", "upper"]]) if len(row) else None
            cells += [place.get(feature), said]
        rows.append(cells)
    return make_table(
        key,
        "What drives the prediction, the loss and the uncertainty, side by side.",
        columns,
        rows,
        evidence=told[-1].result.id,
        note=f"{_sources(told)} {e.group_words}".strip(),
    )


def _sources(told: list[Answer]) -> str:
    """Say which numbers these are, and which intervals stand in brackets."""
    parts = [
        f"{a.heading}: {a.method}{f', in brackets the {w}' if (w := interval_words(a.table)) else ''}" for a in told
    ]
    return f"{'. '.join(parts)}. Ranks of features whose intervals overlap may be exchanged in new data."


def rank_matrix(e: Evidence) -> list[Block]:
    """Return every ranking by method and measure, as a figure and as a table."""
    columns = _columns(e)
    if len(columns) < 2:
        return []
    evidence = "pfi" if e.find("pfi") is not None else columns[0].source
    placed = [ranks.ranks(column.values) for column in columns]
    heads = [f"{c.method} {c.measure}" for c in columns]
    leaders = [name(min(place, key=lambda feature: place[feature])) for place in placed]
    first = joined([f"{head}: {leader}" for head, leader in zip(heads, leaders, strict=True)], COLUMNS)
    figure = make_figure(
        "drivers-ranks",
        "Ranks by method and measure, 1 for the largest value (signs kept; equal values share the better rank).",
        f"Matrix of ranks, a column per method and measure. First in each: {first}.",
        lambda: ranks.draw(columns, TOP),
        evidence,
    )
    mean = pd.DataFrame(placed).mean().sort_values(kind="stable")
    table = make_table(
        "drivers-ranks-table",
        "The same ranks as numbers.",
        [Column("feature"), *(Column(head, "integer") for head in heads)],
        [(name(feature), *(place.get(str(feature)) for place in placed)) for feature in mean.index],
        evidence=evidence,
        note="Ranks carry the error of the estimates they come from; they have no interval of their own here.",
    )
    return [figure, table]


def _columns(e: Evidence) -> list[ranks.Column]:
    """Return the rankings, those of one question together."""
    found = []
    for key, method in RANKED:
        result = e.find(key)
        for measure, table in result.estimates.groupby("measure", sort=False) if result is not None else ():
            known = table.dropna(subset=["estimate"])
            values = dict(zip(known["feature"].astype(str), known["estimate"], strict=True))
            if values:
                found.append(ranks.Column(method, str(measure), e.words(str(measure)).role, values, key))
    found.sort(key=lambda column: ROLES.index(column.role) if column.role in ROLES else len(ROLES))
    return found[:COLUMNS]
