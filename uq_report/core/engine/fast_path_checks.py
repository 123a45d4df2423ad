"""When a fast path is believed: comparisons with the model itself, what came of them, and who predicts a change."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from ..model.adapter import Adapter
from ..model.variants import Variant
from ..support.arrays import ColumnLookup, FloatArray, IntArray, Table
from ..support.errors import BudgetError, UQReportError, words_of
from .fast_path import (
    COMPARED,
    LEAST_COMPARED,
    TOGETHER,
    TOLERANCE,
    FastPath,
    Joins,
    RoundsPredictions,
    Shortcut,
    Uniform,
    answers,
)


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
        'predicted 5,000 rows (column-wise pipeline); in 64 rows compared with the model itself at most 1e-15 apart'
        """
        if not (self.rows or self.failed or self.dropped):
            return "not used"
        apart = "equal to the last bit" if not self.difference else "infinite on one side only"
        if 0 < self.difference < math.inf:
            apart = f"at most {_power_above(self.difference)} apart"
        rows = f"predicted {self.rows:,} rows ({self.title})"
        words = f"{rows}; in {self.compared:,} rows compared with the model itself {apart}"
        failed = f"; the model itself predicted {self.failed:,} rows that it could not" if self.failed else ""
        return words + failed + (f"; then left: {self.dropped}" if self.dropped else "")


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
            except Exception as error:  # noqa: BLE001 - foreign code may be asked; what it raises is reported
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
        way = self[name]
        tolerance = way.tolerance if isinstance(way, RoundsPredictions) else TOLERANCE
        if failed or not difference <= tolerance:
            far = f"{difference:.1g} of a measure's largest value, more than {tolerance:g}"
            served.dropped = failed or (
                f"its predictions differ from the model's own by {far if math.isfinite(difference) else 'infinity'}"
            )
        return not served.dropped


class CheckedFastPaths(Candidates[Shortcut]):
    """The shortcuts for one table, the one of lowest rank first; each believed only where comparisons agree.

    A shortcut is compared once for every column and kind of change, for every number of columns (one or more), and for
    every measure asked. One that differs anywhere is left for the rest of the run. A call of the model for few rows
    costs hardly less than one for many, so columns that were not asked yet join a comparison of the first of its kind.

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
        self._source = ColumnLookup(X)
        self._width = X.shape[1]
        self._together = {name: way.rows_together for name, way in self._by_name.items() if isinstance(way, Joins)}
        self._agreed: defaultdict[tuple[str, str], set[tuple[Any, ...]]] = defaultdict(set)

    def together(self, name: str) -> int:
        """Return how many rows of variants of the same columns a call of a path may hold; 0 if it does not say."""
        return self._together.get(name, 0)

    def rows_compared(self, name: str) -> int:
        """Return how many rows of a change a path is compared on at most."""
        way = self[name]
        return way.rows_compared if isinstance(way, Uniform) else COMPARED

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
        others = [*islice(self._alike(name, new, agreed), max(0, TOGETHER - len(new)))]
        try:
            found = compare(name, [*new, *others])
        except BudgetError:
            raise
        except UQReportError:  # a model may refuse changes that nobody asked for
            others, found = [], compare(name, new)
        if not self.believed(name, found):
            return False
        for kinds in known:
            kinds.update(chain.from_iterable(map(_kinds, [*new, *others])))
        return True

    def _alike(self, name: str, new: Iterable[Variant], agreed: Set[tuple[Any, ...]]) -> Iterator[Variant]:
        """Yield changes of other columns like the first of each kind, by values of their own; of several, by twos."""
        done: set[tuple[Any, int]] = set()
        for variant in new:
            kind = "donors" if variant.donors is not None else np.ndim(variant.values[0]) if variant.values else ""
            together = min(len(variant.columns), 2)
            if not together or (kind, together) in done:
                continue
            done.add((kind, together))
            missing = [c for c in range(self._width) if (c, kind, together > 1) not in agreed]
            missing += variant.columns[: -len(missing) % together]
            for columns in zip(*(missing[place::together] for place in range(together)), strict=True):
                other = Variant(columns, donors=variant.donors)
                if variant.donors is None:
                    own = [self._source[c] for c in columns]
                    other = Variant(columns, tuple(v[::-1][: len(variant.values[0])] if kind else v[0] for v in own))
                if self[name].covers(other):
                    yield other


def compared_rows(n: int, changes: int, most: int = COMPARED) -> IntArray:
    """Return positions among n rows, from the first to the last, to compare under so many changes.

    They are `most` at most, and half as much work as one change of all rows, but for `LEAST_COMPARED`.

    Examples
    --------
    >>> compared_rows(100, 5)
    array([ 0, 11, 22, 33, 44, 55, 66, 77, 88, 99])
    """
    most = min(most, max(LEAST_COMPARED, n // (2 * changes)))
    return np.unique(np.linspace(0, n - 1, most).astype(int))


def compared(shortcut: Callable[[], FloatArray], plain: FloatArray, usual: FloatArray) -> Comparison:
    """Return how far measures of a shortcut's predictions are from those of the `plain` ones, shape (measures, rows).

    In units of each measure's largest finite value, here or among the `usual` ones of shape (measures,).
    """
    try:
        values = shortcut()
    except BudgetError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever a shortcut raises, the model itself is asked
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
