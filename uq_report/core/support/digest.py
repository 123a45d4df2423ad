"""Fingerprints of data: the same content gives the same SHA-256, on every machine and in every session."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from .arrays import AnyArray, Table

_TOGETHER = 100_000  # cells whose texts are held at once


def table_sha256(X: Table) -> str:
    """Return the SHA-256 of a table: shape, column names, types and values; not of its index.

    Examples
    --------
    >>> table_sha256(np.zeros((2, 1))) == table_sha256(np.zeros((2, 1)))
    True
    >>> table_sha256(np.zeros((2, 1))) == table_sha256(np.zeros((1, 2)))
    False
    """
    if isinstance(X, pd.DataFrame):
        columns = [(str(name), X.iloc[:, position]) for position, name in enumerate(X.columns)]
    else:
        columns = [("", pd.Series(X[:, position])) for position in range(X.shape[1])]
    whole = hashlib.sha256(f"{X.shape}".encode())
    for name, values in columns:
        whole.update(name.encode("utf-8", "backslashreplace") + b"\x00" + column_digest(values))
    return whole.hexdigest()


def vector_sha256(y: AnyArray) -> str:
    """Return the SHA-256 of a target: its type and values, of each field if it has several."""
    columns = [y] if y.dtype.names is None else [y[name] for name in y.dtype.names]
    return hashlib.sha256(b"".join(column_digest(pd.Series(values)) for values in columns)).hexdigest()


def column_digest(values: pd.Series[Any]) -> bytes:
    """Return the digest of one column: its type, and its values as bytes or, for objects, as text with their type."""
    dtype = values.dtype
    whole = hashlib.sha256(f"{dtype}\x00{len(values)}\x00".encode())
    if isinstance(dtype, np.dtype) and dtype.kind in "fiubmM":
        array = values.to_numpy()
        whole.update(np.ascontiguousarray(array, array.dtype.newbyteorder("<")).view(np.uint8).data)
        return whole.digest()
    cells = values.astype(object).to_numpy(copy=True)
    cells[values.isna().to_numpy()] = None
    texts: Callable[[Any], bytes] = _text
    if set(map(type, cells)) <= {str, type(None)}:  # only texts that are equal are the same
        texts = {cell: _text(cell) for cell in set(cells)}.__getitem__
    for start in range(0, len(cells), _TOGETHER):
        whole.update(b"".join(map(texts, cells[start : start + _TOGETHER])))
    return whole.digest()


def _text(cell: Any) -> bytes:
    """Return a cell as text with its type, behind its length; nothing for a missing one, which is None."""
    text = "" if cell is None else f"{type(cell).__name__}:{cell}"
    return f"{len(text)}:{text}".encode("utf-8", "backslashreplace")
