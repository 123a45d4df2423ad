"""The arithmetic of Shapley values: coalitions, the rows that tell their worth, and the shares that follow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import factorial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ...core.arrays import AnyArray, BoolArray, FloatArray, IntArray, Table, column
from ...core.engine import Engine
from ...core.measures import Measure

ROUNDING = 1e-14  # of the largest worth: a value below it is what sums leave of a player that changes nothing
CALL_ROWS, CALL_VALUES = 50000, 2_500_000  # of one call of the model, at most


class Enumeration:
    """Every coalition: phi_j = sum over S without j of |S|! (d-|S|-1)! / d! (v(S+j) - v(S)), Shapley (1953).

    Examples
    --------
    >>> Enumeration(2).solve(np.array([0.0, 1.0, 2.0, 5.0]))[0]      # worth of {}, {0}, {1}, {0, 1}
    array([2., 3.])
    """

    def __init__(self, players: int) -> None:
        codes = np.arange(2**players)
        self.masks = (codes[:, None] >> np.arange(players)) % 2 == 1
        size = self.masks.sum(axis=1)
        share = np.array([factorial(s) * factorial(players - s - 1) / factorial(players) for s in range(players)])
        joins, leaves = np.append(0.0, share)[size], np.append(share, 0.0)[size]
        self._weights = np.where(self.masks, joins[:, None], -leaves[:, None])

    def solve(self, worth: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the exact values, and standard errors of 0."""
        values = worth @ self._weights
        return values, np.zeros_like(values)


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
        self.masks = chains.reshape(-1, orders.shape[1])

    def solve(self, worth: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the means over all permutations, and the standard errors over pairs."""
        pairs, _, players = self._rank.shape
        steps = np.diff(worth.reshape(*worth.shape[:-1], pairs, 2, players + 1), axis=-1)
        rank = np.broadcast_to(self._rank, steps.shape)
        per_pair = np.take_along_axis(steps, rank, axis=-1).mean(axis=-2)
        return per_pair.mean(axis=-2), per_pair.std(axis=-2, ddof=1) / np.sqrt(pairs)


# `masks`, shape (coalitions, players), says who is in, the first one is empty; `solve` makes values of their worth.
Solver = Enumeration | AntitheticPermutations


@dataclass(frozen=True)
class Composites:
    """The distinct rows that coalitions of one explained row make with the background.

    `own`, shape (distinct, players), says which values are the explained row's, number `row` of the pool; the others
    come from row `other`, shape (distinct,), of the pool. `inverse`, shape (background, coalitions), is which distinct
    row stands for a pair.
    """

    row: int
    own: BoolArray
    other: IntArray
    inverse: IntArray

    def __len__(self) -> int:
        """Return the number of distinct rows."""
        return len(self.own)

    def part(self, rows: slice) -> Composites:
        """Return some of the distinct rows."""
        return replace(self, own=self.own[rows], other=self.other[rows])


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

    def composites(self, row: int, masks: BoolArray) -> Composites:
        """Return the rows of explained row number `row` with what is outside a coalition from each background row.

        Where the two rows agree on a feature, coalitions with and without it make one and the same
        row, which is predicted once.
        """
        differs = self.codes[row] != self.codes[self.explained :]
        patterns, which = np.unique(differs, axis=0, return_inverse=True)
        made = [_distinct(masks & pattern) for pattern in patterns]
        own, inverses = zip(*(made[k] for k in which.ravel()), strict=True)
        sizes = np.array([len(part) for part in own])
        inverse = np.stack(inverses) + (np.cumsum(sizes) - sizes)[:, None]
        other = np.repeat(np.arange(self.explained, len(self.codes)), sizes)
        return Composites(row, np.concatenate(own), other, inverse)

    def rows(self, parts: Sequence[Composites]) -> Table:
        """Return the table of all distinct rows of the parts."""
        table, own = self.table, np.concatenate([part.own for part in parts])
        other = np.concatenate([part.other for part in parts])
        row = np.repeat([part.row for part in parts], [len(part) for part in parts])
        if not isinstance(table, pd.DataFrame):
            values = table.take(other, axis=0)
            np.putmask(values, own, table.take(row, axis=0))
            return values
        columns = {
            j: table.iloc[:, j].take(np.where(own[:, j], row, other)).reset_index(drop=True)
            for j in range(own.shape[1])
        }
        return pd.DataFrame(columns).set_axis(table.columns, axis=1)


def _distinct(masks: BoolArray) -> tuple[BoolArray, IntArray]:
    """Return the distinct rows of masks, and which of them each row is."""
    packed = np.packbits(masks, axis=1)
    keys = np.pad(packed, ((0, 0), (0, -packed.shape[1] % 8))).view(np.uint64)  # numbers sort faster than bytes
    _, at, inverse = np.unique(
        keys[:, 0] if keys.shape[1] == 1 else keys.view(f"V{8 * keys.shape[1]}")[:, 0],
        return_index=True,
        return_inverse=True,
    )
    return masks[at], inverse.reshape(-1)


def _codes(values: pd.Series[Any]) -> IntArray:
    """Return a number for each distinct value; in a column of mixed types 1, True and "1" differ."""
    if values.dtype == object:
        values = pd.Series([f"{type(value).__name__} {value!r}" for value in values], dtype=object)
    return np.asarray(pd.factorize(values, use_na_sentinel=False)[0], dtype=np.int64)


class Shares(NamedTuple):
    """Shapley values of E explained rows.

    `phi` and `std_error` have shape (measures, rows, players), `base` (the worth of nobody) and
    `infinite` (how many composite rows are infinite; the values are 0 there) shape (measures, rows).
    """

    phi: FloatArray
    std_error: FloatArray
    base: FloatArray
    infinite: IntArray


def play(
    engine: Engine,
    measures: Sequence[Measure],
    pool: Pool,
    solvers: Iterable[Solver],
    y: AnyArray | None,
    weights: FloatArray,
) -> Shares:
    """Return the Shapley values of the pool's explained rows, one solver each, several rows a call.

    `y` is encoded, one value for each explained row; `weights`, those of the background rows, sum to 1.
    """
    parts = []
    most = max(1, min(CALL_ROWS, CALL_VALUES // pool.codes.shape[1]))
    for group in _groups(pool, solvers, most):
        engine.check()
        solved, composites = zip(*group, strict=True)
        values = _measured(engine, measures, pool, composites, y, most)
        own_values = np.split(values, np.cumsum([len(own) for own in composites])[:-1], axis=1)
        for part, own, solver in zip(own_values, composites, solved, strict=True):
            parts.append(_shares(part, own.inverse, solver, weights))
    return Shares(*(np.stack(part, axis=1) for part in zip(*parts, strict=True)))


def _groups(pool: Pool, solvers: Iterable[Solver], most: int) -> Iterator[list[tuple[Solver, Composites]]]:
    """Yield as many explained rows as make `most` composite rows, and at least one."""
    group: list[tuple[Solver, Composites]] = []
    size = 0
    for row, solver in enumerate(solvers):
        composites = pool.composites(row, solver.masks)
        if group and size + len(composites) > most:
            yield group
            group, size = [], 0
        group.append((solver, composites))
        size += len(composites)
    yield group


def _measured(
    engine: Engine,
    measures: Sequence[Measure],
    pool: Pool,
    composites: Sequence[Composites],
    y: AnyArray | None,
    most: int,
) -> FloatArray:
    """Return the measures of a group's composite rows, shape (measures, rows), in calls of at most `most` of them."""
    calls = [composites]
    if len(composites) == 1:
        (alone,) = composites
        calls = [[alone.part(slice(start, start + most))] for start in range(0, len(alone), most)]
    values = []
    for call in calls:
        target = None if y is None else np.repeat(y[[part.row for part in call]], [len(part) for part in call])
        values.append(engine.measure_rows(pool.rows(call), measures, target))
    return np.concatenate(values, axis=1)


def _shares(values: FloatArray, inverse: IntArray, solver: Solver, weights: FloatArray) -> Shares:
    """Return one row's Shapley values from the measures of its distinct composite rows."""
    infinite = np.isinf(values).sum(axis=1)
    finite = np.where(infinite[:, None] > 0, 0.0, values)
    worth = weights @ finite[:, inverse]
    phi, std_error = solver.solve(worth)
    rounding = ROUNDING * np.abs(worth).max(axis=1)[:, None]
    return Shares(np.where(np.abs(phi) <= rounding, 0.0, phi), std_error, worth[:, 0], infinite)
