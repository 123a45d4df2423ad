"""The fast path of tree ensembles: one walk gives the scores of all rows at every value of a column."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from functools import cached_property, partial
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np

from ....core.adapter import Adapter, class_names
from ....core.arrays import AnyArray, FloatArray, IntArray, Table, take_rows
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
from .forest import Forest
from .lightgbm import LIGHTGBM
from .sklearn import SKLEARN
from .tables import Asked, Last, SumTable
from .walkable import Reader, Walkable
from .xgboost import XGBOOST

if TYPE_CHECKING:
    from .runs import Runs
    from .walk import Settled

READERS: Mapping[str, Reader] = {
    **SKLEARN,
    **CALIBRATED,
    **LIGHTGBM,
    **XGBOOST,
    **CATBOOST,
}
TABLE_CELLS = 1 << 24  # scores of a table of rows x values, of all that are kept, and places of rows x trees: 128 MiB
WORTH = 100_000  # rows x trees from which walks are used: loading them takes as long as predicting fewer, 0.3 s
CROSSED = 300  # rows that may take several columns from other rows: of all pairs, more shuffles than usual ask for
WHOLE = 1 << 21  # the most sums of a table that is predicted whole, whatever its runs are: 16 MiB
_PART = 8  # the part of a table, one in so many, that shuffles have to ask for before it is predicted whole
_SPLIT = frozenset(name for _, *parts in PARTS for name in parts)  # what needs the forest of the members' split
_MOST = int(np.iinfo(np.int64).max)  # the largest number that a change of several columns may have
_TABLES = 4  # kept whatever their size: the end of one column and the beginning of the next, with their split
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
    """Changed rows predicted from tables of rows x changes.

    A change of one column is numbered by its code, one of several by their codes as digits.
    """

    def __init__(self, walkable: Walkable, X: Table) -> None:
        self.tolerance = walkable.tolerance
        self._walkable = walkable
        self._X = X
        self._tables: dict[tuple[bool, tuple[int, ...], int], SumTable] = {}
        self._places: list[tuple[IntArray, Settled]] = []
        self._last: Last | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Leave the tables behind: another process walks for itself."""
        return {**self.__dict__, "_tables": {}, "_places": [], "_last": None}

    def covers(self, variant: Variant) -> bool:
        """Say whether a table is worth it: of one column within the limit, of several where all of it is asked for."""
        columns = _columns(variant)
        if len(columns) == 1:
            return self._cells[columns[0]] <= TABLE_CELLS
        if prod(self._digits(columns)) > _MOST:
            return False
        if variant.donors is None:
            return not any(map(np.ndim, variant.values))
        return len(variant.donors) <= CROSSED

    def predict(self, group: Sequence[Variant], rows: IntArray) -> Distribution:
        """Return the distribution of every row under every variant: row r of variant v at ``r * len(group) + v``."""
        by_columns: dict[tuple[int, ...], list[int]] = {}
        for number, variant in enumerate(group):
            by_columns.setdefault(_columns(variant), []).append(number)
        numbers = np.concatenate([*by_columns.values()])
        asked = {columns: self._asked(columns, [group[v] for v in at], rows) for columns, at in by_columns.items()}

        def scores(*, split: bool = False) -> FloatArray:
            forest = self._split if split else self._walkable.forest
            sums = (self._table(split, columns, rows, changes) for columns, changes in asked.items())
            found = np.concatenate([forest.picked(*of).transpose(2, 0, 1) for of in sums], axis=2)
            if (np.diff(numbers) < 0).any():
                found = found[:, :, np.argsort(numbers)]
            return found.reshape(forest.scored, -1).T  # sums of many differ by how they lie

        return self._walkable.finish(scores(), lambda: scores(split=True))

    def repeated(self, group: Sequence[Variant], rows: IntArray, needs: Set[str]) -> Repeated | None:
        """Return the runs of a column's table, once shuffles of no other column asked for a good part of it."""
        columns, donors = group[0].columns, [variant.donors for variant in group if variant.donors is not None]
        table = self._tables.get((False, columns, len(rows)))
        if table is None or table.places is None or len(donors) < len(group):
            return None
        if any(variant.columns != columns for variant in group):
            return None
        split = self._walkable.split is not None and not needs.isdisjoint(_SPLIT)
        last = self._last
        if last is None or last.table is not table or last.split != split:
            last = self._last = Last(table, split)
        last.asked += len(group) * len(rows)
        places = table.at(rows, self._codes[self._walkable.columns[columns[0]]])
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
            parts, places = self._table(True, columns, table.rows, Asked(table.asked, every, every[:, None]))
            sums = np.concatenate([sums, parts[:, places[:, 0]]])
        runs = forest.runs(sums)
        own, parted = np.split(runs.sums, [forest.channels])
        return self._walkable.finish(forest.scores(own), lambda: self._split.scores(parted)), runs

    def mixed(self, mixes: Sequence[Mix]) -> Distribution:
        """Return the distributions of the rows of all mixes, in their order."""
        place = list(self._walkable.columns)

        def scores(*, split: bool = False) -> FloatArray:
            forest = self._split if split else self._walkable.forest
            sums = []
            for mix in mixes:
                owned = np.zeros((forest.features, len(mix.own)), dtype=bool)
                owned[place] = mix.own.T
                codes = np.ascontiguousarray(self._codes[:, mix.row]), np.ascontiguousarray(self._codes[:, mix.others])
                sums.append(forest.mixed(*codes, owned).reshape(forest.channels, -1))
            return forest.scores(np.concatenate(sums, axis=1))

        return self._walkable.finish(scores(), lambda: scores(split=True))

    def _digits(self, columns: Sequence[int]) -> list[int]:
        """Return how many codes each column has."""
        return [self._sizes[c] for c in columns]

    def _asked(self, columns: Sequence[int], group: Sequence[Variant], rows: IntArray) -> Asked:
        """Return the changes of these columns, one for each row that gives them, or each value that all rows take."""
        donors = [variant.donors if variant.columns else rows for variant in group]
        given = [own for own in donors if own is not None]
        if len(given) == len(group):
            at, used = np.column_stack(given), np.zeros(self._codes.shape[1], dtype=bool)
            used[at] = True
            places = np.flatnonzero(used)
            own = [self._codes[self._walkable.columns[c]][places] for c in columns]
            return Asked(self._numbers(columns, own), places, at)
        alike = not given and not any(np.ndim(value) for variant in group for value in variant.values)
        few = rows[:1] if alike else rows
        codes = [self._codes_of(c, position, group, few).ravel() for position, c in enumerate(columns)]
        places = np.arange(len(codes[0]))
        at = np.repeat(places.reshape(len(few), -1), len(rows) // len(few), axis=0)
        return Asked(self._numbers(columns, codes), places, at)

    def _numbers(self, columns: Sequence[int], codes: Sequence[AnyArray]) -> AnyArray:
        """Return the numbers of changes of columns to codes."""
        return codes[0] if len(codes) == 1 else np.ravel_multi_index(tuple(codes), tuple(self._digits(columns)))

    def _codes_of(self, c: int, position: int, group: Sequence[Variant], rows: IntArray) -> AnyArray:
        """Return the codes of one column under variants that have it at a position, shape (rows, variants)."""
        column = self._walkable.columns[c]
        own, codes = self._codes[column], np.empty((len(rows), len(group)), dtype=np.int32)
        for number, variant in enumerate(group):
            if variant.donors is not None or not variant.columns:
                codes[:, number] = own[variant.donors if variant.columns else rows]
                continue
            values = variant.values[position]
            few = take_rows(self._X, np.zeros(np.size(values), dtype=np.int64))
            if isinstance(few, np.ndarray):
                few[:, c] = values
            else:
                few.iloc[:, c] = values
            codes[:, number] = self._walkable.forest.coded(self._walkable.encode(few)[:, column], column)
        return codes

    def _table(
        self, split: bool, columns: tuple[int, ...], rows: IntArray, changes: Asked
    ) -> tuple[IntArray, IntArray]:
        """Return the sums of a kept table that holds these changes, or of a walk for them, and their places in it.

        What many rows ask for is asked for again, by other explainers too, so that all of their own values are; a
        comparison asks once.
        """
        key = split, columns, len(rows)
        kept = self._tables.get(key)
        places = None if kept is None else kept.at(rows, changes.numbers)
        if kept is not None and places is not None:
            return kept.sums, changes.spread(places)
        own, asked = self._own_numbers(columns, rows), np.unique(changes.numbers)
        table = self._walked(split, columns, rows, asked if changes.at.size < len(own) else np.union1d(own, asked))
        tables = {other: older for other, older in self._tables.items() if other != key} | {key: table}
        cells = np.cumsum([kept.sums.size for kept in reversed(tables.values())])
        many = max(_TABLES, int(np.searchsorted(cells, TABLE_CELLS, side="right")))
        self._tables = dict(list(tables.items())[-many:])
        return table.sums, changes.spread(cast("IntArray", table.at(rows, changes.numbers)))

    def _own_numbers(self, columns: Sequence[int], rows: IntArray) -> AnyArray:
        """Return the sorted numbers that these rows have; none where they are many and the columns several."""
        if len(columns) == 1 and len(rows) == self._codes.shape[1]:
            return self._own[self._walkable.columns[columns[0]]]
        few = rows if len(columns) == 1 or len(rows) <= CROSSED else rows[:0]
        return np.unique(self._numbers(columns, [self._codes[self._walkable.columns[c]][few] for c in columns]))

    def _walked(self, split: bool, columns: Sequence[int], rows: IntArray, asked: AnyArray) -> SumTable:
        """Walk for the sums of rows under changes."""
        forest, at = self._split if split else self._walkable.forest, [self._walkable.columns[c] for c in columns]
        settled = self._settled(rows)
        if len(at) > 1:
            given = np.stack(np.unravel_index(asked, tuple(self._digits(columns)))).astype(np.int32)
            return SumTable(rows, asked, None, forest.crossed(settled, at, given))
        places = np.full(int(asked[-1]) + 1, -1, dtype=np.int64)
        places[asked] = np.arange(len(asked))
        return SumTable(rows, asked, places, forest.table(settled, at[0], asked))

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
    def _sizes(self) -> list[int]:
        """How many codes each column can have."""
        return [len(self._walkable.forest.edges[column]) + 2 for column in self._walkable.columns]

    @cached_property
    def _cells(self) -> list[int]:
        """How many sums a table of all rows at all values of each column has."""
        cells = len(self._codes[0]) * self._walkable.forest.channels
        return [cells * len(self._own[column]) for column in self._walkable.columns]

    @cached_property
    def _split(self) -> Forest:
        """The forest of what members disagree on; asked only of a distribution that has members."""
        return cast("Callable[[], Forest]", self._walkable.split)()


def _columns(variant: Variant) -> tuple[int, ...]:
    """Return the columns that change; the first where none does."""
    return variant.columns or (0,)
