"""One prediction pass: which variants share a call, and all measures of that call's predictions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby, islice
from typing import NamedTuple

import numpy as np

from ..model.measures import Measure
from ..model.variants import Variant, variant_rows
from ..predictive import Distribution
from ..support.arrays import AnyArray, ColumnLookup, FloatArray, IntArray, Table, take_rows
from ..support.errors import ModelError, UnsupportedError, UQReportError, words_of
from ..support.limits import check_limits


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
