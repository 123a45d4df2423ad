"""Means of a Gaussian process where one column moves: only its own share of the kernel is computed again."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import compress
from typing import Any

import numpy as np

from ...core.model.derivatives import numbers
from ...core.model.variants import Variant
from ...core.support.arrays import ColumnLookup, FloatArray, IntArray, Table
from ..adapters.affine import affine_slopes, dense
from ..adapters.gp_kernels import KernelTerm, constant_of, terms_of, values
from ..adapters.sklearn_ import transform
from .chebyshev import Span, make_room, span_of

_MOST = 2_000_000  # kernel values that are kept
_TILE = 32_000  # kernel values worked on at once, few enough for a processor's own memory
_BEYOND = 0.25  # of the range of an input, how far a curve is known beyond either end


@dataclass(eq=False)
class _Kept:
    """Rows, half of each term's distances to the training rows, below 0, if few, and their curves by term and input."""

    rows: IntArray
    halves: list[FloatArray]
    curves: dict[tuple[int, int], FloatArray] = field(default_factory=dict)


@dataclass
class Moves:
    """A process whose kernel has a closed form, and how each column of the table moves its inputs.

    A term that is a product over inputs makes of each row a curve along the input that moves, whose values at a few
    points tell it everywhere between; other terms, and values beyond, are summed over the training rows.
    `matrix` holds the inputs' slopes by the columns, (d, m), with one input at most for each column.
    """

    gp: Any
    terms: Sequence[KernelTerm]
    inner: FloatArray
    matrix: FloatArray
    X: Table
    _last: list[_Kept] = field(default_factory=list)

    def serve(self, group: Sequence[Variant], rows: IntArray) -> bool:
        """Say whether the changes are told: of many rows, whose distances are not kept, by curves alone."""
        return all(map(self.cover, group)) and (
            self._few(rows) or all(all(self._spans[self.input_of(variant.columns[0])]) for variant in group)
        )

    def cover(self, variant: Variant) -> bool:
        """Say whether the change is of one column that moves one input."""
        return len(variant.columns) == 1 and bool(self._inputs[variant.columns[0]] >= 0)

    def kernel(self, inner: FloatArray) -> FloatArray:
        """Return the kernel between rows of inputs and the training rows."""
        rates = [term.rates(inner, self.gp.X_train_, 0) for term in self.terms]
        return values(self.terms, rates, constant_of(self.gp.kernel_))

    def means(self, group: Sequence[Variant], rows: IntArray) -> FloatArray:
        """Return kᵀα of each row under each change of one column, (variants, rows)."""
        total = np.full((len(group), len(rows)), self._constant)
        for column in {variant.columns[0] for variant in group}:
            own = [variant.columns[0] == column for variant in group]
            total[own] += self._along(column, self.filled([*compress(group, own)], rows), rows)
        return total

    def filled(self, group: Sequence[Variant], rows: IntArray) -> FloatArray:
        """Return what changes of one column put into it, (variants, rows)."""
        values = np.empty((len(group), len(rows)))
        for moved, variant in zip(values, group, strict=True):
            (moved[:],) = variant.filling(self._source, 0, len(rows))
        return values

    def input_of(self, column: int) -> int:
        """Return the input that a column moves."""
        return int(self._inputs[column])

    def moved(self, column: int, values: FloatArray, rows: IntArray) -> FloatArray:
        """Return where values of a column, (variants, rows), move its input."""
        j = self.input_of(column)
        return np.asarray(
            self.inner[rows, j] + self.matrix[column, j] * (values - numbers(self.X, column)[rows]), dtype=float
        )

    def _along(self, column: int, values: FloatArray, rows: IntArray) -> FloatArray:
        """Return the terms' sums with values of one column, (variants, rows)."""
        j, kept = self.input_of(column), self._kept(rows)
        at, total = self.moved(column, values, rows), np.zeros(values.shape)
        for i, span in enumerate(self._spans[j]):
            along = np.empty(at.shape) if span is None else span.read(self._curve(kept, i, j, span), at)
            beyond, of = np.nonzero(np.ones(at.shape) if span is None else ~span.holds(at))
            for part in _tiles(len(beyond), len(self._alpha)):
                v, r = beyond[part], of[part]
                along[v, r] = self._summed(kept, i, j, at[v, r], r)
            total += along
        return total

    def _kept(self, rows: IntArray) -> _Kept:
        """Return what is kept of rows; that of the last ones is."""
        for last in self._last:
            if last.rows is rows or np.array_equal(last.rows, rows):
                return last
        kept = _Kept(rows, [self._halves(rows, i) for i in range(len(self.terms))] if self._few(rows) else [])
        self._last[:] = [kept]
        return kept

    def _few(self, rows: IntArray) -> bool:
        """Say whether distances of the rows to the training rows are few enough to be kept."""
        return len(rows) * len(self.gp.X_train_) * len(self.terms) <= _MOST

    def _halves(self, rows: IntArray, i: int) -> FloatArray:
        """Return half of a term's distances of rows to the training rows, below 0."""
        half = self.terms[i].distances(self.inner[rows], self.gp.X_train_)
        return np.divide(half, -2, out=half)

    def _half(self, kept: _Kept, i: int, part: slice | IntArray) -> FloatArray:
        """Return those of some of the rows."""
        return kept.halves[i][part] if kept.halves else self._halves(kept.rows[part], i)

    def _summed(self, kept: _Kept, i: int, j: int, at: FloatArray, part: IntArray) -> FloatArray:
        """Return a term's sum over the training rows of some rows, with the input `j` at other values."""
        own, t, term = self.inner[kept.rows[part], j, None], self.gp.X_train_[:, j], self.terms[i]
        s = np.square(at[:, None] - t) - np.square(own - t)
        s *= term.inverse[j]
        s -= 2 * self._half(kept, i, part)
        return np.asarray(term.factor * (term.shape.value(np.maximum(s, 0.0, out=s)) @ self._alpha))

    def _curve(self, kept: _Kept, i: int, j: int, span: Span) -> FloatArray:
        """Return a term's sum with the input `j` at each point of a span, (rows, points)."""
        curve = kept.curves.get((i, j))
        if curve is None:
            term, middle = self.terms[i], (span.points[0] + span.points[-1]) / 2
            along = term.shape.value(term.inverse[j] * np.square(self.gp.X_train_[:, j, None] - span.points))
            along *= term.factor * self._alpha[:, None]
            x, t = (
                (rows[:, j] - middle) * math.sqrt(term.inverse[j]) for rows in (self.inner[kept.rows], self.gp.X_train_)
            )
            # (x - t)² / 2 as a product of matrices: half the distances less it are those by the other inputs
            ours, theirs = np.stack([x * x / 2, -x, np.ones_like(x)], axis=1), np.stack([np.ones_like(t), t, t * t / 2])
            curve = np.empty((len(x), len(span.points)))
            for part in _tiles(len(x), len(t)):
                half = ours[part] @ theirs
                half += self._half(kept, i, part)
                curve[part] = np.exp(half, out=half) @ along
            make_room(kept.curves, curve.size)
            kept.curves[i, j] = curve
        return curve

    @cached_property
    def _inputs(self) -> IntArray:
        """The input that each column moves; -1 where it is not one."""
        moved = self.matrix != 0
        return np.where(moved.sum(axis=1) == 1, moved.argmax(axis=1), -1)

    @cached_property
    def _source(self) -> ColumnLookup:
        return ColumnLookup(self.X)

    @cached_property
    def ends(self) -> list[tuple[float, float]]:
        """How far curves along each input are known."""
        low, high = self.inner.min(axis=0), self.inner.max(axis=0)
        reach = _BEYOND * (high - low)
        return [*zip(low - reach, high + reach, strict=True)]

    @cached_property
    def _spans(self) -> list[list[Span | None]]:
        """The points of every term's curves along each input; None for a term that is no product, or of too many."""
        spans = []
        for j, (low, high) in enumerate(self.ends):
            lengths = [1 / np.sqrt(term.inverse[j]) if term.shape.splits else 0.0 for term in self.terms]
            spans.append([span_of(low, high, length) if length else None for length in lengths])
        return spans

    @cached_property
    def _alpha(self) -> FloatArray:
        return np.ravel(self.gp.alpha_)

    @cached_property
    def _constant(self) -> float:
        """What the kernel's constants add to every row's kᵀα."""
        return constant_of(self.gp.kernel_) * float(self._alpha.sum())


def moves_of(steps: Any, gp: Any, X: Table) -> Moves | None:
    """Return how columns move a process of a closed form; None for another kernel, or steps with text or gaps."""
    inner = dense(transform(steps, X))
    terms = None if inner is None else terms_of(gp.kernel_, inner.shape[1])
    if not terms or inner is None:
        return None
    return Moves(gp, terms, inner, np.nan_to_num(affine_slopes(steps, X, inner)), X)


def _tiles(rows: int, width: int) -> list[slice]:
    """Return parts of so many rows, of about a tile's values each, `width` to a row."""
    step = max(1, _TILE // width)
    return [slice(start, start + step) for start in range(0, rows, step)]
