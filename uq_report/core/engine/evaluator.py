"""Measures of a subject's rows under replaced columns: the plain evaluator, in which the model predicts every row.

Explainers ask for variants: all measures of these rows with these columns replaced by those values. The evaluator lays
the variants of a row side by side in a block of rows, predicts it once, and evaluates every measure on that prediction.

The adapter's `batch_rows` or the user's decides which variants share a call, never workers, free memory or a stopwatch,
so the bytes of a result do not depend on how it was computed.

One prediction pass: which variants share a call, and all measures of that call's predictions.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import KW_ONLY, dataclass
from functools import partial
from itertools import chain, groupby, islice, starmap
from math import ceil
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ..model.adapter import Differentiates
from ..model.derivatives import EPS, Derivatives, Predict, changes, finite_differences, floating, spread, step_lengths
from ..model.measures import DECOMPOSITION, EPISTEMIC, LOSS, Measure, split_of
from ..model.results import Omission
from ..model.subject import Subject
from ..model.variants import Variant, variant_rows
from ..predictive import Distribution
from ..statistics.inference import CONFIDENCE
from ..support.arrays import AnyArray, ColumnLookup, FloatArray, IntArray, Table, take_rows
from ..support.errors import InputError, ModelError, UnsupportedError, UQReportError, nearest, words_of
from ..support.limits import check_limits
from .model_caller import Caller
from .workers import FULL, PER_WORKER, Workers, packed


class VariantGroup(NamedTuple):
    """Results of consecutive variants from number `first` on; `values` is (measures, variants, rows)."""

    first: int
    values: FloatArray


class BatchResult(NamedTuple):
    """The results of a group, the fast path chosen for it (empty for none), and whether that path predicted it."""

    group: VariantGroup
    shortcut: str
    short: bool


# the number of a group's first variant, the group, and the fast path chosen for it
Charged = tuple[int, list[Variant], str]


class BatchEvaluator:
    """Evaluates variants, several in a call, of the `rows` of `X`.

    `plain` predicts a table by the model, of which a call holds at most `most` rows; `base` is predicted of all rows of
    `X` unchanged, where a measure needs it.
    """

    def __init__(
        self,
        plain: Callable[[Table], Distribution],
        most: int,
        X: Table,
        rows: IntArray | None,
        measures: Sequence[Measure],
        y: AnyArray | None,
        base: Distribution,
    ) -> None:
        self.plain, self.most = plain, most
        self.measures = measures
        self.source = ColumnLookup(X)
        self.rows = X if rows is None else take_rows(X, rows)
        self.at = np.arange(len(X)) if rows is None else rows
        self.y = y if y is None or rows is None else y[rows]
        self.own = base, y
        self.base = None
        if any(measure.needs_base for measure in measures):
            self.base = base if rows is None else base.take(rows)
        self.n = len(self.rows)
        self.width = max(1, most // self.n)
        self.needs = needed(measures)

    def __call__(self, first: int, group: Sequence[Variant], shortcut: str = "") -> BatchResult:
        """Evaluate the group that begins with variant `first` by the model itself: (measures, variants, rows)."""
        values = np.empty((len(self.measures), len(group), self.n))
        for start in range(0, len(group), self.width):
            part = group[start : start + self.width]
            for at in self._blocks(len(part)):
                self._part(part, at, values[:, start : start + self.width, at])
        return BatchResult(VariantGroup(first, values), shortcut, short=False)

    def _blocks(self, changes: int) -> list[slice]:
        """Return the rows of each call that holds so many changes of a row."""
        calls = -(-self.n // max(1, self.most // changes))
        step = -(-self.n // calls)
        return [slice(start, min(start + step, self.n)) for start in range(0, self.n, step)]

    def _part(self, group: Sequence[Variant], at: slice, values: FloatArray) -> None:
        """Fill (measures, variants, rows); an error about a row of the call names the row of the data."""
        try:
            dist = self.plain(variant_rows(self.rows[at], group, self.source, at.start))
            self._measured(dist, at, values)
        except UQReportError as error:
            if error.row is None:
                raise
            row = self.at[at.start + error.row // len(group)]
            where = f"Row {error.row} of this call is row {row} of the audited data with some values changed."
            raise type(error)(f"{error} {where}") from error

    def _measured(self, dist: Distribution, at: slice, values: FloatArray) -> None:
        """Evaluate every measure on one prediction of the rows `at` under all changes of `values`."""
        n, changes = at.stop - at.start, values.shape[1]
        rows = np.repeat(np.arange(at.start, at.stop), changes)
        y, base = None if self.y is None else self.y[rows], None if self.base is None else self.base.take(rows)
        for m, measured in enumerate(each_of(dist, self.measures, y, base)):
            values[m] = measured.reshape(n, changes).T


def grouped(variants: Iterable[Variant], width: int, *, mixed: bool) -> Iterator[tuple[int, list[Variant]]]:
    """Yield up to `width` consecutive variants and the number of the first.

    Changes of several columns are never grouped with those of one, which more shortcuts predict. Unless `mixed`,
    a group holds variants of the same columns only: models that multiply matrices change last bits with the
    place of a row in a call, and no feature may move another's bits.
    """
    first = 0
    for _, stream in groupby(variants, key=lambda variant: len(variant.columns) > 1 if mixed else variant.columns):
        while group := list(islice(stream, width)):
            yield first, group
            first += len(group)


def rows_of(
    dist: Distribution, measures: Sequence[Measure], y: AnyArray | None, base: Distribution | None
) -> FloatArray:
    """Evaluate every measure on one prediction; a NaN is an error of the model, told with the measure.

    `base` is the prediction of the same rows unchanged, or None where no measure needs it.
    """
    values = np.empty((len(measures), len(dist)))
    for m, rows in enumerate(each_of(dist, measures, y, base)):
        values[m] = rows
    return values


def each_of(
    dist: Distribution, measures: Sequence[Measure], y: AnyArray | None, base: Distribution | None
) -> Iterator[FloatArray]:
    """Yield what `rows_of` returns, measure by measure."""
    for measure in measures:
        check_limits()
        values = _values(measure, dist, y, base)
        if np.isnan(values.min(initial=0.0)):
            bad = np.isnan(values)
            row, of = int(bad.argmax()), f"{int(bad.sum())} of {len(dist)} rows"
            must = f"measure {measure.name!r} must be a number on every row"
            raise ModelError(f"{must}; got NaN on {of}, first in row {row}.", row=row)
        yield values


def _values(measure: Measure, dist: Distribution, y: AnyArray | None, base: Distribution | None) -> FloatArray:
    """Return a measure's numbers; what its function raises is told with its name."""
    try:
        return np.asarray(measure.rows(dist, y, base), dtype=float)
    except (AttributeError, IndexError, KeyError, TypeError) as error:
        raise ModelError(
            f"measure {measure.name!r} must return a number per row from (distribution, y, base); it failed on a "
            f"{dist.family} distribution: {words_of(error)}."
        ) from error


