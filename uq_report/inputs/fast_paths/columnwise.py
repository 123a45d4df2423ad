"""Rows after steps that treat every column by itself: transformed once, and of changed columns only these again."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ...core.model.adapter import class_names
from ...core.model.variants import Variant
from ...core.support.arrays import ColumnLookup, IntArray, Table, take_rows
from ..adapters.sklearn_ import transform

_NAMES = (
    "StandardScaler MinMaxScaler MaxAbsScaler RobustScaler PowerTransformer QuantileTransformer Binarizer "
    "KBinsDiscretizer SplineTransformer OneHotEncoder OrdinalEncoder TargetEncoder SimpleImputer MissingIndicator "
    "VarianceThreshold SelectKBest SelectPercentile SelectFromModel SelectFdr SelectFpr SelectFwe"
)
_COLUMNWISE = {f"sklearn.{name}" for name in _NAMES.split()}


class Change(NamedTuple):
    """One column under one variant: row r has the transformed values ``values[at[r]]``.

    `values` has the columns that the changed one makes; None stands for those of the unchanged rows.
    """

    variant: int
    column: int
    values: Any
    at: IntArray


@dataclass(frozen=True, eq=False)
class Columnwise:
    """A table, the same after the steps, and which columns there each column makes.

    Parameters
    ----------
    X : DataFrame or ndarray
    steps : tuple of objects
        Fitted transformers.
    rows : ndarray, DataFrame or sparse matrix
        `X` after the steps.
    made : tuple of ndarray of int
        Positions in `rows` of what each column of `X` makes.
    """

    X: Table
    steps: tuple[Any, ...]
    rows: Any
    made: tuple[IntArray, ...]

    @classmethod
    def of(cls, steps: Sequence[Any], X: Table) -> Columnwise | None:
        """Return the table after the steps; None if they are not known to treat columns one by one."""
        names = getattr(steps[0], "feature_names_in_", None) if steps else None
        if isinstance(X, pd.DataFrame) and names is not None and list(names) != list(X.columns):
            return None  # a column transformer looks columns up by name
        owner: IntArray | None = np.arange(X.shape[1])
        for step in steps:
            owner = None if owner is None else _owners(step, owner)
        if owner is None:
            return None
        rows = transform(steps, X)
        if rows.shape != (len(X), len(owner)):
            return None
        return cls(X, tuple(steps), rows, tuple(np.flatnonzero(owner == c) for c in range(X.shape[1])))

    @cached_property
    def _source(self) -> ColumnLookup:
        return ColumnLookup(self.X)

    @cached_property
    def _occurring(self) -> _Occurring:
        return _Occurring(self._source)

    @cached_property
    def _parts(self) -> dict[int, _Transformer]:
        """What makes each column's own."""
        row = take_rows(self.X, np.zeros(1, dtype=int))
        return {column: _part(self.steps, row, column, made) for column, made in enumerate(self.made)}

    def changes(self, group: Sequence[Variant]) -> Iterator[Change]:
        """Yield every change of a column under every variant.

        Given values that all occur in a column are already transformed; others are, once a column.
        """
        given: dict[int, list[tuple[int, Any]]] = {}
        for v, variant in enumerate(group):
            for position, column in enumerate(variant.columns):
                if variant.donors is not None:
                    yield Change(v, column, None, variant.donors)
                else:
                    given.setdefault(column, []).append((v, variant.values[position]))
        for column, pairs in given.items():
            sizes = [np.size(values) for _, values in pairs]
            own = self._source[column][np.zeros(sum(sizes), dtype=int)]  # of its own kind, as in the model's rows
            for (_, values), start, size in zip(pairs, np.cumsum([0, *sizes]), sizes, strict=False):
                own[start : start + size] = values
            transformed, index = None, self._occurring.rows_of(own, column)
            if index.min(initial=0) < 0:
                transformed, index = self._transformed(column, own)
            for (v, _), part in zip(pairs, np.split(index, np.cumsum(sizes)[:-1]), strict=True):
                yield Change(v, column, transformed, part)

    def _transformed(self, column: int, own: Any) -> tuple[Any, IntArray]:
        """Return what distinct values of a column become, and which of them each value is."""
        index = pd.factorize(own, use_na_sentinel=False)[0]
        distinct = own[np.unique(index, return_index=True)[1]]
        if not self.steps:
            return np.asarray(distinct)[:, None], index
        return self._parts[column].made_of(distinct), index


