"""Predict changed rows by sums of leaves: one walk gives the scores of rows at every value of a column."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple, cast

import numpy as np

from ....core.model.variants import Mix, Variant
from ....core.predictive import Distribution
from ....core.support.arrays import AnyArray, FloatArray, IntArray, Table, take_rows
from .forest import Forest
from .mix import mixed_sums
from .walk import BaseLeaves, pick, scores_of, settled, walk
from .walkable import Walkable

BLOCK = 1 << 21  # sums of a score in a table, and places of rows x trees, from which rows are parted: 16 MiB
KEPT = 1 << 24  # sums and places of all that is kept: 128 MiB
_VISIT = 20  # sums of a table that cost as much as a row's way down a tree, or less


class Asked(NamedTuple):
    """Changes of a column: their codes, each at one of `places`, and the place that each row takes (rows, variants)."""

    codes: AnyArray
    places: IntArray
    at: IntArray

    def spread(self, found: IntArray) -> IntArray:
        """Return what was found for each change, for what each row takes."""
        by_place = np.zeros(int(self.places[-1]) + 1, dtype=np.int64)
        by_place[self.places] = found
        return by_place[self.at]


class TreeCodes:
    """The codes of the rows of `X`, and of what is put into a column."""

    def __init__(self, walkable: Walkable, X: Table) -> None:
        self._walkable = walkable
        self._X = X

    def asked(self, c: int, group: Sequence[Variant], rows: IntArray) -> Asked:
        """Return the changes of a column, one for each row that gives them, or each value that all rows take."""
        donors = [variant.donors if variant.columns else rows for variant in group]
        given = [own for own in donors if own is not None]
        if len(given) == len(group):
            at = np.column_stack(given)
            places = np.unique(at)
            return Asked(self.of(c)[places], places, at)
        alike = not given and not any(np.ndim(variant.values[0]) for variant in group)
        few = rows[:1] if alike else rows
        codes = np.column_stack([self._given(c, variant, few) for variant in group]).ravel()
        places = np.arange(len(codes))
        return Asked(codes, places, np.repeat(places.reshape(len(few), -1), len(rows) // len(few), axis=0))

    def own(self, c: int, rows: IntArray) -> AnyArray:
        """Return the sorted distinct codes that these rows have in a column."""
        return self.distinct[c] if len(rows) == self.rows.shape[1] else np.unique(self.of(c)[rows])

    def of(self, c: int) -> AnyArray:
        """Return the codes of a column, shape (n,)."""
        codes: AnyArray = self.rows[self._walkable.columns[c]]
        return codes

    def _given(self, c: int, variant: Variant, rows: IntArray) -> AnyArray:
        """Return the codes of a column under a variant."""
        if variant.donors is not None or not variant.columns:
            return self.of(c)[variant.donors if variant.columns else rows]
        few = take_rows(self._X, np.zeros(np.size(variant.values[0]), dtype=np.int64))
        if isinstance(few, np.ndarray):
            few[:, c] = variant.values[0]
        else:
            few.iloc[:, c] = variant.values[0]
        column = self._walkable.columns[c]
        codes = self._walkable.forest.coded(self._walkable.encode(few)[:, column], column)
        return np.broadcast_to(codes, len(rows))

    @cached_property
    def rows(self) -> AnyArray:
        """The codes of the whole table, shape (features, n)."""
        return self._walkable.forest.codes(self._walkable.encode(self._X))

    @cached_property
    def distinct(self) -> list[AnyArray]:
        """The sorted distinct codes of each column."""
        return [np.unique(self.of(c)) for c in range(len(self._walkable.columns))]


class SumTable(NamedTuple):
    """The sums (channels, m, n) of some rows at the sorted codes `asked` of a column.

    `places` are those of all codes up to the largest, -1 of others than asked.
    """

    rows: IntArray
    asked: AnyArray
    places: IntArray
    sums: IntArray

    @property
    def size(self) -> int:
        """The sums held."""
        return self.sums.size

    def at(self, rows: IntArray, codes: AnyArray) -> IntArray | None:
        """Return the places of changes of these rows; None if the table does not hold them all."""
        if int(codes.max()) > self.asked[-1] or not np.array_equal(rows, self.rows):
            return None
        found = self.places.take(codes)
        return found if found.min() >= 0 else None


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

    def serves(self, c: int) -> bool:
        """Say whether rows get other values of a column for less than they go down the trees."""
        forest = self._walkable.forest
        few = len(self._codes.distinct[c]) * forest.channels <= _VISIT * len(forest.trees)
        return few or self._codes.rows.shape[1] <= self.block

    def forest(self, *, split: bool) -> Forest:
        """Return the forest, or that of what its members disagree on."""
        return self._split if split else self._walkable.forest

    def blocks(self, c: int, rows: IntArray, changes: Asked, *, split: bool) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield the sums of some rows after others, and the places in them of what each row takes."""
        if len(rows) <= self.block:
            table = self.table(c, rows, changes, split=split)
            yield table.sums, changes.spread(cast("IntArray", table.at(rows, changes.codes)))
            return
        asked = np.unique(changes.codes)
        places = changes.spread(np.searchsorted(asked, changes.codes))
        for start in range(0, len(rows), self.block):
            part = slice(start, start + self.block)
            yield self._walked(c, rows[part], asked, split=split), places[part]

    def table(self, c: int, rows: IntArray, changes: Asked, *, split: bool) -> SumTable:
        """Return a kept table that holds these changes, or one walked for them.

        What many rows ask for is asked for again, by other explainers too, so that all of their own values are; a
        comparison asks once.
        """
        kept = self.kept(c, rows, split=split)
        if kept is not None and kept.at(rows, changes.codes) is not None:
            return kept
        asked, own = np.unique(changes.codes), self._codes.own(c, rows)
        asked = asked if changes.at.size < len(own) else np.union1d(own, asked)
        places = np.full(int(asked[-1]) + 1, -1, dtype=np.int64)
        places[asked] = np.arange(len(asked))
        table = SumTable(rows, asked, places, self._walked(c, rows, asked, split=split))
        self._keep((split, c, int(rows[0]), len(rows)), table)
        return table

    def kept(self, c: int, rows: IntArray, *, split: bool) -> SumTable | None:
        """Return the table of a column that was walked last for as many rows."""
        return cast("SumTable | None", self._kept.get((split, c, int(rows[0]), len(rows))))

    def _walked(self, c: int, rows: IntArray, asked: AnyArray, *, split: bool) -> IntArray:
        """Walk for the sums of rows at the codes of a column."""
        return walk(self.forest(split=split), self.settled(rows), self._walkable.columns[c], asked)

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


