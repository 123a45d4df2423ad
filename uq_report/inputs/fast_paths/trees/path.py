"""The fast path of tree ensembles: one walk gives the scores of rows at every value of a column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ....core.adapter import Adapter, class_names
from ....core.arrays import FloatArray, IntArray, Table
from ....core.errors import MissingDependencyError
from ....core.libraries import installed
from ....core.measures import PARTS
from ....core.predictive import Distribution
from ....core.repeated import Repeated
from ....core.shortcut import Shortcut
from ....core.variants import Mix, Variant
from ...adapters.sklearn_ import unwrap
from .calibrated import CALIBRATED
from .catboost import CATBOOST
from .codes import Asked, Codes
from .lightgbm import LIGHTGBM
from .regression import REGRESSION
from .sklearn import SKLEARN
from .tables import Last, SumTable, Tables
from .walkable import Reader, Walkable
from .xgboost import XGBOOST

if TYPE_CHECKING:
    from .runs import Runs

READERS: Mapping[str, Reader] = {
    **SKLEARN,
    **REGRESSION,
    **CALIBRATED,
    **LIGHTGBM,
    **XGBOOST,
    **CATBOOST,
}
WORTH = 100_000  # rows x trees from which walks are used: loading them takes as long as predicting fewer, 0.3 s
WHOLE = 1 << 21  # the most sums of a table that is predicted whole, whatever its runs are: 16 MiB
_PART = 8  # the part of a table, one in so many, that shuffles have to ask for before it is predicted whole
_SPLIT = frozenset(name for _, *parts in PARTS for name in parts)  # what needs the forest of the members' split
_MOST = int(np.iinfo(np.int64).max)  # the largest number that a change of several columns may have


class TreePath:
    """Forests and boosted trees whose nodes can be read, alone or in a wrapper that only predicts by them.

    Notes
    -----
    Rows x trees below `WORTH` are left to the model. Sums of leaves are exact; what differs from the model's own
    prediction is the order in which that rounds.
    """

    name: ClassVar[str] = "trees"
    libraries: ClassVar[tuple[str, ...]] = ("numba",)
    title: ClassVar[str] = "tree walk"
    rank: ClassVar[int] = 0
    api_version: ClassVar[int] = 1

    def shortcut(self, model: Any, adapter: Adapter, X: Table) -> Shortcut | None:
        """Return the walks of a model of a known class, None for others and for few rows.

        Raises
        ------
        MissingDependencyError
            If walks are worth it and numba is missing; the run reports it.
        """
        return self.mixer(model, adapter, X, len(X))

    def mixer(self, model: Any, adapter: Adapter, X: Table, rows: int) -> Walks | None:
        """Return the same walks, where they are worth it for so many rows mixed of those of `X`."""
        steps, final = unwrap(model)
        reader = READERS.get(class_names(final)[0])
        if steps or reader is None or rows * reader.trees(final) < WORTH:
            return None
        walkable = reader.read(model, final, adapter, X)
        if walkable is None:
            return None
        if not installed("numba"):
            raise MissingDependencyError(f"fast path {self.name!r}", "numba", "shap")
        return Walks(walkable, X)


class Walks:
    """Changed rows predicted from sums of rows x changes."""

    def __init__(self, walkable: Walkable, X: Table) -> None:
        self.tolerance, self.methods = walkable.tolerance, walkable.methods
        self._walkable = walkable
        self._codes = Codes(walkable, X)
        self._tables = Tables(walkable, self._codes)
        self._last: Last | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Leave behind what was walked for."""
        return {**self.__dict__, "_last": None}

    @property
    def rows_together(self) -> int:
        """How many changed rows of a column should be asked for at once; 0 where tables are kept."""
        return self._tables.together

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
        return np.concatenate([forest.picked(*block).transpose(2, 0, 1) for block in blocks], axis=1)

    def repeated(self, group: Sequence[Variant], rows: IntArray, needs: Set[str]) -> Repeated | None:
        """Return the runs of a column's table, once shuffles of no other column asked for a good part of it."""
        columns, donors = group[0].columns, [variant.donors for variant in group if variant.donors is not None]
        table = self._tables.kept(columns, rows, split=False)
        if table is None or table.places is None or len(donors) < len(group):
            return None
        if any(variant.columns != columns for variant in group):
            return None
        split = self._walkable.split is not None and not needs.isdisjoint(_SPLIT)
        last = self._last
        if last is None or last.table is not table or last.split != split:
            last = self._last = Last(table, split)
        last.asked += len(group) * len(rows)
        places = table.at(rows, self._codes.of(columns[0]))
        if places is None or table.sums.size > min(WHOLE, _PART * last.asked):
            return None
        if last.whole is None:
            last.whole = self._whole(table, columns, split=split)
        dist, runs = last.whole
        return Repeated(dist, runs.rows, partial(runs.spread, places, np.stack(donors)))

    def _whole(self, table: SumTable, columns: tuple[int, ...], *, split: bool) -> tuple[Distribution, Runs]:
        """Return the distributions of all runs of a table, and these."""
        forest, sums = self._walkable.forest, table.sums
        if split:
            every = np.arange(len(table.asked))
            parts = self._tables.table(columns, table.rows, Asked(table.asked, every, every[:, None]), split=True)
            sums = np.concatenate([sums, parts.sums[:, parts.at(table.rows, table.asked)]])
        runs = forest.runs(sums)
        own, parted = np.split(runs.sums, [forest.channels])
        return self._walkable.finish(forest.scores(own), lambda: self._tables.forest(split=True).scores(parted)), runs

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
                sums.append(forest.mixed(*both, owned).reshape(forest.channels, -1))
            return forest.scores(np.concatenate(sums, axis=1))

        return self._walkable.finish(scores(), lambda: scores(split=True))


def _columns(variant: Variant) -> tuple[int, ...]:
    """Return the columns that change; the first where none does."""
    return variant.columns or (0,)
