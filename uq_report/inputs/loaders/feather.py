"""Data from Feather files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, ClassVar

import pandas as pd

from .parquet import ParquetLoader


class FeatherLoader(ParquetLoader):
    """Reads ``.feather`` and Arrow IPC files (``.arrow``) with pandas and pyarrow."""

    name: ClassVar[str] = "feather"
    endings: ClassVar[tuple[str, ...]] = (".feather", ".arrow")

    def _read(self, source: str) -> pd.DataFrame:
        return pd.read_feather(source)

    @contextmanager
    def _batches(self, source: str) -> Iterator[tuple[int, Iterator[Any]]]:
        arrow = import_module("pyarrow")
        with arrow.memory_map(source) as memory, arrow.ipc.open_file(memory) as file:
            sizes = (file.get_batch(i).num_rows for i in range(file.num_record_batches))
            yield sum(sizes), map(file.get_batch, range(file.num_record_batches))