def rows_in_calls(
    call: Callable[[Table], Distribution], measures: Sequence[Measure], most: int | None, X: Table, y: AnyArray | None
) -> FloatArray:
    """Return all measures of the rows of any table, predicted in calls of `most` rows, or in one."""
    step = most or len(X)
    blocks = [slice(start, start + step) for start in range(0, len(X), step)]
    parts = [rows_of(call(X[at]), measures, None if y is None else y[at], None) for at in blocks]
    return np.concatenate(parts, axis=1)


def needed(measures: Sequence[Measure]) -> frozenset[str]:
    """Return the methods of a distribution that measures require."""
    return frozenset().union(*(measure.requires for measure in measures))


def refuse_base(measures: Sequence[Measure]) -> None:
    """Refuse measures of rows changed against unchanged, where rows of any table are asked for."""
    names = [measure.name for measure in measures if measure.needs_base]
    if names:
        raise UnsupportedError(
            f"{', '.join(names)} compares each row with itself unchanged, and rows that a method makes up are changes "
            "of no given row. Use it with methods that change given rows: permutations, profiles, local effects."
        )


_MOST = 10_000_000  # numbers in an exact second derivative
_PROOF_ROWS, _PROOF_DIRECTIONS, _AGREE = 3, 2, 1e-4


