"""What the steps in front of an estimator make of a table, and which of its columns pass through them affinely."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from ...core.arrays import Columns, FloatArray, Table
from ...core.derivatives import numbers, spread
from ...core.variants import Variant, make_buffer
from .sklearn_ import transform


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
    buffer, source = make_buffer(X, 2), Columns(X)
    for j in range(len(matrix)):
        if isinstance(X, pd.DataFrame) and not pd.api.types.is_float_dtype(X.dtypes.iloc[j]):
            continue
        values = numbers(X, j)
        # an affine step changes alike over any distance, so a whole standard deviation loses no digits
        present, h = np.isfinite(values), spread(values) or 1.0
        moves = [Variant((j,), (values + move,)) for move in (h, -h)]
        try:
            moved = dense(transform(steps, buffer.filled(source, 0, len(X), moves)))
        except ValueError:  # an encoder refuses values it has not met
            continue
        if moved is not None:
            ahead, behind = moved.reshape(len(X), 2, -1).swapaxes(0, 1)
            changes = np.stack([ahead - rows, rows - behind])[:, present]
            change = changes.mean(axis=(0, 1))
            rounding = 1e-9 * (np.abs(rows[present]).max(axis=0) + np.abs(change))
            if (np.abs(changes - change) <= rounding).all():
                matrix[j] = change / h
    return matrix
