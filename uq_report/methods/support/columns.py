"""Training and audited rows side by side: every column as numbers that mean the same in both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ...core.arrays import FloatArray, IntArray, Table, column
from ...core.errors import InputError
from ...core.subject import Subject


@dataclass(frozen=True)
class Paired:
    """One column of the training rows and of the audited rows.

    Ordered columns hold their values (dates as seconds); others the positions of their `labels`. Missing
    values are NaN.
    """

    name: str
    ordered: bool
    train: FloatArray
    test: FloatArray
    labels: tuple[Any, ...] = ()

    def take(self, rows: IntArray) -> Paired:
        """Return the column with the training rows at positions `rows`."""
        return Paired(self.name, self.ordered, self.train[rows], self.test, self.labels)


def paired(subject: Subject, train: Table) -> list[Paired]:
    """Return every feature as a pair of columns; refuse training columns of another kind."""
    return [_pair(subject, train, position, name) for position, name in enumerate(subject.features)]


def _pair(subject: Subject, train: Table, position: int, name: str) -> Paired:
    kind = subject.kinds[name]
    old, new = pd.Series(column(train, position)), pd.Series(column(subject.X, position))
    if kind == "categorical":
        codes, labels = pd.factorize(pd.concat([old.astype(object), new.astype(object)], ignore_index=True))
        values = np.where(codes < 0, np.nan, codes.astype(float))
        return Paired(name, False, values[: len(old)], values[len(old) :], tuple(labels.tolist()))
    try:
        numbers = [_seconds(part) if kind == "datetime" else _floats(part) for part in (old, new)]
    except (TypeError, ValueError, AttributeError) as error:
        raise InputError(
            f"support.train[{name!r}] must be {kind} as in X; got {old.dtype}: {error}. Give both the same type."
        ) from error
    return Paired(name, True, numbers[0], numbers[1])


def _floats(values: pd.Series[Any]) -> FloatArray:
    return values.to_numpy(dtype=float, na_value=np.nan)


def _seconds(values: pd.Series[Any]) -> FloatArray:
    """Return dates as seconds of UTC; dates without a zone are taken as they are."""
    naive = values if values.dt.tz is None else values.dt.tz_convert(None)
    return np.asarray((naive - pd.Timestamp(0)).dt.total_seconds(), dtype=float)
