"""What a model said of some rows, where the model itself is not at hand."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

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
class FixedRows(ABC):
    """Rows with what was predicted of them; base of two ways to hold that."""

    X: Table

    @abstractmethod
    def take(self, rows: IntArray) -> Self:
        """Return the rows at these positions with their predictions."""

    @abstractmethod
    def at(self, rows: AnyArray) -> Distribution:
        """Return the predictions of the rows at these positions."""

    @abstractmethod
    def differs(self, other: IntArray) -> BoolArray:
        """Say of each row whether its prediction differs from that of row ``other[i]``, which has equal values."""

    def predict(self, X: Table) -> Distribution:
        """Return the stored distributions of the rows of `X`.

        Raises
        ------
        UnsupportedError
            If a row is none of the given rows, or equals several of them that were predicted differently.
        """
        if len(X) <= len(self.X) and same_table(take_rows(self.X, slice(len(X))), take_rows(X, slice(None))):
            return self.at(np.arange(len(X)))
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
        return self.at(at)

    @cached_property
    def _distinct(self) -> tuple[pd.Index[Any], IntArray, BoolArray]:
        """The distinct rows by key, where each is first, and of each row whether its equals differ in prediction."""
        codes, keys = pd.factorize(_keys(self.X))
        first = np.unique(codes, return_index=True)[1]
        other = self.differs(first[codes])
        return pd.Index(keys), first, np.bincount(codes, weights=other)[codes] > 0


@dataclass(frozen=True, eq=False)
class GivenDistributions(FixedRows):
    """Distributions of given rows. Equal rows count as predicted differently.

    Parameters
    ----------
    X : DataFrame or array of shape (n, d)
    distributions : Distribution of length n

    Examples
    --------
    >>> given = GivenDistributions(np.array([[1.0], [2.0]]), Normal([0.0, 5.0], 1.0))
    >>> given.predict(np.array([[2.0]])).mean()
    array([5.])
    """

    distributions: Distribution

    def __post_init__(self) -> None:
        if len(self.X) != len(self.distributions):
            raise InputError(
                f"explain.X must have one row for each predictive distribution, {len(self.distributions)}; "
                f"got {len(self.X)}. Pass the rows they were predicted for."
            )

    def take(self, rows: IntArray) -> GivenDistributions:
        """Return the rows at these positions with their predictions."""
        return GivenDistributions(take_rows(self.X, rows), self.distributions.take(rows))

    def at(self, rows: AnyArray) -> Distribution:
        """Return the predictions of the rows at these positions."""
        return self.distributions.take(rows)

    def differs(self, other: IntArray) -> BoolArray:
        """Say which rows are repeats of another."""
        return other != np.arange(len(other))


@dataclass(frozen=True, eq=False)
class ScoredRows(FixedRows):
    """Stored predictions: the distribution of each given row, and of no other.

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
    >>> scored = ScoredRows(np.array([[1.0], [2.0]]), np.array([[0.5, 0.1], [0.7, 0.1]]))
    >>> scored.predict(np.array([[2.0]])).mean()
    array([0.7])
    """

    values: FloatArray
    classes: tuple[Any, ...] | None = None

    def __post_init__(self) -> None:
        if len(self.X) != len(self.values):
            raise InputError(
                f"scored.values must have one row per row of X, {len(self.X)}; got {len(self.values)}. Match the rows."
            )
        self._distribution(self.values)  # refuses what is no distribution, at once

    def take(self, rows: IntArray) -> ScoredRows:
        """Return the rows at these positions with their predictions."""
        return ScoredRows(take_rows(self.X, rows), self.values[rows], self.classes)

    def at(self, rows: AnyArray) -> Distribution:
        """Return the predictions of the rows at these positions."""
        return self._distribution(self.values[rows])

    def differs(self, other: IntArray) -> BoolArray:
        """Say of each row whether a number predicted differs from that of row ``other[i]``."""
        return np.asarray((self.values != self.values[other]).any(axis=1))

    def _distribution(self, values: FloatArray) -> Distribution:
        if self.classes is None:
            return Normal(values[:, 0], values[:, 1])
        return Categorical(values, classes=list(self.classes))


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
