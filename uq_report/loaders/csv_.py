"""Data from CSV files."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Literal

import pandas as pd

from ..core.errors import InputError


class CsvLoader:
    """Reads ``.csv`` files (also compressed) with pandas; `options` go to `pandas.read_csv`."""

    name: ClassVar[str] = "csv"
    kind: ClassVar[Literal["data"]] = "data"
    api_version: ClassVar[int] = 1

    def matches(self, source: str) -> bool:
        """Match names that end in .csv, or in .csv.gz and its like."""
        return ".csv" in Path(source.lower()).suffixes[-2:]

    def load(self, source: str, **options: Any) -> pd.DataFrame:
        """Return the table; the message of an unreadable file names it."""
        try:
            table: pd.DataFrame = pd.read_csv(source, **options)
        except (OSError, ValueError) as error:
            raise InputError(f"data must be a readable CSV file; got {source!r}: {error}. Check it.") from error
        return table