class _Occurring(dict[int, tuple[Any, IntArray]]):
    """The distinct values that occur in each column of a table, and the first row of each, looked up once."""

    def __init__(self, source: ColumnLookup) -> None:
        super().__init__()
        self._source = source

    def __missing__(self, column: int) -> tuple[Any, IntArray]:
        """Look the values of a column up; none that is missing is among them."""
        codes, distinct = pd.factorize(self._source[column])
        first = np.unique(codes, return_index=True)[1][-len(distinct) :]
        self[column] = pd.Index(distinct), first
        return self[column]

    def rows_of(self, values: Any, column: int) -> IntArray:
        """Return the first row in which a column has each value; -1 where none has."""
        distinct, first = self[column]
        at = distinct.get_indexer(values)
        return np.where(at < 0, -1, first.take(at))


class _Transformer(NamedTuple):
    """Transformers, one row of what they take, the place of one column there, and those of what it makes of theirs."""

    steps: tuple[Any, ...]
    row: Table
    place: int
    made: IntArray

    def made_of(self, values: Any) -> Any:
        """Return what values of the column become."""
        table = take_rows(self.row, np.zeros(len(values), dtype=int))
        if isinstance(table, pd.DataFrame):
            table.isetitem(self.place, values)
        else:
            table[:, self.place] = values
        return columns_of(transform(self.steps, table), self.made)


def _part(steps: tuple[Any, ...], row: Table, column: int, made: IntArray) -> _Transformer:
    """Return what makes all of a column's own: a part of a column transformer, if it does so alone, else the steps."""
    step = steps[0]
    if len(steps) == 1 and class_names(step)[0] == "sklearn.ColumnTransformer" and not step.transformer_weights:
        for name, part, _ in step.transformers_ if len(made) else ():
            place, taken = step.output_indices_[name], list(step._transformer_to_input_indices[name])  # noqa: SLF001 - names resolved
            if place.start <= made[0] and made[-1] < place.stop and taken.count(column) == 1:
                few = row.iloc[:, taken] if isinstance(row, pd.DataFrame) else row[:, taken]
                return _Transformer((part,), few, taken.index(column), made - place.start)
    return _Transformer(steps, row, column, made)


def columns_of(rows: Any, columns: IntArray) -> Any:
    """Return columns of a transformed table, as an array or a sparse matrix."""
    if hasattr(rows, "tocsc"):
        return rows.tocsc()[:, columns]
    return (rows.to_numpy() if isinstance(rows, pd.DataFrame) else rows)[:, columns]


def _owners(step: Any, owner: IntArray) -> IntArray | None:
    """Return the column of the first table that makes each column after a step, given that before it; None if several.

    Examples
    --------
    >>> from sklearn.preprocessing import OneHotEncoder
    >>> step = OneHotEncoder().fit([["a", 1], ["b", 1]])
    >>> _owners(step, np.array([4, 7])).tolist()
    [4, 4, 7]
    """
    name = class_names(step)[0]
    if isinstance(step, str):
        return owner if step == "passthrough" else owner[:0]
    if name == "sklearn.FunctionTransformer":  # what a column transformer makes of "passthrough"
        return owner if step.func is None else None
    if name == "sklearn.Pipeline":
        inner: IntArray | None = owner
        for _, part in step.steps:
            inner = inner if part is None or inner is None else _owners(part, inner)
        return inner
    if name == "sklearn.ColumnTransformer":
        return _side_by_side(step, owner)
    return _named_owners(step, owner) if name in _COLUMNWISE else None


def _side_by_side(step: Any, owner: IntArray) -> IntArray | None:
    """Return the owners after a column transformer."""
    places = step.output_indices_
    after = np.full(max((place.stop for place in places.values()), default=0), -1)
    for name, part, _ in step.transformers_:
        place = places.get(name, slice(0, 0))
        if place.start == place.stop:
            continue
        inner = _owners(part, owner[step._transformer_to_input_indices[name]])  # noqa: SLF001 - names resolved
        if inner is None or len(inner) != place.stop - place.start:
            return None
        after[place] = inner
    return after


def _named_owners(step: Any, owner: IntArray) -> IntArray:
    """Return the owners after a step whose columns are named after the ones they are made of."""
    unnamed = copy(step)
    unnamed.__dict__.pop("feature_names_in_", None)
    names = unnamed.get_feature_names_out([f"<{position}>" for position in range(len(owner))])
    found = [re.search(r"<(\d+)>", str(name)) for name in names]
    return owner[[int(match[1]) for match in found if match]]
