"""Measures of a subject's rows under replaced columns.

Explainers ask for variants: all measures of these rows with these columns replaced by those values.
The engine fills one reusable buffer with the variants of a row side by side, predicts, evaluates every
measure on that one prediction, and puts the columns it changed back.

Which variants share a call is decided by the adapter's `batch_rows` or the user's, never by workers,
free memory or a stopwatch, so the bytes of a result do not depend on how it was computed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from copy import copy
from dataclasses import KW_ONLY, dataclass
from functools import partial
from itertools import chain, starmap
from math import ceil
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from joblib import parallel_config

from .adapter import KeepsOrder
from .arrays import AnyArray, Columns, FloatArray, IntArray, Table
from .believed import Comparison, Found, Served, Shortcuts
from .caller import Caller, first_rows
from .derivatives import Derivatives
from .differentiation import derivatives
from .errors import InputError
from .inference import CONFIDENCE
from .measures import Measure
from .mixed import Calling, Mixer, Mixes, Mixing
from .passes import BESIDE, Calls, Charged, Done, Group, Task, grouped, needed, refuse_base, rows_in_calls, rows_of
from .predictive import Distribution
from .repeated import Repeated, Repeats
from .results import Omission
from .selection import selected
from .shortcut import FastPath, answers
from .subject import Subject
from .tried import Known, Trial, first_call
from .variants import Variant
from .workers import FULL, PER_WORKER, Workers, packed


class Progress(NamedTuple):
    """How far one explainer is with what it asked last: variants done, of `total` (0 if unknown).

    At the start of a part of longer work, `part` is its number, of `parts`: the third of 14 explainers.
    """

    explainer: str
    done: int
    total: int
    part: int = 0
    parts: int = 0


@dataclass(eq=False, repr=False)
class Engine(Caller):
    """Evaluates measures of a subject's rows under replaced columns.

    Parameters
    ----------
    subject : Subject
    measures : mapping of str to Measure
        Every measure that may be asked for by name.
    seed, batch_rows, row_budget, limits, costs
        How the model is called, see `Caller`.
    n_jobs, backend, scheduler
        The workers, see `Workers`; results are bitwise equal for any.
    confidence : float, default=0.95
        Level of every interval of the run; explainers read it here.
    progress : callable, optional
        Called with a `Progress` after each group.
    fast_paths : sequence of FastPath, default=()
        What may predict changed rows in place of the model, where it agrees with the model (`Shortcuts`).
    """

    measures: Mapping[str, Measure]
    _: KW_ONLY
    n_jobs: int = 1
    backend: str = "auto"
    scheduler: str | None = None
    confidence: float = CONFIDENCE
    progress: Callable[[Progress], None] | None = None
    fast_paths: Sequence[FastPath] = ()

    def __post_init__(self) -> None:
        """Refuse settings that cannot be used."""
        self._joins = self.batch_rows is None  # shortcuts may ask for more rows at once
        super().__post_init__()
        if not 0.5 < self.confidence < 1:
            raise InputError(f"engine.confidence must be a number between 0.5 and 1; got {self.confidence}.")
        self._workers = Workers(self.n_jobs, self.backend, self.scheduler)
        # shared by the engines of one run: what fast paths did; by those of one subject: the shortcuts for its rows
        self.served = {path.name: Served(path.title) for path in self.fast_paths}
        self._known: list[Shortcuts] = []
        # rows changed in the first call, and what the model said of them
        self._tried: tuple[Trial, Distribution] | None = None
        # columns in which the adapter's derivatives agreed with differences, for this explainer
        self._proven: set[int] = set()

    def _anew(self, explainer: str, subject: Subject) -> dict[str, Any]:
        proven: dict[str, Any] = {} if explainer == self.explainer else {"_proven": set()}
        return proven if subject is self.subject else proven | {"_known": [], "_tried": None}

    @property
    def worker_seconds(self) -> float:
        """Seconds of the processor that workers in other processes took so far."""
        return self._workers.cpu_seconds

    @property
    def shortened(self) -> bool:
        """Whether a fast path may predict some changed rows, in less time than `row_seconds` tells."""
        return bool(self._shortcuts)

    def unchanged(self, measures: Sequence[Measure]) -> FloatArray:
        """Return all measures of the subject's own rows, shape (measures, rows), without another prediction."""
        return rows_of(self.baseline, measures, self.y, self.baseline)

    def select(self, names: Iterable[str]) -> tuple[tuple[Measure, ...], tuple[Omission, ...]]:
        """Return the measures that can be evaluated here, and why the others cannot.

        ``"loss"`` stands for the target's usual loss: the Brier score or the squared error. ``"split"`` stands for
        the uncertainty and its two parts (`split_of`); without members it stands for nothing, and is left out only
        where nothing else is asked for. Where the distribution names a measure that stands in for one it cannot
        answer, that one is returned too.
        """
        return selected(names, self.measures, self)

    def evaluate(
        self, variants: Iterable[Variant], measures: Sequence[Measure], rows: IntArray | None = None, total: int = 0
    ) -> Iterator[Group]:
        """Return all measures of all variants, group by group, from one prediction pass.

        Parameters
        ----------
        variants : iterable of Variant
            May be a generator; only the groups in work are held.
        measures : sequence of Measure
            As `select` returned them.
        rows : ndarray of int, optional
            Row positions to evaluate; all rows by default. Row-wise values and donors of a variant
            have one entry per evaluated row.
        total : int
            Number of variants, for progress, where it is known.
        """
        self._ask_model()
        task = self._task(rows, measures)
        wider = max(map(self._shortcuts.together, self._shortcuts), default=0) // task.n if self._joins else 0
        mixed = self.batch_rows is not None and wider <= task.width
        parts = grouped(variants, max(task.width, wider), mixed=mixed)
        return self._told(self._mapped(parts, task, rows, total), total)

    def _told(self, groups: Iterator[Group], total: int) -> Iterator[Group]:
        """Yield the groups, and tell how far they are."""
        done = 0
        for group in groups:
            done += group.values.shape[1]
            if self.progress:
                self.progress(Progress(self.explainer, done, total))
            yield group

    def measure_rows(self, X: Table, measures: Sequence[Measure], y: AnyArray | None = None) -> FloatArray:
        """Return all measures of the rows of any table, shape (measures, rows), in calls of the batch size.

        `y` is encoded, one value per row of `X`, and needed only if a measure needs it.

        Raises
        ------
        UnsupportedError
            If a measure compares rows with themselves unchanged: these rows are changes of no others.
        """
        refuse_base(measures)
        self._ask_model()
        _ = self.baseline
        return rows_in_calls(self.predict, measures, self._call_rows, X, y)

    def mixing(self, X: Table, measures: Sequence[Measure], rows: int, y: AnyArray | None = None) -> Mixing:
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

        def find(path: FastPath) -> Mixer | None:
            mixer = path.mixer(subject.model, subject.adapter, X, rows) if isinstance(path, Mixes) else None
            return mixer if answers(mixer, needs) else None

        usual = np.where(np.isfinite(own), own, 0.0).max(axis=1)
        plain = partial(rows_in_calls, self.call_model, measures, self._call_rows)
        found = Found(self.fast_paths, self.served, find)
        return Mixing(X, y, measures, usual, Calling(self._charge, plain, self._checked), found)

    def function(self, measure: Measure, y: Any = None) -> Callable[[Table], FloatArray]:
        """Return ``f(X) -> (n,)``, one measure as a plain function of rows, for libraries that call the model.

        A measure that needs y takes it from `y`, one encoded value for every row, else looks it up
        by the row index of the frame, so the caller must keep the subject's index. A measure that needs
        the unchanged rows is refused as by `measure_rows`.
        """
        refuse_base([measure])

        def evaluate(X: Table) -> FloatArray:
            if not measure.needs_y:
                return self.measure_rows(X, [measure])[0]
            if y is not None:
                return self.measure_rows(X, [measure], np.full(len(X), y))[0]
            if self.y is None or not isinstance(X, pd.DataFrame):
                raise InputError(
                    f"engine.function({measure.name!r}) must get a DataFrame with the subject's row index, or a y; "
                    f"got {type(X).__name__} and y=None."
                )
            return self.measure_rows(X, [measure], self.y[X.index.to_numpy()])[0]

        return evaluate

    def derivatives(self, columns: Sequence[int], order: int = 1, rows: IntArray | None = None) -> Derivatives:
        """Return derivatives of the parameters by numeric `columns`: exact where the adapter has a rule that holds."""
        self._ask_model()
        self._charge(self.subject.n if rows is None else len(rows))
        return derivatives(self.subject, columns, order, rows, self.predict, self.rows_together, self._proven)

    def release(self) -> None:
        """Let go of what shortcuts hold, once nothing more is predicted."""
        self._known.clear()

    def __getstate__(self) -> dict[str, Any]:
        """Leave behind what belongs to the parent process."""
        left: dict[str, Any] = {"progress": None, "limits": None, "fast_paths": (), "_workers": None, "_tried": None}
        return self.__dict__ | left

    def _first_call(self) -> Distribution:
        """Return the prediction of the subject's rows, made in one call with changes that shortcuts are compared on.

        Only where the adapter says that rows do not move each other's answers.
        """
        if not (self.subject.adapter.batch_rows(self.subject.model) and self._shortcuts):
            return super()._first_call()
        self._charge(self.subject.n)
        dist, self._tried = first_call(self.subject.X, self.batch_rows or 0, self.call_model)
        return dist

    def _tried_like(self, shortcut: str, changes: Sequence[Variant]) -> Known | None:
        """Return what the first call told of changes like these, where a shortcut covers it."""
        if self._tried is None:
            return None
        trial, dist = self._tried
        known = trial.like(changes, Columns(self.subject.X), self._checked(dist, len(dist), ""))
        return known if known and all(map(self._shortcuts[shortcut].covers, known.changes)) else None

    def _task(self, rows: IntArray | None, measures: Sequence[Measure]) -> Task:
        most = self.batch_rows or max(self.subject.n, self.rows_together)
        beside = self.batch_rows is not None and not isinstance(self.subject.adapter, KeepsOrder)
        calls = Calls(self.call_model, self._by_shortcut, self._repeated, self._checked, most, beside)
        return Task(calls, self.subject.X, rows, measures, self.y, self.baseline)

    def _mapped(
        self, parts: Iterator[tuple[int, list[Variant]]], task: Task, rows: IntArray | None, total: int
    ) -> Iterator[Group]:
        if self._workers.alone(total * task.n * self.row_seconds):
            return map(self._counted, starmap(task, self._charged(parts, task)))
        _ = self._shortcuts  # workers are sent what was found, and do not look for it again
        bare = copy(self)
        share = total / (PER_WORKER * self._workers.count(bare, self.subject))
        groups = self._charged(parts, task, share)
        # a limit is checked before a pack, so with one there are many packs
        packs = packed(groups, 0 if self.limits else min(share, FULL // task.n))
        work = partial(Engine._of_pack, rows=rows, measures=task.measures)
        return map(self._counted, chain.from_iterable(self._workers.map(work, bare, self.subject, packs)))

    def _of_pack(self, pack: Sequence[Charged], *, rows: IntArray | None, measures: Sequence[Measure]) -> list[Done]:
        """Evaluate charged groups in a worker, with buffers of its own."""
        return list(starmap(self._task(rows, measures), pack))

    def _charged(self, parts: Iterator[tuple[int, list[Variant]]], task: Task, share: float = 0.0) -> Iterator[Charged]:
        """Yield the groups, each counted before it is predicted, with the shortcut that predicts it.

        Shortcuts are chosen here, in the order of the groups and never by workers. Of rows that do not move each
        other's answers no more variants than the share of a pack, if there is one, stay together, or than stand beside
        each other.
        """
        alone = share and self.subject.adapter.batch_rows(self.subject.model)
        plain = min(task.width, max(BESIDE, ceil(share))) if alone else task.width
        names = [measure.name for measure in task.measures]

        def compare(shortcut: str, changes: Sequence[Variant]) -> Comparison:
            with parallel_config("sequential"):  # inside a model, joblib would end the workers that wait for groups
                known, most = self._tried_like(shortcut, changes), self._shortcuts.rows_compared(shortcut)
                return task.compared(shortcut, changes, known, most)

        for first, group in parts:
            self._charge(task.n * len(group))
            name = self._shortcuts.chosen(group, names, compare, task.needs)
            step = max(task.width, self._shortcuts.together(name) // task.n) if name else plain
            for start in range(0, len(group), step):
                yield first + start, group[start : start + step], name

    def _counted(self, done: Done) -> Group:
        """Return a group's results, with the rows counted that a shortcut was chosen for."""
        if done.shortcut:
            served, rows = self.served[done.shortcut], done.group.values[0].size
            served.rows += rows * done.short
            served.failed += rows * (not done.short)
        return done.group._replace(values=np.require(done.group.values, requirements="A"))  # sums differ if it is not

    @property
    def _shortcuts(self) -> Shortcuts:
        """The shortcuts of the subject's rows, found when first asked for."""
        if not self._known:
            subject = self.subject
            rows = subject.X.copy() if any(self._writes) or not self._writes else subject.X
            self._known.append(Shortcuts(self.fast_paths, self.served, subject.model, subject.adapter, rows))
        return self._known[0]

    def _by_shortcut(self, name: str, group: Sequence[Variant], rows: IntArray) -> Distribution:
        """Return what a shortcut predicts of rows under each variant, as `call_model` returns it."""
        dist = self._shortcuts[name].predict(group, rows)
        return self._checked(dist, len(rows) * len(group), f"fast path {name!r}")

    def _repeated(self, name: str, group: Sequence[Variant], rows: IntArray, needs: Set[str]) -> Repeated | None:
        """Return what a shortcut predicts once for rows that are alike, not yet checked."""
        shortcut = self._shortcuts[name]
        return shortcut.repeated(group, rows, needs) if isinstance(shortcut, Repeats) else None


def first_distribution(subject: Subject, n: int) -> Distribution:
    """Return the distribution of the first `n` rows, which needs nothing of the subject but model and rows."""
    return Engine(first_rows(subject, n), {}).baseline
