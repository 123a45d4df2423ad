"""Small, checked readings of a result's frames that several figures share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ...core.model.results import Result
from ...core.support.arrays import FloatArray
from ...core.support.errors import InputError
from ...evidence import columns as col


def choose(result: Result, what: str, choice: Any, allowed: Iterable[Any]) -> Any:
    """Return `choice` if the result has it, its first value without a choice; else refuse."""
    values = list(dict.fromkeys(allowed))
    if not values:
        raise InputError(f"{result.id}.{what} must have values to draw; got an empty result.")
    if choice is None:
        return values[0]
    if choice not in values:
        raise InputError(f"{result.id}.{what} must be one of {values[:20]}; got {choice!r}.")
    return choice


def several(result: Result, what: str, choice: Sequence[str] | str | None, allowed: Iterable[Any]) -> list[Any]:
    """Return the chosen values, each of which the result has; all of its values, in their order, without a choice."""
    values = list(dict.fromkeys(allowed))
    if choice is None:
        return values
    return [choose(result, what, name, values) for name in ([choice] if isinstance(choice, str) else choice)]


def optional(table: pd.DataFrame, column: str) -> pd.Series[Any]:
    """Return a column, or NaN where the explainer gives none."""
    return table[column] if column in table.columns else pd.Series(np.nan, index=table.index)


def numbers(table: pd.DataFrame, column: str) -> FloatArray:
    """Return a column's numbers, shape (n,); NaN where the explainer gives none."""
    return np.asarray(pd.to_numeric(optional(table, column)), dtype=float)


def has_interval(table: pd.DataFrame) -> Any:
    """Say which rows have an interval."""
    return np.isfinite(numbers(table, col.LOWER))


def interval_words(table: pd.DataFrame) -> str:
    """Say which intervals these are: ``"95 % interval over new test rows"``; empty if there are none.

    Intervals that cover different things are left to the caption.
    """
    intervals = table[has_interval(table)]
    if intervals.empty:
        return ""
    level = float(intervals[col.CONFIDENCE].iloc[0])
    covers = [str(c) for c in dict.fromkeys(intervals[col.COVERS]) if c and c != "none"]
    over = f" over {covers[0]}" if len(covers) == 1 else " (see the caption)" if covers else ""
    return f"{100 * level:.0f} % interval{over}" if np.isfinite(level) else f"interval{over}"
