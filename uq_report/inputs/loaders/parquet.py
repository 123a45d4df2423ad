"""Load data from Parquet and Feather files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import pandas as pd

from ...core.support.arrays import IntArray, tidied
from ...core.support.errors import InputError, MissingDependencyError
from .csv_ import Reservoir

BUFFER = 2**18  # bytes of a file that are read at once


class RowGroup(NamedTuple):
    """Consecutive rows of a file: how many, and what takes some of them by position, as an Arrow table."""

    rows: int
    take: Callable[[IntArray], Any]


class ParquetLoader:
    """Reads ``.parquet`` files with pandas and pyarrow.

    With `max_rows` a simple random sample of so many rows is drawn from the number of rows, which such files state,
    and taken column by column: memory is bounded by the sample and one column of a group of rows. It is the sample that
    a CSV file of the same rows would give. A folder of files is read whole.
    """

    name: ClassVar[str] = "parquet"
    libraries: ClassVar[tuple[str, ...]] = ("pyarrow",)
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
                with self._parts(source) as opened:
                    parts, reservoir = list(opened), Reservoir(max_rows, seed)
                    if sum(part.rows for part in parts) > max_rows:
                        return _sampled(parts, reservoir)
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
    def _parts(self, source: str) -> Iterator[Iterator[RowGroup]]:
        """Open a file: its groups of rows in their order, which are read column by column."""
        arrow = import_module("pyarrow")
        with import_module("pyarrow.parquet").ParquetFile(source, pre_buffer=False, buffer_size=BUFFER) as file:

            def take(group: int, rows: IntArray) -> Any:
                schema = file.schema_arrow
                columns = [
                    file.read_row_group(group, [name], use_threads=False)[name].take(rows) for name in schema.names
                ]
                return arrow.table(columns, schema=schema)

            yield (
                RowGroup(file.metadata.row_group(group).num_rows, partial(take, group))
                for group in range(file.metadata.num_row_groups)
            )


def _sampled(parts: Sequence[RowGroup], reservoir: Reservoir) -> pd.DataFrame:
    """Return a simple random sample of the rows of all parts, in their order."""
    arrow, n = import_module("pyarrow"), sum(part.rows for part in parts)
    _, rows = reservoir.offer(n)
    ends = np.cumsum([part.rows for part in parts])
    chosen = np.split(rows, np.searchsorted(rows, ends[:-1]))
    starts = [0, *ends[:-1].tolist()]
    tables = [part.take(own - start) for part, own, start in zip(parts, chosen, starts, strict=True) if len(own)]
    table = tidied(arrow.concat_tables(tables).unify_dictionaries().to_pandas())
    table.attrs["sampled_from"] = n
    return table


class FeatherLoader(ParquetLoader):
    """Reads ``.feather`` and Arrow IPC files (``.arrow``) with pandas and pyarrow."""

    name: ClassVar[str] = "feather"
    endings: ClassVar[tuple[str, ...]] = (".feather", ".arrow")

    def _read(self, source: str) -> pd.DataFrame:
        return pd.read_feather(source)

    @contextmanager
    def _parts(self, source: str) -> Iterator[Iterator[RowGroup]]:
        arrow = import_module("pyarrow")
        with arrow.memory_map(source) as memory, arrow.ipc.open_file(memory) as file:

            def take(batch: int, rows: IntArray) -> Any:
                return arrow.Table.from_batches([file.get_batch(batch)]).take(rows)

            yield (
                RowGroup(file.get_batch(batch).num_rows, partial(take, batch))
                for batch in range(file.num_record_batches)
            )
