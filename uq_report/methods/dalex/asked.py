"""What dalex asks for: tables that are rows of the subject with some columns replaced, known by what was replaced."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterator, Sequence
from itertools import starmap
from operator import is_
from typing import Any, NamedTuple

import joblib
import numpy as np
import pandas as pd

from ...core.arrays import AnyArray, IntArray, columns, take_rows
from ...core.foreign import from_frame
from ...core.passes import two_kept
from ...core.subject import Subject
from ...core.variants import Variant


class Asked(NamedTuple):
    """A table that dalex asks for.

    Parameters
    ----------
    key : hashable
        Equal for equal tables, and for no others.
    rows : ndarray of int
        The subject's rows that it was made of.
    variant : Variant, optional
        What was replaced; None where a column's type was changed with its values.
    """

    key: Hashable
    rows: IntArray
    variant: Variant | None

    @property
    def columns(self) -> tuple[int, ...]:
        """Positions of the columns that were replaced."""
        return () if self.variant is None else self.variant.columns


class Reader:
    """Reads what dalex asks for.

    Parameters
    ----------
    subject : Subject
    """

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._source = columns(subject.X)
        self._kept: dict[bytes, list[Any]] = {}
        self._first: dict[int, tuple[AnyArray, IntArray]] = {}

    def read(self, frame: pd.DataFrame, row: int | None = None) -> Asked:
        """Return what a frame of `core.foreign.to_frame`'s index and columns asks for.

        With `row` it is read as that row of the subject many times, with columns of the frame's rows: y is the row's.
        """
        table, index = from_frame(self._subject, frame), frame.index.to_numpy()
        rows = index if row is None else np.full(len(frame), row)
        own, asked = self._columns(rows), columns(table)
        changed = [c for c, values in enumerate(asked) if not same(values, own[c])]
        parts = tuple((c, digest(asked[c])) for c in changed)
        return Asked((row, rows.tobytes(), parts), rows, self._variant(changed, asked, own, index))

    def _columns(self, rows: IntArray) -> list[Any]:
        """Return the columns of rows of the subject; those of two sets of rows stay."""
        return two_kept(self._kept, rows.tobytes(), lambda: columns(take_rows(self._subject.X, rows)))

    def _variant(
        self, changed: Sequence[int], asked: Sequence[Any], own: Sequence[Any], index: IntArray
    ) -> Variant | None:
        """Return the change of columns, by the rows that the values are of where there are such rows."""
        if any(asked[c].dtype != own[c].dtype for c in changed):
            return None
        donors = self._donors(changed[0], asked[changed[0]]) if len(changed) == 1 else index
        if all(same(self._source[c][donors], asked[c]) for c in changed):
            return Variant(tuple(changed), donors=donors)
        return Variant(tuple(changed), tuple(asked[c] for c in changed))

    def _donors(self, c: int, values: Any) -> IntArray:
        """Return the first row of the subject with each value, and any row for values that none has."""
        if c not in self._first:
            self._first[c] = np.unique(_plain(self._source[c]), return_index=True)
        distinct, first = self._first[c]
        return first[np.searchsorted(distinct, _plain(values)).clip(max=len(first) - 1)]


def _plain(values: Any) -> AnyArray:
    """Return numbers that differ where the values of a column do; of objects, where the objects do."""
    plain: AnyArray = np.asarray(values.codes if isinstance(values, pd.Categorical) else values)
    return np.fromiter(map(id, plain), dtype=np.int64) if plain.dtype == object else plain


def same(values: Any, others: Any) -> bool:
    """Say whether two columns are of one type and hold the same values; of objects, the same objects.

    Examples
    --------
    >>> same(np.array([1.0, np.nan]), np.array([1.0, np.nan])), same(np.array([1]), np.array([1.0]))
    (True, False)
    """
    if values.dtype != others.dtype:
        return False
    if isinstance(values, pd.Categorical):
        return values.categories.equals(others.categories) and np.array_equal(values.codes, others.codes)
    if not isinstance(values, np.ndarray):
        return bool(values.equals(others))
    if values.dtype == object:
        return all(starmap(is_, zip(values, others, strict=True)))
    return values.tobytes() == others.tobytes()


def digest(values: Any) -> bytes:
    """Return a hash of a column's type and values, at the cost of reading them.

    Examples
    --------
    >>> digest(np.array([1, 2])) == digest(np.array([1, 3]))
    False
    """
    parts = hashlib.blake2b(digest_size=16)
    for part in _parts(values):
        parts.update(part)
    return parts.digest()


def _parts(values: Any) -> Iterator[bytes]:
    """Yield what tells a column from another: its type, and its bytes where those are its values."""
    yield str(values.dtype).encode()
    if isinstance(values, pd.Categorical):
        yield values.codes.tobytes()
        values = values.categories.array
    plain: AnyArray = np.asarray(values)
    if plain.dtype != object:
        yield plain.tobytes()
    elif pd.api.types.infer_dtype(plain, skipna=True) in ("string", "empty"):
        codes, texts = pd.factorize(plain)
        yield codes.tobytes()
        yield repr((texts.tolist(), [type(value) for value in plain[codes < 0]])).encode()
    else:
        yield str(joblib.hash(plain)).encode()
