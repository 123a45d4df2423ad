"""What a reader of one library's trees returns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ....core.model.adapter import Adapter, HasScores
from ....core.predictive import Distribution
from ....core.support.arrays import AnyArray, FloatArray, Table, take_rows
from .forest import Forest


class Walkable(NamedTuple):
    """A model as a forest, with the way into it and out of it.

    Attributes
    ----------
    forest : Forest
    encode : callable
        Returns the rows of a table as the forest's columns, numbers of shape (n, features).
    columns : tuple of int
        The forest's column of each column of the table.
    finish : callable
        Returns the distribution of rows from their scores (n, channels), and from a function that returns the
        scores of `split` for the same rows, called only if a measure needs them.
    split : callable, optional
        Returns the forest of what members disagree on.
    methods : frozenset of str, optional
        What the distributions answer, as `core.engine.fast_path.Partial`.
    """

    forest: Forest
    encode: Callable[[Table], AnyArray]
    columns: tuple[int, ...]
    finish: Callable[[FloatArray, Callable[[], FloatArray]], Distribution]
    split: Callable[[], Forest] | None = None
    methods: frozenset[str] | None = None


class TreeReader(NamedTuple):
    """How the models of one class are read.

    Attributes
    ----------
    trees : callable
        Returns how many trees the final estimator has, without reading them.
    read : callable
        Returns what is walked of a model, given its final estimator, adapter and rows; None where it is no such thing.
    """

    trees: Callable[[Any], int]
    read: Callable[[Any, Any, Adapter, Table], Walkable | None]


def by_scores(  # a reader's arguments, and what it read
    model: Any,
    adapter: Adapter,
    X: Table,
    forest: Forest,
    encode: Callable[[Table], AnyArray],
    columns: Sequence[int],
) -> Walkable | None:
    """Return a model whose adapter makes its prediction of raw scores: the forest's and a start, read off one row."""
    if not isinstance(adapter, HasScores):
        return None
    first = take_rows(X, slice(1))
    raw = adapter.score(model, first)
    if raw is None or raw.shape != (1, forest.channels):
        return None
    start = raw[0] - forest.score(forest.codes(encode(first))[:, 0])
    return Walkable(forest, encode, tuple(columns), lambda scores, _: adapter.from_score(model, scores + start))


def is_numeric(X: Table) -> bool:
    """Say whether all columns are numbers or booleans."""
    if isinstance(X, np.ndarray):
        return X.dtype.kind in "fiub"
    return all(pd.api.types.is_numeric_dtype(dtype) for dtype in X.dtypes)


def plain_numbers(X: Table) -> FloatArray:
    """Return a numeric table as floats of shape (n, d)."""
    return X.astype(float) if isinstance(X, np.ndarray) else X.to_numpy(dtype=float, na_value=np.nan)


def category_codes(categories: Sequence[Any] | None, X: Table) -> Callable[[Table], FloatArray]:
    """Return how rows become numbers: a frame's columns of categories as codes, among `categories` in their order.

    Without `categories`, the codes are the frame's own.
    """
    if isinstance(X, np.ndarray):
        return plain_numbers
    named = [c for c, dtype in enumerate(X.dtypes) if isinstance(dtype, pd.CategoricalDtype)]
    of = dict(zip(named, categories or [X.iloc[:, c].cat.categories for c in named], strict=True))

    def encode(rows: Table) -> FloatArray:
        columns = [
            pd.Categorical(column, categories=list(of[c])).codes if c in of else column.to_numpy(float, na_value=np.nan)
            for c, (_, column) in enumerate(pd.DataFrame(rows).items())
        ]
        numbers = np.column_stack([np.asarray(column, dtype=float) for column in columns])
        numbers[:, named] = np.where(numbers[:, named] < 0, np.nan, numbers[:, named])
        return numbers

    return encode
