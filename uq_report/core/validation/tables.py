"""The rows under audit as one table: a frame or an array, dense, named, and without cells that no method can use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from ..support.arrays import AnyArray, Table
from ..support.errors import InputError
from ..support.frames import as_frame
from .cell_validation import check_column, check_size, shown


def table(X: Any, what: str, model: Any, *, private: bool = True) -> tuple[Table, tuple[str, ...]]:
    """Return the rows with a fresh row index, in a copy of their own if `private`, and the feature names."""
    X = as_frame(X, what)
    if isinstance(X, pd.Series):
        raise InputError(f"subject.{what} must be two-dimensional; got a Series. Pass {what}.to_frame().")
    rows, names = _frame(X, what, private) if isinstance(X, pd.DataFrame) else _array(X, what, model, private)
    if 0 in rows.shape:
        raise InputError(f"subject.{what} must have at least one row and one column; got shape {rows.shape}.")
    return rows, names


def _frame(X: pd.DataFrame, what: str, private: bool) -> tuple[Table, tuple[str, ...]]:
    if isinstance(X.columns, pd.MultiIndex):
        raise InputError(f"subject.{what} must have one level of column names; got {X.columns.nlevels}. Flatten them.")
    nameless = [position for position, gone in enumerate(X.columns.isna()) if gone]
    if nameless:
        must = f"subject.{what} must have a name for every column"
        raise InputError(f"{must}; got none at the positions {nameless}. Rename them.")
    names = [str(c) for c in X.columns]
    doubled = sorted({c for c in names if names.count(c) > 1})
    if doubled:
        raise InputError(f"subject.{what} must have unique column names; got {doubled} more than once. Rename them.")
    for position, name in enumerate(names):
        check_column(X.iloc[:, position], f"subject.{what}[{name!r}]")
    rows = _native(X.copy(deep=private))
    rows.index = pd.RangeIndex(len(rows))
    return rows, tuple(names)


def _native(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a frame whose numbers have this machine's order of bytes, the only one that pandas computes with."""
    foreign = {
        position: dtype.newbyteorder("=")
        for position, dtype in enumerate(rows.dtypes)
        if isinstance(dtype, np.dtype) and not dtype.isnative
    }
    for position, dtype in foreign.items():
        rows.isetitem(position, rows.iloc[:, position].to_numpy().astype(dtype))
    return rows


def _array(X: Any, what: str, model: Any, private: bool) -> tuple[Table, tuple[str, ...]]:
    if hasattr(X, "toarray"):
        raise InputError(f"subject.{what} must be dense; got a sparse {type(X).__name__}. Pass X.toarray().")
    if np.ma.is_masked(X):
        raise InputError(f"subject.{what} must have no masked cells; got a masked array. Pass X.filled(np.nan).")
    try:
        array = np.array(X) if private else np.asarray(X)
    except ValueError as error:
        raise InputError(f"subject.{what} must be a table; got rows of different lengths. Pass a DataFrame.") from error
    if array.ndim != 2:
        raise InputError(f"subject.{what} must have shape (rows, features); got {array.shape}{_table_hint(X, array)}")
    if array.dtype.kind not in "fiub":
        raise InputError(
            f"subject.{what} must be numeric as an array; got dtype {array.dtype}. Pass a DataFrame for other columns."
        )
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    fitted: Sequence[Any] | None = getattr(model, "feature_names_in_", None)
    if fitted is None or len(fitted) != array.shape[1]:
        fitted = [f"x{j}" for j in range(array.shape[1])]
    names = tuple(str(c) for c in fitted)
    for position, name in enumerate(names if array.dtype.kind != "b" and len(array) else ()):
        check_size(array[:, position], f"subject.{what}[{name!r}]")
    return array, names


def _table_hint(X: Any, array: AnyArray) -> str:
    """Return the end of a refusal of what is no table: what it is, and how a table is made of it."""
    records = array.dtype.names is not None or (array.ndim == 1 and len(array) and isinstance(array[0], dict))
    if records or isinstance(X, dict):
        return f" of {type(X).__name__}. Pass pd.DataFrame(X)."
    if isinstance(X, str):
        return f" of the text {shown(X)}. Read the file, or audit it by uq-report run."
    return f" of {type(X).__name__}. Pass a DataFrame." if array.ndim == 0 else ". Reshape it."
