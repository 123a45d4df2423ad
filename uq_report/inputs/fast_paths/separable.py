"""Pipelines whose steps treat every column by itself: rows are transformed once, the last estimator does the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...core.adapter import Adapter
from ...core.arrays import IntArray, Table
from ...core.predictive import Distribution
from ...core.shortcut import Shortcut
from ...core.variants import Variant
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


@dataclass(frozen=True, eq=False)
class _Separable:
    """Predicts from transformed rows by the last estimator."""

    columns: Columnwise
    final: Any
    adapter: Adapter

    def covers(self, variant: Variant) -> bool:
        """Cover every change of columns."""
        return True

    def predict(self, group: Sequence[Variant], rows: IntArray) -> Distribution:
        """Return the distributions of the rows with the transformed columns of each variant put in."""
        before = self.columns.rows
        table = before.take(np.repeat(rows, len(group)), axis=0).reshape(len(rows), len(group), -1)
        for variant, column, values, at in self.columns.changes(group):
            for position, made in enumerate(self.columns.made[column]):
                source = before[:, made].copy() if values is None else values[:, position]
                table[:, variant, made] = source.take(at)
        return self.adapter.predict(self.final, table.reshape(-1, before.shape[1]))
