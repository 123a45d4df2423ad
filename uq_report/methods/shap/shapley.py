"""The arithmetic of Shapley values: coalitions, the rows that tell their worth, and the shares that follow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, combinations
from math import factorial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ...core.model.variants import Mix
from ...core.support.arrays import BoolArray, FloatArray, IntArray, Table, column

ROUNDING = 1e-14  # of the largest worth: a value below it is what sums leave of a player that changes nothing
CALL_ROWS, CALL_VALUES = 50000, 2_500_000  # of one call of the model, at most
KEPT_VALUES = 2_500_000  # of the distinct coalitions that are kept, at most


class Coalitions:
    """The coalitions that are asked of a row, and which of them make the same rows.

    Parameters
    ----------
    masks : ndarray of bool, shape (coalitions, players)
    """

    def __init__(self, masks: BoolArray) -> None:
        self.masks = masks
        self._distinct = lru_cache(max(1, KEPT_VALUES // masks.size))(self._of_pattern)

    def distinct(self, differs: BoolArray) -> tuple[BoolArray, IntArray]:
        """Return the distinct coalitions of the players that make a difference, and which of them each coalition is."""
        return self._distinct(differs.tobytes())

    def _of_pattern(self, pattern: bytes) -> tuple[BoolArray, IntArray]:
        masks = self.masks & np.frombuffer(pattern, dtype=bool)
        _, at, inverse = np.unique(np.packbits(masks, axis=1), axis=0, return_index=True, return_inverse=True)
        return masks[at], inverse.reshape(-1)


class Enumeration:
    """Every coalition: phi_j = sum over S without j of |S|! (d-|S|-1)! / d! (v(S+j) - v(S)), Shapley (1953).

    Examples
    --------
    >>> Enumeration(2).solve(np.array([0.0, 1.0, 2.0, 5.0]))[0]      # worth of {}, {0}, {1}, {0, 1}
    array([2., 3.])
    """

    def __init__(self, players: int) -> None:
        codes = np.arange(2**players)
        masks = (codes[:, None] >> np.arange(players)) % 2 == 1
        self.coalitions = Coalitions(masks)
        size = masks.sum(axis=1)
        share = np.array([factorial(s) * factorial(players - s - 1) / factorial(players) for s in range(players)])
        joins, leaves = np.append(0.0, share)[size], np.append(share, 0.0)[size]
        self._weights = np.where(masks, joins[:, None], -leaves[:, None])

    def solve(self, worth: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the exact values, and standard errors of 0."""
        values = worth @ self._weights
        return values, np.zeros_like(values)


class PairEnumeration(Enumeration):
    """Every coalition, for the interaction of pairs (Grabisch & Roubens 1999).

    phi_ij = sum over S without i and j of |S|! (d-|S|-2)! / (d-1)! [v(S+i+j) - v(S+i) - v(S+j) + v(S)].

    Examples
    --------
    >>> PairEnumeration(2).solve(np.array([0.0, 1.0, 2.0, 5.0]))[0]
    array([2.])
    """

    def __init__(self, players: int) -> None:
        super().__init__(players)
        masks, pairs = self.coalitions.masks, list(combinations(range(players), 2))
        share = [factorial(s) * factorial(players - s - 2) / factorial(players - 1) for s in range(players - 1)]
        others = masks.sum(axis=1)[:, None] - np.column_stack([masks[:, i].astype(int) + masks[:, j] for i, j in pairs])
        signs = np.column_stack([np.where(masks[:, i] == masks[:, j], 1.0, -1.0) for i, j in pairs])
        self._weights = np.array(share)[others] * signs


