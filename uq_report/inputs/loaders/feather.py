"""Data from Feather files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from typing import Any, ClassVar

import pandas as pd

from ...core.arrays import IntArray
from .parquet import ParquetLoader, Part


class FeatherLoader(ParquetLoader):
    """Reads ``.feather`` and Arrow IPC files (``.arrow``) with pandas and pyarrow."""

    name: ClassVar[str] = "feather"
    endings: ClassVar[tuple[str, ...]] = (".feather", ".arrow")

    def _read(self, source: str) -> pd.DataFrame:
        return pd.read_feather(source)

    @contextmanager
    def _parts(self, source: str) -> Iterator[Iterator[Part]]:
        arrow = import_module("pyarrow")
        with arrow.memory_map(source) as memory, arrow.ipc.open_file(memory) as file:

            def take(batch: int, rows: IntArray) -> Any:
                return arrow.Table.from_batches([file.get_batch(batch)]).take(rows)

            yield (
                Part(file.get_batch(batch).num_rows, partial(take, batch)) for batch in range(file.num_record_batches)
            )
