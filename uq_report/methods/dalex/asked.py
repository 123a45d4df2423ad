"""What dalex asks for: tables that are rows of the subject with some columns replaced, known by what was replaced."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import starmap
from operator import is_
from typing import Any, NamedTuple

import joblib
import numpy as np
import pandas as pd

from ...core.arrays import AnyArray, IntArray, Table, columns, take_rows
from ...core.foreign import from_frame, to_frame
from ...core.passes import two_kept
from ...core.subject import Subject
from ...core.variants import Variant

Key = tuple[int | None, bytes, tuple[tuple[int, bytes], ...], bool]


class Asked(NamedTuple):
    """A table that dalex asks for.

    Parameters
    ----------
    key : tuple
        Equal for equal tables, and for no others: the row that all are of, the rows, a digest of each column that was
        replaced, and whether all other features were.
    rows : ndarray of int
        The subject's rows that it was made of.
    variant : Variant, optional
        What was replaced; None where a column's type was changed with its values.
    """

    key: Key
    rows: IntArray
    variant: Variant | None

    @property
    def columns(self) -> tuple[int, ...]:
        """Positions of the columns that were replaced."""
        return () if self.variant is None else self.variant.columns


class Reader:
    """Makes the frames that dalex gets, and reads what it asks for.

    Parameters
    ----------
    subject : Subject
    features : tuple of str
        The features that dalex gets, in the order of the subject's. Beside them a frame may have one column for all
        `others` together: the row of the subject that they are of.
    """

    def __init__(self, subject: Subject, features: tuple[str, ...]) -> None:
        self._subject = subject
        self._at = tuple(subject.features.index(name) for name in features)
        self._rest = tuple(c for c in range(len(subject.features)) if c not in set(self._at))
        self._narrow = (
            subject if not self._rest else replace(subject, X=_part(subject.X, self._at), features=tuple(features))
        )
        self._source = columns(self._narrow.X)
        self._kept: dict[bytes, list[Any]] = {}
        self._first: dict[int, tuple[AnyArray, IntArray]] = {}

    @property
    def others(self) -> str:
        """What the other features are called, as one of them; empty where there are none."""
        name = f"{len(self._rest)} other features" if self._rest else ""
        while name in self._subject.features:
            name += "'"
        return name

    def frame(self, rows: Any, *, others: bool) -> pd.DataFrame:
        """Return rows of the subject as dalex gets them, with the column of all other features or without it."""
        frame = to_frame(self._narrow, rows)
        return frame.assign(**{self.others: frame.index.to_numpy()}) if others and self._rest else frame

    def read(self, frame: pd.DataFrame, row: int | None = None) -> Asked:
        """Return what a frame of `frame`'s index and columns asks for.

        With `row` it is read as that row of the subject many times, with columns of the frame's rows: y is the row's.
        """
        index = frame.index.to_numpy()
        rows = index if row is None else np.full(len(frame), row)
        own, asked = self._columns(rows), columns(from_frame(self._narrow, self._without(frame)))
        changed = [c for c, values in enumerate(asked) if not same(values, own[c])]
        parts = tuple((c, digest(asked[c])) for c in changed)
        rest = self._rest if len(frame.columns) > len(asked) and (frame[self.others].to_numpy() != rows).any() else ()
        return Asked((row, rows.tobytes(), parts, bool(rest)), rows, self._variant(changed, asked, own, index, rest))

    def table(self, frame: pd.DataFrame, asked: Asked) -> Table:
        """Return the rows that a frame asks for, whatever types its columns have."""
        moved = len(frame.columns) > len(self._at) and asked.key[-1]
        X = take_rows(self._subject.X, frame.index.to_numpy() if moved else asked.rows)
        part = from_frame(self._narrow, self._without(frame))
        if not self._rest:
            return part
        if isinstance(X, pd.DataFrame) and isinstance(part, pd.DataFrame):
            for k, c in enumerate(self._at):
                X.isetitem(c, part.iloc[:, k].array)
            return X
        X = X.astype(np.result_type(X, part))
        X[:, list(self._at)] = part
        return X

    def _without(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the columns that are features."""
        return frame.iloc[:, : len(self._at)] if len(frame.columns) > len(self._at) else frame

    def _columns(self, rows: IntArray) -> list[Any]:
        """Return the columns of rows of the subject; those of two sets of rows stay."""
        return two_kept(self._kept, rows.tobytes(), lambda: columns(take_rows(self._narrow.X, rows)))

    def _variant(
        self,
        changed: Sequence[int],
        asked: Sequence[Any],
        own: Sequence[Any],
        index: IntArray,
        rest: tuple[int, ...],
    ) -> Variant | None:
        """Return the change of columns, by the rows that the values are of where there are such rows."""
        if any(asked[c].dtype != own[c].dtype for c in changed):
            return None
        at = (*(self._at[c] for c in changed), *rest)
        donors = self._donors(changed[0], asked[changed[0]]) if len(at) == 1 else index
        if all(same(self._source[c][donors], asked[c]) for c in changed):
            return Variant(at, donors=donors)
        others = (columns(_part(self._subject.X, rest))[k][index] for k in range(len(rest)))
        return Variant(at, (*(asked[c] for c in changed), *others))

    def _donors(self, c: int, values: Any) -> IntArray:
        """Return the first row of the subject with each value, and any row for values that none has."""
        if c not in self._first:
            self._first[c] = np.unique(_plain(self._source[c]), return_index=True)
        distinct, first = self._first[c]
        return first[np.searchsorted(distinct, _plain(values)).clip(max=len(first) - 1)]


def _part(X: Table, at: Sequence[int]) -> Table:
    """Return some columns of a table."""
    return X.iloc[:, list(at)] if isinstance(X, pd.DataFrame) else X[:, list(at)]


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
