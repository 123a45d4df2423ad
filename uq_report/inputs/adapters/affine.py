"""What the steps in front of an estimator make of a table, and which of its columns pass through them affinely."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_float_dtype

from ...core.model.derivatives import numbers, spread
from ...core.model.variants import Variant, make_buffer
from ...core.support.arrays import ColumnLookup, FloatArray, Table
from .sklearn_ import transform

_CELLS = 1_000_000  # of the tables transformed in one call


def dense(values: Any) -> FloatArray | None:
    """Return transformed rows as a dense array of floats, or None if they hold anything else."""
    try:
        return np.array(values.toarray() if hasattr(values, "toarray") else values, dtype=float)
    except (TypeError, ValueError):
        return None


def affine_slopes(steps: Sequence[Any], X: Table, rows: FloatArray) -> FloatArray:
    """Return the change of the transformed `rows` per unit of each column, NaN where it is no constant."""
    if not steps:
        return np.eye(X.shape[1])
    matrix = np.full((X.shape[1], rows.shape[1]), np.nan)
    columns = [j for j in range(len(matrix)) if not isinstance(X, pd.DataFrame) or is_float_dtype(X.dtypes.iloc[j])]
    together = max(1, _CELLS // (2 * X.size))
    for start in range(0, len(columns), together):
        _fill(matrix, steps, X, rows, columns[start : start + together])
    return matrix


def _fill(matrix: FloatArray, steps: Sequence[Any], X: Table, rows: FloatArray, columns: Sequence[int]) -> None:
    """Write the slopes of some columns, from one call of the steps for all, or one for each where that fails."""
    values = [numbers(X, j) for j in columns]
    # an affine step changes alike over any distance, so a whole standard deviation loses no digits
    reach = [spread(own) or 1.0 for own in values]
    moves = [Variant((j,), (own + h,)) for j, own, far in zip(columns, values, reach, strict=True) for h in (far, -far)]
    try:
        moved = dense(transform(steps, make_buffer(X, len(moves)).filled(ColumnLookup(X), 0, len(X), moves)))
    except ValueError:  # an encoder refuses values it has not met
        for j in columns if len(columns) > 1 else ():
            _fill(matrix, steps, X, rows, [j])
        return
    if moved is None:
        return
    pairs = moved.reshape(len(X), len(columns), 2, -1).transpose(1, 2, 0, 3)
    for j, own, far, (ahead, behind) in zip(columns, values, reach, pairs, strict=True):
        present = np.isfinite(own)
        changes = np.stack([ahead - rows, rows - behind])[:, present]
        change = changes.mean(axis=(0, 1))
        rounding = 1e-9 * (np.abs(rows[present]).max(axis=0) + np.abs(change))
        if (np.abs(changes - change) <= rounding).all():
            matrix[j] = change / far
