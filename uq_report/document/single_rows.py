"""Contributions of features to single rows, by the role of each row: most uncertain, most wrong, typical."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from ..core.results import Result
from ..evidence import columns as col
from ..evidence.rows import Attributions
from .blocks import make_figure, make_table, notes_of
from .document import Block, Column, Paragraph, Table
from .evidence import Evidence
from .plots import attribution
from .plots.words import number
from .text import clean, name

ROWS = 6


def single_rows(e: Evidence, result: Result) -> list[Block]:
    """Return one figure, with the measures that fit, and one table for each explained row."""
    blocks: list[Block] = [Paragraph(text=notes_of(result))] if result.notes else []
    for k, (row, role) in enumerate(list(roles(result).items())[:ROWS], 1):
        here = result.frame[result.frame[col.ROW] == row]
        measures = [str(m) for m in dict.fromkeys(here[col.MEASURE])][: attribution.PANELS]
        blocks += [_figure(e, result, here, measures, (k, role)), _table(e, result, here, measures, k)]
    return blocks


def roles(result: Result) -> dict[int, str]:
    """Return the rows to show with their role: those the result names, else the first one."""
    named = Attributions.from_result(result).rows
    words: dict[int, list[str]] = {}
    for role, rows in named.items() if isinstance(named, Mapping) else ():
        for row in np.atleast_1d(rows):
            words.setdefault(int(row), []).append(name(role))
    present = [int(row) for row in dict.fromkeys(result.frame[col.ROW])]
    return {row: ", ".join(words[row]) for row in words if row in present} or dict.fromkeys(present[:1], "")


def _figure(e: Evidence, result: Result, here: pd.DataFrame, measures: Sequence[str], place: tuple[int, str]) -> Block:
    (k, role), row = place, int(here[col.ROW].iloc[0])
    what = f"Row {row}{f', {role}' if role else ''}"
    caption = f"{what}: the way from the base (a mean over background rows) to the row's own value."
    alt = f"{what}. {' '.join(_way(e, here, measure) for measure in measures)}"
    key = f"{result.id}-figure-{k}"
    return make_figure(key, caption, alt, lambda: attribution.draw(result, measure=measures, row=row), result.id)


def _way(e: Evidence, here: pd.DataFrame, measure: str) -> str:
    """Say where a measure starts and ends, and what moves it most."""
    part = here[here[col.MEASURE] == measure]
    base, values = float(part[col.BASE].iloc[0]), part[col.VALUE]
    top = part.iloc[int(values.abs().to_numpy().argmax())]
    moved = f"most by {name(top[col.FEATURE])} ({number(float(top[col.VALUE]))})"
    return f"{e.words(measure).title} from {number(base)} to {number(base + float(values.sum()))}, moved {moved}."


def _table(e: Evidence, result: Result, here: pd.DataFrame, measures: Sequence[str], k: int) -> Table:
    once = here.drop_duplicates([col.MEASURE, col.FEATURE])
    parts = [once[once[col.MEASURE] == m].set_index(col.FEATURE)[col.VALUE] for m in measures]
    row = int(here[col.ROW].iloc[0])
    own_values = attribution.row_values(result, row)
    columns = [Column("feature"), *([Column("own value")] if own_values else [])]
    columns += [Column(e.words(m).title, "number", e.words(m).unit) for m in measures]
    rows = []
    for feature in parts[0].abs().sort_values(ascending=False, kind="stable").index:
        own = [name(own_values.get(str(feature), ""))] if own_values else []
        rows.append([name(feature), *own, *(part.get(feature) for part in parts)])
    caption = f"Contributions to row {row}, by size for {e.words(measures[0]).title}. {_exactness(result, row)}"
    return make_table(f"{result.id}-table-{k}", caption, columns, rows, evidence=result.id)


def _exactness(result: Result, row: int) -> str:
    """Say how exact the contributions are."""
    table = result.estimates
    if col.ROW not in table.columns or not table[col.STD_ERROR].notna().any():
        return f"There are no intervals: {clean(result.explainer)} gives none."
    error = float(table.loc[table[col.ROW] == row, col.STD_ERROR].max())
    if error == 0:
        return "Exact for the given background: no Monte-Carlo error."
    return f"Largest Monte-Carlo standard error: {number(error)}."
