"""Predictions of changed rows from the structure of a model: the contract of fast paths.

A fast path never decides by itself that it is right: the engine compares it with the model's own predictions in the
run, and leaves it for the rest of the run where they differ (`believed`).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import chain
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, TypeVar, runtime_checkable

import numpy as np

from ..model.adapter import Adapter
from ..model.variants import Mix, Variant
from ..predictive import Distribution
from ..support.arrays import FloatArray, IntArray, Table
from ..support.errors import FOREIGN, BudgetError, words_of

# largest difference from the plain prediction, in units of a measure's largest value
TOLERANCE = 1e-9
# rows of a change in a comparison, or fewer where that is much of the work
COMPARED, LEAST_COMPARED = 32, 8


@runtime_checkable
class Shortcut(Protocol):
    """Predicts changed rows of one model and one table from what is the same in all of them.

    It holds no state that a call changes, or one for each thread: threads share it, and other processes get a copy.
    """

    def covers(self, variant: Variant) -> bool:
        """Say whether this change of rows can be predicted."""

    def predict(self, group: Sequence[Variant], rows: IntArray) -> Distribution:
        """Return the distribution of every row under every variant: row r of variant v at ``r * len(group) + v``.

        Parameters
        ----------
        group : sequence of Variant
            Donors and row-wise values have one entry per entry of `rows`; donors are positions in the whole table.
        rows : ndarray of int
            Positions of the rows in the whole table.
        """


@runtime_checkable
class Partial(Protocol):
    """Optional: a shortcut, or a mixer, that may not know all that the model does, and what its distributions answer.

    It is not asked for measures that require another method. None is for all that the model's own answer.
    """

    methods: frozenset[str] | None


def answers(way: object, needs: Set[str]) -> bool:
    """Say whether the distributions of a shortcut, or of a mixer, answer these methods."""
    return not isinstance(way, Partial) or way.methods is None or needs <= way.methods


@runtime_checkable
class FastPath(Protocol):
    """A plugin of the group ``uq_report.fast_paths``: finds the structure that makes a shortcut.

    Class variables
    ---------------
    name : the entry-point name and file name
    title : what it is, for the report: "column-wise pipeline"
    rank : the path of the lowest rank that covers a change predicts it
    """

    name: ClassVar[str]
    title: ClassVar[str]
    rank: ClassVar[int]
    api_version: ClassVar[int]

    def shortcut(self, model: Any, adapter: Adapter, X: Table) -> Shortcut | None:
        """Return the shortcut for the rows of `X`; None where the model has no such structure."""


@dataclass
class FastPathStats:
    """What one fast path did in a run.

    Parameters
    ----------
    title : str
        The path's.
    rows, failed, compared : int
        Rows that it predicted, rows that it was chosen for but could not predict, and rows predicted both ways.
    difference : float
        The largest difference between the two, in units of a measure's largest value.
    dropped : str
        Why it was left; empty while it is believed.
    """

    title: str
    rows: int = 0
    failed: int = 0
    compared: int = 0
    difference: float = 0.0
    dropped: str = ""

    def __str__(self) -> str:
        """Say it in one sentence.

        Examples
        --------
        >>> str(FastPathStats("column-wise pipeline", rows=5000, compared=64, difference=3e-16))
        '5,000 predictions (column-wise pipeline); 64 compared with those of the model, at most 1e-15 apart'
        """
        if not (self.rows or self.failed or self.dropped):
            return "not used"
        apart = "equal to the last bit" if not self.difference else "infinite on one side only"
        if 0 < self.difference < math.inf:
            apart = f"at most {_power_above(self.difference)} apart"
        words = f"{self.rows:,} predictions ({self.title}); {self.compared:,} compared with those of the model, {apart}"
        failed = f"; {self.failed:,} further predictions by the model itself" if self.failed else ""
        return words + failed + (f"; then not used: {self.dropped}" if self.dropped else "")


class Comparison(NamedTuple):
    """How far a shortcut is from the plain path on `rows` rows; `failed` is what it raised."""

    rows: int
    difference: float
    failed: str = ""


Way = TypeVar("Way")
Compare = Callable[[str, Sequence[Variant]], Comparison]


class Candidates(Generic[Way]):
    """What the fast paths found for one table, that of the lowest rank first; each believed until it differs.

    Parameters
    ----------
    paths : sequence of FastPath
    served : mapping of str to Served
        By name of the path; of the whole run.
    find : callable
        Returns what a path found, None for nothing. What it raises is reported.
    """

    def __init__(
        self, paths: Sequence[FastPath], served: Mapping[str, FastPathStats], find: Callable[[FastPath], Way | None]
    ) -> None:
        self.served = served
        self._by_name: dict[str, Way] = {}
        for path in sorted(paths, key=lambda path: (path.rank, path.name)):
            try:
                found = find(path)
            except BudgetError:
                raise
            except FOREIGN as error:  # foreign code may be asked; what it raises is reported
                served[path.name].dropped = words_of(error)
                continue
            if found is not None:
                self._by_name[path.name] = found

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._by_name)

    def __getitem__(self, name: str) -> Way:
        """Return what a path found."""
        return self._by_name[name]

    def __iter__(self) -> Iterator[str]:
        """Yield the names of the paths that are still believed."""
        return (name for name in self._by_name if not self.served[name].dropped)

    def believed(self, name: str, found: Comparison) -> bool:
        """Record a comparison; say whether the path is believed after it."""
        served, (rows, difference, failed) = self.served[name], found
        served.compared += rows
        served.difference = max(served.difference, difference)
        if failed or not difference <= TOLERANCE:
            far = f"{difference:.1g} of a measure's largest value, more than {TOLERANCE:g}"
            served.dropped = failed or (
                f"its predictions differ from the model's own by {far if math.isfinite(difference) else 'infinity'}"
            )
        return not served.dropped


class CheckedFastPaths(Candidates[Shortcut]):
    """The shortcuts for one table, the one of lowest rank first; each believed only where comparisons agree.

    A shortcut is compared once for every column and kind of change, for every number of columns (one or more), and for
    every measure asked. One that differs anywhere is left for the rest of the run.

    Parameters
    ----------
    paths : sequence of FastPath
    served : mapping of str to Served
        By name of the path; of the whole run.
    model, adapter, X
        What the shortcuts are of.
    """

    def __init__(
        self, paths: Sequence[FastPath], served: Mapping[str, FastPathStats], model: Any, adapter: Adapter, X: Table
    ) -> None:
        super().__init__(paths, served, lambda path: path.shortcut(model, adapter, X))
        self._agreed: defaultdict[tuple[str, str], set[tuple[Any, ...]]] = defaultdict(set)

    def chosen(
        self, group: Sequence[Variant], measures: Sequence[str], compare: Compare, needs: Set[str] = frozenset()
    ) -> str:
        """Return the path that predicts a group, as far as measures need it; compared if it was not. Empty for none."""
        for name in self:
            able = answers(self[name], needs) and all(map(self[name].covers, group))
            if able and self._agrees(name, group, measures, compare):
                return name
        return ""

    def _agrees(self, name: str, group: Sequence[Variant], measures: Sequence[str], compare: Compare) -> bool:
        known = [self._agreed[name, measure] for measure in measures]
        agreed = set.intersection(*known) if known else set()
        new: list[Variant] = []
        alike: dict[tuple[Any, ...], Variant] = {}  # the first of each kind: a group has thousands of a few kinds
        for variant in group if known else ():
            alike.setdefault((variant.columns, variant.donors is None, *map(np.ndim, variant.values)), variant)
        for variant in alike.values():
            kinds = set(_kinds(variant))
            if not kinds <= agreed:
                new.append(variant)
                agreed |= kinds
        if not new:
            return True
        if not self.believed(name, compare(name, new)):
            return False
        for kinds in known:
            kinds.update(chain.from_iterable(map(_kinds, new)))
        return True


def compared_rows(n: int, changes: int) -> IntArray:
    """Return positions among n rows, from the first to the last, to compare under so many changes.

    They are `COMPARED` at most, and half as much work as one change of all rows, but for `LEAST_COMPARED`.

    Examples
    --------
    >>> compared_rows(100, 5)
    array([ 0, 11, 22, 33, 44, 55, 66, 77, 88, 99])
    """
    most = min(COMPARED, max(LEAST_COMPARED, n // (2 * changes)))
    return np.unique(np.linspace(0, n - 1, most).astype(int))


def compared(shortcut: Callable[[], FloatArray], plain: FloatArray, usual: FloatArray) -> Comparison:
    """Return how far measures of a shortcut's predictions are from those of the `plain` ones, shape (measures, rows).

    In units of each measure's largest finite value, here or among the `usual` ones of shape (measures,).
    """
    try:
        values = shortcut()
    except BudgetError:
        raise
    except FOREIGN as error:  # whatever a shortcut raises, the model itself is asked
        return Comparison(plain.shape[1], 0.0, words_of(error))
    finite = np.where(np.isfinite(plain), np.abs(plain), 0.0)
    units = np.maximum(finite.max(axis=1), usual)
    with np.errstate(invalid="ignore"):
        apart = np.where(values == plain, 0.0, np.abs(values - plain)).max(axis=1)
    relative = np.divide(apart, units, out=np.where(apart == 0, 0.0, np.inf), where=(units > 0) & (apart > 0))
    return Comparison(plain.shape[1], float(relative.max(initial=0.0)))


def _kinds(variant: Variant) -> Iterator[tuple[Any, ...]]:
    """Yield each column with what is put into it, and whether others change with it; rows unchanged are a kind too."""
    if not variant.columns:
        yield ("unchanged",)
    several = len(variant.columns) > 1
    for position, column in enumerate(variant.columns):
        kind = "donors" if variant.donors is not None else np.ndim(variant.values[position])
        yield column, kind, several


def _power_above(value: float) -> str:
    """Return the smallest power of ten that is not below a finite value > 0.

    Examples
    --------
    >>> _power_above(3e-16)
    '1e-15'
    """
    return f"1e{math.ceil(math.log10(value)):+03d}"


class FastCoalitions(Protocol):
    """Predicts rows mixed of those of one table, by one model."""

    def mixed(self, mixes: Sequence[Mix]) -> Distribution:
        """Return the distributions of the rows of all mixes, in their order."""


@runtime_checkable
class Mixes(Protocol):
    """Optional: a fast path that also predicts mixed rows."""

    def mixer(self, model: Any, adapter: Adapter, X: Table, rows: int) -> FastCoalitions | None:
        """Return what predicts about `rows` rows mixed of those of `X`; None where the model has no such structure."""
