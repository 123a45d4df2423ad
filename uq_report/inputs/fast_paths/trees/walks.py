"""Predict changed rows by sums of leaves: one walk gives the scores of rows at every value of a column."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import cast

import numpy as np

from ....core.model.variants import Mix, Variant
from ....core.predictive import Distribution
from ....core.support.arrays import AnyArray, FloatArray, IntArray, Table, take_rows
from .forest import Forest, Walkable
from .walk import mixed_sums, pick, scores_of, settled, walk

BLOCK = 1 << 21  # sums of a score in a table, and places of rows x trees, from which rows are parted: 16 MiB
_VISIT = 20  # sums of a table that cost as much as a row's way down a tree, or less


class Walks:
    """Changed rows predicted from sums of rows x changes of one column."""

    def __init__(self, walkable: Walkable, X: Table) -> None:
        self.methods = walkable.methods
        self._walkable = walkable
        self._X = X

    def covers(self, variant: Variant) -> bool:
        """Say whether a change is worth a walk: of one column nearly always, of several never."""
        one_value = bool(variant.columns) and variant.donors is None and not np.ndim(variant.values[0])
        return len(variant.columns) <= 1 and (one_value or self._serves(_column(variant)))

    def predict(self, group: Sequence[Variant], rows: IntArray) -> Distribution:
        """Return the distribution of every row under every variant: row r of variant v at ``r * len(group) + v``."""
        by_column: dict[int, list[int]] = {}
        for number, variant in enumerate(group):
            by_column.setdefault(_column(variant), []).append(number)
        order = np.argsort(np.concatenate([*by_column.values()]))
        given = {c: np.column_stack([self._given(c, group[v], rows) for v in at]) for c, at in by_column.items()}

        def scores(*, split: bool = False) -> FloatArray:
            forest, blocks = self._forest(split=split), []
            for start in range(0, len(rows), self.block):
                part = slice(start, start + self.block)
                blocks.append(self._scores(forest, rows[part], {c: codes[part] for c, codes in given.items()}))
            found = np.concatenate(blocks, axis=1)[:, :, order]
            return found.reshape(forest.scored, -1).T  # sums of many differ by how they lie

        return self._walkable.finish(scores(), lambda: scores(split=True))

    def mixed(self, mixes: Sequence[Mix]) -> Distribution:
        """Return the distributions of the rows of all mixes, in their order."""
        place, codes = list(self._walkable.columns), self._codes

        def scores(*, split: bool = False) -> FloatArray:
            forest = self._forest(split=split)
            sums = []
            for mix in mixes:
                owned = np.zeros((forest.features, len(mix.own)), dtype=bool)
                owned[place] = mix.own.T
                both = np.ascontiguousarray(codes[:, mix.row]), np.ascontiguousarray(codes[:, mix.others])
                sums.append(mixed_sums(forest, *both, owned).reshape(forest.channels, -1))
            return scores_of(forest, np.concatenate(sums, axis=1))

        return self._walkable.finish(scores(), lambda: scores(split=True))

    def _scores(self, forest: Forest, rows: IntArray, given: Mapping[int, AnyArray]) -> FloatArray:
        """Return the scores of rows under the codes (rows, variants) given for columns: (scored, rows, variants)."""
        leaves, parts = settled(self._walkable.forest, np.ascontiguousarray(self._codes[:, rows])), []
        for c, codes in given.items():
            asked = np.unique(codes)
            sums = walk(forest, leaves, self._walkable.columns[c], asked)
            parts.append(pick(forest, sums, np.searchsorted(asked, codes)).transpose(2, 0, 1))
        return np.concatenate(parts, axis=2)

    def _forest(self, *, split: bool) -> Forest:
        """Return the forest, or that of what its members disagree on."""
        return self._split if split else self._walkable.forest

    @cached_property
    def _split(self) -> Forest:
        """The forest of what members disagree on; asked only of a distribution that has members."""
        return cast("Callable[[], Forest]", self._walkable.split)()

    def _given(self, c: int, variant: Variant, rows: IntArray) -> AnyArray:
        """Return the codes of a column under a variant, shape (n,)."""
        column = self._walkable.columns[c]
        if variant.donors is not None or not variant.columns:
            return self._codes[column][variant.donors if variant.columns else rows]
        few = take_rows(self._X, np.zeros(np.size(variant.values[0]), dtype=np.int64))
        if isinstance(few, np.ndarray):
            few[:, c] = variant.values[0]
        else:
            few.iloc[:, c] = variant.values[0]
        codes = self._walkable.forest.coded(self._walkable.encode(few)[:, column], column)
        return np.broadcast_to(codes, len(rows))

    def _serves(self, c: int) -> bool:
        """Say whether rows get other values of a column for less than they go down the trees."""
        forest = self._walkable.forest
        few = self.distinct[c] * forest.channels <= _VISIT * len(forest.trees)
        return few or self._codes.shape[1] <= self.block

    @cached_property
    def block(self) -> int:
        """The most rows that are walked at once."""
        forest = self._walkable.forest
        return max(1, BLOCK // max(max(self.distinct) * forest.channels, len(forest.trees)))

    @cached_property
    def distinct(self) -> list[int]:
        """The number of distinct codes of each column."""
        return [len(np.unique(self._codes[column])) for column in self._walkable.columns]

    @cached_property
    def _codes(self) -> AnyArray:
        """The codes of the whole table, shape (features, n)."""
        return self._walkable.forest.codes(self._walkable.encode(self._X))


def _column(variant: Variant) -> int:
    """Return the column that changes; the first where none does."""
    return variant.columns[0] if variant.columns else 0