def derivatives(
    subject: Subject,
    columns: Sequence[int],
    order: int,
    rows: IntArray | None,
    predict: Predict,
    batch: int | None,
    proven: set[int],
) -> Derivatives:
    """Return the derivatives of the parameters of `rows` with respect to numeric `columns`, up to `order`.

    `proven` holds the columns in which an exact rule agreed with differences before, and is added to.
    """
    if order not in (1, 2):
        raise InputError(f"engine.derivatives.order must be 1 or 2; got {order}.")
    X = floating(subject.X if rows is None else take_rows(subject.X, rows), columns)
    spreads = np.array([spread(subject.values(subject.features[c])) for c in columns])
    if not (spreads > 0).all():
        names = [subject.features[c] for c, s in zip(columns, spreads, strict=True) if not s > 0]
        raise InputError(f"engine.derivatives.columns must vary; got constant {names}. Leave them out.")
    adapter, precision = subject.adapter, EPS
    too_many = order == 2 and len(X) * len(subject.features) ** 2 > _MOST
    every = None
    if isinstance(adapter, Differentiates) and not too_many:
        every = adapter.derivatives(subject.model, X, order)
    if every is not None:
        precision, exact = every.precision, every.of(columns)
        if np.isfinite(exact.first).all() and (
            proven.issuperset(columns) or _proven(exact, X, columns, spreads, predict, batch)
        ):
            proven.update(columns)
            return exact
    return finite_differences(X, columns, spreads, predict, order, batch, precision)


