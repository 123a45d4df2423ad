"""The array types of the package, and how outside values become such arrays."""

from __future__ import annotations

from importlib import import_module
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from .errors import InputError, MissingDependencyError

FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.int64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
AnyArray: TypeAlias = npt.NDArray[Any]
Table: TypeAlias = pd.DataFrame | AnyArray


def plain_array(values: Any) -> AnyArray:
    """Return `values` as an array; a list that mixes text with others keeps both, as numpy makes text of missing ones.

    Examples
    --------
    >>> plain_array(["x", float("nan")]).tolist(), plain_array([1, 2.5]).tolist()
    (['x', nan], [1.0, 2.5])
    """
    array = np.asarray(values)
    mixed = array.dtype.kind == "U" and array.ndim == 1 and not all(isinstance(cell, str) for cell in values)
    return np.asarray(values, dtype=object) if mixed and not isinstance(values, np.ndarray) else array


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
        name = X.columns[position]
        by_name = isinstance(name, str) and X.columns.is_unique  # a fifth of the time by position
        values = (X[name] if by_name else X.iloc[:, position]).array
        # exactly this class: pandas' string arrays derive from it and must stay what they are
        return values.to_numpy() if type(values) is pd.arrays.NumpyExtensionArray else values
    return X[:, position]


class ColumnLookup(dict[int, Any]):
    """The columns of a table, each looked up once.

    Examples
    --------
    >>> ColumnLookup(np.array([[1, 2], [3, 4]]))[1]
    array([2, 4])
    """

    def __init__(self, X: Table) -> None:
        super().__init__()
        self._X = X

    def __missing__(self, position: int) -> Any:
        """Look the column at `position` up, as `column` does."""
        self[position] = column(self._X, position)
        return self[position]


def as_numbers(values: pd.Series[Any], kind: str) -> FloatArray:
    """Return a column of a kind as numbers, NaN where missing.

    Dates are seconds of UTC, without a zone taken as they are. Levels are positions in the order of the categories, or
    of first appearance.

    Examples
    --------
    >>> as_numbers(pd.Series(["b", None, "a"]), "categorical")
    array([ 0., nan,  1.])
    """
    if kind == "categorical":
        codes = values.cat.codes if isinstance(values.dtype, pd.CategoricalDtype) else pd.factorize(values)[0]
        return np.where(codes < 0, np.nan, np.asarray(codes, dtype=float))
    if kind == "datetime":
        naive = values if values.dt.tz is None else values.dt.tz_convert(None)
        return np.asarray((naive - pd.Timestamp(0)).dt.total_seconds(), dtype=float)
    return values.to_numpy(dtype=float, na_value=np.nan)


def as_frame(X: Any, what: str) -> Any:
    """Return a table of polars, Arrow and their like as a frame; anything else as it is.

    The rule: the object's own ``to_pandas()``, else pyarrow on its Arrow stream; then dates become
    ``datetime64`` and decimals ``float64`` (see `tidied`). Categories stay categories.
    """
    if isinstance(X, pd.DataFrame | pd.Series):
        return X
    own = None if isinstance(X, type) else getattr(X, "to_pandas", None)
    if not callable(own) and not hasattr(X, "__arrow_c_stream__"):
        return X
    library = type(X).__module__.partition(".")[0]
    try:
        # by name: the core depends on no such library, and reads a stream only where the user has one
        frame = own() if callable(own) else import_module("pyarrow").table(X).to_pandas()
    except ImportError as error:
        raise MissingDependencyError(f"reading a table of {library}", "pyarrow", "parquet") from error
    except Exception as error:  # a foreign object: whatever its conversion raises is told with its name
        raise InputError(
            f"subject.{what} must be a table that pandas can hold; got a {library} {type(X).__name__}: {error}. "
            "Convert it to a DataFrame."
        ) from error
    return tidied(frame) if isinstance(frame, pd.DataFrame) else frame


def tidied(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame whose Python dates are ``datetime64`` and whose decimals are ``float64``.

    Databases, Arrow and Parquet files hand these over as objects, which no explainer could order.

    Examples
    --------
    >>> from datetime import date
    >>> from decimal import Decimal
    >>> tidied(pd.DataFrame({"when": [date(2026, 1, 1), None], "amount": [Decimal("1.5"), None]})).dtypes.tolist()
    [dtype('<M8[ns]'), dtype('float64')]
    """
    other = frame.copy(deep=False)
    for position, dtype in enumerate(frame.dtypes):
        if pd.api.types.is_object_dtype(dtype):
            column = frame.iloc[:, position]
            kind = pd.api.types.infer_dtype(column, skipna=True)
            if kind in ("date", "datetime"):
                other.isetitem(position, pd.to_datetime(column).array)
            elif kind == "decimal":
                other.isetitem(position, column.astype(float).array)
    return other
