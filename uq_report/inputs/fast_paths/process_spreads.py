"""Variances of a Gaussian process where one column moves: a few solves a row tell them at every value of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from ...core.model.variants import Variant
from ...core.support.arrays import FloatArray, IntArray
from ...core.support.limits import check_limits
from ..adapters.gp_kernels import constant_of
from .chebyshev import Span, make_room, span_of
from .process_moves import Moves

_LEFT_OUT = 1e-13  # of the largest singular value
_APART = 1e-11  # of a variance, how far a curve may be from solves
_SOLVED = 250  # right sides at once
_FOLLOW = 24  # changes that one value for all rows stands for, or one permutation of all: more follow it


class _Along(NamedTuple):
    """Points on an input, and the factors ``own @ shared`` of ``exp(-(t - x)² / 2 l²)`` of training rows and points."""

    span: Span
    own: FloatArray
    shared: FloatArray


@dataclass(eq=False)
class Spreads:
    """What a process's training rows explain of each row's variance, ``kᵀK⁻¹k``, as curves along one input.

    With a kernel that is one product over inputs, k is ``A B b(x)`` along an input: A diagonal and of the row's other
    inputs, B of few columns, b of the value x alone. ``L⁻¹ A B``, one solve for each column of B, gives
    ``|L⁻¹ A B b(x)|²`` for every x. Before curves of rows are made, those of three are compared with solves; where
    these differ, none is. Which changes are told by curves follows from them and their rows alone, never from what was
    asked before.
    """

    moves: Moves
    _curves: dict[tuple[bytes, int], FloatArray] = field(default_factory=dict)

    def __getstate__(self) -> dict[str, Any]:
        """Leave the curves behind: another process makes those it asks for."""
        return self.__dict__ | {"_curves": {}}

    def pay(self, group: Sequence[Variant], rows: IntArray) -> bool:
        """Say whether curves of these rows need fewer solves than the changes that are asked, or soon will be."""
        moves = self.moves
        columns = {variant.columns for variant in group}
        if len(columns) > 1 or not all(map(moves.cover, group)):
            return False
        whole = len(rows) == len(moves.inner)
        asked = sum(
            _FOLLOW if (whole if variant.donors is not None else np.ndim(variant.values[0]) == 0) else 1
            for variant in group
        )
        along = self._along[moves.input_of(group[0].columns[0])]
        return along is not None and len(along.shared) < asked

    def explained(self, group: Sequence[Variant], rows: IntArray) -> FloatArray | None:
        """Return kᵀK⁻¹k of every row under every change, (variants, rows); None where curves do not tell."""
        column = group[0].columns[0]
        j = self.moves.input_of(column)
        at, along = self.moves.moved(column, self.moves.filled(group, rows), rows), self._along[j]
        if along is None or not along.span.holds(at).all():
            return None
        curve = self._curve(j, rows, along)
        return along.span.read(curve, at) if curve.size else None

    def _curve(self, j: int, rows: IntArray, along: _Along) -> FloatArray:
        """Return kᵀK⁻¹k with the input `j` at each point, (rows, points); nothing if solves say otherwise."""
        key = rows.tobytes(), j
        curve = self._curves.get(key)
        if curve is None:
            curve = self._made(j, rows, along) if self._holds(j, rows, along) else np.empty((0, 0))
            make_room(self._curves, curve.size)
            self._curves[key] = curve
        return curve

    def _made(self, j: int, rows: IntArray, along: _Along) -> FloatArray:
        (term,), T, inverse = self.moves.terms, self.moves.gp.X_train_, self.moves.terms[0].inverse.copy()
        inverse[j], rank = 0.0, len(along.shared)
        others, curve = term._replace(inverse=inverse), np.empty((len(rows), len(along.span.points)))
        step = max(1, _SOLVED // rank)
        for part in (slice(start, start + step) for start in range(0, len(rows), step)):
            check_limits()
            A = term.factor * term.shape.value(others.distances(self.moves.inner[rows[part]], T))
            Z = self._solved((A[:, None] * along.own.T).reshape(-1, len(T))).reshape(-1, rank, len(T))
            curve[part] = np.einsum("rkp,kp->rp", Z @ Z.swapaxes(1, 2) @ along.shared, along.shared)
        return curve

    def _holds(self, j: int, rows: IntArray, along: _Along) -> bool:
        """Say whether curves of the first, a middle and the last row agree with solves between their points."""
        few, points = rows[np.unique([0, len(rows) // 2, len(rows) - 1])], along.span.points
        at = np.repeat(np.linspace(points[-1], points[0], 5)[:, None], len(few), axis=1)
        inner = np.repeat(self.moves.inner[few][None], len(at), axis=0)
        inner[..., j] = at
        table = inner.reshape(-1, inner.shape[2])
        solved = np.square(self._solved(self.moves.kernel(table))).sum(axis=1)
        variance = self.moves.gp.kernel_.diag(table) - solved
        apart = np.abs(along.span.read(self._made(j, few, along), at).ravel() - solved)
        return bool((apart <= _APART * variance).all())

    def _solved(self, K: FloatArray) -> FloatArray:
        return np.asarray(solve_triangular(self.moves.gp.L_, K.T, lower=True, check_finite=False)).T

    @cached_property
    def _along(self) -> list[_Along | None]:
        """The points and factors of each input; None where they would be too many."""
        found: list[_Along | None] = []
        for (low, high), length, t in zip(
            self.moves.ends, 1 / np.sqrt(self.moves.terms[0].inverse), self.moves.gp.X_train_.T, strict=True
        ):
            span = span_of(low, high, length / np.sqrt(2))  # products of two such curves are of this length
            if span is None:
                found.append(None)
                continue
            U, s, W = np.linalg.svd(np.exp(-np.square((t[:, None] - span.points) / length) / 2), full_matrices=False)
            rank = int((s > _LEFT_OUT * s[0]).sum())
            found.append(_Along(span, U[:, :rank] * s[:rank], W[:rank]))
        return found


def spreads_of(moves: Moves | None) -> Spreads | None:
    """Return the curves of a process whose kernel is one product over inputs, noise aside; None for another."""
    if moves is None or len(moves.terms) > 1 or not moves.terms[0].shape.splits or constant_of(moves.gp.kernel_):
        return None
    return Spreads(moves)
