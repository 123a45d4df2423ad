"""Tables of quantiles: what a quantile regression predicts."""

from typing import Any, Literal, Self, get_args

import numpy as np
from scipy import special

from ...core.support.arrays import AnyArray, BoolArray, FloatArray
from ...core.support.errors import InputError, check_choice
from ...core.support.text import count
from ..numerics.validate import levels as checked_levels, numbers, refuse_rows, row_sum
from .piecewise import DENSITY, WITHOUT_DENSITY, Piecewise

Ties = Literal["refused", "joined", "atoms"]
_EQUAL = 1e-9  # of a row's range: quantiles so close are one value
_REMEDY = (
    "Give ties='joined' (a value keeps the middle of its levels, which leaves a density) or ties='atoms' (no density, "
    "so no entropy and no likelihood)"
)


class Quantiles(Piecewise):
    """n distributions, each known by its quantiles at L levels.

    A table states the probabilities of its cells, and calibration judges no more than these: the PIT of an outcome is
    known as the levels around it. For what needs a density it is constant between neighbouring quantiles and falls
    exponentially beyond the outermost ones, with the mean distance of a logistic distribution through the two outermost
    quantiles. At exact quantiles at 5 levels from 0.05 to 0.95 loss and entropy then differ by -0.03 to 0.02 nats for
    normal, logistic, gamma and t distributions with 5 degrees of freedom, by 0.07 with 3: to 0.003 nats what logistic
    tails themselves give.

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
    sum dp log(dq / dp), and p (1 + log(s / p)) more for each tail of mass p and scale s. That scale is
    ``-log(1 - p) / p`` times the dq of the outermost cell, divided by the difference of its levels' logits.

    Examples
    --------
    >>> q = Quantiles([0.25, 0.5, 0.75], [[-1.0, 0.0, 1.0], [0.0, 2.0, 1.0]])
    >>> q.entropy().round(4)
    array([1.9095, 1.9095])
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
        check_choice("quantiles.ties", ties, get_args(Ties))
        table = _checked_values(values, len(p))
        self.levels, self.ties = p, ties
        self.crossed: BoolArray = np.asarray((np.diff(table, axis=1) < 0).any(axis=1))
        self.edges = np.sort(table, axis=1)
        reached = np.tile(p, (len(table), 1))
        if ties != "atoms":
            reached = self._joined(reached)
        self.masses = np.diff(reached, axis=1)
        self.beyond = np.column_stack([reached[:, 0], 1 - reached[:, -1]])
        self.scales = self._tail_scales(reached)
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

    def pit_bounds(self, y: AnyArray) -> tuple[FloatArray, FloatArray]:
        """Return the levels of the quantiles around y; at one quantile those on both sides, at several their levels."""
        p, y = np.concatenate([[0.0], self.levels, [1.0]]), np.asarray(y, dtype=float)[:, None]
        below, reached = (self.edges < y).sum(axis=1), (self.edges <= y).sum(axis=1)
        tied = reached - below > 1
        return p[below + tied], p[np.where(tied, reached, reached + 1)]

    def expected_nll(self, y: AnyArray) -> FloatArray:
        """Return the entropy; beyond the outermost quantiles with what the loss there exceeds its mean by.

        A tail is stated by its probability alone, so that an outcome in it counts with the tail's mean loss.
        """
        self._need("entropy")
        _, below, above = self._place(y)
        excess = [-self.tail.log_density(self._beyond(y, side)) - self.tail.entropy for side in (0, 1)]
        return self.entropy() + np.where(below, excess[0], np.where(above, excess[1], 0.0))

    def pinball(self, y: AnyArray) -> FloatArray:
        """Return the mean over the levels p of the pinball loss (p - 1[y < q_p]) (y - q_p) of the quantiles q_p."""
        error = np.asarray(y, dtype=float)[:, None] - self.edges
        return row_sum(np.where(error < 0, self.levels - 1, self.levels) * error) / len(self.levels)

    def pinball_divergence(self, other: Self) -> FloatArray:
        """Return by how much the mean pinball loss of `other` exceeds that of these quantiles if y follows these.

        For quantiles q and q̃ at level p that is ``(E|Y - q̃| - E|Y - q| + (1 - 2 p)(q̃ - q)) / 2``.
        """
        total = np.zeros(len(self))
        for k, level in enumerate(self.levels):
            own, others = self.edges[:, k], other.edges[:, k]
            moved = self.distance(others) - self.distance(own)
            total += (moved + (1 - 2 * level) * (others - own)) / 2
        return total / len(self.levels)

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

    def _tail_scales(self, reached: FloatArray) -> FloatArray:
        """Return the scale of each tail: the mean distance of a logistic through the quantiles of its first full cell.

        The upper tail of mass p of a logistic of scale s has the mean distance ``-s log(1 - p) / p`` from its start.
        """
        width, logit = np.diff(self.edges, axis=1), special.logit(reached)
        filled = np.asarray(width > 0)
        rows = np.arange(len(width))
        first = filled.argmax(axis=1)
        last = width.shape[1] - 1 - filled[:, ::-1].argmax(axis=1)
        slopes = [width[rows, cell] / (logit[rows, cell + 1] - logit[rows, cell]) for cell in (first, last)]
        longer = -np.log1p(-self.beyond) / self.beyond
        return np.where(filled.max(axis=1, keepdims=True), np.column_stack(slopes) * longer, 1.0)


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
    must, remedy = "must be finite; got other values", "Look at these rows' inputs and at the model's fit."
    refuse_rows(f"quantiles.values {must}", np.asarray(~np.isfinite(table).all(axis=1)), remedy)
    return table
