"""The array types of the package, and how outside values become such arrays."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.int64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
AnyArray: TypeAlias = npt.NDArray[Any]
Table: TypeAlias = pd.DataFrame | AnyArray


def take_rows(X: Table, index: Any) -> Table:
    """Return the rows of `X` at positions `index`, as the same kind of table with a fresh row index."""
    if isinstance(X, pd.DataFrame):
        return X.iloc[index].reset_index(drop=True)
    return X[index]


def same_table(a: Table, b: Table) -> bool:
    """Say whether two tables are of one kind and hold the same values; missing values equal each other."""
    if isinstance(a, pd.DataFrame):
        return isinstance(b, pd.DataFrame) and a.equals(b)
    return isinstance(b, np.ndarray) and np.array_equal(a, b, equal_nan=a.dtype.kind == "f" and b.dtype.kind == "f")


def column(X: Table, position: int) -> Any:
    """Return one column of `X` as an array of its own kind (numpy or pandas extension), not copied."""
    if isinstance(X, pd.DataFrame):
        return _of_own_kind(X.iloc[:, position])
    return X[:, position]


def columns(X: Table) -> list[Any]:
    """Return all columns of `X`, each as `column` does; one by one they take pandas four times as long."""
    return [_of_own_kind(values) for _, values in X.items()] if isinstance(X, pd.DataFrame) else list(X.T)


def _of_own_kind(series: pd.Series[Any]) -> Any:
    values = series.array
    # exactly this class: pandas' string arrays derive from it and must stay what they are
    return values.to_numpy() if type(values) is pd.arrays.NumpyExtensionArray else values


class Columns(dict[int, Any]):
    """The columns of a table, each looked up once.

    Examples
    --------
    >>> Columns(np.array([[1, 2], [3, 4]]))[1]
    array([2, 4])
    """

    def __init__(self, X: Table) -> None:
        super().__init__()
        self._X = X

    def __missing__(self, position: int) -> Any:
        """Look the column at `position` up, as `column` does."""
        self[position] = column(self._X, position)
        return self[position]
