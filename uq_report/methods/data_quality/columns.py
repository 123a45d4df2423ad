"""Facts about single columns: missing, constant, copied, sparse, and numbers that stand for a missing value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ...core.arrays import FloatArray
from ...core.digest import column_digest
from ...core.text import short

PLACEHOLDERS = (0.0, -1.0, *(sign * code for code in (9.0, 99.0, 999.0, 9999.0, 99999.0) for sign in (-1.0, 1.0)))
LEAST_ROWS = 3
LEAST_VALUES = 20
EDGE_VALUES = 10
JUMP = 5.0


class Fact(NamedTuple):
    """A kind of fact about a column (or none), a detail in words, and in how many of how many rows it holds."""

    measure: str
    feature: str
    item: str
    rows: int
    of: int


def column_facts(name: str, values: pd.Series[Any], train: pd.Series[Any] | None, sparse: float) -> Iterator[Fact]:
    """Yield what is to be said of one column of the audited rows, and the same of the training rows."""
    missing = int(values.isna().sum())
    yield Fact("missing", name, "", missing, len(values))
    if train is not None:
        yield Fact("missing_train", name, "", int(train.isna().sum()), len(train))
        if str(train.dtype) != str(values.dtype):
            yield Fact("type_change", name, f"{train.dtype} -> {values.dtype}", len(values), len(values))
    counts = values.value_counts(dropna=False)
    top = int(counts.iloc[0])
    if len(counts) == 1:
        yield Fact("constant", name, short(counts.index[0]), len(values), len(values))
    elif top >= sparse * len(values):
        yield Fact("sparse", name, short(counts.index[0]), top, len(values))


def placeholder(name: str, values: pd.Series[Any], train: pd.Series[Any] | None) -> Iterator[Fact]:
    """Yield the numbers of a numeric column that may stand for a missing value."""
    own = _finite(values)
    pooled = own if train is None else np.concatenate([own, _finite(train)])
    for value in stand_ins(pooled):
        count = int((own == value).sum())
        if count:
            yield Fact("placeholder", name, f"{value:g}", count, len(values))


def stand_ins(values: FloatArray) -> list[float]:
    """Return which of 0, -1, ±9, ±99 ... ±99999 look like codes for a missing value.

    Such a number must be the smallest or the largest of the column, occur 3 times at least but in fewer than
    half of the rows, and stand apart from the other values (20 different ones at least): the gap to the
    nearest one is 5 times the mean step between the 10 that follow, or more. A count that may be 0 has no
    such gap, nor has a share or an amount that comes near 0. An amount that is either 0 or far from it has: no
    rule can tell it from a code, so a finding on 0 says that it may be a real amount.

    Examples
    --------
    >>> pressure = np.array([0.0] * 5 + [40.0 + i for i in range(60)])
    >>> stand_ins(pressure), stand_ins(pressure - 40), stand_ins(np.arange(60.0))
    ([0.0], [], [])
    """
    levels, counts = np.unique(values[np.isfinite(values)], return_counts=True)
    if len(levels) <= LEAST_VALUES:
        return []
    codes = []
    for ordered, count in ((levels, counts[0]), (levels[::-1], counts[-1])):
        step = abs(float(ordered[EDGE_VALUES] - ordered[1])) / (EDGE_VALUES - 1)
        apart = abs(float(ordered[1] - ordered[0])) >= JUMP * step
        if LEAST_ROWS <= count < counts.sum() / 2 and apart and float(ordered[0]) in PLACEHOLDERS:
            codes.append(float(ordered[0]))
    return codes


def copied(columns: Sequence[tuple[str, pd.Series[Any]]]) -> Iterator[Fact]:
    """Yield the columns that repeat an earlier one, value by value; constant columns are no copies."""
    firsts: dict[bytes, str] = {}
    for name, values in columns:
        if values.nunique(dropna=False) < 2:
            continue
        numeric = pd.api.types.is_numeric_dtype(values.dtype)
        comparable = pd.Series(values.to_numpy(dtype=float, na_value=np.nan)) if numeric else values.astype(object)
        first = firsts.setdefault(column_digest(comparable), name)
        if first != name:
            yield Fact("copied_column", name, first, len(values), len(values))


def _finite(values: pd.Series[Any]) -> FloatArray:
    numbers = values.to_numpy(dtype=float, na_value=np.nan)
    return np.asarray(numbers[np.isfinite(numbers)])
