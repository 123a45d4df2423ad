"""Small, checked readings of results that several figures share, and how measures and ranks are written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ...core.model.results import MeasureFacts, Result
from ...core.support.arrays import FloatArray
from ...core.support.errors import InputError, check_choice
from ...core.support.numbers import number, signed
from ...evidence import columns as col


class RowLabels(NamedTuple):
    """The labels of rows by a feature: its name, the labels in their order, and that of each row."""

    name: str
    order: tuple[str, ...]
    of_row: Mapping[int, str]


def choose(result: Result, what: str, choice: Any, allowed: Iterable[Any]) -> Any:
    """Return `choice` if the result has it, its first value without a choice; else refuse."""
    values = list(dict.fromkeys(allowed))
    if not values:
        reasons = "; ".join(dict.fromkeys(omission.reason for omission in result.omissions)) or "nothing was asked for"
        raise InputError(f"{result.id}.{what} must have values to draw; got an empty result: {reasons}.")
    if choice is None:
        return values[0]
    check_choice(f"{result.id}.{what}", choice, values)
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


def margin_of(table: pd.DataFrame) -> float:
    """Return the largest tolerance within which an importance counts as 0; NaN where there is none."""
    return float(pd.to_numeric(optional(table, col.MARGIN)).max())


def has_interval(table: pd.DataFrame) -> Any:
    """Say which rows have an interval."""
    return np.isfinite(numbers(table, col.LOWER))


def interval_words(table: pd.DataFrame) -> str:
    """Say which intervals these are: ``"95% CI over new test samples"``; empty if there are none.

    Intervals that cover different things are left to the caption.
    """
    intervals = table[has_interval(table)]
    if intervals.empty:
        return ""
    level = float(intervals[col.CONFIDENCE].iloc[0])
    covers = [str(c) for c in dict.fromkeys(intervals[col.COVERS]) if c and c != "none"]
    over = f" over {covers[0]}" if len(covers) == 1 else " (see the caption)" if covers else ""
    return f"{100 * level:.0f}% CI{over}" if np.isfinite(level) else f"CI{over}"


__all__ = ["axis_label", "number", "signed", "words"]


def words(measure: str, measures: Mapping[str, MeasureFacts]) -> MeasureFacts:
    """Return what the result records of a measure, else its name without a unit.

    Examples
    --------
    >>> words("rank_loss", {})
    MeasureFacts(title='rank loss', unit='', role='', direction='larger')
    """
    return measures.get(measure) or MeasureFacts(measure.replace("_", " "), "", "")


def axis_label(measure: str, measures: Mapping[str, MeasureFacts]) -> str:
    """Return ``"title (unit)"`` for an axis, ``"title (of it), unit"`` where the title has brackets of its own."""
    facts = words(measure, measures)
    if not facts.unit:
        return facts.title
    return f"{facts.title}, {facts.unit}" if facts.title.endswith(")") else f"{facts.title} ({facts.unit})"


def tied(ranked: Mapping[str, float]) -> dict[str, tuple[int, int]]:
    """Return the first and the last place of each feature: the same, unless others share its rank.

    Examples
    --------
    >>> tied({"a": 1, "b": 2, "c": 2})
    {'a': (1, 1), 'b': (2, 3), 'c': (2, 3)}
    """
    shared = Counter(ranked.values())
    return {feature: (int(rank), int(rank) + shared[rank] - 1) for feature, rank in ranked.items()}


def places_words(first: float, last: float) -> str:
    """Return places in words: ``"2"``, ``"2 to 4"``."""
    return " to ".join(f"{place:.0f}" for place in dict.fromkeys((first, last)))
