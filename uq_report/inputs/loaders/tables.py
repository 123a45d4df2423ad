"""Data from CSV files.

Load data from Parquet and Feather files.
"""

import csv
import io
import lzma
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, NoReturn
from zipfile import BadZipFile

import numpy as np
import pandas as pd

from ...core.support.arrays import FloatArray, IntArray, tidied
from ...core.support.errors import InputError, MissingDependencyError
from .base import DataLoader


class Reservoir:
    """Decides which rows of a stream stay: those with the `size` smallest of independent uniform keys.

    Every set of `size` rows is equally likely, whatever the number of rows turns out to be, and the
    choice depends on `seed` and the order of the rows alone, not on the parts they arrive in.

    Source: Vitter 1985, "Random sampling with a reservoir", in its form with random keys.

    Examples
    --------
    >>> reservoir = Reservoir(2, seed=0)
    >>> stay, taken = reservoir.offer(3)
    >>> len(stay), len(taken), reservoir.offered
    (0, 2, 3)
    """

    def __init__(self, size: int, seed: int) -> None:
        if size < 1:
            raise InputError(f"data.max_rows must be >= 1; got {size}.")
        self.size = size
        self.offered = 0
        self._rng = np.random.default_rng([seed, 0x5B])
        self._keys: FloatArray = np.empty(0)

    def offer(self, n: int) -> tuple[IntArray, IntArray]:
        """Return which of the rows so far stay, and which of `n` new ones join them; both in order."""
        before = len(self._keys)
        keys = np.concatenate([self._keys, self._rng.random(n)])
        keep = np.arange(len(keys))
        if len(keys) > self.size:
            keep = np.sort(np.argpartition(keys, self.size - 1)[: self.size])
        self._keys = keys[keep]
        self.offered += n
        return keep[keep < before], keep[keep >= before] - before


CELLS = 1_000_000  # of a part of a file that is drawn from: some 100 MB
TAIL = 1 << 20  # bytes in which the last row is looked for
_UNREADABLE = (OSError, ValueError, EOFError, BadZipFile, lzma.LZMAError, zlib.error)


class CsvLoader(DataLoader):
    """Reads ``.csv`` files in UTF-8, also compressed, whose first row names the columns.

    With `max_rows` the file passes by in parts, and a simple random sample of so many rows is kept:
    memory is bounded by the sample and one part. Types are then read from the sampled rows.
    """

    name: ClassVar[str] = "csv"
    options: ClassVar[tuple[str, ...]] = ("max_rows", "seed")

    def matches(self, source: str) -> bool:
        """Match names that end in .csv, or in .csv.gz and its like."""
        return "://" not in source and ".csv" in Path(source.lower()).suffixes[-2:]

    def load(self, source: str, *, max_rows: int | None = None, seed: int = 0) -> pd.DataFrame:
        """Return the table; ``attrs["sampled_from"]`` is the number of all rows if some were drawn.

        Raises
        ------
        InputError
            If the file cannot be read, is not UTF-8, ends within a row, or its columns are not
            named each once by the first row.
        """
        try:
            names = _columns(source)
            _refuse_cut(source, len(names))
            table = pd.read_csv(source) if max_rows is None else _sampled(source, max_rows, seed, len(names))
        except InputError:
            raise
        except UnicodeDecodeError as error:
            _refuse(source, f"{error}. Save it in UTF-8", error)
        except _UNREADABLE as error:
            _refuse(source, f"{error}. Check it", error)
        if not isinstance(table.index, pd.RangeIndex):
            _refuse(source, f"rows hold more cells than the {len(names)} columns of the first row. Name every column")
        return table


def _columns(source: str) -> list[str]:
    """Return the names in the first row; refuse a name that comes twice, and another separator."""
    first = pd.read_csv(source, header=None, nrows=1, dtype=str, keep_default_na=False)
    names = [str(name) for name in first.iloc[0]]
    doubled = sorted({name for name in names if names.count(name) > 1})
    if doubled:
        _refuse(source, f"its first row names {doubled} more than once. Give every column a name of its own")
    other = next((mark for mark in ";\t|" if mark in names[0]), None)
    if len(names) == 1 and other:
        _refuse(source, f"its cells are separated by {other!r}. Save it with commas")
    return names


def _refuse_cut(source: str, columns: int) -> None:
    """Refuse a plain file whose end is zeros, or a row of too few cells: it was not written to its end."""
    file = Path(source)
    if file.suffix.lower() != ".csv" or not file.is_file():
        return
    with file.open("rb") as stream:
        size = stream.seek(0, io.SEEK_END)
        stream.seek(max(0, size - TAIL))
        tail = stream.read()
    last = tail.replace(b"\r", b"\n").rpartition(b"\n")[2]
    whole = len(last) < len(tail) or size <= TAIL
    if tail.endswith(b"\x00"):
        _refuse(source, "it ends in zero bytes, as a file that was not written to its end. Write it again")
    if last.strip() and whole and last.count(b'"') % 2 == 0:
        cells = len(next(csv.reader([last.decode("utf-8", "replace")])))
        if cells < columns:
            _refuse(source, f"its last row has {cells} of {columns} cells: it was not written to its end")


def _sampled(source: str, max_rows: int, seed: int, columns: int) -> pd.DataFrame:
    """Return a simple random sample of the rows, in their order."""
    reservoir = Reservoir(max_rows, seed)
    sample = pd.DataFrame()
    step = max(1000, CELLS // columns)
    # cells stay text until the rows are drawn: parts would each find types of their own
    with pd.read_csv(source, dtype=str, keep_default_na=False, chunksize=step) as parts:
        for part in parts:
            if not isinstance(part.index, pd.RangeIndex):
                return part
            stay, taken = reservoir.offer(len(part))
            if len(taken):
                sample = pd.concat([sample.iloc[stay], part.iloc[taken]], ignore_index=True)
    table = pd.read_csv(io.StringIO(sample.to_csv(index=False)))
    if reservoir.offered > max_rows:
        table.attrs["sampled_from"] = reservoir.offered
    return table


def _refuse(source: str, why: str, cause: Exception | None = None) -> NoReturn:
    raise InputError(f"data must be a readable CSV file; got {source!r}: {why}.") from cause


BUFFER = 2**18  # bytes of a file that are read at once


class RowGroup(NamedTuple):
    """Consecutive rows of a file: how many, and what takes some of them by position, as an Arrow table."""

    rows: int
    take: Callable[[IntArray], Any]


class ParquetLoader(DataLoader):
    """Reads ``.parquet`` files with pandas and pyarrow.

    With `max_rows` a simple random sample of so many rows is drawn from the number of rows, which such files state,
    and taken column by column: memory is bounded by the sample and one column of a group of rows. It is the sample that
    a CSV file of the same rows would give. A folder of files is read whole.
    """

    name: ClassVar[str] = "parquet"
    libraries: ClassVar[tuple[str, ...]] = ("pyarrow",)
    endings: ClassVar[tuple[str, ...]] = (".parquet", ".pq")
    options: ClassVar[tuple[str, ...]] = ("max_rows", "seed")

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
                        return _drawn(parts, reservoir)
            return tidied(getattr(pd, f"read_{self.name}")(source))
        except InputError:
            raise
        except ImportError as error:
            raise MissingDependencyError(f"the {title} loader", "pyarrow", "parquet") from error
        except (OSError, ValueError) as error:
            raise InputError(f"data must be a readable {title} file; got {source!r}: {error}. Check it.") from error

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


def _drawn(parts: Sequence[RowGroup], reservoir: Reservoir) -> pd.DataFrame:
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
