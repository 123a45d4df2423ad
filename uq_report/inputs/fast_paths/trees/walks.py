"""Predict changed rows by sums of leaves: one walk gives the scores of rows at every value of a column."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from ....core.model.variants import Mix, Variant
from ....core.predictive import Distribution
from ....core.support.arrays import FloatArray, IntArray, Table
from .codes import Asked, TreeCodes
from .mix import mixed_sums
from .tables import TreeTables
from .walk import pick, scores_of
from .walkable import Walkable

_MOST = int(np.iinfo(np.int64).max)  # the largest number that a change of several columns may have


class Walks:
    """Changed rows predicted from sums of rows x changes."""

    def __init__(self, walkable: Walkable, X: Table) -> None:
        self.tolerance, self.methods = walkable.tolerance, walkable.methods
        self._walkable = walkable
        self._codes = TreeCodes(walkable, X)
        self._tables = TreeTables(walkable, self._codes)

    def covers(self, variant: Variant) -> bool:
        """Say whether a change is worth a walk: of one column nearly always, of several where all of it is asked."""
        columns = _columns(variant)
        if len(columns) > 1 and prod(self._codes.digits(columns)) > _MOST:
            return False
        if variant.columns and variant.donors is None and not any(map(np.ndim, variant.values)):
            return True
        if len(columns) == 1:
            return self._tables.serves(columns[0])
        return variant.donors is not None and self._tables.crosses(len(variant.donors))

    def predict(self, group: Sequence[Variant], rows: IntArray) -> Distribution:
        """Return the distribution of every row under every variant: row r of variant v at ``r * len(group) + v``."""
        by_columns: dict[tuple[int, ...], list[int]] = {}
        for number, variant in enumerate(group):
            by_columns.setdefault(_columns(variant), []).append(number)
        numbers = np.concatenate([*by_columns.values()])
        asked = {
            columns: self._codes.asked(columns, [group[v] for v in at], rows) for columns, at in by_columns.items()
        }

        def scores(*, split: bool = False) -> FloatArray:
            forest = self._tables.forest(split=split)
            found = np.concatenate([self._scores(*of, rows, split=split) for of in asked.items()], axis=2)
            if (np.diff(numbers) < 0).any():
                found = found[:, :, np.argsort(numbers)]
            return found.reshape(forest.scored, -1).T  # sums of many differ by how they lie

        return self._walkable.finish(scores(), lambda: scores(split=True))

    def _scores(self, columns: tuple[int, ...], changes: Asked, rows: IntArray, *, split: bool) -> FloatArray:
        """Return the scores of rows under changes of the same columns, shape (scored, rows, variants)."""
        forest, blocks = self._tables.forest(split=split), self._tables.blocks(columns, rows, changes, split=split)
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


def _columns(variant: Variant) -> tuple[int, ...]:
    """Return the columns that change; the first where none does."""
    return variant.columns or (0,)
