"""The rows of a table as codes of a forest, and changes of its columns as numbers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ....core.model.variants import Variant
from ....core.support.arrays import AnyArray, IntArray, Table, take_rows
from .walkable import Walkable


class Asked(NamedTuple):
    """Changes: their numbers, each at one of `places`, and the place of what each row takes, shape (rows, variants)."""

    numbers: AnyArray
    places: IntArray
    at: IntArray

    def spread(self, found: IntArray) -> IntArray:
        """Return what was found for each change, for what each row takes."""
        by_place = np.zeros(int(self.places[-1]) + 1, dtype=np.int64)
        by_place[self.places] = found
        return by_place[self.at]


class TreeCodes:
    """The codes of the rows of `X`.

    A change of one column is numbered by its code, one of several by their codes as digits.
    """

    def __init__(self, walkable: Walkable, X: Table) -> None:
        self._walkable = walkable
        self._X = X

    def asked(self, columns: Sequence[int], group: Sequence[Variant], rows: IntArray) -> Asked:
        """Return the changes of these columns, one for each row that gives them, or each value that all rows take."""
        donors = [variant.donors if variant.columns else rows for variant in group]
        given = [own for own in donors if own is not None]
        if len(given) == len(group):
            at, used = np.column_stack(given), np.zeros(self.rows.shape[1], dtype=bool)
            used[at] = True
            places = np.flatnonzero(used)
            return Asked(self._numbers(columns, [self.of(c)[places] for c in columns]), places, at)
        alike = not given and not any(np.ndim(value) for variant in group for value in variant.values)
        few = rows[:1] if alike else rows
        codes = [self._given(c, position, group, few).ravel() for position, c in enumerate(columns)]
        places = np.arange(len(codes[0]))
        at = np.repeat(places.reshape(len(few), -1), len(rows) // len(few), axis=0)
        return Asked(self._numbers(columns, codes), places, at)

    def own(self, columns: Sequence[int], rows: IntArray) -> AnyArray:
        """Return the sorted numbers that these rows have."""
        if len(columns) == 1 and len(rows) == self.rows.shape[1]:
            return self.distinct[columns[0]]
        return np.unique(self._numbers(columns, [self.of(c)[rows] for c in columns]))

    def of(self, column: int) -> AnyArray:
        """Return the codes of a column, shape (n,)."""
        codes: AnyArray = self.rows[self._walkable.columns[column]]
        return codes

    def digits(self, columns: Sequence[int]) -> list[int]:
        """Return how many codes each column can have."""
        return [len(self._walkable.forest.edges[self._walkable.columns[c]]) + 2 for c in columns]

    def apart(self, columns: Sequence[int], numbers: AnyArray) -> AnyArray:
        """Return the codes (columns, m) of numbers (m,)."""
        if len(columns) == 1:
            return numbers[None]
        return np.stack(np.unravel_index(numbers, tuple(self.digits(columns)))).astype(np.int32)

    def _numbers(self, columns: Sequence[int], codes: Sequence[AnyArray]) -> AnyArray:
        """Return the numbers of changes of columns to codes."""
        return codes[0] if len(codes) == 1 else np.ravel_multi_index(tuple(codes), tuple(self.digits(columns)))

    def _given(self, c: int, position: int, group: Sequence[Variant], rows: IntArray) -> AnyArray:
        """Return the codes of one column under variants that have it at a position, shape (rows, variants)."""
        own, codes = self.of(c), np.empty((len(rows), len(group)), dtype=np.int32)
        for number, variant in enumerate(group):
            if variant.donors is not None or not variant.columns:
                codes[:, number] = own[variant.donors if variant.columns else rows]
                continue
            values, column = variant.values[position], self._walkable.columns[c]
            few = take_rows(self._X, np.zeros(np.size(values), dtype=np.int64))
            if isinstance(few, np.ndarray):
                few[:, c] = values
            else:
                few.iloc[:, c] = values
            codes[:, number] = self._walkable.forest.coded(self._walkable.encode(few)[:, column], column)
        return codes

    @cached_property
    def rows(self) -> AnyArray:
        """The codes of the whole table, shape (features, n)."""
        return self._walkable.forest.codes(self._walkable.encode(self._X))

    @cached_property
    def distinct(self) -> list[AnyArray]:
        """The sorted distinct codes of each column."""
        return [np.unique(self.of(c)) for c in range(len(self._walkable.columns))]
