"""Outcomes analysis: how well predictions agree with what happened, over all rows and by group."""

from __future__ import annotations

import pandas as pd

from ...core.results import Result
from ..blocks import interval_columns, intervals_caption, left_out, make_table, notes_of
from ..document import Block, Column, Paragraph, Section, Table
from ..evidence import Evidence
from ..text import joined, name, value_words
from .groups import groups

TITLE = "Outcomes analysis"
LEAD = (
    "Scores are means over the audited rows, given the fitted model. A baseline ignores the features; a skill is the "
    "baseline's score less the model's. Which score fits the use of the model is for people to judge."
)
# items of the result `calibration` that are told in the section on the quality of uncertainty
UNCERTAINTY = ("confidence_gap", "recalibration_gain", "ece", "pit_distance", "coverage_gap")


def outcomes(e: Evidence) -> Section:
    """Return scores against outcomes, and performance and uncertainty by group."""
    return Section(id="outcomes", title=TITLE, blocks=(Paragraph(text=LEAD),), sections=(_scores(e), groups(e)))


def _scores(e: Evidence) -> Section:
    result = e.find("calibration")
    if result is None:
        blocks: tuple[Block, ...] = (Paragraph(text=e.why_missing("calibration")),)
    else:
        table = result.estimates[~_judges_uncertainty(result.estimates)]
        text = _skill(table)
        caption = f"Scores on the audited rows. {intervals_caption(table)}"
        told = (Paragraph(text=text),) if text else ()
        shown = items_table(result, table.assign(p_value=float("nan")), "scores-table", caption)
        blocks = (*told, shown, *left_out(result))
    return Section(id="scores", title="Scores", blocks=blocks)


def about_uncertainty(table: pd.DataFrame) -> pd.DataFrame:
    """Return the items that judge the uncertainty, and every test against the model's own distributions."""
    return table[_judges_uncertainty(table) | table["p_value"].notna()]


def _judges_uncertainty(table: pd.DataFrame) -> pd.Series[bool]:
    items = table["item"].astype(str)
    return items.isin(UNCERTAINTY) | items.str.startswith("sharpness")


def _skill(table: pd.DataFrame) -> str:
    """Say whether the model beats its baseline, as far as the intervals tell."""
    skills = table[table["item"].astype(str).str.endswith("_skill")]
    groups_: dict[str, list[str]] = {}
    for row in skills.to_dict("records"):
        said = "better than" if row["lower"] > 0 else "worse than" if row["upper"] < 0 else "not told apart from"
        told = value_words(row["estimate"], row["lower"], row["upper"], str(row["unit"]))
        groups_.setdefault(said, []).append(f"{item_name(row['item'])} {told}")
    parts = [f"{said} the baseline by {joined(told)}" for said, told in groups_.items()]
    return f"The model is {'; '.join(parts)}." if parts else ""


def item_name(item: object) -> str:
    """Return an item in words."""
    return name(item).replace("_", " ")


def items_table(result: Result, table: pd.DataFrame, key: str, caption: str) -> Table:
    """Return items with their intervals, and tests with their p-values where there are any."""
    interval = interval_columns(table)
    tested = bool(table["p_value"].notna().any())
    columns = [Column("item"), Column("unit"), Column("estimate", "number"), *interval]
    columns += [Column("p", "pvalue"), Column("p, adjusted", "pvalue"), Column("mean if calibrated", "number")] * tested
    kept = ["estimate", *(["lower", "upper"] if interval else [])]
    kept += ["p_value", "p_adjusted", "null_mean"] if tested else []
    rows = [
        (item_name(row["item"]), name(row["unit"]), *(row.get(c) for c in kept)) for row in table.to_dict("records")
    ]
    return make_table(key, caption, columns, rows, evidence=result.id, note=notes_of(result))
