"""When an interval over new rows is not to be trusted, although it can be computed.

Two reasons: too few outcomes of the rarer class, and a variance that rests on a few rows, so that rows not in the
sample could have changed it. Measured in ``benchmarks/pfi_coverage.py``.
"""

from __future__ import annotations

from math import ceil, inf, nan
from typing import Final, NamedTuple

import numpy as np

from ..support.arrays import AnyArray, FloatArray, IntArray
from .inference import unit_sums

LEAST_EVENTS: Final = 20  # rows outside the most frequent class
LEAST_EFFECTIVE: Final = 10.0  # rows that carry the variance
LEAST_PART: Final = 1 / 6  # of few rows: half of the part that carries the variance of normal terms


class Distrust(NamedTuple):
    """Why an interval is not to be trusted, and how many rows would do if shares and tails stay as they are.

    An empty reason is trust; `rows` is NaN where no number of rows can be told.
    """

    reason: str = ""
    rows: float = nan


def events(y: AnyArray) -> int:
    """Return the rows outside the most frequent of the classes `y`, of two classes those of the rarer one.

    Examples
    --------
    >>> events(np.array([0, 0, 0, 1]))
    1
    """
    return len(y) - int(np.unique(y, return_counts=True)[1].max())


def few_events(n_events: int, n: int) -> Distrust:
    """Return the distrust in an interval from outcomes of which so few are not of the most frequent class.

    Examples
    --------
    >>> few_events(7, 800)
    Distrust(reason='few events (7 of 800 rows)', rows=2286.0)
    >>> few_events(40, 800), few_events(0, 800)
    (Distrust(reason='', rows=nan), Distrust(reason='no events (0 of 800 rows)', rows=nan))
    """
    if n_events >= LEAST_EVENTS:
        return Distrust()
    if not n_events:
        return Distrust(f"no events (0 of {n} rows)")
    return Distrust(f"few events ({n_events} of {n} rows)", float(ceil(LEAST_EVENTS * n / n_events)))


def effective_units(g: FloatArray, weights: FloatArray, clusters: IntArray | None = None) -> float:
    """Return how many rows, or clusters, carry the variance of a mean: (Σ d²)²/Σ d⁴ of their parts d.

    All of them if their parts are equal in size, a third if they are normal, one if one row has it all;
    infinite where nothing varies.

    Examples
    --------
    >>> effective_units(np.array([1.0, -1.0, 1.0, -1.0]), np.ones(4)), effective_units(np.zeros(4), np.ones(4))
    (4.0, inf)
    """
    squares = np.square(unit_sums(g, weights, clusters))
    largest = squares.max()
    if not largest > 0:
        return inf
    squares = squares / largest
    return float(squares.sum() ** 2 / np.square(squares).sum())


def heavy_tails(effective: float, n: int, unit: str = "rows") -> Distrust:
    """Return the distrust in an interval whose variance so few of `n` rows or other units carry.

    Examples
    --------
    >>> heavy_tails(3.2, 200)
    Distrust(reason='heavy tails (the variance rests on about 3 of 200 rows)', rows=625.0)
    >>> heavy_tails(12.0, 200), heavy_tails(8.0, 24)
    (Distrust(reason='', rows=nan), Distrust(reason='', rows=nan))
    """
    if effective >= min(LEAST_EFFECTIVE, LEAST_PART * n):
        return Distrust()
    carried = f"heavy tails (the variance rests on about {effective:.0f} of {n} {unit})"
    return Distrust(carried, float(ceil(LEAST_EFFECTIVE * n / effective)))
