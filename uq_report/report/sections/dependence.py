"""How much the features repeat each other, which is what misleads permutation importance."""

from __future__ import annotations

from typing import Any

import pandas as pd

from ...core.results import Result
from ...plots import joint, redundancy
from ..blocks import TOP, intervals_caption, left_out, make_figure, make_table, notes_of
from ..document import Block, Column, Paragraph, Section
from ..evidence import Evidence
from ..text import joined, name, value_words
from .extras import extras

TITLE = "Dependence between features"
PAIRS = 4
KNOWN = ("redundancy", "redundancy.partner", "redundancy.joint")
LEAD = (
    "A feature that the others predict well shares its information with them: shuffling it alone breaks a tie that "
    "holds in the data, and its permutation importance under-reports what it carries. A feature predicted better "
    "once the target is known shares something with the target that the other features lack."
)


def dependence(e: Evidence) -> Section:
    """Return the redundancy of each feature, its closest partner, and strong pairs before and after shuffling."""
    result = e.find("redundancy")
    if result is None or not len(result.estimates):
        text = e.why_missing("redundancy") if result is None else "No feature could be predicted from the others."
        return Section(id="dependence", title=TITLE, blocks=(Paragraph(text=text), *left_out(result)))
    table = result.estimates
    features = len(_without(table))
    capped = f", the {TOP} most redundant of {features}" if features > TOP else ""
    figure = make_figure(
        "dependence-figure",
        f"How well all others predict each feature, without and with the target{capped}. {intervals_caption(table)}",
        f"R² per feature from the others, without and with the target. {_most(table)}",
        lambda: redundancy.draw(result, TOP),
        result.id,
    )
    blocks: list[Block] = [Paragraph(text=LEAD), Paragraph(text=_most(table)), figure, _table(e, result)]
    blocks += [*left_out(result), *_pairs(e)]
    return Section(id="dependence", title=TITLE, blocks=tuple(blocks), sections=extras(e, "redundancy", KNOWN))


def _without(table: pd.DataFrame) -> pd.DataFrame:
    part = table[table["item"] == redundancy.ITEMS[0]]
    return part.sort_values("estimate", ascending=False, kind="stable")


def _most(table: pd.DataFrame) -> str:
    top = _without(table).head(3).to_dict("records")
    told = [f"{name(row['feature'])} {value_words(row['estimate'], row['lower'], row['upper'])}" for row in top]
    return f"Most redundant by R² without the target: {joined(told)}."


def _table(e: Evidence, result: Result) -> Block:
    """Return both R² with their intervals, and the closest partner where one was sought."""
    table = result.estimates
    with_target = _by_feature(table[table["item"] == redundancy.ITEMS[1]])
    partners = e.find("redundancy.partner")
    closest = {} if partners is None else _by_feature(partners.estimates)
    columns = [Column("feature"), Column("R² without target"), Column("R² with target")]
    columns += [Column("closest partner"), Column("association", "number")] if closest else []
    rows = []
    for row in _without(table).to_dict("records"):
        cells = [name(row["feature"]), _words(row), _words(with_target.get(row["feature"]))]
        partner = closest.get(row["feature"], {})
        cells += [name(partner.get("item", "")), partner.get("estimate")] if closest else []
        rows.append(cells)
    caption = f"Redundancy of each feature. {intervals_caption(table)}"
    return make_table("dependence-table", caption, columns, rows, evidence=result.id, note=notes_of(result, partners))


def _by_feature(table: pd.DataFrame) -> dict[Any, Any]:
    return table.drop_duplicates("feature").set_index("feature").to_dict("index")


def _words(row: Any) -> str:
    return "not computed" if row is None else value_words(row["estimate"], row["lower"], row["upper"])


def _pairs(e: Evidence) -> list[Block]:
    """Return the strongest pairs before and after the shuffle: what the model is asked about."""
    result = e.find("redundancy.joint")
    if result is None or not len(result.frame):
        return []
    held = zip(result.frame["feature"].astype(str), result.frame["item"].astype(str), strict=True)
    shown = list({frozenset(pair): pair for pair in reversed(list(dict.fromkeys(held)))}.values())[::-1][:PAIRS]
    told = joined([f"{name(a)} with {name(b)}" for a, b in shown])
    caption = (
        f"{told}: rows before and after shuffling the first of each pair. Points where none stood are extrapolation."
    )
    alt = f"Scatter of {told}, before and after the shuffle: shuffled rows fill places that hold no data."
    return [make_figure("dependence-joint", caption, alt, lambda: joint.draw(result, shown), result.id)]
