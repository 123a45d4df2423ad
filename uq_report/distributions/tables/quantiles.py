"""Tables of quantiles: what a quantile regression predicts."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np

from ...core.support.arrays import BoolArray, FloatArray
from ...core.support.errors import InputError
from ...core.support.text import count
from ..numerics.validate import levels as checked_levels
from ..numerics.validate import numbers
from .piecewise import DENSITY, WITHOUT_DENSITY, Piecewise

Ties = Literal["refused", "joined", "atoms"]
_EQUAL = 1e-9  # of a row's range: quantiles so close are one value
_REMEDY = (
    "Give ties='joined' (a value keeps the middle of its levels, which leaves a density) or ties='atoms' (no density, "
    "so no entropy and no likelihood)"
)


class Quantiles(Piecewise):
    """n distributions, each known by its quantiles at L levels.

    The density is constant between neighbouring quantiles. Beyond the outermost ones it falls exponentially from
    that of the neighbouring cell. Few levels therefore make thin tails: the mean distance
    beyond the outermost quantile is 44 % of a normal's own at levels 0.05, 0.5, 0.95, and 80 % at 0.01, 0.02 .. 0.99.

    Parameters
    ----------
    levels : array of shape (L,), L >= 3
        Strictly increasing, strictly between 0 and 1.
    values : array of shape (n, L)
        The quantiles, in the order of the levels. Rows whose quantiles cross are sorted (Chernozhukov,
        Fernandez-Val & Galichon 2010, doi:10.3982/ECTA7880), and `row_remarks` says which they are.
    ties : {"refused", "joined", "atoms"}
        What is made of neighbouring quantiles that are equal, a value of positive probability. ``"joined"``: that
        value gets the middle of its levels, and what lies between two values is spread evenly; no probability moves
        further than to the neighbouring values. ``"atoms"``: the distribution keeps the value and has no density.

    Raises
    ------
    InputError
        If the levels do not increase, a value is not finite, or quantiles are equal and `ties` refuses it; always
        where all quantiles of a row are equal, unless they are atoms.

    Notes
    -----
    With dp the difference of neighbouring levels and dq that of their quantiles, the entropy is
    sum dp log(dq / dp), and p (1 - log f) more for each tail of mass p and neighbouring density f.

    Examples
    --------
    >>> q = Quantiles([0.25, 0.5, 0.75], [[-1.0, 0.0, 1.0], [0.0, 2.0, 1.0]])
    >>> q.entropy().round(4)
    array([1.8863, 1.8863])
    >>> q.row_remarks()
    ('Predicted quantiles cross in 1 of 2 rows (row 1) and are sorted there.',)
    >>> q.quantile([0.5])
    array([[0.],
           [1.]])
    """

    family = "quantile table"
    by_row = (*Piecewise.by_row, "crossed")

    def __init__(self, levels: Any, values: Any, ties: Ties = "refused") -> None:
        p = checked_levels("quantiles.levels", levels)
        if len(p) < 3 or not (np.diff(p) > 0).all():
            raise InputError(
                f"quantiles.levels must be at least 3 strictly increasing levels; got {p.tolist()}. "
                "Sort them with their columns, or predict more quantiles."
            )
        if ties not in get_args(Ties):
            raise InputError(f"quantiles.ties must be one of {', '.join(map(repr, get_args(Ties)))}; got {ties!r}.")
        table = _checked_values(values, len(p))
        self.ties = ties
        self.crossed: BoolArray = np.asarray((np.diff(table, axis=1) < 0).any(axis=1))
        self.edges = np.sort(table, axis=1)
        reached = np.tile(p, (len(table), 1))
        if ties != "atoms":
            reached = self._joined(reached)
        self.masses = np.diff(reached, axis=1)
        self.beyond = np.column_stack([reached[:, 0], 1 - reached[:, -1]])
        self.scales = self._neighbouring_scales()
        point = self.edges[:, 0] == self.edges[:, -1]  # an atom of probability 1 has no tails
        self.masses[point, 0] += self.beyond[point].sum(axis=1)
        self.beyond[point] = 0.0

    @property
    def supports(self) -> frozenset[str]:
        """All but Fisher information; what needs a density only without atoms."""
        return WITHOUT_DENSITY if self.ties == "atoms" else WITHOUT_DENSITY | DENSITY

    def why_not(self, method: str) -> str:
        """Say why `method` cannot answer."""
        if method in DENSITY:
            return f"{method} needs a density, but equal quantiles are read as atoms; give ties='joined' for one"
        return super().why_not(method)

    def row_remarks(self) -> tuple[str, ...]:
        """Return what a reader must know of these rows: how many predicted quantiles cross, or are joined."""
        joined = (self.masses == 0).any(axis=1) & (self.ties == "joined")
        sentences = (
            ("Predicted quantiles cross in {} and are sorted there.", self.crossed),
            ("Neighbouring quantiles are equal in {}: there a value keeps the middle of its levels.", joined),
        )
        return tuple(words.format(_named(rows)) for words, rows in sentences if rows.any())

    def _joined(self, reached: FloatArray) -> FloatArray:
        """Return each row's levels with equal quantiles at the middle of theirs; make these quantiles equal."""
        span = self.edges[:, -1:] - self.edges[:, :1]
        flat = np.flatnonzero(span[:, 0] == 0)
        if len(flat):
            raise InputError(
                f"quantiles.values must differ in every row; got one value at all levels in {len(flat)} of "
                f"{len(span)} rows, first {self.edges[flat[0], 0]:g} in row {flat[0]}. A single point has no density: "
                "give ties='atoms', which keeps all but entropy and likelihood.",
                row=int(flat[0]),
            )
        equal = np.asarray(np.diff(self.edges, axis=1) <= _EQUAL * span)
        if not equal.any():
            return reached
        if self.ties == "refused":
            rows = np.flatnonzero(equal.any(axis=1))
            column = int(np.argmax(equal[rows[0]]))
            raise InputError(
                f"quantiles.values must differ between neighbouring levels; got {self.edges[rows[0], column]:g} at "
                f"{reached[0, column]:g} and {reached[0, column + 1]:g} in row {rows[0]} "
                f"({len(rows)} of {len(span)} rows). {_REMEDY}.",
                row=int(rows[0]),
            )
        yes = np.ones((len(equal), 1), dtype=bool)
        place = np.arange(reached.shape[1])
        first = np.maximum.accumulate(np.where(np.hstack([yes, ~equal]), place, 0), axis=1)
        last = np.where(np.hstack([~equal, yes]), place, place[-1])
        last = np.minimum.accumulate(last[:, ::-1], axis=1)[:, ::-1]
        self.edges = np.take_along_axis(self.edges, first, axis=1)
        return np.asarray(0.5 * (np.take_along_axis(reached, first, 1) + np.take_along_axis(reached, last, 1)))

    def _neighbouring_scales(self) -> FloatArray:
        """Return the scale of each tail: its mass over the density of the first cell that is not empty."""
        width = np.diff(self.edges, axis=1)
        filled = np.asarray(width > 0)
        rows = np.arange(len(width))
        first = filled.argmax(axis=1)
        last = width.shape[1] - 1 - filled[:, ::-1].argmax(axis=1)
        ends = [self.beyond[:, i] * width[rows, cell] / self.masses[rows, cell] for i, cell in enumerate((first, last))]
        return np.where(filled.max(axis=1, keepdims=True), np.column_stack(ends), 1.0)


def _named(rows: BoolArray) -> str:
    """Return how many rows, of how many, and the first five of them."""
    places = np.flatnonzero(rows)
    listed = ", ".join(map(str, places[:5])) + (" ..." if len(places) > 5 else "")
    return f"{len(places)} of {count(len(rows), 'row')} ({'row' if len(places) == 1 else 'rows'} {listed})"


def _checked_values(values: Any, size: int) -> FloatArray:
    table = numbers("quantiles.values", values)
    if table.ndim != 2 or table.shape[1] != size:
        raise InputError(
            f"quantiles.values must have the shape (rows, {size}), one column per level; got {table.shape}."
        )
    bad = np.asarray(~np.isfinite(table).all(axis=1))
    if bad.any():
        raise InputError(
            f"quantiles.values must be finite; got other values in {int(bad.sum())} of {len(bad)} rows, "
            f"first in row {int(np.argmax(bad))}. Look at these rows' inputs and at the model's fit.",
            row=int(np.argmax(bad)),
        )
    return table
