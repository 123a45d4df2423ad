"""Protected attributes cut into groups, and which groups may be shown."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from ...core.statistics.inference import n_units
from ...core.support.arrays import AnyArray, BoolArray, FloatArray, IntArray
from ...core.support.numbers import infinite
from ...core.support.text import short

QUARTILES = (0.25, 0.5, 0.75)
MISSING = "missing"
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?")
BELOW = ("under", "below", "up to", "less", "at most", "younger")
LESS = re.compile(r"^[^\d]*[<≤][^\d]*\d+(?:\.\d+)?[^\d]*$|\b(and|or) (under|below|less|younger)\b")
Key = tuple[int, int]


@dataclass(frozen=True)
class Attribute:
    """A protected attribute: the group of each row (a position in `labels`).

    One that was cut has the `edges`, and the `numbers` that were cut, of dates their ranks.
    """

    name: str
    labels: tuple[str, ...]
    codes: IntArray
    edges: tuple[str, ...] = ()
    numbers: FloatArray | None = None


def attributes(protected: Mapping[str, AnyArray], max_levels: int) -> list[Attribute]:
    """Return each attribute as groups: ordered ones of more than `max_levels` values cut at their quartiles."""
    return [_attribute(name, pd.Series(values), max_levels) for name, values in protected.items()]


def _attribute(name: str, values: pd.Series[Any], max_levels: int) -> Attribute:
    values = values.infer_objects()
    dates = pd.api.types.is_datetime64_any_dtype(values.dtype)
    plain = pd.api.types.is_numeric_dtype(values.dtype) and not pd.api.types.is_bool_dtype(values.dtype)
    if (plain or dates) and values.nunique() > max_levels:
        return _cut(name, values, values.rank() if dates else values.astype(float))
    levels = _sorted(values.dropna().unique().tolist())
    place = {level: position for position, level in enumerate(levels)}
    codes = np.array([place.get(cell, len(levels)) for cell in values.tolist()], dtype=np.int64)
    return Attribute(name, _unique([_word(level) for level in levels], codes), codes)


def _cut(name: str, values: pd.Series[Any], numbers: pd.Series[Any]) -> Attribute:
    """Return the quarters of an ordered attribute; its edges are values that occur."""
    ordered = np.sort(values.dropna().to_numpy())
    places = [int(np.ceil(level * len(ordered))) - 1 for level in QUARTILES]
    edges = [edge for edge in pd.unique(ordered[places]) if edge < ordered[-1]]
    codes = np.searchsorted(np.array(edges), values.to_numpy(), side="left").astype(np.int64)
    codes[values.isna().to_numpy()] = len(edges) + 1
    words = [_word(edge) for edge in edges]
    between = [f"over {low} to {high}" for low, high in pairwise(words)]
    labels = [f"up to {words[0]}", *between, f"over {words[-1]}"] if words else ["all values"]
    return Attribute(name, _unique(labels, codes), codes, tuple(words), np.asarray(numbers, dtype=float))


def _unique(labels: Sequence[str], codes: IntArray) -> tuple[str, ...]:
    """Return labels that differ, with one more for missing values where there are any."""
    unique: list[str] = []
    for label in [*labels, *([MISSING] if (codes == len(labels)).any() else [])]:
        alike = sum(earlier == label or earlier.startswith(f"{label} (") for earlier in unique)
        unique.append(f"{label} ({alike + 1})" if label in unique else label)
    return tuple(unique)


def _word(value: Any) -> str:
    if isinstance(value, np.datetime64 | pd.Timestamp):
        return str(pd.Timestamp(value))
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.number):
        return short(value)
    return f"{value:.6g}" if np.isfinite(value) else infinite(float(value))


def _sorted(levels: list[Any]) -> list[Any]:
    """Return levels in their order, bands by where they begin; in that of their words where they have none."""
    if sum(_bound(level) is not None for level in levels) > 1:
        return sorted(levels, key=lambda level: (_bound(level) is None, _bound(level) or (), str(level)))
    try:
        return sorted(levels)
    except TypeError:
        return sorted(levels, key=lambda level: (type(level).__name__, str(level)))


def _bound(level: Any) -> tuple[float, bool, float] | None:
    """Return where a band such as ``"30 to 44"`` or ``"< 30"`` begins, and whether it is above it; None if it is none.

    Examples
    --------
    >>> sorted(["45 and more", "30 to 44", "under 30", "100+"], key=_bound)
    ['under 30', '30 to 44', '45 and more', '100+']
    """
    if not isinstance(level, str):
        return None
    numbers = [float(number) for number in NUMBER.findall(level)]
    if not numbers:
        return None
    word = level.lower()
    opens = word.lstrip().startswith(BELOW) or bool(LESS.search(word))
    return (numbers[0], not opens, numbers[-1])


def large_groups(attributes: Sequence[Attribute], inside: BoolArray, units: IntArray, n_min: int) -> frozenset[Key]:
    """Return the groups, by position of attribute and group, of at least `n_min` units (rows, clusters) `inside`."""
    keys = ((a, g) for a, attribute in enumerate(attributes) for g in range(len(attribute.labels)))
    return frozenset((a, g) for a, g in keys if n_units(inside & (attributes[a].codes == g), units) >= n_min)
