"""Data from Parquet files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd

from ...core.errors import InputError, MissingDependencyError
from ...core.frames import tidied
from .reservoir import Reservoir

CELLS = 1_000_000  # of a part of a file that is drawn from: some 10 MB
BUFFER = 2**18  # bytes of a column that are read at once: without, all of a column in a group of rows


class ParquetLoader:
    """Reads ``.parquet`` files with pandas and pyarrow.

    With `max_rows` a simple random sample of so many rows is drawn from the number of rows, which such files state,
    and the rows pass by in parts: memory is bounded by the sample and one part. It is the sample that a CSV file of
    the same rows would give. A folder of files is read whole.
    """

    name: ClassVar[str] = "parquet"
    kind: ClassVar[Literal["data"]] = "data"
    api_version: ClassVar[int] = 1
    endings: ClassVar[tuple[str, ...]] = (".parquet", ".pq")
    options: ClassVar[tuple[str, ...]] = ("max_rows", "seed")

    def matches(self, source: str) -> bool:
        """Match the names of such files, by their ending."""
        return "://" not in source and Path(source.lower()).suffix in self.endings

    def load(self, source: str, *, max_rows: int | None = None, seed: int = 0) -> pd.DataFrame:
        """Return the table; ``attrs["sampled_from"]`` is the number of all rows if some were drawn.

        Raises
        ------
        InputError
            If the file cannot be read; the message names it.
        """
        title = self.name.capitalize()
        try:
            if max_rows is not None and Path(source).is_file():
                with self._batches(source) as (n, batches):
                    if n > max_rows:
                        return _sampled(n, batches, Reservoir(max_rows, seed))
            return tidied(self._read(source))
        except InputError:
            raise
        except ImportError as error:
            raise MissingDependencyError(f"the {title} loader", "pyarrow", "parquet") from error
        except (OSError, ValueError) as error:
            raise InputError(f"data must be a readable {title} file; got {source!r}: {error}. Check it.") from error

    def _read(self, source: str) -> pd.DataFrame:
        return pd.read_parquet(source)

    @contextmanager
    def _batches(self, source: str) -> Iterator[tuple[int, Iterator[Any]]]:
        """Open a file: its number of rows, and its rows as Arrow's batches in their order."""
        with import_module("pyarrow.parquet").ParquetFile(source, buffer_size=BUFFER) as file:
            size = max(1000, CELLS // max(1, file.metadata.num_columns))
            yield file.metadata.num_rows, file.iter_batches(batch_size=size, use_threads=False)


def _sampled(n: int, batches: Iterator[Any], reservoir: Reservoir) -> pd.DataFrame:
    """Return a simple random sample of n rows, in their order."""
    arrow = import_module("pyarrow")
    _, rows = reservoir.offer(n)
    start, parts = 0, []
    for batch in batches:
        first, last = np.searchsorted(rows, [start, start + batch.num_rows])
        parts.append(batch.take(arrow.array(rows[first:last] - start)))
        start += batch.num_rows
    table = tidied(arrow.Table.from_batches(parts).unify_dictionaries().to_pandas())
    table.attrs["sampled_from"] = n
    return table
