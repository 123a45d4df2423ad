"""Data from Feather files."""

from __future__ import annotations

from typing import ClassVar

import pandas as pd

from .parquet import ParquetLoader


class FeatherLoader(ParquetLoader):
    """Reads ``.feather`` and Arrow IPC files (``.arrow``) with pandas and pyarrow."""

    name: ClassVar[str] = "feather"
    endings: ClassVar[tuple[str, ...]] = (".feather", ".arrow")

    def _read(self, source: str) -> pd.DataFrame:
        return pd.read_feather(source)
