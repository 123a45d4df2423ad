"""What a model said of some rows, where the model itself is not at hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from ...distributions import Categorical, Normal
from ..predictive import Distribution
from ..support.arrays import AnyArray, BoolArray, FloatArray, IntArray, Table, same_table, take_rows
from ..support.errors import InputError, UnsupportedError

ONLY_GIVEN = "it needs the model, and only its predictions of the given rows are there"


def prediction_columns(part: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the columns of the data that ``[data.predictions]`` names, each once.

    Examples
    --------
    >>> prediction_columns({"probability": None, "probabilities": {}, "mean": "m", "std": "s"})
    ('m', 's')
    """
    single = (part.get("probability"), part.get("mean"), part.get("std"))
    named = [*filter(None, single), *(part.get("probabilities") or {}).values()]
    return tuple(dict.fromkeys(named))


@dataclass(frozen=True, eq=False)
class FixedRows:
    """Rows with what was predicted of them.

    Parameters
    ----------
    X : DataFrame or array of shape (n, d)
    distributions : Distribution of length n
    numbers : array of shape (n, k), optional
        Stored numbers of the predictions. Equal rows count as predicted differently where these are not equal, or
        not given.

    Examples
    --------
    >>> given = FixedRows(np.array([[1.0], [2.0]]), Normal([0.0, 5.0], 1.0))
    >>> given.predict(np.array([[2.0]])).mean()
    array([5.])
    """

    X: Table
    distributions: Distribution
    numbers: FloatArray | None = None

    def __post_init__(self) -> None:
        if len(self.X) != len(self.distributions):
            raise InputError(
                f"explain.X must have one row for each predictive distribution, {len(self.distributions)}; "
                f"got {len(self.X)}. Pass the rows they were predicted for."
            )

    def take(self, rows: IntArray) -> FixedRows:
        """Return the rows at these positions with their predictions."""
        numbers = None if self.numbers is None else self.numbers[rows]
        return FixedRows(take_rows(self.X, rows), self.distributions.take(rows), numbers)

    def predict(self, X: Table) -> Distribution:
        """Return the stored distributions of the rows of `X`.

        Raises
        ------
        UnsupportedError
            If a row is none of the given rows, or equals several of them that were predicted differently.
        """
        if len(X) <= len(self.X) and same_table(take_rows(self.X, slice(len(X))), take_rows(X, slice(None))):
            return self.distributions.take(np.arange(len(X)))
        index, first, ambiguous = self._distinct
        codes = index.get_indexer(pd.Index(_keys(X)))
        at = first[np.maximum(codes, 0)]
        unknown = (codes < 0) | ~_equal_rows(take_rows(self.X, at), X)
        if unknown.any():
            raise UnsupportedError(f"{ONLY_GIVEN}; {int(unknown.sum())} of {len(X)} rows are others")
        doubtful = ambiguous[at]
        if doubtful.any():
            raise UnsupportedError(
                f"{ONLY_GIVEN}; {int(doubtful.sum())} of {len(X)} rows equal several given rows with other predictions"
            )
        return self.distributions.take(at)

    @cached_property
    def _distinct(self) -> tuple[pd.Index[Any], IntArray, BoolArray]:
        """The distinct rows by key, where each is first, and of each row whether its equals differ in prediction."""
        codes, keys = pd.factorize(_keys(self.X))
        first = np.unique(codes, return_index=True)[1]
        numbers = np.arange(len(codes))[:, None] if self.numbers is None else self.numbers
        differs = (numbers != numbers[first[codes]]).any(axis=1)
        return pd.Index(keys), first, np.bincount(codes, weights=differs)[codes] > 0


def scored_rows(X: Table, values: FloatArray, classes: Sequence[Any] | None = None) -> FixedRows:
    """Return stored predictions of given rows, and of no other.

    Parameters
    ----------
    X : DataFrame or array of shape (n, d)
        The rows that were predicted, as the audit gets them.
    values : array of shape (n, k) or (n, 2)
        Probabilities of the classes, or mean and standard deviation.
    classes : sequence of k labels, optional
        Given for probabilities.

    Examples
    --------
    >>> scored = scored_rows(np.array([[1.0], [2.0]]), np.array([[0.5, 0.1], [0.7, 0.1]]))
    >>> scored.predict(np.array([[2.0]])).mean()
    array([0.7])
    """
    if len(X) != len(values):
        raise InputError(f"scored.values must have one row per row of X, {len(X)}; got {len(values)}. Match the rows.")
    normal = classes is None
    return FixedRows(X, Normal(*values.T) if normal else Categorical(values, classes=list(classes or ())), values)


def _keys(X: Table) -> AnyArray:
    """Return a 64-bit key of each row's values; equal rows have equal keys."""
    keys: AnyArray = pd.util.hash_pandas_object(pd.DataFrame(X), index=False).to_numpy()
    return keys


def _equal_rows(a: Table, b: Table) -> BoolArray:
    """Say of each row whether all its values are equal; missing values equal each other."""
    left, right = pd.DataFrame(a), pd.DataFrame(b)
    equal = np.ones(len(left), dtype=bool)
    for j in range(left.shape[1]):
        first, second = (frame.iloc[:, j].astype(object).to_numpy() for frame in (left, right))
        equal &= (first == second) | (pd.isna(first) & pd.isna(second))
    return equal
