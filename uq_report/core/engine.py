"""The one place that calls the model.

Explainers ask for variants: all measures of these rows with these columns replaced by those values.
The engine fills one reusable buffer with the variants of a row side by side, predicts, evaluates every
measure on that one prediction, and puts the columns it changed back.

Which variants share a call is decided by the adapter's `batch_rows` or the user's, never by workers,
free memory or a stopwatch, so the bytes of a result do not depend on how it was computed.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from copy import copy
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from itertools import chain, starmap
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from joblib import parallel_config

from .adapter import HoldsGivenRows, SharesCalls
from .arrays import AnyArray, Columns, FloatArray, IntArray, Table, same_table, take_rows
from .decisions import decided
from .derivatives import Derivatives
from .differentiation import derivatives
from .errors import BudgetError, InputError, ModelError, UnsupportedError, UQReportError, nearest
from .failures import failure
from .inference import CONFIDENCE
from .measures import EPISTEMIC, LOSS, SPLIT, Measure, split_of
from .memory import keep_freed_blocks
from .mixed import Calling, Mixer, Mixes, Mixing
from .passes import Calls, Charged, Done, Group, Task, grouped, refuse_base, rows_of
from .predictive import DecisionRule, Distribution
from .repeated import Repeated, Repeats
from .results import Omission
from .shortcut import Comparison, FastPath, Found, Served, Shortcuts
from .subject import Subject
from .tried import Known, Trial
from .variants import Variant
from .workers import Workers, packed, variants_of_pack

# Calls of few rows are mostly overhead, so variants of the same columns share calls up to this size,
# or the size that the adapter names.
SHORT_CALL = 1000

keep_freed_blocks()  # in workers too, which import this module


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
class Engine:
    """Evaluates measures of a subject's rows under replaced columns.

    Parameters
    ----------
    subject : Subject
    measures : mapping of str to Measure
        Every measure that may be asked for by name.
    seed : int
    n_jobs, backend, scheduler
        The workers, see `Workers`; results are bitwise equal for any.
    batch_rows : int, optional
        Rows per predict call, instead of the adapter's rule.
    row_budget : int, optional
        Rows that may be predicted in all; the next call beyond it raises `BudgetError`.
    confidence : float, default=0.95
        Level of every interval of the run; explainers read it here.
    progress : callable, optional
        Called with a `Progress` after each group.
    limits : callable, optional
        Returns which limit of time or memory is reached, or will be, or an empty text; `check` asks it.
    costs : mapping of str to int, optional
        About how many rows each explainer predicts, where it is known; `limits` is given them.
    fast_paths : sequence of FastPath, default=()
        What may predict changed rows in place of the model, where it agrees with the model (`Shortcuts`).
    """

    subject: Subject
    measures: Mapping[str, Measure]
    _: KW_ONLY
    seed: int = 0
    n_jobs: int = 1
    backend: str = "auto"
    scheduler: str | None = None
    batch_rows: int | None = None
    row_budget: int | None = None
    confidence: float = CONFIDENCE
    progress: Callable[[Progress], None] | None = None
    limits: Callable[[int, int, float], str] | None = None
    costs: Mapping[str, int] = field(default_factory=dict)
    fast_paths: Sequence[FastPath] = ()

    def __post_init__(self) -> None:
        """Refuse settings that cannot be used, and take the adapter's rule for calls where none is set."""
        for name in ("batch_rows", "row_budget"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InputError(f"engine.{name} must be >= 1 or None; got {value}.")
        if not 0.5 < self.confidence < 1:
            raise InputError(f"engine.confidence must be a number between 0.5 and 1; got {self.confidence}.")
        self._joins = self.batch_rows is None  # shortcuts may ask for more rows at once
        self.batch_rows = self.batch_rows or self.subject.adapter.batch_rows(self.subject.model)
        self.explainer = "engine"
        self._workers = Workers(self.n_jobs, self.backend, self.scheduler)
        # shared by the engines of one run: rows by explainer, whether the model writes to its rows, once known,
        # rows and seconds of the smallest and the largest call, and what fast paths did; by those of one subject,
        # the shortcuts for its rows
        self._rows: dict[str, int] = {}
        self._writes: list[bool] = []
        self._called: list[tuple[int, float]] = []
        self.served = {path.name: Served(path.title) for path in self.fast_paths}
        self._known: list[Shortcuts] = []
        # rows changed in the first call, and what the model said of them
        self._tried: tuple[Trial, Distribution] | None = None
        # columns in which the adapter's derivatives agreed with differences, for this explainer
        self._proven: set[int] = set()
        self._focus = self.subject.positive_class
        self._rule: DecisionRule | None = None
        self._baseline: Distribution | None = None
        self._y: FloatArray | IntArray | None = None

    def bound(self, explainer: str, subject: Subject | None = None, rows: IntArray | None = None) -> Engine:
        """Return this engine for one explainer's random streams and row count, on other rows if `subject` is given.

        Where these are some of this subject's own, at positions `rows`, their predictions are not asked for again.
        """
        other = object.__new__(Engine)
        other.__dict__.update(self.__dict__)
        if explainer != self.explainer:
            other.explainer, other._proven = explainer, set()
        if subject is not None and subject is not self.subject:
            base = self.baseline  # the positive class and the decision rule are those of the audited rows
            other._focus, other._rule = self._focus, self._rule
            other.subject, other._known, other._tried = subject, [], None
            other._baseline = None if rows is None else base.take(rows)
            other._y = None if rows is None or subject.y is None else base.encode(subject.y)
        return other

    @property
    def rows_predicted(self) -> Mapping[str, int]:
        """Rows predicted so far, per explainer."""
        return dict(self._rows)

    @property
    def worker_seconds(self) -> float:
        """Seconds of the processor that workers in other processes took so far."""
        return self._workers.cpu_seconds

    @property
    def row_seconds(self) -> float:
        """Seconds that a further row of a call takes, by the smallest and the largest so far; infinite without any.

        It decides no number, only what fits a limit of time.
        """
        if not self._called:
            return math.inf
        (few, short), (rows, seconds) = self._called
        return (seconds - short) / (rows - few) if rows > 2 * few and seconds > short else seconds / rows

    def pace(self) -> None:
        """Predict a tenth of the rows again, so that `row_seconds` tells a row's time from that of a call."""
        if not isinstance(self.subject.adapter, HoldsGivenRows):
            self.call_model(take_rows(self.subject.X, slice(max(1, self.subject.n // 10))))

    @property
    def shortened(self) -> bool:
        """Whether a fast path may predict some changed rows, in less time than `row_seconds` tells."""
        return bool(self._shortcuts)

    @property
    def baseline(self) -> Distribution:
        """The predictive distribution of the subject's own rows, predicted once."""
        if self._baseline is None:
            dist = self._first_call()
            if self._focus is None:
                self._focus = dist.default_focus(self.subject.y)
                dist = dist.focus(self._focus)
            if self._rule is None:
                dist = decided(self.subject, dist)
                self._rule = dist.rule
            if self.subject.y is not None:
                self._y = dist.encode(self.subject.y)
            self._baseline = dist
        return self._baseline

    @property
    def y(self) -> FloatArray | IntArray | None:
        """The subject's y as the distribution's `log_prob` takes it, or None."""
        _ = self.baseline
        return self._y

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
        words, has_y = list(names), self.subject.y is not None
        chosen: dict[str, Measure] = {}
        omissions: list[Omission] = []
        for name in chain.from_iterable(map(self._meant, words)):
            if name not in self.measures:
                raise InputError(
                    f"measures must be registered names; got {name!r}. {nearest(name, (*self.measures, LOSS, SPLIT))}"
                )
            measure = self.measures[name]
            reason = measure.why_not(self.baseline, has_y)
            other = self.measures.get(self.baseline.stand_ins.get(name, ""))
            if reason and other is not None and not other.why_not(self.baseline, has_y):
                chosen[other.name] = other
                reason += f". The {other.title or other.name} stands in its place"
            if reason:
                omissions.append(Omission(name, "", reason))
            else:
                chosen[name] = measure
        if words and not chosen and not omissions:
            omissions.append(Omission(SPLIT, "", self.baseline.why_not(EPISTEMIC.name)))
        return tuple(chosen.values()), tuple(omissions)

    def _meant(self, word: str) -> tuple[str, ...]:
        """Return the names of the measures that a word stands for: its own, where it is no word for others."""
        if word == SPLIT:
            parts = split_of(self.baseline)
            return parts if self.measures.keys() >= set(parts) else ()
        return (self.baseline.usual_loss,) if word == LOSS else (word,)

    def rng(self, *key: str | int) -> np.random.Generator:
        """Return the random stream of (seed, explainer, *key), so that names decide and order does not."""
        self.check()
        text = "\x1f".join((str(self.seed), self.explainer, *map(str, key)))
        digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        return np.random.default_rng(int.from_bytes(digest, "big"))

    def check(self, done: int = 0, total: int = 0, ahead: float = 0.0) -> None:
        """Stop the explainer at work where a limit is reached, or will be: loops that compute call it once a round.

        The engine calls it before every prediction and every random stream.

        Parameters
        ----------
        done, total : int
            Rounds done, of so many in all; 0 where they are not counted.
        ahead : float
            About the seconds of this round, where they are known and it cannot be stopped.

        Raises
        ------
        BudgetError
            Which limit was reached.
        """
        reason = self.limits(done, total, ahead) if self.limits else ""
        if reason:
            raise BudgetError(f"{reason}; {self.explainer} was stopped. Raise the limit, or ask for less.")

    def evaluate(
        self, variants: Iterable[Variant], measures: Sequence[Measure], rows: IntArray | None = None, total: int = 0
    ) -> Iterator[Group]:
        """Yield all measures of all variants, group by group, from one prediction pass.

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
        done = 0
        for group in self._mapped(parts, task, rows, total):
            done += group.values.shape[1]
            if self.progress:
                self.progress(Progress(self.explainer, done, total))
            yield group

    def predict(self, X: Table) -> Distribution:
        """Return the predictive distribution of the rows of `X`, counted, checked, and with the positive class set."""
        self._charge(len(X))
        try:
            return self.call_model(X)
        except UQReportError as error:
            if error.row is None or X is self.subject.X:
                raise
            where = f"Row {error.row} is that of the block of {len(X)} rows that {self.explainer} asked for."
            raise type(error)(f"{error} {where}") from error

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
        return self._in_calls(self.predict, measures, X, y)

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

        def find(path: FastPath) -> Mixer | None:
            return path.mixer(subject.model, subject.adapter, X, rows) if isinstance(path, Mixes) else None

        usual = np.where(np.isfinite(own), own, 0.0).max(axis=1)
        calling = Calling(self._charge, partial(self._in_calls, self.call_model, measures), self._checked)
        return Mixing(X, y, measures, usual, calling, Found(self.fast_paths, self.served, find))

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

    @property
    def rows_together(self) -> int:
        """The rows that variants of the same columns may share a call up to."""
        return self._call_rows or SHORT_CALL

    def _ask_model(self) -> None:
        """Refuse changed rows where an adapter holds predictions of the given rows only."""
        if isinstance(self.subject.adapter, HoldsGivenRows):
            raise UnsupportedError(self.subject.adapter.only_given_rows)

    def __getstate__(self) -> dict[str, Any]:
        """Leave behind what belongs to the parent process."""
        left: dict[str, Any] = {"progress": None, "limits": None, "fast_paths": (), "_workers": None, "_tried": None}
        return self.__dict__ | left

    def _first_call(self) -> Distribution:
        """Return the prediction of the subject's rows, made in one call with changes that shortcuts are compared on.

        A call of a model costs much by itself. They share one where the adapter says that rows do not move each
        other's answers, and are asked for alone where that call fails.
        """
        X = self.subject.X
        if self.subject.adapter.batch_rows(self.subject.model) and self._shortcuts:
            trial = Trial.of(X)
            if len(X) + len(trial) <= (self.batch_rows or 0):
                self._charge(len(X))
                try:
                    both = self.call_model(trial.behind(X))
                except UQReportError:  # the model may refuse changes that nobody asked for
                    return self.call_model(X)
                self._tried = trial, both.take(np.arange(len(X), len(both)))
                return both.take(np.arange(len(X)))
        return self.predict(X)

    def _tried_like(self, shortcut: str, changes: Sequence[Variant]) -> Known | None:
        """Return what the first call told of changes like these, where a shortcut covers it."""
        if self._tried is None:
            return None
        trial, dist = self._tried
        known = trial.like(changes, Columns(self.subject.X), self._checked(dist, len(dist), ""))
        return known if known and all(map(self._shortcuts[shortcut].covers, known.changes)) else None

    @property
    def _call_rows(self) -> int | None:
        """The batch size, or the rows of a call that suit the model where its adapter says so."""
        adapter = self.subject.adapter
        known = adapter.rows_together(self.subject.model) if isinstance(adapter, SharesCalls) else None
        return self.batch_rows or known

    def _in_calls(
        self, call: Callable[[Table], Distribution], measures: Sequence[Measure], X: Table, y: AnyArray | None
    ) -> FloatArray:
        """Return all measures of the rows of any table, in calls of the batch size or of what suits the model."""
        step = self._call_rows or len(X)
        blocks = [slice(start, start + step) for start in range(0, len(X), step)]
        parts = [rows_of(call(X[at]), measures, None if y is None else y[at], None) for at in blocks]
        return np.concatenate(parts, axis=1)

    def _task(self, rows: IntArray | None, measures: Sequence[Measure]) -> Task:
        calls = Calls(self.call_model, self._by_shortcut, self._repeated, self._checked)
        most = self.batch_rows or max(self.subject.n, self.rows_together)
        return Task(calls, self.subject.X, rows, measures, self.y, self.baseline, most)

    def _mapped(
        self, parts: Iterator[tuple[int, list[Variant]]], task: Task, rows: IntArray | None, total: int
    ) -> Iterator[Group]:
        charged = self._charged(parts, task)
        if self._workers.alone(total * task.n * self.row_seconds):
            yield from map(self._counted, starmap(task, charged))
            return
        _ = self._shortcuts  # workers are sent what was found, and do not look for it again
        bare = copy(self)
        workers = self._workers.count(bare, self.subject)
        sized = ((len(part[1]), part, task.n * len(part[1])) for part in charged)
        # a limit is looked at before a pack, so with one there are many
        packs = packed(sized, variants_of_pack(0 if self.limits else total, workers))
        work = partial(Engine._of_pack, rows=rows, measures=task.measures)
        for pack in self._workers.map(work, bare, self.subject, packs):
            yield from map(self._counted, pack)

    def _of_pack(self, pack: Sequence[Charged], *, rows: IntArray | None, measures: Sequence[Measure]) -> list[Done]:
        """Evaluate charged groups in a worker, with buffers of its own."""
        return list(starmap(self._task(rows, measures), pack))

    def _charged(self, parts: Iterator[tuple[int, list[Variant]]], task: Task) -> Iterator[Charged]:
        """Yield the groups, each counted before it is predicted, with the shortcut that predicts it.

        Shortcuts are chosen here, in the order of the groups and never by workers.
        """
        names = [measure.name for measure in task.measures]

        def compare(shortcut: str, changes: Sequence[Variant]) -> Comparison:
            with parallel_config("sequential"):  # inside a model, joblib would end the workers that wait for groups
                known, most = self._tried_like(shortcut, changes), self._shortcuts.rows_compared(shortcut)
                return task.compared(shortcut, changes, known, most)

        for first, group in parts:
            self._charge(task.n * len(group))
            name = self._shortcuts.chosen(group, names, compare)
            step = max(task.width, self._shortcuts.together(name) // task.n)
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

    def _charge(self, rows: int) -> None:
        """Count rows about to be predicted; refuse those beyond the budget, and all once a limit is reached."""
        counts = self._rows
        self.check(counts.get(self.explainer, 0), self.costs.get(self.explainer, 0))
        spent = sum(counts.values())
        if self.row_budget is not None and spent + rows > self.row_budget:
            raise BudgetError(
                f"engine.row_budget must allow the next {rows} rows; got {self.row_budget} with {spent} spent. "
                "Raise the budget, or lower n_repeats, the grid or max_rows."
            )
        counts[self.explainer] = counts.get(self.explainer, 0) + rows

    def call_model(self, X: Table) -> Distribution:
        """Call the model on rows already counted, the only place that does; one that writes to them gets copies."""
        rows = X.copy() if any(self._writes) or not self._writes else X
        label = self.subject.label
        if self.limits:
            self.check(ahead=len(X) * self.row_seconds if self._called else 0.0)
        start = perf_counter()
        try:
            dist = self.subject.adapter.predict(self.subject.model, rows)
        except UQReportError:
            raise
        except (Exception, SystemExit) as error:  # the model is foreign code; whatever it raises is told to the user
            raise failure(label, len(X), error, self.subject.X) from error
        calls = sorted([*self._called, (len(X), perf_counter() - start)])
        self._called[:] = calls[0], calls[-1]
        if not self._writes:
            self._writes.append(not same_table(X, rows))
        return self._checked(dist, len(X), label)

    def _checked(self, dist: Distribution, n: int, who: str) -> Distribution:
        """Return distributions, one for each of `n` rows, with the positive class and the decision rule set."""
        if len(dist) != n:
            raise ModelError(f"{who} must return one distribution per row, {n}; got {len(dist)}.")
        dist = dist if self._focus is None else dist.focus(self._focus)
        return dist if self._rule is None else dist.deciding(self._rule)


def first_distribution(subject: Subject, n: int) -> Distribution:
    """Return the distribution of the first `n` rows, which needs nothing of the subject but model and rows."""
    few = take_rows(subject.X, slice(n))
    bare = replace(subject, X=few, y=None, train=None, weights=None, clusters=None, blocks=None, protected={})
    return Engine(bare, {}).baseline
