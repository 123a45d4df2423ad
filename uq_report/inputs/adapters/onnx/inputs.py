"""A table as the inputs of an ONNX graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from ....core.support.arrays import AnyArray, Table
from ....core.support.errors import InputError, nearest

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
    frame = X if isinstance(X, pd.DataFrame) else pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    columns = {str(name): frame.iloc[:, j].to_numpy() for j, name in enumerate(frame.columns)}
    if len(inputs) == 1 and _takes_all(inputs[0], len(columns)):
        return {inputs[0].name: np.column_stack([_cast(v, inputs[0], name) for name, v in columns.items()])}
    got = ", ".join(f"{tensor.name} {tensor.type}{list(tensor.shape)}" for tensor in inputs)
    if not isinstance(X, pd.DataFrame):
        raise InputError(f"onnx.inputs must fit the {X.shape[1]} columns of an array; got {got}. Pass a DataFrame.")
    names = {tensor.name for tensor in inputs}
    if set(columns) != names or any(len(tensor.shape) == 2 and tensor.shape[1] not in (1, None) for tensor in inputs):
        lacking = sorted(names - set(columns))
        hint = f"The data has no {lacking[0]!r}. {nearest(lacking[0], columns)}" if lacking else ""
        raise InputError(
            f"onnx.inputs must be one tensor of all {len(columns)} columns, or one input per column by name; "
            f"got {got}. {hint or 'Convert the model with one input per column, or leave other columns out.'}"
        )
    values = {tensor.name: _cast(columns[tensor.name], tensor, tensor.name) for tensor in inputs}
    return {t.name: values[t.name] if len(t.shape) == 1 else values[t.name].reshape(-1, 1) for t in inputs}


def _takes_all(tensor: Any, n_columns: int) -> bool:
    """Say whether an input takes all columns: rows by columns, of a width that fits."""
    width = tensor.shape[1] if len(tensor.shape) == 2 else 0
    return width == n_columns or width is None or isinstance(width, str)


def _cast(values: AnyArray, tensor: Any, name: str) -> AnyArray:
    """Return a column in the input's type; refuse what the type cannot hold."""
    dtype = _DTYPES.get(tensor.type)
    if dtype is None:
        raise InputError(
            f"onnx.inputs must be of {', '.join(_DTYPES)}; got {tensor.name} {tensor.type}. Convert the model."
        )
    if dtype is np.object_:
        if pd.isna(values).any():
            raise InputError(f"{name} must have no missing values for the text input {tensor.name!r} of an ONNX graph.")
        return values.astype(str).astype(object)
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            cast: AnyArray = np.asarray(values).astype(dtype)
            numbers = np.asarray(values).astype(float)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{name} must be a number for the input {tensor.name!r} {tensor.type} of an ONNX graph; "
            f"got {values.dtype}: {error}."
        ) from error
    whole = np.issubdtype(dtype, np.integer) or dtype is np.bool_
    lost = (cast != numbers) if whole else np.isfinite(numbers) & ~np.isfinite(cast)
    if lost.any():
        raise InputError(
            f"{name} must fit {tensor.type}, the type of the graph's input {tensor.name!r}; "
            f"got {values[lost][0]} in {int(lost.sum())} of {len(values)} rows."
        )
    return cast
