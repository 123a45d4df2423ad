"""Tables made from estimates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from ..core.results import Result
from ..plots.frames import has_interval
from .blocks import interval_columns, intervals_caption, make_table, notes_of
from .document import Column, Table
from .evidence import Evidence
from .telling import ordered, range_ends, ranks
from .text import name

# column of the estimates -> heading and number format, printed where the column is there and not empty
FURTHER: dict[str, tuple[str, str]] = {
    "verdict": ("verdict", "text"),
    "p_value": ("p (shuffles)", "pvalue"),
    "spread_low": ("shuffles from", "number"),
    "spread_high": ("to", "number"),
    "n_needed": ("rows to decide", "integer"),
}


def importance_table(e: Evidence, result: Result, measure: str, key: str) -> Table:
    """Return one measure's importances: rank, estimate, error, interval, verdict and shuffles."""
    said = e.words(measure)
    table = ordered(result.estimates[result.estimates["measure"] == measure])
    place = ranks(table)
    interval = interval_columns(table)
    further = [(c, *FURTHER[c]) for c in FURTHER if c in table.columns and not _is_blank(table[c])]
    error = not _is_blank(table["std_error"])
    columns = [Column("feature"), Column("rank", "integer"), Column("importance", "number", said.unit)]
    columns += [Column("std. error", "number")] * error + list(interval)
    columns += [Column(heading, kind) for _, heading, kind in further]  # type: ignore[arg-type] # literals of FURTHER
    rows = []
    for row in table.to_dict("records"):
        cells = [name(row["feature"]), place.get(str(row["feature"])), row["estimate"]]
        cells += [row["std_error"]] * error + [row["lower"], row["upper"]] * bool(interval)
        rows.append(cells + [_whole(row[c]) if kind == "integer" else row[c] for c, _, kind in further])
    caption = f"Importance for {said.title}, largest first."
    return make_table(key, caption, columns, rows, evidence=result.id, note=notes_of(result))


def wide_table(e: Evidence, result: Result, key: str, caption: str, measures: Sequence[str]) -> Table:
    """Return features by measures, each with its interval, ordered by the first measure."""
    parts = [
        result.estimates[result.estimates["measure"] == m].drop_duplicates("feature").set_index("feature")
        for m in measures
    ]
    order = parts[0].sort_values("estimate", ascending=False, kind="stable").index
    columns = [Column("feature")]
    for measure, part in zip(measures, parts, strict=True):
        columns += [Column(e.words(measure).title, "number", e.words(measure).unit), *interval_columns(part)]
    kept = [("estimate", "lower", "upper") if has_interval(part).any() else ("estimate",) for part in parts]
    held = [part.to_dict("index") for part in parts]
    rows = []
    for feature in order:
        numbers = [rows_.get(feature, {}).get(c) for rows_, names in zip(held, kept, strict=True) for c in names]
        rows.append([name(feature), *numbers])
    return make_table(key, caption, columns, rows, evidence=result.id, note=notes_of(result))


def ends_table(
    e: Evidence, result: Result, features: Sequence[str], measures: Sequence[str], key: str
) -> tuple[Table, ...]:
    """Return where the average profile of each feature is lowest and highest, a row per measure; none without x."""
    if not {"x", "level"} <= set(result.estimates.columns):
        return ()
    rows = []
    for feature in features:
        held = result.estimates[result.estimates["feature"] == feature]
        for measure in measures:
            ends = range_ends(held[held["measure"] == measure])
            if ends is not None:
                rows.append((name(feature), e.words(measure).title, *ends))
    columns = [Column("feature"), Column("measure"), Column("lowest"), Column("highest"), Column("intervals apart")]
    caption = f"Ends of the average profiles. {intervals_caption(result.estimates)} Each holds by itself."
    return (make_table(key, caption, columns, rows, evidence=result.id),) if rows else ()


def plain_table(frame: pd.DataFrame, key: str, caption: str, evidence: str, note: str = "") -> Table:
    """Return any frame as it is, without columns that hold nothing or that its caption says."""
    first = [c for c in ("feature", "feature_2", "item", "measure") if c in frame.columns]
    order = [*first, *(c for c in frame.columns if c not in first)]
    idle = {c for c in ("confidence", "covers") if c in frame.columns and len(frame[c].astype(str).unique()) == 1}
    kept = [c for c in order if c not in idle and not _is_blank(frame[c])] or order[:1]
    columns = [Column(name(c).replace("_", " "), _kind(frame[c])) for c in kept]
    return make_table(key, caption, columns, frame[kept].itertuples(index=False), evidence=evidence, note=note)


def _is_blank(column: pd.Series[Any]) -> bool:
    return bool((column.isna() | column.astype(str).eq("")).all())


def _kind(column: pd.Series[Any]) -> Any:
    if str(column.name) in ("p_value", "p_adjusted"):
        return "pvalue"
    if pd.api.types.is_integer_dtype(column):
        return "integer"
    return "number" if pd.api.types.is_float_dtype(column) else "text"


def _whole(value: Any) -> Any:
    return None if pd.isna(value) else int(value)
