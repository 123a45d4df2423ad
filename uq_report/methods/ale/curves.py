"""Local effects accumulated into curves and surfaces."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.spatial import cKDTree

from ...core.model.sampling import Sampling
from ...core.model.variants import Variant
from ...core.support.arrays import BoolArray, FloatArray, IntArray
from .axes import AleAxis, AxisSide


class AleCurve(NamedTuple):
    """A centred curve at the points of an axis, its standard error, and that of the change from the first point."""

    value: FloatArray
    std_error: FloatArray
    std_error_change: FloatArray


class Surface(NamedTuple):
    """The pure interaction at the points of two axes, which points are extrapolated, and how many cells were empty.

    A point is extrapolated where none of the cells that meet in it holds a row.
    """

    value: FloatArray
    extrapolated: BoolArray
    empty: int


@dataclass
class Effects:
    """The measures at the ends of every row's moves along one axis, or at the corners of its cells along two."""

    axes: tuple[AleAxis, ...]
    ends: list[FloatArray] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The features moved."""
        return " x ".join(axis.feature for axis in self.axes)

    @property
    def moves(self) -> list[tuple[AxisSide, ...]]:
        """One side per axis: two or more for levels, where a row moves both ways."""
        return list(product(*(axis.sides for axis in self.axes)))

    def variants(self) -> Iterator[Variant]:
        """Yield, per move, the rows at every combination of lower (first) and upper ends."""
        columns = tuple(axis.column for axis in self.axes)
        for sides in self.moves:
            for ends in product(*((side.lower, side.upper) for side in sides)):
                yield Variant(columns, ends)

    def infinite(self, m: int) -> int:
        """Return how many rows are infinite at an end."""
        return int(np.any([np.isinf(values[m]) for values in self.ends], axis=0).sum())

    def differences(self, m: int) -> Iterator[tuple[list[IntArray], FloatArray]]:
        """Yield, per move, the steps along each axis and the local effect of every row (its mixed difference)."""
        corners = 2 ** len(self.axes)
        signs = np.array([(-1) ** (len(self.axes) - sum(c)) for c in product((0, 1), repeat=len(self.axes))])
        for number, sides in enumerate(self.moves):
            values = np.stack([v[m] for v in self.ends[number * corners : (number + 1) * corners]])
            yield [side.step for side in sides], signs @ values


def curve(effect: Effects, m: int, sampling: Sampling) -> AleCurve:
    """Return one measure's first-order curve, centred by its mean over the data."""
    (axis,) = effect.axes
    steps, rows, local = _long(effect, m)
    weights = sampling.weights[rows]
    total = np.bincount(steps, weights, axis.steps)
    means = np.bincount(steps, weights * local, axis.steps) / total
    change = np.append(0, np.cumsum(means))
    # A row's part in a step's mean, scaled so that equal weights give s²/n with the unbiased s².
    counts = np.bincount(steps, minlength=axis.steps)
    unbiased = np.sqrt(counts / np.maximum(counts - 1, 1))
    parts = weights * (local - means[steps]) / total[steps] * unbiased[steps]
    units = rows if sampling.codes is None else sampling.codes[rows]
    table = np.zeros((int(units.max()) + 1, axis.steps))
    np.add.at(table, (units, steps), parts)
    accumulate = np.triu(np.ones((axis.steps, axis.steps + 1)), 1)
    centred = accumulate - accumulate @ axis.mass[:, None]
    errors = (_norms(table, combination, counts < 2) for combination in (centred, accumulate))
    return AleCurve(change - axis.mass @ change, *errors)


def _long(effect: Effects, m: int) -> tuple[IntArray, IntArray, FloatArray]:
    """Return step, row and local effect of every move that crosses a step."""
    parts = []
    for (step,), local in effect.differences(m):
        rows = np.flatnonzero(step >= 0)
        parts.append((step[rows], rows, local[rows]))
    steps, rows, local = map(np.concatenate, zip(*parts, strict=True))
    return steps, rows, local


def _norms(table: FloatArray, combination: FloatArray, unknown: BoolArray) -> FloatArray:
    """Return the standard errors of combinations of step means; NaN where a step of `unknown` error takes part."""
    errors: FloatArray = np.sqrt(np.square(table @ combination).sum(axis=0))
    errors[(np.abs(combination[unknown]) > 0).any(axis=0)] = np.nan
    return errors


def surface(effect: Effects, m: int, sampling: Sampling) -> Surface:
    """Return one measure's second-order effect: the accumulated mixed differences less both main effects."""
    a, b = effect.axes
    total, mass = np.zeros((a.steps, b.steps)), np.zeros((a.steps, b.steps))
    for (step_a, step_b), local in effect.differences(m):
        rows = np.flatnonzero((step_a >= 0) & (step_b >= 0))
        np.add.at(total, (step_a[rows], step_b[rows]), sampling.weights[rows] * local[rows])
        np.add.at(mass, (step_a[rows], step_b[rows]), sampling.weights[rows])
    means = _nearest_filled(total, mass, (a.x, b.x))
    h = np.zeros((a.steps + 1, b.steps + 1))
    h[1:, 1:] = means.cumsum(axis=0).cumsum(axis=1)
    h = h - _main(h, mass)[:, None] - _main(h.T, mass.T)[None]
    corners = (h[1:, 1:] + h[1:, :-1] + h[:-1, 1:] + h[:-1, :-1]) / 4
    filled = np.pad(mass > 0, 1)
    near = filled[1:, 1:] | filled[1:, :-1] | filled[:-1, 1:] | filled[:-1, :-1]
    return Surface(h - (corners * mass).sum() / mass.sum(), ~near, int((mass == 0).sum()))


def _nearest_filled(total: FloatArray, mass: FloatArray, points: tuple[FloatArray, FloatArray]) -> FloatArray:
    """Return the cell means; an empty cell takes that of the nearest filled one.

    As in ALEPlot, the distance is between the middles of the cells, with either axis scaled to its range.
    """
    filled, empty = np.argwhere(mass > 0), np.argwhere(mass == 0)
    means = np.divide(total, mass, out=np.zeros_like(total), where=mass > 0)
    if len(empty):
        middles = [(x[1:] + x[:-1]) / (x[-1] - x[0]) for x in points]  # twice as far apart
        places, gaps = (np.column_stack([m[at] for m, at in zip(middles, c.T, strict=True)]) for c in (filled, empty))
        near = filled[cKDTree(places).query(gaps)[1]]
        means[tuple(empty.T)] = means[tuple(near.T)]
    return means


def _main(h: FloatArray, mass: FloatArray) -> FloatArray:
    """Return the first-order effect of the first axis within a surface, accumulated over its steps."""
    rise = h[1:] - h[:-1]
    middle = (rise[:, 1:] + rise[:, :-1]) / 2
    weight = mass.sum(axis=1)
    means = np.divide((middle * mass).sum(axis=1), weight, out=np.zeros_like(weight), where=weight > 0)
    return np.append(0, np.cumsum(means))
