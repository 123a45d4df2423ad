"""Data from Feather files."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import pandas as pd

from .parquet import ParquetLoader


class FeatherLoader(ParquetLoader):
    """Reads ``.feather`` and Arrow IPC files (``.arrow``) with pandas and pyarrow."""

    name: ClassVar[str] = "feather"
    endings: ClassVar[tuple[str, ...]] = (".feather", ".arrow")
    read: ClassVar[Callable[[str], pd.DataFrame]] = staticmethod(pd.read_feather)
