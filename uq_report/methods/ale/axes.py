"""Along which steps a row moves for accumulated local effects: bins of a number, neighbours of a level."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ...core.model.sampling import Sampling
from ...core.model.subject import Subject
from ...core.support.arrays import BoolArray, FloatArray, IntArray
from ...core.support.errors import InputError
from ...core.support.limits import check_limits
from ..shared.grids import frequent_levels


class AxisSide(NamedTuple):
    """One move of every row: over step ``step[i]`` (-1: none), from ``lower[i]`` to ``upper[i]``."""

    step: IntArray
    lower: Any
    upper: Any


class AleAxis(NamedTuple):
    """One feature: its K + 1 points, the moves of its rows over the K steps, and the data at each point.

    ``mass`` sums to one; the mean of a curve over the data is ``mass @ curve``. A row inside a bin
    counts half at either edge (Apley & Zhu), a row on a level wholly there.
    """

    feature: str
    column: int
    x: FloatArray
    levels: tuple[str, ...]
    sides: tuple[AxisSide, ...]
    mass: FloatArray
    notes: tuple[str, ...] = ()

    @property
    def steps(self) -> int:
        """Number of steps between points."""
        return len(self.x) - 1


class ValuePositions(dict[str, IntArray]):
    """Of each column the place of every row's value among the sorted ones, -1 where missing; looked up once."""

    def __init__(self, subject: Subject) -> None:
        super().__init__()
        self._subject = subject

    def __missing__(self, name: str) -> IntArray:
        """Look a column's values up."""
        self[name] = pd.factorize(pd.Series(self._subject.values(name)), sort=True)[0]
        return self[name]


def make_axis(
    subject: Subject,
    feature: str,
    n_bins: int,
    edges: Sequence[float] | None = None,
    codes: ValuePositions | None = None,
    max_levels: int = 30,
) -> AleAxis | str:
    """Return the axis of a feature, or why it has none; `codes` are what axes of a subject share."""
    values = subject.values(feature)
    present = np.asarray(pd.notna(values)) & (Sampling.of(subject).weights > 0)
    if subject.kinds[feature] == "categorical":
        return _levels(subject, feature, present, ValuePositions(subject) if codes is None else codes, max_levels)
    if reason := _no_bins(subject.kinds[feature], values, present):
        return reason
    series = np.asarray(values[present], dtype=float)
    points = _quantile_edges(series, n_bins) if edges is None else _option_edges(subject, feature, edges)
    if len(points) < 2:
        return "it has one value, so no effect accumulates"
    inside = present.copy()
    inside[present] = (series >= points[0]) & (series <= points[-1])
    if not inside.any():
        return f"no row lies between its edges {points[0]:g} and {points[-1]:g}"
    return _bins(subject, feature, values, inside, points)


def _no_bins(kind: str, values: Any, present: BoolArray) -> str:
    """Say why a feature that is no category has no bins, or nothing."""
    if kind == "datetime":
        return "accumulated effects need a number or levels; it is a datetime"
    if not present.any():
        return "it has no value, so no effect accumulates"
    finite = np.isfinite(np.asarray(values[present], dtype=float))
    return "" if finite.all() else "it has infinite values, which lie in no bin"


