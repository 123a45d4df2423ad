"""The engine of a run: the plain evaluator with fast paths around it.

A fast path predicts changed rows from the structure of a model. It is chosen by `CheckedFastPaths` only where it agreed
with the model in the run. Fast paths are chosen in the order of the groups and never by workers, so they change no byte
with the number of workers.

Predictions of changed rows from the structure of a model: the contract of fast paths.

A fast path never decides by itself that it is right: the engine compares it with the model's own predictions in the
run, and leaves it for the rest of the run where they differ (`believed`).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import KW_ONLY, dataclass
from functools import cached_property, partial
from itertools import chain
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, TypeVar, cast, runtime_checkable

import numpy as np
from joblib import parallel_config

from ..model.adapter import Adapter
from ..model.measures import Measure
from ..model.subject import Subject
from ..model.variants import Mix, Variant, mixed_rows, variant_rows
from ..predictive import Distribution
from ..support.arrays import AnyArray, FloatArray, IntArray, Table, take_rows
from ..support.errors import FOREIGN, BudgetError, words_of
from .evaluator import (
    BatchEvaluator,
    BatchResult,
    Evaluator,
    Progress,
    VariantGroup,
    needed,
    refuse_base,
    rows_in_calls,
    rows_of,
)
from .model_caller import first_rows

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


__all__ = ["Engine", "Progress", "first_distribution"]


@dataclass(eq=False, repr=False)
class Engine(Evaluator):
    """Evaluates measures of a subject's rows under replaced columns, by fast paths where these agree with the model.

    Parameters
    ----------
    subject, measures, seed, batch_rows, row_budget, limits, costs, n_jobs, backend, scheduler, confidence, progress
        See `Evaluator`.
    fast_paths : sequence of FastPath, default=()
        What may predict changed rows in place of the model, where it agrees with the model (`CheckedFastPaths`).
    """

    _: KW_ONLY
    fast_paths: Sequence[FastPath] = ()

    def __post_init__(self) -> None:
        """Refuse settings that cannot be used."""
        super().__post_init__()
        # shared by the engines of one run: what fast paths did; by those of one subject: the shortcuts for its rows
        self.served = {path.name: FastPathStats(path.title) for path in self.fast_paths}
        self._known: list[CheckedFastPaths] = []

    def _anew(self, explainer: str, subject: Subject) -> dict[str, Any]:
        anew = super()._anew(explainer, subject)
        return anew if subject is self.subject else anew | {"_known": []}

    @property
    def shortened(self) -> bool:
        """Whether a fast path may predict some changed rows, in less time than `row_seconds` tells."""
        return bool(self._shortcuts)

    def mixing(self, X: Table, measures: Sequence[Measure], rows: int, y: AnyArray | None = None) -> CoalitionEvaluator:
        """Return what gives all measures of rows mixed of those of any table, about `rows` of them.

        `y` is encoded, one value for each row of `X` that mixes are of, which stand first.

        Raises
        ------
        UnsupportedError
            If a measure compares rows with themselves unchanged.
        """
        refuse_base(measures)
        self._ask_model()
        own, subject = np.abs(self.unchanged(measures)), self.subject
        needs = needed(measures)

        def find(path: FastPath) -> FastCoalitions | None:
            mixer = path.mixer(subject.model, subject.adapter, X, rows) if isinstance(path, Mixes) else None
            return mixer if answers(mixer, needs) else None

        usual = np.where(np.isfinite(own), own, 0.0).max(axis=1)
        plain = partial(rows_in_calls, self.call_model, measures, self._call_rows)
        found = Candidates(self.fast_paths, self.served, find)
        return CoalitionEvaluator(X, y, measures, usual, PlainCoalitions(self._charge, plain, self._checked), found)

    def release(self) -> None:
        """Let go of what shortcuts hold, once nothing more is predicted."""
        self._known.clear()

    def __getstate__(self) -> dict[str, Any]:
        """Leave behind what belongs to the parent process."""
        _ = self._shortcuts  # workers are sent what was found, and do not look for it again
        return super().__getstate__() | {"fast_paths": ()}

    @property
    def _batches(self) -> Callable[..., BatchEvaluator]:
        return partial(FastPathBatchEvaluator, self._by_shortcut)

    def _predictor(self, group: Sequence[Variant], task: BatchEvaluator) -> str:
        names = [measure.name for measure in task.measures]

        def compare(shortcut: str, changes: Sequence[Variant]) -> Comparison:
            with parallel_config("sequential"):  # inside a model, joblib would end the workers that wait for groups
                return cast("FastPathBatchEvaluator", task).compared(shortcut, changes)

        return self._shortcuts.chosen(group, names, compare, task.needs)

    def _counted(self, done: BatchResult) -> VariantGroup:
        """Return the results of a group, and count its rows for the fast path that was chosen for it."""
        if done.shortcut:
            served, rows = self.served[done.shortcut], done.group.values[0].size
            served.rows += rows * done.short
            served.failed += rows * (not done.short)
        return super()._counted(done)

    @property
    def _shortcuts(self) -> CheckedFastPaths:
        """The shortcuts of the subject's rows, found when first asked for."""
        if not self._known:
            of = self.subject
            self._known.append(CheckedFastPaths(self.fast_paths, self.served, of.model, of.adapter, of.X))
        return self._known[0]

    def _by_shortcut(self, name: str, group: Sequence[Variant], rows: IntArray) -> Distribution:
        """Return what a shortcut predicts of rows under each variant, as `call_model` returns it."""
        dist = self._shortcuts[name].predict(group, rows)
        return self._checked(dist, len(rows) * len(group), f"fast path {name!r}")


