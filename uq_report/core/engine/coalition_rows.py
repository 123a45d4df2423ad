"""Measures of rows mixed of two rows each, as of coalitions of features: by the model itself, or by a fast path."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from ..model.adapter import Adapter
from ..model.measures import Measure
from ..model.variants import Mix, mixed_rows
from ..predictive import Distribution
from ..support.arrays import AnyArray, FloatArray, Table
from ..support.errors import BudgetError
from .batching import rows_of
from .fast_path import COMPARED, Candidates, Comparison, compared


class FastCoalitions(Protocol):
    """Predicts rows mixed of those of one table, by one model."""

    def mixed(self, mixes: Sequence[Mix]) -> Distribution:
        """Return the distributions of the rows of all mixes, in their order."""


@runtime_checkable
class Mixes(Protocol):
    """Optional: a fast path that also predicts mixed rows."""

    def mixer(self, model: Any, adapter: Adapter, X: Table, rows: int) -> FastCoalitions | None:
        """Return what predicts about `rows` rows mixed of those of `X`; None where the model has no such structure."""


class PlainCoalitions(NamedTuple):
    """How an engine counts rows that are asked, predicts a table of any size, and completes a fast path's answer."""

    charge: Callable[[int], None]
    plain: Callable[[Table, AnyArray | None], FloatArray]
    checked: Callable[[Distribution, int, str], Distribution]


@dataclass(frozen=True, eq=False)
class CoalitionEvaluator:
    """Measures of rows mixed of those of one table.

    A fast path is believed where it agrees, once and in all measures, with the model itself on `COMPARED` rows, each
    of two random rows of the table and a random half of the columns.

    Parameters
    ----------
    table : DataFrame or ndarray
    y : ndarray, optional
        Encoded, one value for each of the first rows of the table, which mixes are of (`Mix.row`).
    measures : sequence of Measure
        None that compares rows with themselves unchanged.
    usual : ndarray, shape (measures,)
        The largest size that each measure usually has.
    calling : Calling
    found : Found of Mixer
    """

    table: Table
    y: AnyArray | None
    measures: Sequence[Measure]
    usual: FloatArray
    calling: PlainCoalitions
    found: Candidates[FastCoalitions]

    def __call__(self, mixes: Sequence[Mix]) -> FloatArray:
        """Return all measures of the rows of mixes, shape (measures, rows)."""
        rows, y = sum(map(len, mixes)), self._outcomes(mixes)
        self.calling.charge(rows)
        if self._believed:
            served = self.found.served[self._believed]
            try:
                values = self._short(self._believed, mixes, y)
            except BudgetError:
                raise
            except Exception:  # noqa: BLE001 - the model itself says what is wrong with such rows, if anything is
                served.failed += rows
            else:
                served.rows += rows
                return values
        return self.calling.plain(mixed_rows(self.table, mixes), y)

    @cached_property
    def _believed(self) -> str:
        """The fast path that agrees with the model; empty for none."""
        return next((name for name in self.found if self.found.believed(name, self._compared(name))), "")

    def _compared(self, name: str) -> Comparison:
        rng = np.random.default_rng(0)
        n, d = self.table.shape
        own = rng.random((COMPARED, 1, d)) < 0.5
        first, second = rng.integers(0, n if self.y is None else len(self.y), COMPARED), rng.integers(0, n, COMPARED)
        mixes = [Mix(int(row), own[i], second[i : i + 1]) for i, row in enumerate(first)]
        y = self._outcomes(mixes)
        plain = self.calling.plain(mixed_rows(self.table, mixes), y)
        return compared(lambda: self._short(name, mixes, y), plain, self.usual)

    def _short(self, name: str, mixes: Sequence[Mix], y: AnyArray | None) -> FloatArray:
        dist = self.calling.checked(self.found[name].mixed(mixes), sum(map(len, mixes)), f"fast path {name!r}")
        return rows_of(dist, self.measures, y, None)

    def _outcomes(self, mixes: Sequence[Mix]) -> AnyArray | None:
        if self.y is None:
            return None
        return np.repeat(self.y[[mix.row for mix in mixes]], [len(mix) for mix in mixes])