class Walks:
    """Changed rows predicted from sums of rows x changes of one column."""

    def __init__(self, walkable: Walkable, X: Table) -> None:
        self.methods = walkable.methods
        self._walkable = walkable
        self._codes = TreeCodes(walkable, X)
        self._tables = TreeTables(walkable, self._codes)

    def covers(self, variant: Variant) -> bool:
        """Say whether a change is worth a walk: of one column nearly always, of several never."""
        one_value = bool(variant.columns) and variant.donors is None and not np.ndim(variant.values[0])
        return len(variant.columns) <= 1 and (one_value or self._tables.serves(_column(variant)))

    def predict(self, group: Sequence[Variant], rows: IntArray) -> Distribution:
        """Return the distribution of every row under every variant: row r of variant v at ``r * len(group) + v``."""
        by_column: dict[int, list[int]] = {}
        for number, variant in enumerate(group):
            by_column.setdefault(_column(variant), []).append(number)
        numbers = np.concatenate([*by_column.values()])
        asked = {c: self._codes.asked(c, [group[v] for v in at], rows) for c, at in by_column.items()}

        def scores(*, split: bool = False) -> FloatArray:
            forest = self._tables.forest(split=split)
            found = np.concatenate([self._scores(*of, rows, split=split) for of in asked.items()], axis=2)
            if (np.diff(numbers) < 0).any():
                found = found[:, :, np.argsort(numbers)]
            return found.reshape(forest.scored, -1).T  # sums of many differ by how they lie

        return self._walkable.finish(scores(), lambda: scores(split=True))

    def _scores(self, c: int, changes: Asked, rows: IntArray, *, split: bool) -> FloatArray:
        """Return the scores of rows under changes of a column, shape (scored, rows, variants)."""
        forest, blocks = self._tables.forest(split=split), self._tables.blocks(c, rows, changes, split=split)
        return np.concatenate([pick(forest, *block).transpose(2, 0, 1) for block in blocks], axis=1)

    def mixed(self, mixes: Sequence[Mix]) -> Distribution:
        """Return the distributions of the rows of all mixes, in their order."""
        place, codes = list(self._walkable.columns), self._codes.rows

        def scores(*, split: bool = False) -> FloatArray:
            forest = self._tables.forest(split=split)
            sums = []
            for mix in mixes:
                owned = np.zeros((forest.features, len(mix.own)), dtype=bool)
                owned[place] = mix.own.T
                both = np.ascontiguousarray(codes[:, mix.row]), np.ascontiguousarray(codes[:, mix.others])
                sums.append(mixed_sums(forest, *both, owned).reshape(forest.channels, -1))
            return scores_of(forest, np.concatenate(sums, axis=1))

        return self._walkable.finish(scores(), lambda: scores(split=True))


def _column(variant: Variant) -> int:
    """Return the column that changes; the first where none does."""
    return variant.columns[0] if variant.columns else 0