def _quantile_edges(values: FloatArray, n_bins: int) -> FloatArray:
    """Return observed values at equally spaced cumulative shares, deduplicated: the inverse empirical cdf.

    The share k/K of n rows is reached at row ceil(k n / K), in whole numbers, so no rounding moves an edge.
    """
    ordered = np.sort(values)
    at = -(-np.arange(n_bins + 1) * len(ordered) // n_bins) - 1
    return np.unique(ordered[np.maximum(at, 0)])


def _option_edges(subject: Subject, feature: str, edges: Sequence[float]) -> FloatArray:
    points = np.unique(np.asarray(edges, dtype=float))
    dtype = np.asarray(subject.values(feature)).dtype
    if not np.isfinite(points).all() or (dtype.kind in "iu" and (points != np.round(points)).any()):
        raise InputError(
            f"ale.edges[{feature!r}] must be finite numbers that a column of type {dtype} holds; got {list(edges)!r}."
        )
    return points


def _bins(subject: Subject, feature: str, values: Any, inside: BoolArray, points: FloatArray) -> AleAxis:
    """Return quantile bins (z_0..z_K], the first closed on the left, empty ones merged to the right."""
    x = np.where(inside, np.asarray(pd.Series(values).fillna(points[0]), dtype=float), points[0])
    step = np.maximum(np.searchsorted(points, x, side="left") - 1, 0)
    filled = np.unique(step[inside])
    merged = len(points) - 1 - len(filled)
    points = np.append(points[0], points[filled + 1])
    step = np.maximum(np.searchsorted(points, x, side="left") - 1, 0)
    ends = points.astype(np.asarray(values[inside]).dtype)
    side = AxisSide(np.where(inside, step, -1), ends[step], ends[step + 1])
    share = np.bincount(step[inside], Sampling.of(subject, np.flatnonzero(inside)).weights, len(points) - 1)
    mass = (np.append(share, 0) + np.append(0, share)) / 2
    notes = []
    if merged:
        notes.append(f"{feature}: {merged} empty bins are merged with their neighbours.")
    if not inside.all():
        notes.append(
            f"{feature}: {int((~inside).sum())} rows of no weight, or no value between the edges, take no part."
        )
    return AleAxis(feature, subject.positions(feature)[0], points, ("",) * len(points), (side,), mass, tuple(notes))


def _leading(feature: str, values: Any, present: BoolArray, max_levels: int) -> tuple[BoolArray, list[str]]:
    """Return the rows with one of the most frequent levels, and a note if there are others.

    Distances are of all pairs of levels, each over all values of the other features: of thousands, more than
    memory holds, and a level of few rows has no distribution to compare.
    """
    levels, number = frequent_levels(pd.Series(values[present]), max_levels)
    if number <= max_levels:
        return present, []
    kept = present & np.asarray(pd.Series(values).isin(levels))
    rest = f"{int(present.sum() - kept.sum())} rows of another one take no part."
    return kept, [f"{feature}: the {max_levels} most frequent of {number} levels; {rest}"]


def _levels(subject: Subject, feature: str, valued: BoolArray, every: ValuePositions, max_levels: int) -> AleAxis | str:
    """Return the levels in the order of their similarity, each row moving to the next and the previous one."""
    values = subject.values(feature)
    present, others = _leading(feature, values, valued, max_levels)
    own_codes, names = pd.factorize(pd.Series(values[present]), sort=True)
    codes = np.full(subject.n, -1)
    codes[present] = own_codes
    if len(names) < 2:
        return "it has one level, so no effect accumulates"
    order = _similarity_order(subject, feature, codes, len(names), every)
    place = np.empty(len(names), dtype=np.int64)
    place[order] = np.arange(len(names))
    position = np.where(present, place[codes], -1)
    example = np.array([int(np.flatnonzero(codes == level)[0]) for level in order])
    top = len(names) - 1
    own = np.arange(subject.n)
    up, down = present & (position < top), present & (position > 0)
    following = np.where(up, example[np.minimum(position + 1, top)], own)
    previous = np.where(down, example[np.maximum(position - 1, 0)], own)
    sides = (
        AxisSide(np.where(up, position, -1), values, values[following]),
        AxisSide(np.where(down, position - 1, -1), values[previous], values),
    )
    weights = Sampling.of(subject, np.flatnonzero(present)).weights
    mass: FloatArray = np.bincount(position[present], weights, len(names)).astype(float)
    notes = [f"{feature}: levels are ordered by how alike the other features are distributed in them.", *others]
    if not valued.all():
        notes.append(f"{feature}: {int((~valued).sum())} rows of no weight, or no value, take no part.")
    x, text = np.arange(len(names), dtype=float), tuple(str(names[level]) for level in order)
    return AleAxis(feature, subject.positions(feature)[0], x, text, sides, mass, tuple(notes))


def _similarity_order(subject: Subject, feature: str, codes: IntArray, k: int, every: ValuePositions) -> IntArray:
    """Return the levels along the first axis of classical scaling of their distances (Apley & Zhu 2020, appendix).

    The distance of two levels is the sum over the other features of the Kolmogorov-Smirnov distance
    (numbers) or half the sum of frequency differences (levels) within them. The end with the earlier
    level in alphabetical order comes first.
    """
    distance = np.zeros((k, k))
    for other in subject.features:
        check_limits()
        if other == feature:
            continue
        cells = every[other]
        both = (codes >= 0) & (cells >= 0)
        table = np.zeros((k, cells.max() + 1))
        table += np.bincount(codes[both] * table.shape[1] + cells[both], minlength=table.size).reshape(table.shape)
        table /= np.maximum(table.sum(axis=1, keepdims=True), 1)
        ordered = subject.kinds[other] != "categorical"
        shares = np.cumsum(table, axis=1) if ordered else table
        for level, share in enumerate(shares):  # one at a time: all at once are levels x levels x values
            apart = np.abs(share - shares)
            distance[level] += apart.max(axis=1, initial=0.0) if ordered else apart.sum(axis=1) / 2
    centring = np.eye(k) - 1 / k
    scores = np.linalg.eigh(-0.5 * centring @ distance**2 @ centring)[1][:, -1]
    order = np.argsort(np.round(scores, 12), kind="stable")
    return order if order[0] < order[-1] else order[::-1]
