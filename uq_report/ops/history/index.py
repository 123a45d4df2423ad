"""The index of a history: entries in SQLite, to list runs without opening every folder. It can always be rebuilt."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from ...core.errors import InputError
from .entry import Entry, loads

INDEX = "index.sqlite"
_SCHEMA = 1
_BUSY_MS = 5000
_PAUSE = 0.05
_PARTS = ("", "-wal", "-shm")
_TABLE = """
CREATE TABLE IF NOT EXISTS runs (
    audit TEXT NOT NULL,
    folder TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    hash TEXT NOT NULL,
    content TEXT NOT NULL,
    PRIMARY KEY (audit, folder)
) WITHOUT ROWID
"""


class Row(NamedTuple):
    """An entry, with the folder of its audit."""

    audit: str
    entry: Entry


class Index:
    """The index file of a history; every call opens it, and leaves nothing open.

    Parameters
    ----------
    file : Path
    busy_ms : int
        How long to wait for other processes.
    """

    def __init__(self, file: Path, busy_ms: int = _BUSY_MS) -> None:
        self.file = file
        self.busy_ms = busy_ms

    def add(self, rows: Iterable[Row]) -> None:
        """Add rows; those that are there stay as they are."""
        with self._writing() as database:
            _insert(database, rows)

    def rows(self, audit: str | None = None) -> list[Row]:
        """Return the rows of one audit, or of all, each in the order they were filed."""
        chosen = "" if audit is None else "WHERE audit = ? "
        query = f"SELECT audit, content FROM runs {chosen}ORDER BY audit, sequence, folder"  # noqa: S608 - own text
        with self._open() as database:
            rows = database.execute(query, () if audit is None else (audit,)).fetchall()
        return [Row(str(name), loads(content, str(self.file))) for name, content in rows]

    def folders(self) -> set[tuple[str, str]]:
        """Return the folders that are listed, as pairs (audit, run)."""
        with self._open() as database:
            return _folders(database)

    def match(self, there: Callable[[], set[tuple[str, str]]], read: Callable[[str, str], Entry | None]) -> None:
        """Make the index list what is there: add what is missing, with what `read` says of it, and drop what is gone.

        `there` is asked once nobody else can write to the index, so that a run filed meanwhile is not dropped.
        """
        with self._writing() as database:
            present, listed = there(), _folders(database)
            database.executemany("DELETE FROM runs WHERE audit = ? AND folder = ?", sorted(listed - present))
            entries = ((audit, read(audit, folder)) for audit, folder in sorted(present - listed))
            _insert(database, (Row(audit, entry) for audit, entry in entries if entry is not None))

    def clear(self) -> None:
        """Forget everything; a file that is no database is moved aside."""
        try:
            with self._writing() as database:
                database.execute("DELETE FROM runs")
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError):
                raise
            for part in _PARTS:
                place = Path(f"{self.file}{part}")
                if place.exists():
                    place.replace(f"{place}.broken")

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        if self.file.is_symlink():
            raise InputError(f"{self.file} must be the history's own file; got a link. Remove it.")
        database = sqlite3.connect(self.file, timeout=self.busy_ms / 1000, isolation_level=None)
        try:
            _prepare(database, self.busy_ms)
            yield database
        finally:
            database.close()

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._open() as database:
            database.execute("BEGIN IMMEDIATE")
            try:
                yield database
            except BaseException:
                with suppress(sqlite3.Error):
                    database.execute("ROLLBACK")
                raise
            database.execute("COMMIT")


def _prepare(database: sqlite3.Connection, busy_ms: int) -> None:
    """Set how the file is written, and make its table; an index of another schema starts afresh."""
    database.execute(f"PRAGMA busy_timeout = {busy_ms}")
    _write_ahead(database, busy_ms)
    database.execute("PRAGMA synchronous = FULL")
    if database.execute("PRAGMA user_version").fetchone()[0] == _SCHEMA:
        return
    database.execute("BEGIN IMMEDIATE")
    if database.execute("PRAGMA user_version").fetchone()[0] != _SCHEMA:
        database.execute("DROP TABLE IF EXISTS runs")
        database.execute(_TABLE)
        database.execute(f"PRAGMA user_version = {_SCHEMA}")
    database.execute("COMMIT")


def _write_ahead(database: sqlite3.Connection, busy_ms: int) -> None:
    """Switch to write-ahead logging; SQLite does not wait by itself while others do the same."""
    deadline = time.monotonic() + busy_ms / 1000
    while True:
        try:
            database.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(_PAUSE)
        else:
            return


def _folders(database: sqlite3.Connection) -> set[tuple[str, str]]:
    return {(str(audit), str(folder)) for audit, folder in database.execute("SELECT audit, folder FROM runs")}


def _insert(database: sqlite3.Connection, rows: Iterable[Row]) -> None:
    values = ((audit, e.folder, e.sequence, e.hash, e.dumps().decode()) for audit, e in rows)
    database.executemany("INSERT INTO runs VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING", values)
