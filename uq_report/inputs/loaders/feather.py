"""Data from Feather files."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Literal

import pandas as pd

from ...core.errors import InputError, MissingDependencyError
from ...core.frames import tidied


class FeatherLoader:
    """Reads ``.feather`` and Arrow IPC files (``.arrow``) with pandas and pyarrow."""

    name: ClassVar[str] = "feather"
    kind: ClassVar[Literal["data"]] = "data"
    api_version: ClassVar[int] = 1

    def matches(self, source: str) -> bool:
        """Match names that end in .feather or .arrow."""
        return "://" not in source and Path(source.lower()).suffix in (".feather", ".arrow")

    def load(self, source: str) -> pd.DataFrame:
        """Return the table; the message of an unreadable file names it."""
        try:
            return tidied(pd.read_feather(source))
        except ImportError as error:
            raise MissingDependencyError("the Feather loader", "pyarrow", "parquet") from error
        except (OSError, ValueError) as error:
            raise InputError(f"data must be a readable Feather file; got {source!r}: {error}. Check it.") from error
