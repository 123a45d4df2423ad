"""Pipelines whose steps treat every column by itself: rows are transformed once, the last estimator does the rest."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from ...core.engine.fast_path import Shortcut
from ...core.model.adapter import Adapter
from ...core.model.variants import Variant
from ...core.predictive import Distribution
from ...core.support.arrays import AnyArray, IntArray, Table
from ..adapters.sklearn_ import unwrap
from .columnwise import Columnwise


class SeparablePath:
    """Column transformers, encoders, scalers and imputers in front of any estimator that takes an array.

    A changed column changes only the columns that it makes. The last estimator gets the same numbers as in the
    pipeline, so its predictions are the same to the last bit where they do not depend on the memory layout of rows.
    """

    name: ClassVar[str] = "separable"
    title: ClassVar[str] = "column-wise pipeline"
    rank: ClassVar[int] = 30
    api_version: ClassVar[int] = 1

    def shortcut(self, model: Any, adapter: Adapter, X: Table) -> Shortcut | None:
        """Return the shortcut of a pipeline of known column-wise steps that give the last estimator a dense array."""
        steps, final = unwrap(model)
        columns = Columnwise.of(steps, X) if steps else None
        if columns is None or not isinstance(columns.rows, np.ndarray):
            return None
        return _Separable(columns, final, adapter)


class _LastTable(threading.local):
    """The table of a thread's last call: most calls change the same columns of the same rows, and copy no others."""

    def __init__(self) -> None:
        self.rows: IntArray = np.empty(0, dtype=int)
        self.table: AnyArray = np.empty((0, 0, 0))
        self.changed: set[int] = set()

    def __reduce__(self) -> tuple[type[_LastTable], tuple[()]]:
        """Leave the table behind: another process has threads of its own."""
        return _LastTable, ()

    def filled(self, columns: Columnwise, group: Sequence[Variant], rows: IntArray) -> AnyArray:
        """Return the transformed rows under each variant, shape (rows, variants, columns)."""
        before, variants = columns.rows, len(group)
        if self.table.shape[1] != variants or not np.array_equal(self.rows, rows):
            repeated = before.take(np.repeat(rows, variants), axis=0)
            self.rows, self.table, self.changed = rows, repeated.reshape(len(rows), variants, -1), set()
        overwritten = set.intersection(*(set(variant.columns) for variant in group))
        for column in self.changed - overwritten:
            made = columns.made[column]
            self.table[:, :, made] = before[:, made].take(rows, axis=0)[:, None]
        self.changed = {column for variant in group for column in variant.columns}
        for variant, column, values, at in columns.changes(group):
            for position, place in enumerate(columns.made[column]):
                source = before[:, place].copy() if values is None else values[:, position]
                self.table[:, variant, place] = source.take(at)
        return self.table


@dataclass(frozen=True, eq=False)
class _Separable:
    """Predicts from transformed rows by the last estimator."""

    columns: Columnwise
    final: Any
    adapter: Adapter
    kept: _LastTable = field(default_factory=_LastTable)

    def covers(self, variant: Variant) -> bool:
        """Cover every change of columns."""
        return True

    def predict(self, group: Sequence[Variant], rows: IntArray) -> Distribution:
        """Return the distributions of the rows with the transformed columns of each variant put in."""
        table = self.kept.filled(self.columns, group, rows).reshape(len(rows) * len(group), -1)
        table.flags.writeable = False  # an estimator that would write to it fails here, and the model itself is asked
        return self.adapter.predict(self.final, table)
