"""Sums of rows under changes: tables of them, block by block of many rows, and those that are kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple, cast

import numpy as np

from ....core.support.arrays import AnyArray, IntArray
from .codes import Asked, TreeCodes
from .cross import cross
from .forest import Forest
from .walk import BaseLeaves, settled, walk
from .walkable import Walkable

BLOCK = 1 << 21  # sums of a score in a table, and places of rows x trees, from which rows are parted: 16 MiB
KEPT = 1 << 24  # sums and places of all that is kept: 128 MiB
CROSSED = 300  # rows that may take several columns from other rows: of all pairs, more shuffles than usual ask for
_VISIT = 20  # sums of a table that cost as much as a row's way down a tree, or less


class SumTable(NamedTuple):
    """The sums (channels, m, n) of some rows under the changes `asked`, sorted numbers as `TreeCodes` numbers them.

    `places` are those of all numbers up to the largest, -1 of others than asked; None where there are too many.
    """

    rows: IntArray
    asked: AnyArray
    places: IntArray | None
    sums: IntArray

    @property
    def size(self) -> int:
        """The sums held."""
        return self.sums.size

    def at(self, rows: IntArray, numbers: AnyArray) -> IntArray | None:
        """Return the places of changes of these rows; None if the table does not hold them all."""
        if int(numbers.max()) > self.asked[-1] or not np.array_equal(rows, self.rows):
            return None
        if self.places is not None:
            found = self.places.take(numbers)
            return found if found.min() >= 0 else None
        found = np.searchsorted(self.asked, numbers)
        return found if (self.asked[found] == numbers).all() else None


class LeafPositions(NamedTuple):
    """Where some rows are in the trees."""

    rows: IntArray
    settled: BaseLeaves

    @property
    def size(self) -> int:
        """The places held."""
        return self.settled.size


class TreeTables:
    """Tables of sums, and where their rows are in the trees.

    Those of at most `block` rows are kept, the newest within `KEPT`, and hold all values that the rows have once many
    are asked, so that other explainers find them. More rows are walked in blocks for what is asked, and only their
    places are kept: a table that leaves no room for others would not be found again.

    Parameters
    ----------
    walkable : Walkable
    codes : Codes
    """

    def __init__(self, walkable: Walkable, codes: TreeCodes) -> None:
        self._walkable = walkable
        self._codes = codes
        self._kept: dict[tuple[Any, ...], SumTable | LeafPositions] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Leave behind what is kept: another process walks for itself."""
        return {**self.__dict__, "_kept": {}}

    @cached_property
    def block(self) -> int:
        """The most rows that are walked at once: of all columns the same, so that rows are settled once."""
        forest = self._walkable.forest
        values = max(map(len, self._codes.distinct)) * forest.channels
        return max(1, BLOCK // max(values, len(forest.trees)))

    @property
    def _n(self) -> int:
        return int(self._codes.rows.shape[1])

    def serves(self, column: int) -> bool:
        """Say whether rows get other values of a column for less than they go down the trees."""
        forest = self._walkable.forest
        values = len(self._codes.distinct[column]) * forest.channels
        return self._n <= self.block or values <= _VISIT * len(forest.trees)

    @staticmethod
    def crosses(n: int) -> bool:
        """Say whether so many rows may take several columns from each other."""
        return n <= CROSSED

    def forest(self, *, split: bool) -> Forest:
        """Return the forest, or that of what its members disagree on."""
        return self._split if split else self._walkable.forest

    def blocks(
        self, columns: tuple[int, ...], rows: IntArray, changes: Asked, *, split: bool
    ) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield the sums of some rows after others, and the places in them of what each row takes."""
        if len(rows) <= self.block:
            table = self.table(columns, rows, changes, split=split)
            yield table.sums, changes.spread(cast("IntArray", table.at(rows, changes.numbers)))
            return
        asked = np.unique(changes.numbers)
        places = changes.spread(np.searchsorted(asked, changes.numbers))
        for start in range(0, len(rows), self.block):
            part = slice(start, start + self.block)
            yield self._walked(columns, rows[part], asked, split=split), places[part]

    def table(self, columns: tuple[int, ...], rows: IntArray, changes: Asked, *, split: bool) -> SumTable:
        """Return a kept table that holds these changes, or one walked for them.

        What many rows ask for is asked for again, by other explainers too, so that all of their own values are; a
        comparison asks once.
        """
        kept = self.kept(columns, rows, split=split)
        if kept is not None and kept.at(rows, changes.numbers) is not None:
            return kept
        asked = np.unique(changes.numbers)
        if len(columns) == 1 or self.crosses(len(rows)):
            own = self._codes.own(columns, rows)
            asked = asked if changes.at.size < len(own) else np.union1d(own, asked)
        places = None
        if len(columns) == 1:
            places = np.full(int(asked[-1]) + 1, -1, dtype=np.int64)
            places[asked] = np.arange(len(asked))
        table = SumTable(rows, asked, places, self._walked(columns, rows, asked, split=split))
        self._keep((split, columns, int(rows[0]), len(rows)), table)
        return table

    def kept(self, columns: tuple[int, ...], rows: IntArray, *, split: bool) -> SumTable | None:
        """Return the table of a column, or several, that was walked last for as many rows."""
        return cast("SumTable | None", self._kept.get((split, columns, int(rows[0]), len(rows))))

    def _walked(self, columns: Sequence[int], rows: IntArray, asked: AnyArray, *, split: bool) -> IntArray:
        """Walk for the sums of rows under changes."""
        forest, at = self.forest(split=split), [self._walkable.columns[c] for c in columns]
        given = self._codes.apart(columns, asked)
        if len(at) > 1:
            return cross(forest, self.settled(rows), at, given)
        return walk(forest, self.settled(rows), at[0], given[0])

    def settled(self, rows: IntArray) -> BaseLeaves:
        """Return where these rows are in the trees."""
        key = int(rows[0]), len(rows)
        kept = cast("LeafPositions | None", self._kept.get(key))
        if kept is None or not np.array_equal(kept.rows, rows):
            kept = LeafPositions(rows, settled(self._walkable.forest, np.ascontiguousarray(self._codes.rows[:, rows])))
            self._keep(key, kept)
        return kept.settled

    def _keep(self, key: tuple[Any, ...], new: SumTable | LeafPositions) -> None:
        """Keep what is new, and of the others the newest that there is room for."""
        kept = {other: older for other, older in self._kept.items() if other != key} | {key: new}
        sizes = np.cumsum([held.size for held in reversed(kept.values())])
        many = max(1, int(np.searchsorted(sizes, KEPT, side="right")))
        self._kept = dict(list(kept.items())[-many:])  # other threads see it whole

    @cached_property
    def _split(self) -> Forest:
        """The forest of what members disagree on; asked only of a distribution that has members."""
        return cast("Callable[[], Forest]", self._walkable.split)()
