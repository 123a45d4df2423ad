"""Contributions of features to single rows, by the role of each row: most uncertain, most wrong, typical."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from ...core.results import Result
from ...plots import attribution
from ...plots.words import number
from ..blocks import make_figure, make_table, notes_of
from ..document import Block, Column, Paragraph, Table
from ..evidence import Evidence
from ..text import clean, name

ROWS = 6


def single_rows(e: Evidence, result: Result, panels: int) -> list[Block]:
    """Return one figure, with at most `panels` measures, and one table for each explained row."""
    blocks: list[Block] = [Paragraph(text=notes_of(result))] if result.notes else []
    for k, (row, role) in enumerate(list(roles(result).items())[:ROWS], 1):
        here = result.frame[result.frame["row"] == row]
        measures = [str(m) for m in dict.fromkeys(here["measure"])][:panels]
        blocks += [_figure(e, result, here, measures, (k, role)), _table(e, result, here, measures, k)]
    return blocks


def roles(result: Result) -> dict[int, str]:
    """Return the rows to show with their role: those the result names, else the first one."""
    said = result.meta.get("rows")
    found: dict[int, str] = {}
    for role, rows in said.items() if isinstance(said, Mapping) else ():
        for row in rows if isinstance(rows, list | tuple) else [rows]:
            found[int(row)] = f"{found[int(row)]}, {name(role)}" if int(row) in found else name(role)
    held = [int(row) for row in dict.fromkeys(result.frame["row"])]
    return {row: role for row, role in found.items() if row in held} or dict.fromkeys(held[:1], "")


def _figure(e: Evidence, result: Result, here: pd.DataFrame, measures: Sequence[str], place: tuple[int, str]) -> Block:
    (k, role), row = place, int(here["row"].iloc[0])
    what = f"Row {row}{f', {role}' if role else ''}"
    caption = f"{what}: the way from the base (a mean over background rows) to the row's own value."
    alt = f"{what}. {' '.join(_way(e, here, measure) for measure in measures)}"
    return make_figure(
        f"{result.id}-figure-{k}",
        caption,
        alt,
        lambda: attribution.draw(result, measure=measures, row=row),
        result.id,
    )


def _way(e: Evidence, here: pd.DataFrame, measure: str) -> str:
    """Say where a measure starts and ends, and what moves it most."""
    part = here[here["measure"] == measure]
    base = float(part["base"].iloc[0])
    top = part.iloc[int(part["value"].abs().to_numpy().argmax())]
    moved = f"most by {name(top['feature'])} ({number(float(top['value']))})"
    return (
        f"{e.words(measure).title} from {number(base)} to {number(base + float(part['value'].sum()))}, moved {moved}."
    )


def _table(e: Evidence, result: Result, here: pd.DataFrame, measures: Sequence[str], k: int) -> Table:
    parts = [here[here["measure"] == m].drop_duplicates("feature").set_index("feature")["value"] for m in measures]
    row = int(here["row"].iloc[0])
    held = attribution.row_values(result, row)
    columns = [Column("feature"), *([Column("own value")] if held else [])]
    columns += [Column(e.words(m).title, "number", e.words(m).unit) for m in measures]
    rows = []
    for feature in parts[0].abs().sort_values(ascending=False, kind="stable").index:
        own = [name(held.get(str(feature), ""))] if held else []
        rows.append([name(feature), *own, *(part.get(feature) for part in parts)])
    caption = f"Contributions to row {row}, by size for {e.words(measures[0]).title}. {_exactness(result, row)}"
    return make_table(f"{result.id}-table-{k}", caption, columns, rows, evidence=result.id)


def _exactness(result: Result, row: int) -> str:
    """Say how exact the contributions are."""
    table = result.estimates
    if "row" not in table.columns or not table["std_error"].notna().any():
        return f"There are no intervals: {clean(result.explainer)} gives none."
    error = float(table.loc[table["row"] == row, "std_error"].max())
    if error == 0:
        return "Exact for the given background: no Monte-Carlo error."
    return f"Largest Monte-Carlo standard error: {number(error)}."
