"""The fast path of tree ensembles: one walk gives the scores of all rows at every value of a column."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, cast

import numpy as np

from ....core.adapter import Adapter, class_names
from ....core.arrays import AnyArray, FloatArray, IntArray, Table, take_rows
from ....core.errors import MissingDependencyError
from ....core.predictive import Distribution
from ....core.shortcut import Shortcut
from ....core.variants import Variant
from ...adapters.sklearn_ import unwrap
from .catboost import CATBOOST
from .forest import Forest
from .lightgbm import LIGHTGBM
from .sklearn import SKLEARN
from .walkable import Walkable
from .xgboost import XGBOOST

if TYPE_CHECKING:
    from .walk import Settled

READERS: Mapping[str, Callable[[Any, Any, Adapter, Table], Walkable | None]] = {
    **SKLEARN,
    **LIGHTGBM,
    **XGBOOST,
    **CATBOOST,
}
TABLE_CELLS = 1 << 24  # scores of a table of rows x values, and places of rows x trees: 128 MiB
WORTH = 100_000  # rows x trees from which walks are used: loading them takes as long as predicting fewer, 0.3 s
_TABLES = 4  # kept: for calls that hold the end of one column and the beginning of the next, with their split
_SETS = 2  # of rows whose places are kept: those of the run, and those compared


class TreePath:
    """Forests and boosted trees whose nodes can be read, alone or in a wrapper that only predicts by them.

    Notes
    -----
    Rows x trees below `WORTH` are left to the model. A change of one column is served while rows x distinct values x
    scores stay within `TABLE_CELLS`. Sums of leaves are exact; what differs from the model's own prediction is the
    order in which that rounds.
    """

    name: ClassVar[str] = "trees"
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
        steps, final = unwrap(model)
        reader = READERS.get(class_names(final)[0])
        walkable = None if steps or reader is None else reader(model, final, adapter, X)
        if walkable is None or len(X) * len(walkable.forest.trees) < WORTH:
            return None
        if find_spec("numba") is None:
            raise MissingDependencyError(f"fast path {self.name!r}", "numba", "shap")
        return Walks(walkable, X)


class _Table(NamedTuple):
    """The sums (channels, m, n) of some rows at the codes of one column whose `places` (by code) are not negative."""

    rows: IntArray
    places: IntArray
    sums: IntArray

    def holds(self, rows: IntArray, codes: AnyArray) -> bool:
        """Say whether all these rows and codes are in the table."""
        known = int(codes.max()) < len(self.places) and bool((self.places[codes] >= 0).all())
        return known and np.array_equal(rows, self.rows)


class Walks:
    """Changes of one column of a table, predicted from tables of rows x values."""

    def __init__(self, walkable: Walkable, X: Table) -> None:
        self.tolerance = walkable.tolerance
        self._walkable = walkable
        self._X = X
        self._tables: dict[tuple[bool, int], _Table] = {}
        self._places: list[tuple[IntArray, Settled]] = []

    def __getstate__(self) -> dict[str, Any]:
        """Leave the tables behind: another process walks for itself."""
        return {**self.__dict__, "_tables": {}, "_places": []}

    def covers(self, variant: Variant) -> bool:
        """Say whether at most one column changes, whose table of all rows at all their values is within the limit."""
        if len(variant.columns) > 1:
            return False
        own = self._own[self._walkable.columns[_column(variant)]]
        return len(self._codes[0]) * len(own) * self._walkable.forest.channels <= TABLE_CELLS

    def predict(self, group: Sequence[Variant], rows: IntArray) -> Distribution:
        """Return the distribution of every row under every variant: row r of variant v at ``r * len(group) + v``."""
        by_column: dict[int, list[int]] = {}
        for number, variant in enumerate(group):
            by_column.setdefault(_column(variant), []).append(number)
        order = np.argsort(np.concatenate([*by_column.values()]))
        asked = {c: self._asked(c, [group[v] for v in numbers], rows) for c, numbers in by_column.items()}

        def scores(*, split: bool = False) -> FloatArray:
            forest = self._split if split else self._walkable.forest
            tables = {c: self._table(split, c, rows, codes) for c, codes in asked.items()}
            parts = [forest.picked(table.sums, table.places, asked[c]) for c, table in tables.items()]
            found = np.concatenate(parts, axis=1)[:, order] if len(parts) > 1 else parts[0]
            return found.reshape(-1, forest.scored)

        return self._walkable.finish(scores(), lambda: scores(split=True))

    def _asked(self, c: int, group: Sequence[Variant], rows: IntArray) -> AnyArray:
        """Return the codes of one column under variants of it, shape (rows, variants)."""
        column = self._walkable.columns[c]
        codes = np.empty((len(rows), len(group)), dtype=np.int32)
        for number, variant in enumerate(group):
            if variant.donors is not None or not variant.columns:
                codes[:, number] = self._codes[column, variant.donors if variant.columns else rows]
                continue
            (values,) = variant.values
            few = take_rows(self._X, np.zeros(np.size(values), dtype=np.int64))
            if isinstance(few, np.ndarray):
                few[:, c] = values
            else:
                few.iloc[:, c] = values
            codes[:, number] = self._walkable.forest.coded(self._walkable.encode(few)[:, column], column)
        return codes

    def _table(self, split: bool, c: int, rows: IntArray, codes: AnyArray) -> _Table:
        """Return a kept table that holds these codes, or walk for them; for many, for all that the column's rows have.

        What many rows ask for is asked for again; a comparison asks once.
        """
        key, column = (split, c), self._walkable.columns[c]
        kept = self._tables.get(key)
        if kept is not None and kept.holds(rows, codes):
            return kept
        forest = self._split if split else self._walkable.forest
        own = self._own[column]
        asked = np.unique(codes) if codes.size < len(own) else np.union1d(own, codes)
        places = np.full(int(asked[-1]) + 1, -1, dtype=np.int64)
        places[asked] = np.arange(len(asked))
        table = _Table(rows, places, forest.table(self._settled(rows), column, asked))
        others = [(other, older) for other, older in self._tables.items() if other != key]
        self._tables = dict([*others[1 - _TABLES :], (key, table)])
        return table

    def _settled(self, rows: IntArray) -> Settled:
        """Return where these rows are in the trees; the places of the last two sets of rows stay if they are few."""
        kept = next((settled for own, settled in self._places if np.array_equal(own, rows)), None)
        if kept is not None:
            return kept
        forest = self._walkable.forest
        settled = forest.settled(self._codes[:, rows])
        if len(rows) * len(forest.trees) <= TABLE_CELLS:
            self._places = [*self._places[1 - _SETS :], (rows, settled)]
        return settled

    @cached_property
    def _codes(self) -> AnyArray:
        """The codes of the whole table, shape (features, n)."""
        return self._walkable.forest.codes(self._walkable.encode(self._X))

    @cached_property
    def _own(self) -> list[AnyArray]:
        """The sorted distinct codes of each column."""
        return [np.unique(codes) for codes in self._codes]

    @cached_property
    def _split(self) -> Forest:
        """The forest of what members disagree on; asked only of a distribution that has members."""
        return cast("Callable[[], Forest]", self._walkable.split)()


def _column(variant: Variant) -> int:
    """Return the column that changes; the first where none does."""
    return variant.columns[0] if variant.columns else 0
