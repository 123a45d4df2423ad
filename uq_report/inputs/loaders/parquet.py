"""Data from Parquet files."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Literal

import pandas as pd

from ...core.errors import InputError, MissingDependencyError
from ...core.frames import tidied


class ParquetLoader:
    """Reads ``.parquet`` files with pandas and pyarrow."""

    name: ClassVar[str] = "parquet"
    kind: ClassVar[Literal["data"]] = "data"
    api_version: ClassVar[int] = 1

    def matches(self, source: str) -> bool:
        """Match names that end in .parquet or .pq."""
        return "://" not in source and Path(source.lower()).suffix in (".parquet", ".pq")

    def load(self, source: str) -> pd.DataFrame:
        """Return the table; the message of an unreadable file names it."""
        try:
            return tidied(pd.read_parquet(source))
        except ImportError as error:
            raise MissingDependencyError("the Parquet loader", "pyarrow", "parquet") from error
        except (OSError, ValueError) as error:
            raise InputError(f"data must be a readable Parquet file; got {source!r}: {error}. Check it.") from error