class FastPathBatchEvaluator(BatchEvaluator):
    """Evaluates groups of variants by the fast path chosen for them, or by the model itself where that fails.

    `short` predicts rows under the variants of a group by a named fast path; `others` are of `BatchEvaluator`.
    """

    def __init__(self, short: Callable[[str, Sequence[Variant], IntArray], Distribution], *others: Any) -> None:
        super().__init__(*others)
        self.short = short

    def __call__(self, first: int, group: Sequence[Variant], shortcut: str = "") -> BatchResult:
        """Evaluate the group that begins with variant `first`."""
        if shortcut:
            try:
                return BatchResult(VariantGroup(first, self._shortened(group, shortcut)), shortcut, short=True)
            except BudgetError:
                raise
            except Exception:  # noqa: BLE001, S110 - the model itself reports what is wrong with such rows, if anything
                pass
        return super().__call__(first, group, shortcut)

    def _shortened(self, group: Sequence[Variant], shortcut: str) -> FloatArray:
        values = np.empty((len(self.measures), len(group), self.n))
        for at in self._blocks(1):
            rows, few = self.at[at], group if len(self.at[at]) == self.n else [variant.part(at) for variant in group]
            dist = self.short(shortcut, few, rows)
            self._measured(dist, at, values[:, :, at])
        return values

    def compared(self, shortcut: str, changes: Sequence[Variant]) -> Comparison:
        """Return how far a fast path is from the model itself on some rows under each of the changes.

        The model is asked in one call.
        """
        at = compared_rows(self.n, len(changes))
        few, rows = [variant.part(at) for variant in changes], self.at[at]
        table = variant_rows(take_rows(self.rows, at), few, self.source)
        plain = self.plain(table)
        each = np.repeat(rows, len(few))
        base, y = self.own[0].take(each) if self.base is not None else None, self.own[1]
        y = None if y is None else y[each]
        return compared(
            lambda: rows_of(self.short(shortcut, few, rows), self.measures, y, base),
            rows_of(plain, self.measures, y, base),
            self._usual,
        )

    @cached_property
    def _usual(self) -> FloatArray:
        """The largest finite value of each measure on all unchanged rows; 1 of those that compare with them."""
        base, y = self.own
        values = rows_of(base, self.measures, y, base)
        largest = np.where(np.isfinite(values), np.abs(values), 0.0).max(axis=1)
        return np.where([measure.needs_base for measure in self.measures], 1.0, largest)


