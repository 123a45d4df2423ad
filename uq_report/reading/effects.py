"""Curves of a measure along a feature: direction, significance of the ends, and differences between two curves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ..core.model.results import Result
from ..core.statistics.curve_gap import CurveGap, parting
from ..document.plots.frames import has_interval
from ..evidence import columns as col
from ..evidence.frozen import once
from ..evidence.view import by_key
from .run_reader import RunReader
from .sentences import where

RISES, FALLS, TURNS = 1, -1, 0
ROLES = ("prediction", "loss", "uncertainty")


class Point(NamedTuple):
    """A point of a curve: its place in words, and the estimate with its interval."""

    where: str
    estimate: float
    lower: float
    upper: float


class Move(NamedTuple):
    """The significant course of a curve: its lowest and its highest point, and the points where it turns.

    `turns` has the start, each turning point and the end, every one significantly different from the one before; it is
    empty along levels, which have no order.
    """

    low: Point
    high: Point
    turns: tuple[Point, ...] = ()

    @property
    def direction(self) -> int:
        """Whether the curve rises, falls or turns."""
        if len(self.turns) != 2:
            return TURNS
        return RISES if self.turns[0].estimate < self.turns[1].estimate else FALLS

    @property
    def levels(self) -> bool:
        """Whether the points are levels."""
        return not self.turns

    @property
    def ends(self) -> tuple[Point, Point]:
        """The two points in the order in which a sentence names them."""
        return (self.high, self.low) if self.direction == FALLS else (self.low, self.high)


def curve(result: Result | None, measure: str, feature: str) -> pd.DataFrame:
    """Return the estimates of one curve along x; empty where the result has none."""
    table = pd.DataFrame() if result is None else result.estimates
    if result is None or not {col.X, col.LEVEL} <= set(table.columns):
        return pd.DataFrame()
    return table.iloc[_curves(result).get((measure, feature), [])].sort_values(col.X, kind="stable")


@once
def _curves(result: Result) -> Mapping[tuple[str, str], list[int]]:
    """Return the positions of the estimates of each measure and feature, without missing ones."""
    table = result.estimates
    keys = list(zip(table[col.MEASURE], table[col.FEATURE], strict=True))
    return by_key((keys[at], at) for at in np.flatnonzero(table[col.ESTIMATE].notna()).tolist())


def has_levels(points: pd.DataFrame) -> bool:
    """Say whether a curve runs over levels instead of numbers."""
    return bool(points[col.LEVEL].astype(bool).any())


def move(points: pd.DataFrame) -> Move | None:
    """Return the direction of a curve, or None where the intervals of its lowest and highest point overlap or lack.

    Examples
    --------
    >>> rows = {"x": [1.0, 2.0], "level": "", "estimate": [0.2, 0.4], "lower": [0.1, 0.35], "upper": [0.3, 0.45]}
    >>> rising = move(pd.DataFrame(rows))
    >>> rising.direction == RISES, rising.low.where, move(pd.DataFrame({**rows, "lower": [0.1, 0.25]}))
    (True, '1', None)
    """
    if points.empty or not has_interval(points).all():
        return None
    at = points[col.ESTIMATE].to_numpy(dtype=float)
    low, high = _point(points.iloc[int(at.argmin())]), _point(points.iloc[int(at.argmax())])
    if low.upper >= high.lower:
        return None
    if has_levels(points):
        return Move(low, high)
    turns = _turns([_point(row) for _, row in points.iterrows()])
    if len(turns) == 2:
        low, high = sorted(turns, key=_height)
    return Move(low, high, turns)


_height = attrgetter("estimate")


def _turns(points: Sequence[Point]) -> tuple[Point, ...]:
    """Return the start, the turning points and the end, each apart from the one before by its interval."""
    low = high = points[0]
    turns: list[Point] = []
    way = TURNS
    for point in points:
        low, high = min(low, point, key=_height), max(high, point, key=_height)
        if way != FALLS and point.upper < high.lower:
            turns.append(high)
            way, low = FALLS, point
        elif way != RISES and point.lower > low.upper:
            turns.append(low)
            way, high = RISES, point
    turns.append(low if way == FALLS else high)
    # the ends of the curve, where they are apart from the nearest turning point
    for end, point, nearest in ((0, points[0], turns[1]), (-1, points[-1], turns[-2])):
        if point.upper < nearest.lower or point.lower > nearest.upper:
            turns[end] = point
    return tuple(turns)


def _point(row: pd.Series[Any]) -> Point:
    return Point(where(row), float(row[col.ESTIMATE]), float(row[col.LOWER]), float(row[col.UPPER]))


def parts(ale: pd.DataFrame, pdp: pd.DataFrame) -> CurveGap | None:
    """Return where a local effect and an average differ beyond their intervals, or None if that is not shown."""
    return parting(ale, pdp, float(ale[col.CONFIDENCE].dropna().max())) if comparable(ale, pdp) else None


def comparable(ale: pd.DataFrame, pdp: pd.DataFrame) -> bool:
    """Say whether two curves are along numbers and have what a comparison needs."""
    if ale.empty or pdp.empty or has_levels(ale) or has_levels(pdp):
        return False
    errors = (ale.get(col.STD_ERROR_CHANGE), pdp[col.STD_ERROR])
    complete = all(error is not None and error.notna().all() for error in errors)
    return complete and bool(ale[col.CONFIDENCE].notna().any())


def by_role(e: RunReader, measures: Iterable[str]) -> dict[str, str]:
    """Return the measure to show for each of prediction, loss and uncertainty that is present."""
    present = list(dict.fromkeys(measures))
    return {role: measure for role in ROLES if (measure := e.measure_of(role, present))}


def profile_measures(e: RunReader, measures: Iterable[str]) -> list[str]:
    """Return the measures to show of profiles: one for each role, else the first ones."""
    present = list(dict.fromkeys(measures))
    return list(by_role(e, present).values()) or present[: len(ROLES)]
