"""Sentences about results. They state what an interval allows, and nothing more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from ..core.text import count
from ..plots.frames import has_interval, interval_words, optional
from ..plots.importance import VERDICTS
from ..plots.words import MeasureWords
from .text import joined, name, plain, value_words


def ordered(table: pd.DataFrame) -> pd.DataFrame:
    """Return estimates, largest first; equal ones keep their order."""
    return table.sort_values("estimate", ascending=False, kind="stable", ignore_index=True)


def ranks(table: pd.DataFrame) -> dict[str, int]:
    """Return each feature's rank by its estimate, 1 for the largest; equal values share the better rank."""
    order = table["estimate"].rank(method="min", ascending=False)
    return {str(f): int(r) for f, r in zip(table["feature"], order, strict=True) if np.isfinite(r)}


def largest_words(table: pd.DataFrame, said: MeasureWords, most: int = 3) -> str:
    """Name the largest estimates with their intervals.

    ``"Largest: age 0.156 nats (0.127 to 0.185), amount ..."``
    """
    parts = [
        f"{name(row.feature)} {value_words(row.estimate, row.lower, row.upper, said.unit)}"
        for row in ordered(table).head(most).itertuples()
    ]
    return f"Largest: {joined(parts)}."


def verdict_words(table: pd.DataFrame) -> str:
    """Count the verdicts, or without verdicts the intervals above and below 0."""
    n = len(table)
    if "verdict" in table.columns and table["verdict"].astype(bool).any():
        said = table["verdict"].astype(str)
        groups = [(verdict, int(said.str.startswith(verdict).sum())) for verdict in VERDICTS]
        told = [f"{number_of} {verdict}" for verdict, number_of in groups if number_of]
        return f"Of {count(n, 'feature')}: {joined(told)}."
    if not has_interval(table).any():
        return ""
    above, below = int((table["lower"] > 0).sum()), int((table["upper"] < 0).sum())
    rest = n - above - below
    signs = ((above, "above 0"), (below, "below 0"), (rest, "that holds 0"))
    shown = [f"{number_of} with an interval {where}" for number_of, where in signs if number_of]
    return f"Of {count(n, 'feature')}: {joined(shown)}."


def importance_alt(table: pd.DataFrame, said: MeasureWords, shown: int) -> str:
    """Say what an importance figure shows, findings included."""
    around = f" with the {interval_words(table)}" if has_interval(table).any() else ""
    drawn = f"One dot per feature{around}, the {count(min(shown, len(table)), 'largest feature')} from top to bottom."
    return " ".join(
        filter(None, (f"Importance for {said.title}.", drawn, largest_words(table, said), verdict_words(table)))
    )


def margin_words(table: pd.DataFrame, unit: str) -> str:
    """Say which margin decides "about 0"."""
    margin = pd.to_numeric(optional(table, "margin")).max()
    return f"“About 0” means inside ±{value_words(margin, unit=unit)}." if np.isfinite(margin) else ""


def range_words(table: pd.DataFrame, said: MeasureWords) -> str:
    """Say between which values an average profile runs, and where; `table` holds one measure's estimates.

    The two ends are only called different if their intervals do not meet.
    """
    ends = range_ends(table, said.unit)
    if ends is None:
        return ""
    low, high, apart = ends
    return f"Average {said.title}: lowest {low}, highest {high}{'; the two intervals overlap' * (apart == 'no')}."


def range_ends(table: pd.DataFrame, unit: str = "") -> tuple[str, str, str] | None:
    """Return the lowest and the highest point of an average profile in words, and whether their intervals are apart.

    None without a number; "no intervals" where there is no saying.
    """
    known = table[np.isfinite(table["estimate"].to_numpy(dtype=float))]
    if known.empty:
        return None
    values = known["estimate"].to_numpy(dtype=float)
    low, high = known.iloc[int(values.argmin())], known.iloc[int(values.argmax())]
    told = [f"{value_words(end['estimate'], end['lower'], end['upper'], unit)} at {_place(end)}" for end in (low, high)]
    if not has_interval(known).all():
        return told[0], told[1], "no intervals"
    return told[0], told[1], "yes" if low["upper"] < high["lower"] else "no"


def _place(row: pd.Series[Any]) -> str:
    level = str(row["level"])
    return name(level) if level else plain(row["x"])


def agreement_words(tops: Sequence[tuple[str, Sequence[str]]]) -> str:
    """Say which leading features rankings share; each is its heading and its leading features."""
    if len(tops) < 2:
        return ""
    shared = set.intersection(*(set(features) for _, features in tops))
    kept = [feature for feature in tops[0][1] if feature in shared]
    size = max(len(features) for _, features in tops)
    if not kept:
        return f"No feature is among the first {size} of all {len(tops)} rankings."
    verb = "is" if len(kept) == 1 else "are"
    return f"{joined([name(f) for f in kept])} {verb} among the first {size} of all {len(tops)} rankings."
