"""A table as the inputs of an ONNX graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from ....core.arrays import AnyArray, Table
from ....core.errors import InputError, nearest

_DTYPES: dict[str, Any] = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
    "tensor(bool)": np.bool_,
    "tensor(string)": np.object_,
}


def feeds(inputs: Sequence[Any], X: Table) -> dict[str, AnyArray]:
    """Return the arrays a graph wants: one tensor of all columns, or one column for each named input.

    Raises
    ------
    InputError
        If the names, the number of columns, or the types do not fit.
    """
    if len(inputs) == 1 and _takes_all(inputs[0], X):
        one = inputs[0]
        columns = [_cast(_column(X, j), one, name) for j, name in enumerate(_names(X))]
        return {one.name: np.column_stack(columns)}
    shown = ", ".join(f"{one.name} {one.type}{list(one.shape)}" for one in inputs)
    if not isinstance(X, pd.DataFrame):
        raise InputError(f"onnx.inputs must fit the {X.shape[1]} columns of an array; got {shown}. Pass a DataFrame.")
    names, wanted = _names(X), [one.name for one in inputs]
    if set(names) != set(wanted) or any(len(one.shape) == 2 and one.shape[1] not in (1, None) for one in inputs):
        lacking = sorted(set(wanted) - set(names))
        hint = f"The data has no {lacking[0]!r}. {nearest(lacking[0], names)}" if lacking else ""
        raise InputError(
            f"onnx.inputs must be one tensor of all {len(names)} columns, or one input per column by name; "
            f"got {shown}. {hint or 'Convert the model with one input per column, or leave other columns out.'}"
        )
    return {one.name: _shaped(_cast(_column(X, names.index(one.name)), one, one.name), one) for one in inputs}


def _takes_all(one: Any, X: Table) -> bool:
    """Say whether an input takes all columns: rows by columns, of a width that fits."""
    width = one.shape[1] if len(one.shape) == 2 else 0
    return width == X.shape[1] or width is None or isinstance(width, str)


def _names(X: Table) -> list[str]:
    return [str(c) for c in X.columns] if isinstance(X, pd.DataFrame) else [f"x{j}" for j in range(X.shape[1])]


def _column(X: Table, position: int) -> AnyArray:
    return X.iloc[:, position].to_numpy() if isinstance(X, pd.DataFrame) else X[:, position]


def _shaped(values: AnyArray, one: Any) -> AnyArray:
    return values if len(one.shape) == 1 else values.reshape(-1, 1)


def _cast(values: AnyArray, one: Any, name: str) -> AnyArray:
    """Return a column in the input's type; refuse what the type cannot hold."""
    wanted = _DTYPES.get(one.type)
    if wanted is None:
        raise InputError(f"onnx.inputs must be of {', '.join(_DTYPES)}; got {one.name} {one.type}. Convert the model.")
    if wanted is np.object_:
        if pd.isna(values).any():
            raise InputError(f"{name} must have no missing values for the text input {one.name!r} of an ONNX graph.")
        return values.astype(str).astype(object)
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            cast: AnyArray = np.asarray(values).astype(wanted)
            numbers = np.asarray(values).astype(float)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{name} must be a number for the input {one.name!r} {one.type} of an ONNX graph; "
            f"got {values.dtype}: {error}."
        ) from error
    whole = np.issubdtype(wanted, np.integer) or wanted is np.bool_
    lost = (cast != numbers) if whole else np.isfinite(numbers) & ~np.isfinite(cast)
    if lost.any():
        raise InputError(
            f"{name} must fit {one.type}, the type of the graph's input {one.name!r}; "
            f"got {values[lost][0]} in {int(lost.sum())} of {len(values)} rows."
        )
    return cast
