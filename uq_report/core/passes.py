"""One prediction pass: which variants share a call, and all measures of that call's predictions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from itertools import groupby, islice
from typing import NamedTuple

import numpy as np

from .arrays import AnyArray, Columns, FloatArray, IntArray, Table, take_rows
from .errors import ModelError, UnsupportedError
from .measures import Measure
from .predictive import Distribution
from .variants import Buffer, Variant, make_buffer


class Group(NamedTuple):
    """Results of consecutive variants from number `first` on; `values` is (measures, variants, rows)."""

    first: int
    values: FloatArray


class Task:
    """Evaluates variants, several in a call, of the `rows` of `X`; keeps its buffers between groups in one thread.

    `call` predicts a table, in parts of at most `most` rows of the given; `base` is predicted of all rows of `X`
    unchanged, where a measure needs it.
    """

    def __init__(
        self,
        call: Callable[[Table], Distribution],
        X: Table,
        rows: IntArray | None,
        measures: Sequence[Measure],
        y: AnyArray | None,
        base: Distribution,
        most: int | None,
    ) -> None:
        self.call = call
        self.measures = measures
        self.source = Columns(X)
        self.rows = X if rows is None else take_rows(X, rows)
        self.y = y if y is None or rows is None else y[rows]
        self.base = None
        if any(measure.needs_base for measure in measures):
            self.base = base if rows is None else base.take(rows)
        self.n = len(self.rows)
        self.step = min(self.n, most or self.n)
        self.buffers: dict[tuple[int, int, int], tuple[Buffer, AnyArray | None, Distribution | None]] = {}

    def __call__(self, group: Sequence[Variant]) -> FloatArray:
        """Return (measures, variants, rows) of one group."""
        parts = [self._part(group, start, min(start + self.step, self.n)) for start in range(0, self.n, self.step)]
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=2)

    def alone(self, first: int, group: Sequence[Variant]) -> tuple[int, FloatArray]:
        """Evaluate the group that begins with variant `first` in a worker, with buffers of its own."""
        worker = copy(self)
        worker.buffers = {}
        return first, worker(group)

    def _part(self, group: Sequence[Variant], start: int, stop: int) -> FloatArray:
        buffer, y, base = self._repeated(start, stop, len(group))
        values = rows_of(self.call(buffer.filled(self.source, start, stop, group)), self.measures, y, base)
        return values.reshape(len(self.measures), stop - start, len(group)).swapaxes(1, 2)

    def _repeated(self, start: int, stop: int, variants: int) -> tuple[Buffer, AnyArray | None, Distribution | None]:
        """Return these rows so many times, with y and base; two such stay, for full groups and the last."""
        key = (start, stop, variants)
        if key not in self.buffers:
            while len(self.buffers) > 1:
                self.buffers.pop(next(iter(self.buffers)))
            at = np.repeat(np.arange(start, stop), variants)
            y = None if self.y is None else self.y[at]
            base = None if self.base is None else self.base.take(at)
            self.buffers[key] = make_buffer(self.rows[start:stop], variants), y, base
        return self.buffers[key]


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
            "of no given row. Use it with methods that change given rows: permutations, profiles, local effects."
        )
