"""Distributions held by row, and sums within a row whose last bits do not depend on the other rows."""

from __future__ import annotations

from copy import copy
from typing import Any, ClassVar, Self

import numpy as np

from ...core.predictive import Distribution
from ...core.support.arrays import AnyArray, FloatArray
from .validate import numbers

_FEW = 32


class Rowwise(Distribution):
    """n distributions held as arrays of one entry a row, the attributes that `by_row` names."""

    by_row: ClassVar[tuple[str, ...]]

    def __len__(self) -> int:
        return len(getattr(self, self.by_row[0]))

    def take(self, index: AnyArray) -> Self:
        """Return the distributions at positions `index`."""
        other = copy(self)
        for name in self.by_row:
            setattr(other, name, getattr(self, name)[index])
        return other

    def encode(self, y: Any) -> Any:
        """Return y as floats; refuse what is no number."""
        return numbers(f"{self.family.lower().replace(' ', '_').replace('-', '_')}.y", y)


def row_sum(values: FloatArray, weights: FloatArray | None = None) -> FloatArray:
    """Return sum_c weights_c values[..., c].

    A matrix product would be as fast, but rounds a row by its place among the others. Few columns are
    added one by one, which beats numpy's sum of short rows by far; many by numpy's sum.

    Examples
    --------
    >>> row_sum(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([0.5, 0.25]))
    array([1. , 2.5])
    """
    columns = values.shape[-1]
    if columns > _FEW:
        return np.asarray(np.ascontiguousarray(values if weights is None else values * weights).sum(axis=-1))
    total = np.zeros(values.shape[:-1])
    for c in range(columns):
        total += values[..., c] if weights is None else weights[c] * values[..., c]
    return total
