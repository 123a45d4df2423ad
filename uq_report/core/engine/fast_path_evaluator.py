"""The engine of a run: the plain evaluator with fast paths around it.

A fast path predicts changed rows from the structure of a model. It is chosen by `CheckedFastPaths` only where it agreed
with the model in the run. Fast paths are chosen in the order of the groups and never by workers, so they change no byte
with the number of workers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple, Protocol, cast, runtime_checkable

import numpy as np
from joblib import parallel_config

from ..model.adapter import Adapter
from ..model.measures import Measure
from ..model.subject import Subject
from ..model.variants import Mix, Variant, mixed_rows, variant_rows
from ..predictive import Distribution
from ..support.arrays import AnyArray, FloatArray, IntArray, Table, take_rows
from ..support.errors import BudgetError
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
from .fast_path import (
    COMPARED,
    Candidates,
    CheckedFastPaths,
    Comparison,
    FastPath,
    FastPathStats,
    answers,
    compared,
    compared_rows,
)
from .model_caller import first_rows

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
