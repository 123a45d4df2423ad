"""Rows with some columns replaced, many variants of a row in one table, and rows mixed of two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ..support.arrays import BoolArray, ColumnLookup, IntArray, Table, column, take_rows


@dataclass(frozen=True)
class Variant:
    """Rows with some columns replaced; `columns` are positions in the subject's table.

    `values` holds, per column, one value per evaluated row or a scalar for all of them.
    `donors` instead names, per evaluated row, the row of the subject that the columns are taken
    from, together. With neither, the rows are unchanged.

    Examples
    --------
    >>> Variant((0,), donors=np.array([2, 0, 1]))      # a permutation of column 0
    Variant(columns=(0,), values=(), donors=array([2, 0, 1]))
    >>> Variant((0,), (3.5,))                          # one grid point
    Variant(columns=(0,), values=(3.5,), donors=None)
    """

    columns: tuple[int, ...] = ()
    values: tuple[Any, ...] = ()
    donors: IntArray | None = None

    def filling(self, source: ColumnLookup, start: int, stop: int) -> list[Any]:
        """Return what goes into each column for evaluated rows `start` to `stop`."""
        if self.donors is not None:
            return [source[c][self.donors[start:stop]] for c in self.columns]
        return [v if np.ndim(v) == 0 else v[start:stop] for v in self.values]

    def part(self, at: slice | IntArray) -> Variant:
        """Return the same change of some of the evaluated rows."""
        donors = None if self.donors is None else self.donors[at]
        return Variant(self.columns, tuple(v if np.ndim(v) == 0 else v[at] for v in self.values), donors)


@dataclass(frozen=True, eq=False)
class Mix:
    """Rows with some columns of one row of a table, `own`, and the rest of others: ``o * len(own) + c`` of (o, c).

    Parameters
    ----------
    row : int
        Position of the row whose columns are taken where `own` says so.
    own : ndarray of bool, shape (coalitions, columns)
    others : ndarray of int
        Positions of the rows that give the remaining columns, together.
    """

    row: int
    own: BoolArray
    others: IntArray

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.own) * len(self.others)


def mixed_rows(table: Table, mixes: Sequence[Mix]) -> Table:
    """Return the rows of mixes, of the kind and the column types of the table they are mixed of.

    Examples
    --------
    >>> mix = Mix(0, np.array([[False, False], [True, False]]), np.array([1, 2]))
    >>> mixed_rows(np.array([[1, 2], [30, 40], [50, 60]]), [mix]).tolist()
    [[30, 40], [1, 40], [50, 60], [1, 60]]
    """
    if isinstance(table, pd.DataFrame):
        rows = [np.where(mix.own, mix.row, mix.others[:, None, None]) for mix in mixes]
        return composed_rows(table, np.concatenate([part.reshape(-1, table.shape[1]) for part in rows]))
    cells = [np.where(mix.own, table[mix.row], table[mix.others][:, None]) for mix in mixes]
    return np.concatenate([part.reshape(-1, table.shape[1]) for part in cells])


def composed_rows(table: Table, at: IntArray) -> Table:
    """Return rows whose cell (k, j) is that of row ``at[k, j]`` of the table, with its column types.

    Examples
    --------
    >>> composed_rows(np.array([[1, 2], [30, 40]]), np.array([[0, 1], [1, 1]])).tolist()
    [[1, 40], [30, 40]]
    """
    if isinstance(table, pd.DataFrame):
        columns = {j: table.iloc[:, j].take(at[:, j]).reset_index(drop=True) for j in range(table.shape[1])}
        return pd.DataFrame(columns).set_axis(table.columns, axis=1)
    return np.take_along_axis(table, at, axis=0)


def variant_rows(rows: Table, group: Sequence[Variant], source: ColumnLookup, start: int = 0) -> Table:
    """Return each of `rows` under every variant of a group: row r of variant v stands at ``r * len(group) + v``.

    Parameters
    ----------
    rows : DataFrame or ndarray
        Evaluated rows from position `start` on. Every column keeps its type.
    group : sequence of Variant
    source : ColumnLookup
        Of the subject's table, which donors are positions in.
    start : int

    Examples
    --------
    >>> rows = np.array([[1, 2], [3, 4]])
    >>> variant_rows(rows, [Variant(), Variant((0,), (9,))], ColumnLookup(rows)).tolist()
    [[1, 2], [9, 2], [3, 4], [9, 4]]
    """
    n, changed = len(group), dict[int, Any]()
    for v, variant in enumerate(group):
        for c, values in zip(variant.columns, variant.filling(source, start, start + len(rows)), strict=True):
            if c not in changed:
                changed[c] = column(rows, c).repeat(n)
            changed[c][v::n] = values
    table = take_rows(rows, np.repeat(np.arange(len(rows)), n))
    for c, values in changed.items():
        if isinstance(table, pd.DataFrame):
            table.iloc[:, c] = values
        else:
            table[:, c] = values
    return table