class AntitheticPermutations:
    """Players join one by one in given orders and in each order's reverse (Mitchell et al. 2022).

    A permutation's contributions telescope, so the values add up to v(all) - v(none) exactly. The
    standard error is that of the mean over pairs (an order and its reverse), which are independent.

    Parameters
    ----------
    orders : ndarray of int, shape (pairs, players)
        At least two permutations of the players.
    """

    def __init__(self, orders: IntArray) -> None:
        both = np.stack([orders, orders[:, ::-1]], axis=1)
        self._rank = np.argsort(both, axis=2)
        steps = np.arange(orders.shape[1] + 1)
        chains = self._rank[:, :, None, :] < steps[:, None]
        self.coalitions = Coalitions(chains.reshape(-1, orders.shape[1]))

    def solve(self, worth: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the means over all permutations, and the standard errors over pairs."""
        pairs, _, players = self._rank.shape
        steps = np.diff(worth.reshape(*worth.shape[:-1], pairs, 2, players + 1), axis=-1)
        rank = np.broadcast_to(self._rank, steps.shape)
        per_pair = np.take_along_axis(steps, rank, axis=-1).mean(axis=-2)
        return per_pair.mean(axis=-2), per_pair.std(axis=-2, ddof=1) / np.sqrt(pairs)


# `coalitions` are asked, the first one is empty; `solve` makes values of their worth.
Solver = Enumeration | AntitheticPermutations


@dataclass(frozen=True)
class Composites:
    """The distinct rows that coalitions of one explained row make with the background.

    A mix for each set of features that background rows differ in; `inverse` says which coalition of the mix, shape
    (coalitions,), makes the same rows as each coalition.
    """

    mixes: tuple[Mix, ...]
    inverse: tuple[IntArray, ...]

    def __len__(self) -> int:
        """Return the number of distinct rows."""
        return sum(map(len, self.mixes))

    def worth(self, values: FloatArray, weights: FloatArray) -> FloatArray:
        """Return the mean over the background of the rows' values, shapes (measures, rows), (measures, coalitions).

        `weights` are those of the rows of the pool.
        """
        means = [
            (weights[mix.others] @ part)[:, inverse]
            for mix, inverse, part in zip(self.mixes, self.inverse, self._parts(values), strict=True)
        ]
        return np.asarray(sum(means[1:], start=means[0]))

    def by_background(self, values: FloatArray) -> Iterator[tuple[IntArray, FloatArray]]:
        """Yield the worth against some background rows, by their positions: (rows,), (measures, rows, coalitions)."""
        for mix, inverse, part in zip(self.mixes, self.inverse, self._parts(values), strict=True):
            step = max(1, CALL_VALUES // (len(values) * len(inverse)))
            for start in range(0, len(mix.others), step):
                yield mix.others[start : start + step], part[:, start : start + step, inverse]

    def _parts(self, values: FloatArray) -> Iterator[FloatArray]:
        """Yield the values of each mix, shape (measures, others, own)."""
        parts = np.split(values, np.cumsum([len(mix) for mix in self.mixes])[:-1], axis=1)
        for mix, part in zip(self.mixes, parts, strict=True):
            yield part.reshape(len(values), len(mix.others), -1)


@dataclass(frozen=True)
class Pool:
    """Explained rows and then background rows in one table, so that values move without a cast.

    `codes`, shape (rows, players), are equal within a column exactly where the values are.
    """

    table: Table
    codes: IntArray
    explained: int

    @classmethod
    def of(cls, explained: Table, background: Table) -> Pool:
        """Join both tables, which must have equal column types."""
        if isinstance(explained, pd.DataFrame) and isinstance(background, pd.DataFrame):
            table: Table = pd.concat([explained, background], ignore_index=True)
        else:
            table = np.concatenate([explained, background])
        columns = [_codes(pd.Series(column(table, j))) for j in range(table.shape[1])]
        return cls(table, np.column_stack(columns), len(explained))

    def composites(self, row: int, coalitions: Coalitions) -> Composites:
        """Return the rows of explained row number `row` with what is outside a coalition from each background row.

        Where the two rows agree on a feature, coalitions with and without it make one and the same
        row, which is predicted once.
        """
        differs = self.codes[row] != self.codes[self.explained :]
        patterns, which = np.unique(differs, axis=0, return_inverse=True)
        own, inverse = zip(*map(coalitions.distinct, patterns), strict=True)
        others = (self.explained + np.flatnonzero(which.ravel() == k) for k in range(len(patterns)))
        return Composites(tuple(Mix(row, *pair) for pair in zip(own, others, strict=True)), inverse)


def _codes(values: pd.Series[Any]) -> IntArray:
    """Return a number for each distinct value; in a column of mixed types 1, True and "1" differ."""
    if values.dtype == object:
        values = pd.Series([f"{type(value).__name__} {value!r}" for value in values], dtype=object)
    return np.asarray(pd.factorize(values, use_na_sentinel=False)[0], dtype=np.int64)


class Shares(NamedTuple):
    """Shapley values of E explained rows.

    `phi` and `std_error` have shape (measures, rows, players), `base` (the worth of nobody) and
    `infinite` (how many composite rows are infinite; the values are 0 there) shape (measures, rows).
    `background` has shape (measures, background rows, players): by how much each background row moves the mean of
    |phi|, ``mean over the rows of sign(phi) (psi - phi)`` with psi the values against this background row alone.
    """

    phi: FloatArray
    std_error: FloatArray
    base: FloatArray
    infinite: IntArray
    background: FloatArray

    def background_error(self, weights: FloatArray) -> FloatArray:
        """Return the standard error of the mean of |phi| over new background rows, shape (measures, players).

        ``B/(B-1) Σ_b ω_b² h_b²``, the delta method: phi is the mean of psi. NaN against a single background row.
        """
        size = len(weights)
        if size < 2:
            return np.full((len(self.phi), self.phi.shape[2]), np.nan)
        moved = np.einsum("b,mbj->mj", np.square(weights), np.square(self.background))
        return np.asarray(np.sqrt(size / (size - 1) * moved))


def play(
    mixing: Callable[[Sequence[Mix]], FloatArray],
    pool: Pool,
    solvers: Iterable[Solver],
    weights: FloatArray,
    row_weights: FloatArray,
) -> Shares:
    """Return the Shapley values of the pool's explained rows, one solver each.

    `mixing` returns measures of mixes of the pool's rows; `weights`, those of the background rows, sum to 1, as do
    `row_weights` of the explained rows in the mean of |phi|, unless there is no such mean.
    """
    parts, background = [], np.zeros(1)
    of_pool = np.append(np.zeros(pool.explained), weights)
    most = max(1, min(CALL_ROWS, CALL_VALUES // pool.codes.shape[1]))
    for row, solver in enumerate(solvers):
        composites = pool.composites(row, solver.coalitions)
        calls = chain.from_iterable(_parts(mix, most) for mix in composites.mixes)
        values = np.concatenate([mixing(call) for call in _calls(calls, most)], axis=1)
        own = _shares(values, composites, solver, of_pool, pool.explained)
        background = background + row_weights[row] * own.background
        parts.append(own[:-1])
    phi, std_error, base, infinite = (np.stack(part, axis=1) for part in zip(*parts, strict=True))
    return Shares(phi, std_error, base, infinite, background)


def _calls(mixes: Iterable[Mix], most: int) -> Iterator[list[Mix]]:
    """Yield mixes in their order, as many as make at most `most` rows together."""
    call: list[Mix] = []
    for mix in mixes:
        if call and sum(map(len, call)) + len(mix) > most:
            yield call
            call = []
        call.append(mix)
    yield call


def _parts(mix: Mix, most: int) -> Iterator[Mix]:
    """Yield parts of at most `most` rows, in their order: several other rows, or some coalitions of one."""
    step = max(1, most // len(mix.own))
    for first in range(0, len(mix.others), step):
        for start in range(0, len(mix.own), most):
            yield Mix(mix.row, mix.own[start : start + most], mix.others[first : first + step])


def _shares(values: FloatArray, composites: Composites, solver: Solver, weights: FloatArray, explained: int) -> Shares:
    """Return one row's Shapley values from the measures of its distinct composite rows."""
    infinite = np.isinf(values).sum(axis=1)
    finite = np.where(infinite[:, None] > 0, 0.0, values)
    worth = composites.worth(finite, weights)
    phi, std_error = solver.solve(worth)
    rounding = ROUNDING * np.abs(worth).max(axis=1)[:, None]
    phi = np.where(np.abs(phi) <= rounding, 0.0, phi)
    background = np.zeros((len(phi), len(weights) - explained, phi.shape[1]))
    for others, part in composites.by_background(finite):
        background[:, others - explained] = np.sign(phi)[:, None] * (solver.solve(part)[0] - phi[:, None])
    return Shares(phi, std_error, worth[:, 0], infinite, background)
