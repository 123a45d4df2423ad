"""One prediction pass: which variants share a call, and all measures of that call's predictions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import groupby, islice
from typing import NamedTuple, TypeVar

import numpy as np

from .arrays import AnyArray, Columns, FloatArray, IntArray, Table, take_rows
from .believed import Comparison, compared, compared_rows
from .errors import BudgetError, ModelError, UnsupportedError, UQReportError
from .limits import look
from .measures import Measure
from .predictive import Distribution
from .shortcut import COMPARED
from .variants import Buffer, Variant, make_buffer

BESIDE, FEWEST = 20, 100  # changes of a row that stand side by side, and rows of a call for each of them
VALUES, CELLS = 2**21, 2**23  # of a measure made together; of rows laid out that stay from group to group

Key = TypeVar("Key")
Kept = TypeVar("Kept")


class Group(NamedTuple):
    """Results of consecutive variants from number `first` on; `values` is (measures, variants, rows)."""

    first: int
    values: FloatArray


class Calls(NamedTuple):
    """How rows are predicted: a table by the model itself, or the rows under a group's variants by a named shortcut.

    A call of the model itself holds at most `most` rows; of few rows under many changes, rather than of many under few,
    where changes of a row may stand `beside` each other: trees walk them by the same branches.
    """

    plain: Callable[[Table], Distribution]
    short: Callable[[str, Sequence[Variant], IntArray], Distribution]
    most: int
    beside: bool = False


class Done(NamedTuple):
    """A group's results, the shortcut chosen for it (empty for none), and whether that predicted it."""

    group: Group
    shortcut: str
    short: bool


# the number of a group's first variant, the group, and the shortcut chosen for it
Charged = tuple[int, list[Variant], str]


class Task:
    """Evaluates variants, several in a call, of the `rows` of `X`; keeps its buffers between groups, in one thread.

    `calls` predict; `base` is predicted of all rows of `X` unchanged, where a measure needs it.
    """

    def __init__(
        self,
        calls: Calls,
        X: Table,
        rows: IntArray | None,
        measures: Sequence[Measure],
        y: AnyArray | None,
        base: Distribution,
    ) -> None:
        self.calls = calls
        self.measures = measures
        self.source = Columns(X)
        self.rows = X if rows is None else take_rows(X, rows)
        self.at = np.arange(len(X)) if rows is None else rows
        self.y = y if y is None or rows is None else y[rows]
        self.own = base, y
        self.base = None
        if any(measure.needs_base for measure in measures):
            self.base = base if rows is None else base.take(rows)
        self.n = len(self.rows)
        most = calls.most
        self.width = max(1, most // self.n, min(BESIDE, most // FEWEST, VALUES // self.n) if calls.beside else 1)
        cells = self.n * self.width * self.rows.shape[1]
        self.keeps = 2 * self._in_calls(self.width) if cells <= CELLS else 2
        self.buffers: dict[tuple[int, ...], Buffer] = {}
        self.outcomes: dict[tuple[int, ...], tuple[AnyArray | None, Distribution | None]] = {}
        self.needs = needed(measures)

    def __call__(self, first: int, group: Sequence[Variant], shortcut: str = "") -> Done:
        """Evaluate the group that begins with variant `first`, by the model itself where a shortcut fails."""
        if shortcut:
            try:
                return Done(Group(first, self._values(group, shortcut)), shortcut, short=True)
            except BudgetError:
                raise
            except Exception:  # noqa: BLE001, S110 - the model itself says what is wrong with such rows, if anything is
                pass
        return Done(Group(first, self._values(group, "")), shortcut, short=False)

    def compared(self, shortcut: str, changes: Sequence[Variant], most: int = COMPARED) -> Comparison:
        """Return how far a shortcut is from the model itself on some rows, `most` at most, under each of the changes.

        The model is asked in one call.
        """
        at = compared_rows(self.n, len(changes), most)
        few, rows = [variant.part(at) for variant in changes], self.at[at]
        table = make_buffer(take_rows(self.rows, at), len(few)).filled(self.source, 0, len(at), few)
        plain, each = self.calls.plain(table), np.repeat(rows, len(few))
        base, y = self.own[0].take(each) if self.base is not None else None, self.own[1]
        y = None if y is None else y[each]
        return compared(
            lambda: rows_of(self.calls.short(shortcut, few, rows), self.measures, y, base),
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

    def _values(self, group: Sequence[Variant], shortcut: str) -> FloatArray:
        """Return (measures, variants, rows) of one group, in an array that a worker's answer is laid out like."""
        values = np.empty((len(self.measures), len(group), self.n))
        width = len(group) if shortcut else self.width
        for first in range(0, len(group), width):
            part = group[first : first + width]
            step = -(-self.n // self._in_calls(1 if shortcut else len(part)))
            for start in range(0, self.n, step):
                at = slice(start, min(start + step, self.n))
                self._part(part, at.start, at.stop, shortcut, values[:, first : first + width, at])
        return values

    def _in_calls(self, changes: int) -> int:
        """Return how many calls hold all rows under so many changes."""
        return -(-self.n // max(1, self.calls.most // changes))

    def _part(self, group: Sequence[Variant], start: int, stop: int, shortcut: str, values: FloatArray) -> None:
        """Fill (measures, variants, rows); an error about a row of the call tells which of the data it is."""
        try:
            self._predict(group, start, stop, shortcut, values)
        except UQReportError as error:
            if error.row is None:
                raise
            row = self.at[start + error.row // len(group)]
            where = f"Row {error.row} of this call is row {row} of the audited data with some values changed."
            raise type(error)(f"{error} {where}") from error

    def _predict(self, group: Sequence[Variant], start: int, stop: int, shortcut: str, values: FloatArray) -> None:
        key = (start, stop, len(group))
        if shortcut:
            few = group if stop - start == self.n else [variant.part(slice(start, stop)) for variant in group]
            dist = self.calls.short(shortcut, few, self.at[start:stop])
        else:
            buffer = last_kept(self.buffers, self.keeps, key, lambda: make_buffer(self.rows[start:stop], len(group)))
            dist = self.calls.plain(buffer.filled(self.source, start, stop, group))
        y, base = last_kept(
            self.outcomes, self.keeps, key, lambda: self._outcomes(np.repeat(np.arange(start, stop), len(group)))
        )
        for m, rows in enumerate(each_of(dist, self.measures, y, base)):
            values[m] = rows.reshape(stop - start, len(group)).T

    def _outcomes(self, at: IntArray) -> tuple[AnyArray | None, Distribution | None]:
        """Return y and base of the rows at these positions."""
        return None if self.y is None else self.y[at], None if self.base is None else self.base.take(at)


def last_kept(kept: dict[Key, Kept], most: int, key: Key, make: Callable[[], Kept]) -> Kept:
    """Return what is kept by `key`, made if it is not; the last `most` stay."""
    if key not in kept:
        while len(kept) >= most:
            kept.pop(next(iter(kept)))
        kept[key] = make()
    return kept[key]


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
        look()
        values = np.asarray(measure.rows(dist, y, base), dtype=float)
        if np.isnan(values.min(initial=0.0)):
            bad = np.isnan(values)
            row, of = int(bad.argmax()), f"{int(bad.sum())} of {len(dist)} rows"
            must = f"measure {measure.name!r} must be a number on every row"
            raise ModelError(f"{must}; got NaN on {of}, first in row {row}.", row=row)
        yield values


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
