"""Rows with some columns replaced, the reusable buffers that hold many variants of a row, and rows mixed of two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pandas as pd

from ..support.arrays import AnyArray, BoolArray, ColumnLookup, IntArray, Table


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


class Buffer(Protocol):
    """A table of rows x variants: row r of variant v stands at position ``r * variants + v``."""

    def filled(self, source: ColumnLookup, start: int, stop: int, group: Sequence[Variant]) -> Table:
        """Put back what the last group changed, put this group's columns in, and return the table to predict."""


def make_buffer(rows: Table, variants: int) -> Buffer:
    """Return a buffer holding each of `rows` `variants` times, for groups of that many variants."""
    if isinstance(rows, pd.DataFrame):
        return _FrameBuffer(rows, variants)
    return _ArrayBuffer(rows, variants)


class _ArrayBuffer:
    """Numpy rows: one (rows, variants, columns) block, filled and restored in place."""

    def __init__(self, rows: AnyArray, variants: int) -> None:
        self._rows = rows
        self._block = np.repeat(rows[:, None, :], variants, axis=1)
        self._changed: set[int] = set()

    def filled(self, source: ColumnLookup, start: int, stop: int, group: Sequence[Variant]) -> Table:
        for c in self._changed:
            self._block[:, :, c] = self._rows[:, c, None]
        self._changed.clear()
        for v, variant in enumerate(group):
            for c, values in zip(variant.columns, variant.filling(source, start, stop), strict=True):
                self._block[:, v, c] = values
                self._changed.add(c)
        return self._block.reshape(-1, self._block.shape[2])


class _FrameBuffer:
    """A frame: whole columns are overwritten in place, so every column keeps its own dtype and its block."""

    def __init__(self, rows: pd.DataFrame, variants: int) -> None:
        self._variants = variants
        self._own = ColumnLookup(rows)
        self._frame = rows if variants == 1 else rows.loc[rows.index.repeat(variants)]
        self._frame = self._frame.copy()
        self._changed: set[int] = set()

    def filled(self, source: ColumnLookup, start: int, stop: int, group: Sequence[Variant]) -> Table:
        columns = self._pieced(source, start, stop, group)
        back = {c: self._own[c].repeat(self._variants) for c in self._changed.difference(columns)}
        for c, values in (columns | back).items():
            self._frame.iloc[:, c] = values
        self._changed = set(columns)
        return self._frame

    def _pieced(self, source: ColumnLookup, start: int, stop: int, group: Sequence[Variant]) -> dict[int, Any]:
        """Return the rows' own columns with each variant's values put in."""
        columns: dict[int, Any] = {}
        for v, variant in enumerate(group):
            for c, values in zip(variant.columns, variant.filling(source, start, stop), strict=True):
                if c not in columns:
                    columns[c] = self._own[c].repeat(self._variants)
                columns[c][v :: self._variants] = values
        return columns