def first_distribution(subject: Subject, n: int) -> Distribution:
    """Return the distribution of the first `n` rows, which needs nothing of the subject but model and rows."""
    return Engine(first_rows(subject, n), {}).baseline


class FastCoalitions(Protocol):
    """Predicts rows mixed of those of one table, by one model."""

    def mixed(self, mixes: Sequence[Mix]) -> Distribution:
        """Return the distributions of the rows of all mixes, in their order."""


@runtime_checkable
class Mixes(Protocol):
    """Optional: a fast path that also predicts mixed rows."""

    def mixer(self, model: Any, adapter: Adapter, X: Table, rows: int) -> FastCoalitions | None:
        """Return what predicts about `rows` rows mixed of those of `X`; None where the model has no such structure."""


class PlainCoalitions(NamedTuple):
    """How an engine counts rows that are asked, predicts a table of any size, and completes a fast path's answer."""

    charge: Callable[[int], None]
    plain: Callable[[Table, AnyArray | None], FloatArray]
    checked: Callable[[Distribution, int, str], Distribution]


@dataclass(frozen=True, eq=False)
class CoalitionEvaluator:
    """Measures of rows mixed of those of one table.

    A fast path is used where it agrees, once and in all measures, with the model itself on `COMPARED` rows, each
    of two random rows of the table and a random half of the columns.

    Parameters
    ----------
    table : DataFrame or ndarray
    y : ndarray, optional
        Encoded, one value for each of the first rows of the table, which mixes are of (`Mix.row`).
    measures : sequence of Measure
        None that compares rows with themselves unchanged.
    usual : ndarray, shape (measures,)
        The largest size that each measure usually has.
    calling : PlainCoalitions
    found : Candidates of FastCoalitions
    """

    table: Table
    y: AnyArray | None
    measures: Sequence[Measure]
    usual: FloatArray
    calling: PlainCoalitions
    found: Candidates[FastCoalitions]

    def __call__(self, mixes: Sequence[Mix]) -> FloatArray:
        """Return all measures of the rows of mixes, shape (measures, rows)."""
        rows, y = sum(map(len, mixes)), self._outcomes(mixes)
        self.calling.charge(rows)
        if self._agreeing:
            served = self.found.served[self._agreeing]
            try:
                values = self._short(self._agreeing, mixes, y)
            except BudgetError:
                raise
            except Exception:  # noqa: BLE001 - the model itself says what is wrong with such rows, if anything is
                served.failed += rows
            else:
                served.rows += rows
                return values
        return self.calling.plain(mixed_rows(self.table, mixes), y)

    @cached_property
    def _agreeing(self) -> str:
        """The fast path that agrees with the model; empty for none."""
        return next((name for name in self.found if self.found.believed(name, self._compared(name))), "")

    def _compared(self, name: str) -> Comparison:
        rng = np.random.default_rng(0)
        n, d = self.table.shape
        own = rng.random((COMPARED, 1, d)) < 0.5
        first, second = rng.integers(0, n if self.y is None else len(self.y), COMPARED), rng.integers(0, n, COMPARED)
        mixes = [Mix(int(row), own[i], second[i : i + 1]) for i, row in enumerate(first)]
        y = self._outcomes(mixes)
        plain = self.calling.plain(mixed_rows(self.table, mixes), y)
        return compared(lambda: self._short(name, mixes, y), plain, self.usual)

    def _short(self, name: str, mixes: Sequence[Mix], y: AnyArray | None) -> FloatArray:
        dist = self.calling.checked(self.found[name].mixed(mixes), sum(map(len, mixes)), f"fast path {name!r}")
        return rows_of(dist, self.measures, y, None)

    def _outcomes(self, mixes: Sequence[Mix]) -> AnyArray | None:
        if self.y is None:
            return None
        return np.repeat(self.y[[mix.row for mix in mixes]], [len(mix) for mix in mixes])
