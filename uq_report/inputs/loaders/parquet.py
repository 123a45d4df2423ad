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
    endings: ClassVar[tuple[str, ...]] = (".parquet", ".pq")

    def matches(self, source: str) -> bool:
        """Match the names of such files, by their ending."""
        return "://" not in source and Path(source.lower()).suffix in self.endings

    def load(self, source: str) -> pd.DataFrame:
        """Return the table; the message of an unreadable file names it."""
        title = self.name.capitalize()
        try:
            return tidied(self._read(source))
        except ImportError as error:
            raise MissingDependencyError(f"the {title} loader", "pyarrow", "parquet") from error
        except (OSError, ValueError) as error:
            raise InputError(f"data must be a readable {title} file; got {source!r}: {error}. Check it.") from error

    def _read(self, source: str) -> pd.DataFrame:
        return pd.read_parquet(source)