def _proven(
    exact: Derivatives, X: Table, columns: Sequence[int], spreads: FloatArray, predict: Predict, batch: int | None
) -> bool:
    """Say whether a rule agrees on a few rows with the model's own predictions, and with differences of them.

    These are along a few directions in which all columns move together, each by another step: a slope that is wrong
    in any column is wrong along them.
    """
    rows = np.unique(np.linspace(0, len(X) - 1, _PROOF_ROWS).astype(int))
    eps, rng = exact.precision, np.random.default_rng(0)
    size = min(_PROOF_DIRECTIONS, len(columns)), len(columns)
    # sixteenths of a power of two, so that x + step is (nearly) exact
    steps = step_lengths(spreads, eps) * rng.integers(8, 16, size) / 16 * rng.choice((-1.0, 1.0), size)
    values, change, error = changes(take_rows(X, rows), columns, steps, predict, batch)
    if exact.values.shape[1:] != values.shape[1:]:
        return False
    difference = np.abs(np.einsum("ndm,kd->knm", exact.first[rows], steps) - change)
    rounding = max(1e-9 * eps**0.2, 10 * eps)  # of a difference over a step of eps^(1/5)
    allowed = _AGREE * np.abs(change).max(axis=(0, 1)) + rounding * np.abs(values).max(axis=0)
    same = np.allclose(exact.values[rows], values, rtol=max(1e-6, 100 * eps))
    return bool(same) and bool((difference <= allowed + 10 * error).all())


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
class Evaluator(Caller):
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
    """

    measures: Mapping[str, Measure]
    _: KW_ONLY
    n_jobs: int = 1
    backend: str = "auto"
    scheduler: str | None = None
    confidence: float = CONFIDENCE
    progress: Callable[[Progress], None] | None = None

    def __post_init__(self) -> None:
        """Refuse settings that cannot be used."""
        super().__post_init__()
        if not 0.5 < self.confidence < 1:
            raise InputError(f"engine.confidence must be a number between 0.5 and 1; got {self.confidence}.")
        self._workers = Workers(self.n_jobs, self.backend, self.scheduler)
        # columns in which the adapter's derivatives agreed with differences, for this explainer
        self._proven: set[int] = set()

    @property
    def _batches(self) -> Callable[..., BatchEvaluator]:
        """What evaluates variants: by the model alone."""
        return BatchEvaluator

    def _anew(self, explainer: str, subject: Subject) -> dict[str, Any]:
        return {} if explainer == self.explainer else {"_proven": set()}

    @property
    def worker_seconds(self) -> float:
        """Seconds of processor time that workers in other processes used so far."""
        return self._workers.cpu_seconds

    def unchanged(self, measures: Sequence[Measure]) -> FloatArray:
        """Return all measures of the subject's own rows, shape (measures, rows), without another prediction."""
        return rows_of(self.baseline, measures, self.y, self.baseline)

    def select(self, names: Iterable[str]) -> tuple[tuple[Measure, ...], tuple[Omission, ...]]:
        """Return the measures that can be evaluated here, and why the others cannot.

        ``"loss"`` stands for the target's usual loss: the Brier score or the squared error. ``"decomposition"`` stands
        for the uncertainty and its two parts (`split_of`); without members it stands for nothing, and is left out only
        where nothing else is asked for. Where the distribution names a measure that replaces one it cannot
        answer, that one is returned too.
        """
        words, has_y = list(names), self.subject.y is not None
        chosen: dict[str, Measure] = {}
        omissions: list[Omission] = []
        for name in chain.from_iterable(self._meant(word) for word in words):
            if name not in self.measures:
                hint = nearest(name, (*self.measures, LOSS, DECOMPOSITION))
                raise InputError(f"measures must be registered names; got {name!r}. {hint}")
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
            omissions.append(Omission(DECOMPOSITION, "", self.baseline.why_not(EPISTEMIC.name)))
        return tuple(chosen.values()), tuple(omissions)

    def _meant(self, word: str) -> tuple[str, ...]:
        """Return the names of the measures that a word stands for: its own, where it is no word for others."""
        if word == DECOMPOSITION:
            parts = split_of(self.baseline)
            return parts if self.measures.keys() >= set(parts) else ()
        return (self.baseline.usual_loss,) if word == LOSS else (word,)

    def evaluate(
        self, variants: Iterable[Variant], measures: Sequence[Measure], rows: IntArray | None = None, total: int = 0
    ) -> Iterator[VariantGroup]:
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
        parts = grouped(variants, task.width, mixed=self.batch_rows is not None)
        return self._reported(self._mapped(parts, task, rows, total), total)

    def _reported(self, groups: Iterator[VariantGroup], total: int) -> Iterator[VariantGroup]:
        """Yield the groups, and report progress."""
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

    def __getstate__(self) -> dict[str, Any]:
        """Leave behind what belongs to the parent process."""
        return self.__dict__ | {"progress": None, "limits": None, "_workers": None}

    def _task(self, rows: IntArray | None, measures: Sequence[Measure]) -> BatchEvaluator:
        most = self.batch_rows or max(self.subject.n, self.rows_together)
        return self._batches(self.call_model, most, self.subject.X, rows, measures, self.y, self.baseline)

    def _mapped(
        self, parts: Iterator[tuple[int, list[Variant]]], task: BatchEvaluator, rows: IntArray | None, total: int
    ) -> Iterator[VariantGroup]:
        if self._workers.alone(total * task.n * self.row_seconds):
            return map(self._counted, starmap(task, self._charged(parts, task)))
        sent = copy(self)
        share = total / (PER_WORKER * self._workers.count(sent, self.subject))
        groups = self._charged(parts, task, share)
        # a limit is checked before a pack, so with one there are many packs
        packs = packed(groups, 0 if self.limits else min(share, FULL // task.n))
        work = partial(Evaluator._of_pack, rows=rows, measures=task.measures)
        return map(self._counted, chain.from_iterable(self._workers.map(work, sent, self.subject, packs)))

    def _of_pack(
        self, pack: Sequence[Charged], *, rows: IntArray | None, measures: Sequence[Measure]
    ) -> list[BatchResult]:
        """Evaluate charged groups in a worker."""
        return list(starmap(self._task(rows, measures), pack))

    def _charged(
        self, parts: Iterator[tuple[int, list[Variant]]], task: BatchEvaluator, share: float = 0.0
    ) -> Iterator[Charged]:
        """Yield the groups, each counted before it is predicted.

        Where rows of a call do not affect each other, a group has no more variants than the share of a pack, if there
        is one.
        """
        alone = share and self.subject.adapter.batch_rows(self.subject.model)
        plain = min(task.width, ceil(share)) if alone else task.width
        for first, group in parts:
            self._charge(task.n * len(group))
            name = self._predictor(group, task)
            step = task.width if name else plain
            for start in range(0, len(group), step):
                yield first + start, group[start : start + step], name

    def _predictor(self, group: Sequence[Variant], task: BatchEvaluator) -> str:
        """Return the fast path that predicts a group: none here."""
        return ""

    def _counted(self, done: BatchResult) -> VariantGroup:
        """Return the results of a group."""
        return done.group._replace(values=np.require(done.group.values, requirements="A"))  # sums differ if it is not
