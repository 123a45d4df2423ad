"""Means of a Gaussian process where one column moves: only its own share of the kernel is computed again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ...core.arrays import Columns, FloatArray, IntArray, Table
from ...core.derivatives import numbers
from ...core.variants import Variant
from ..adapters.affine import affine_slopes, dense
from ..adapters.gp_kernels import Term, terms_of
from ..adapters.sklearn_ import transform

_MOST = 2_000_000  # kernel values that are kept
_ROUNDING = 1e-12  # of an input, up to which rows have the same one
_TILE = 32_000  # kernel values worked on at once, few enough for a processor's own memory


class _Apart(NamedTuple):
    """Rows without one column: what they are of, and what each term keeps of the others.

    A term keeps the distances by the other columns, or, where it is a product over columns, its value by them.
    """

    column: int
    rows: IntArray
    kept: list[FloatArray]


@dataclass
class Moves:
    """A process whose kernel has a closed form, and how each column of the table moves its inputs.

    `matrix` holds the inputs' slopes by the columns, (d, m), with one input at most for each column.
    """

    gp: Any
    terms: Sequence[Term]
    inner: FloatArray
    matrix: FloatArray
    X: Table
    _last: list[_Apart] = field(default_factory=list)

    @property
    def most(self) -> int:
        """How many rows are served at once: their distances to the training rows are kept."""
        return _MOST // (len(self.gp.X_train_) * max(1, len(self.terms)))

    def cover(self, variant: Variant) -> bool:
        """Say whether the change is of one column that moves one input."""
        return len(variant.columns) == 1 and int((self.matrix[variant.columns[0]] != 0).sum()) == 1

    def means(self, variant: Variant, rows: IntArray) -> FloatArray:
        """Return kᵀα of each row under a change of one column."""
        (column,) = variant.columns
        (values,) = variant.filling(Columns(self.X), 0, len(rows))
        j = int(np.flatnonzero(self.matrix[column])[0])
        step = np.asarray(values, dtype=float) - numbers(self.X, column)[rows]
        at = self.inner[rows, j] + self.matrix[column, j] * step
        kept = self._apart(column, j, rows).kept
        alike = np.ndim(values) == 0 and bool(np.ptp(at) <= _ROUNDING * np.abs(at).max())
        return self._constant + self._moved(at, j, kept, alike=alike)

    @cached_property
    def _constant(self) -> float:
        """What the kernel's constants add to every row's kᵀα."""
        row, T = self.inner[:1], self.gp.X_train_
        own = sum(term.factor * term.shape.value(term.distances(row, T)) for term in self.terms)
        return float(((self.gp.kernel_(row, T) - own) @ np.ravel(self.gp.alpha_))[0])

    def _moved(self, at: FloatArray, j: int, kept: Sequence[FloatArray], *, alike: bool) -> FloatArray:
        """Return the terms' sums with the input `j` at these values, `alike` where all rows have one."""
        alpha, total = np.ravel(self.gp.alpha_), np.zeros(len(at))
        for term, others in zip(self.terms, kept, strict=True):
            root = np.sqrt(term.inverse[j])
            at_training, here = root * self.gp.X_train_[:, j], root * at
            if alike and term.shape.splits:
                total += term.factor * (others @ (term.shape.value(np.square(here[0] - at_training)) * alpha))
                continue
            for start in range(0, len(at), step := max(1, _TILE // len(alpha))):
                part = slice(start, start + step)
                s = here[part, None] - at_training
                s *= s
                if term.shape.splits:
                    value = term.shape.value(s)
                    value *= others[part]
                else:
                    s += others[part]
                    value = term.shape.value(s)
                total[part] += term.factor * (value @ alpha)
        return total

    def _apart(self, column: int, j: int, rows: IntArray) -> _Apart:
        """Return the rows without the input `j`; the last ones are kept."""
        for last in self._last:
            if last.column == column and np.array_equal(last.rows, rows):
                return last
        inner, T = self.inner[rows], self.gp.X_train_
        others = np.arange(inner.shape[1]) != j
        kept = []
        for term in self.terms:
            distances = term._replace(inverse=term.inverse[others]).distances(inner[:, others], T[:, others])
            kept.append(term.shape.value(distances) if term.shape.splits else distances)
        found = _Apart(column, rows.copy(), kept)
        self._last[:] = [found]
        return found


def moves_of(steps: Any, gp: Any, X: Table) -> Moves | None:
    """Return how columns move a process of a closed form; None for another kernel, or steps with text or gaps."""
    inner = dense(transform(steps, X))
    terms = None if inner is None else terms_of(gp.kernel_, inner.shape[1])
    if not terms or inner is None:
        return None
    return Moves(gp, terms, inner, np.nan_to_num(affine_slopes(steps, X, inner)), X)
