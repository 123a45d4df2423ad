"""The arithmetic of Shapley values: coalitions, the rows that tell their worth, and the shares that follow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import factorial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ...core.arrays import AnyArray, BoolArray, FloatArray, IntArray, Table, column
from ...core.engine import Engine
from ...core.measures import Measure

ROUNDING = 1e-14  # of the largest worth: a value below it is what sums leave of a player that changes nothing
CALL_ROWS = 25_000


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


class Composites(NamedTuple):
    """The distinct rows that coalitions of one explained row make with the background.

    `sources`, shape (distinct, players), says from which row of the pool each value comes;
    `inverse`, shape (background, coalitions), which distinct row stands for a pair.
    """

    sources: IntArray
    inverse: IntArray


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
        places, inverses, first = [], [], 0
        for other in range(self.explained, len(self.codes)):
            own = masks & (self.codes[row] != self.codes[other])
            keys = np.packbits(own, axis=1)
            distinct = keys.view(f"V{keys.shape[1]}")[:, 0]
            _, at, inverse = np.unique(distinct, return_index=True, return_inverse=True)
            places.append(np.where(own[at], np.int32(row), np.int32(other)))  # they are many, and small
            inverses.append(inverse.reshape(-1) + first)
            first += len(at)
        return Composites(np.concatenate(places), np.stack(inverses))

    def rows(self, sources: IntArray) -> Table:
        """Return the table whose value in row r and column j is the pool's in row ``sources[r, j]``."""
        if not isinstance(self.table, pd.DataFrame):
            return self.table[sources, np.arange(sources.shape[1])]
        table = self.table
        columns = {j: table.iloc[:, j].take(sources[:, j]).reset_index(drop=True) for j in range(sources.shape[1])}
        return pd.DataFrame(columns).set_axis(table.columns, axis=1)


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
    for group in _groups(pool, solvers):
        numbers, solved, composites = zip(*group, strict=True)
        sizes = [len(own.sources) for own in composites]
        target = None if y is None else np.repeat(y[list(numbers)], sizes)
        values = _measured(engine, measures, pool, np.concatenate([own.sources for own in composites]), target)
        own_values = np.split(values, np.cumsum(sizes)[:-1], axis=1)
        for part, own, solver in zip(own_values, composites, solved, strict=True):
            parts.append(_shares(part, own.inverse, solver, weights))
    return Shares(*(np.stack(part, axis=1) for part in zip(*parts, strict=True)))


def _groups(pool: Pool, solvers: Iterable[Solver]) -> Iterator[list[tuple[int, Solver, Composites]]]:
    """Yield as many explained rows as fill one call, and at least one."""
    group: list[tuple[int, Solver, Composites]] = []
    size = 0
    for row, solver in enumerate(solvers):
        composites = pool.composites(row, solver.masks)
        if group and size + len(composites.sources) > CALL_ROWS:
            yield group
            group, size = [], 0
        group.append((row, solver, composites))
        size += len(composites.sources)
    yield group


def _measured(
    engine: Engine, measures: Sequence[Measure], pool: Pool, sources: IntArray, y: AnyArray | None
) -> FloatArray:
    """Return the measures of composite rows, shape (measures, rows), in calls of at most `CALL_ROWS`."""
    calls = [slice(start, start + CALL_ROWS) for start in range(0, len(sources), CALL_ROWS)]
    rows = (engine.measure_rows(pool.rows(sources[c]), measures, None if y is None else y[c]) for c in calls)
    return np.concatenate(list(rows), axis=1)


def _shares(values: FloatArray, inverse: IntArray, solver: Solver, weights: FloatArray) -> Shares:
    """Return one row's Shapley values from the measures of its distinct composite rows."""
    infinite = np.isinf(values).sum(axis=1)
    finite = np.where(infinite[:, None] > 0, 0.0, values)
    worth = np.einsum("mbc,b->mc", finite[:, inverse], weights)
    phi, std_error = solver.solve(worth)
    rounding = ROUNDING * np.abs(worth).max(axis=1)[:, None]
    return Shares(np.where(np.abs(phi) <= rounding, 0.0, phi), std_error, worth[:, 0], infinite)
