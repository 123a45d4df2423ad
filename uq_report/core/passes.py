"""One prediction pass: which variants share a call, and all measures of that call's predictions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from itertools import groupby, islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .arrays import AnyArray, Columns, FloatArray, IntArray, take_rows
from .errors import ModelError, UnsupportedError
from .measures import Measure
from .predictive import Distribution
from .variants import Buffer, Variant, make_buffer

if TYPE_CHECKING:
    from .engine import Engine


class Group(NamedTuple):
    """Results of consecutive variants from number `first` on; `values` is (measures, variants, rows)."""

    first: int
    values: FloatArray


class Repeated(NamedTuple):
    """Rows repeated for some variants: the table, the outcomes and the distributions unchanged, if there are any."""

    buffer: Buffer
    y: AnyArray | None
    base: Distribution | None


class Task:
    """Evaluates groups of variants; keeps its buffer between groups where it runs in one thread."""

    def __init__(self, engine: Engine, measures: tuple[Measure, ...], rows: IntArray | None) -> None:
        self.engine = engine
        self.measures = measures
        self.source = Columns(engine.subject.X)
        self.rows = engine.subject.X if rows is None else take_rows(engine.subject.X, rows)
        self.y = engine.y if engine.y is None or rows is None else engine.y[rows]
        self.base = self._base(rows) if any(measure.needs_base for measure in measures) else None
        self.n = len(self.rows)
        self.step = self.n if engine.batch_rows is None else max(1, min(self.n, engine.batch_rows))
        self._buffers: dict[tuple[int, int, int], Repeated] = {}

    def __call__(self, group: Sequence[Variant]) -> FloatArray:
        """Return (measures, variants, rows) of one group."""
        parts = [self._part(group, start, min(start + self.step, self.n)) for start in range(0, self.n, self.step)]
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=2)

    def _part(self, group: Sequence[Variant], start: int, stop: int) -> FloatArray:
        buffer, y, base = self._buffer(start, stop, len(group))
        dist = self.engine.call_model(buffer.filled(self.source, start, stop, group))
        values = rows_of(dist, self.measures, y, base)
        return values.reshape(len(self.measures), stop - start, len(group)).swapaxes(1, 2)

    def _base(self, rows: IntArray | None) -> Distribution:
        """Return the distribution of the evaluated rows unchanged."""
        return self.engine.baseline if rows is None else self.engine.baseline.take(rows)

    def _buffer(self, start: int, stop: int, variants: int) -> Repeated:
        """Return these rows, each so many times; two such are held, for full groups and the last."""
        key = (start, stop, variants)
        if key not in self._buffers:
            while len(self._buffers) > 1:
                self._buffers.pop(next(iter(self._buffers)))
            at = np.repeat(np.arange(start, stop), variants)
            y = None if self.y is None else self.y[at]
            base = None if self.base is None else self.base.take(at)
            self._buffers[key] = Repeated(make_buffer(self.rows[start:stop], variants), y, base)
        return self._buffers[key]

    def fresh(self) -> Task:
        """Return this task with no buffer, for a worker of its own."""
        other = copy(self)
        vars(other)["_buffers"] = {}
        return other


def run_group(task: Task, first: int, group: list[Variant]) -> tuple[int, FloatArray]:
    """Evaluate one group in a worker, with a buffer of its own."""
    return first, task.fresh()(group)


def grouped(variants: Iterable[Variant], width: int, *, mixed: bool) -> Iterator[tuple[int, list[Variant]]]:
    """Yield up to `width` consecutive variants and the number of the first.

    Unless `mixed`, a group holds variants of the same columns only: models that multiply matrices
    change last bits with the place of a row in a call, and no feature may move another's bits.
    """
    first = 0
    for _, stream in groupby(variants, key=lambda variant: None if mixed else variant.columns):
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
    for m, measure in enumerate(measures):
        values[m] = measure.rows(dist, y, base)
        bad = int(np.isnan(values[m]).sum())
        if bad:
            raise ModelError(
                f"measure {measure.name!r} must be a number on every row; got NaN on {bad} of {len(dist)} rows."
            )
    return values


def refuse_base(measures: Sequence[Measure]) -> None:
    """Refuse measures of rows changed against unchanged, where rows of any table are asked for."""
    names = [measure.name for measure in measures if measure.needs_base]
    if names:
        raise UnsupportedError(
            f"{', '.join(names)} compares each row with itself unchanged, and rows that a method makes up are changes "
            "of no given row. Use it with methods that change given rows, such as pfi, pdp or ale."
        )
