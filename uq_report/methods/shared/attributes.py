"""Protected attributes cut into groups, and which groups may be shown."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from ...core.support.arrays import AnyArray, BoolArray, FloatArray, IntArray
from ...core.support.numbers import infinite
from ...core.support.text import short

QUARTILES = (0.25, 0.5, 0.75)
MISSING = "missing"
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?")
BELOW = ("under", "below", "up to", "less", "at most", "younger")
LESS = re.compile(r"^[^\d]*[<≤][^\d]*\d+(?:\.\d+)?[^\d]*$|\b(and|or) (under|below|less|younger)\b")
TOLERANCE = 1e-8
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


@dataclass(frozen=True)
class Disclosure:
    """The groups that may be shown, as (attribute, group) positions, and those withheld though large enough."""

    groups: frozenset[Key]
    complements: frozenset[Key]


def disclose(
    attributes: Sequence[Attribute], inside: BoolArray, units: IntArray, n_min: int, among: Disclosure | None = None
) -> Disclosure:
    """Return the groups whose means over the rows `inside` may be shown.

    A group needs `n_min` units (rows, or clusters). The mean over all rows and those of the groups shown
    have known sizes, so every sum that is a linear combination of theirs can be worked out. As long as
    that holds for a set of fewer than `n_min` units (a group, the withheld groups of an attribute together, or
    the rows that share one group of every attribute), the smallest group that protects it is withheld as well.

    Parameters
    ----------
    attributes : sequence of Attribute
    inside : ndarray of bool, shape (n,)
        The rows that the means are taken over.
    units : ndarray of int, shape (n,)
        The independent unit of each row.
    n_min : int
    among : Disclosure, optional
        What may be shown at all.
    """
    masks = {
        (a, g): (attribute.codes == g) & inside
        for a, attribute in enumerate(attributes)
        for g in range(len(attribute.labels))
    }
    sizes = {key: _count(mask, units) for key, mask in masks.items()}
    large = {key for key, size in sizes.items() if size >= n_min and (among is None or key in among.groups)}
    if _count(inside, units) < n_min:
        return Disclosure(frozenset(), frozenset(large))
    cells, first = _cells(attributes, inside)
    published = sorted(large, key=lambda key: (sizes[key], key))
    while published:
        small = _small({key: mask for key, mask in masks.items() if key not in published}, cells, units, n_min)
        # equal rows of all groups give equal equations, so one row of each cell is enough
        sums = {key: masks[key][first].astype(float) for key in published}
        drop = _to_withhold(sums, inside[first].astype(float), small[:, first].astype(float))
        if drop is None:
            break
        published.remove(drop)
    return Disclosure(frozenset(published), frozenset(large.difference(published)))


def _cells(attributes: Sequence[Attribute], inside: BoolArray) -> tuple[BoolArray, IntArray]:
    """Return the masks of the rows that share one group of every attribute, and one row of each."""
    codes = np.column_stack([attribute.codes for attribute in attributes])[inside]
    _, first, place = np.unique(codes, axis=0, return_index=True, return_inverse=True)
    rows = np.flatnonzero(inside)
    cells = np.zeros((len(first), len(inside)), dtype=bool)
    cells[place.ravel(), rows] = True
    return cells, rows[first]


def _small(withheld: dict[Key, BoolArray], cells: BoolArray, units: IntArray, n_min: int) -> BoolArray:
    """Return the masks, shape (sets, n), of the sets of fewer than `n_min` units that must not be worked out."""
    together = [
        np.any([mask for key, mask in withheld.items() if key[0] == a], axis=0)
        for a in sorted({attribute for attribute, _ in withheld})
    ]
    sets = [*withheld.values(), *together, *cells]
    small = [mask for mask in sets if mask.any() and _count(mask, units) < n_min]
    return np.array(small, dtype=bool).reshape(len(small), len(units))


def _to_withhold(published: dict[Key, FloatArray], whole: FloatArray, small: FloatArray) -> Key | None:
    """Return the smallest group without which a small set cannot be worked out; None if none can be.

    If no group alone protects it, the smallest of all is returned, and the next round goes on from there.
    """
    exposed = _exposed([*published.values(), whole], small)
    if not exposed.any():
        return None
    target = small[[int(np.argmax(exposed))]]
    for key in published:
        others = [mask for other, mask in published.items() if other != key]
        if not _exposed([*others, whole], target).any():
            return key
    return next(iter(published))


def _exposed(published: list[FloatArray], small: FloatArray) -> BoolArray:
    """Return which of the small sets are linear combinations of the published ones."""
    if not len(small):
        return np.zeros(0, dtype=bool)
    sums = np.array(published).T
    weights = np.linalg.lstsq(sums, small.T, rcond=None)[0]
    return np.asarray(np.abs(sums @ weights - small.T).max(axis=0) < TOLERANCE)


def _count(mask: BoolArray, units: IntArray) -> int:
    return len(np.unique(units[mask]))
