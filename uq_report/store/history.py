"""A history of audits: one folder per run, which is the truth, and an index of them, which is only quick.

::

    history/
      index.sqlite              rebuilt from the folders when it is missing, behind, or asked for
      credit-scoring/           one audit, under a safe form of its name
        .lock                   held while a run is filed; never deleted
        latest                  the name of the newest run's folder, swapped last
        000007_2026-01-31_8f14e45fceea/
          entry.json run.json report.html report.pdf evidence/ clock.json

A run is written beside its place, flushed to the disk, and renamed: it is there as a whole or not at all. Runs are
ordered by number, not by a clock.
"""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from ..core.errors import InputError, LockedError, UQReportError
from ..core.run import Run
from . import entry as entries
from . import names
from .entry import ENTRY, Entry
from .folder import RUN, contents, read, write_through
from .index import INDEX, Index, Row
from .lock import locked

LOCK, LATEST, PRUNED = ".lock", "latest", "pruned.txt"
_STAGE = ".new"
_log = logging.getLogger(__name__)


class Filed(NamedTuple):
    """A filed run: its entry, its folder, and whether the run is still in it (retention leaves the entry alone)."""

    entry: Entry
    folder: Path
    kept: bool


class History:
    """The audits filed under one folder.

    Parameters
    ----------
    root : str or Path
        Made when the first run is filed. Links inside are refused; the folder itself may be one.
    busy_ms : int
        How long to wait for another process at the index.
    """

    def __init__(self, root: str | Path, *, busy_ms: int = 5000) -> None:
        self.root = Path(root)
        self._index = Index(self.root / INDEX, busy_ms)

    @contextmanager
    def filing(self, name: str, wait: float = 0.0) -> Iterator[Filing]:
        """Hold the lock of one audit, to file a run; see `Filing`.

        Raises
        ------
        LockedError
            If another process holds it for longer than `wait` seconds.
        """
        audit = self._audit(name)
        try:
            audit.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(
                f"history must be a folder to write to; got {self.root} ({error.strerror}). Name another."
            ) from error
        with locked(audit / LOCK, f"audit {name!r}", wait):
            yield Filing(names.checked(name), audit, self._index)

    def runs(self, name: str | None = None) -> list[Filed]:
        """Return what is filed of one audit or of all, in order; from the folders, if the index cannot be used."""
        if not self.root.is_dir():
            raise InputError(f"history must be a folder with filed runs; got {self.root}. Check the path.")
        audit = None if name is None else self._audit(name).name
        return [self._filed(row) for row in self._rows(audit)]

    def find(self, reference: str) -> Filed:
        """Return the run of ``NAME``, its latest one that is kept, or of ``NAME@NUMBER``."""
        name, _, number = reference.rpartition("@")
        runs = self.runs(name) if name and number.isdigit() else []
        found = [one for one in runs if one.entry.sequence == int(number)]
        if not found:
            found = [one for one in self.runs(reference) if one.kept][-1:]
        if not found:
            known = ", ".join(dict.fromkeys(one.entry.name for one in self.runs())) or "none"
            raise InputError(
                f"run must be a filed run, NAME or NAME@NUMBER; got {reference!r}. Audits in {self.root}: {known}."
            )
        if not found[-1].kept:
            raise InputError(f"run must still be kept; {reference!r} was deleted by retention. Name a later one.")
        return found[-1]

    def rebuild(self) -> int:
        """Make the index anew from the folders; return how many runs it lists.

        Raises
        ------
        LockedError
            If another process writes to it for too long.
        """
        try:
            self._index.clear()
            self._index.match(self._there, self._read)
            return len(self._index.folders())
        except sqlite3.OperationalError as error:
            text = f"{self.root / INDEX} must be free and writable; got: {error}."
            if error.sqlite_errorcode in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                raise LockedError(f"{text} Try again later.") from error
            raise InputError(f"{text} Check the folder.") from error

    def check(self) -> list[str]:
        """Return what is wrong, one sentence each: lost or changed files, and breaks in the chains of hashes."""
        found = []
        for audit in names.audit_folders(self.root):
            before, sequence = "", 0
            for folder in names.run_folders(audit):
                try:
                    entry = entries.read(folder.path)
                except InputError as error:
                    found.append(str(error))
                    before, sequence = "?", folder.sequence
                    continue
                found += _troubles(folder.path, entry, before, sequence)
                before, sequence = entry.hash, entry.sequence
        return found

    def _audit(self, name: str) -> Path:
        audit = self.root / names.slug(name)
        if audit.is_symlink():
            raise InputError(f"{audit} must be a folder of the history; got a link. Remove it.")
        return audit

    def _rows(self, audit: str | None) -> list[Row]:
        """Return the entries, from the index once it lists what is there, or from the folders."""
        try:
            if self._index.folders() != self._there():
                self._index.match(self._there, self._read)
            return self._index.rows(audit)
        except (sqlite3.Error, InputError) as error:
            _log.warning("The index of %s cannot be used (%s); the folders are read instead.", self.root, error)
        pairs = sorted(self._there())
        found = ((name, self._read(name, folder)) for name, folder in pairs if audit in (None, name))
        return [Row(name, entry) for name, entry in found if entry is not None]

    def _there(self) -> set[tuple[str, str]]:
        """Return the run folders on the disk, as pairs (audit, run)."""
        audits = names.audit_folders(self.root)
        return {(audit.name, folder.path.name) for audit in audits for folder in names.run_folders(audit)}

    def _read(self, audit: str, folder: str) -> Entry | None:
        try:
            return entries.read(self.root / audit / folder)
        except InputError as error:
            _log.warning("Not listed: %s", error)
            return None

    def _filed(self, row: Row) -> Filed:
        folder = self.root / row.audit / row.entry.folder
        return Filed(row.entry, folder, (folder / RUN).is_file())


class Filing:
    """One audit of a history while its lock is held."""

    def __init__(self, name: str, audit: Path, index: Index) -> None:
        self.name = name
        self._audit = audit
        self._index = index
        shutil.rmtree(audit / _STAGE, ignore_errors=True)  # of a process that was killed

    def previous(self) -> Run | None:
        """Return the run filed last, or the one before if that cannot be read; None if there is none."""
        for folder in reversed(names.run_folders(self._audit)):
            try:
                entry, data = entries.read(folder.path), folder.path / RUN
                if not data.is_file():
                    continue
                if hashlib.sha256(data.read_bytes()).hexdigest() != entry.run_sha256:
                    raise InputError(f"{data} is not the file that was filed. Restore it from a copy.")
                return read(data)[0]
            except UQReportError as error:
                _log.warning("Not used as the previous run: %s", error)
        return None

    def add(self, run: Run, *, reports: Mapping[str, bytes], clock: Mapping[str, Any]) -> Filed:
        """File a run with its reports; the run filed last is not filed twice in a row.

        Raises
        ------
        InputError
            If it cannot be written; nothing of it is then in the history.
        """
        files = contents(run, reports=reports, clock=clock)
        digest = hashlib.sha256(files[RUN]).hexdigest()
        last = self._last()
        if last is not None and last.run_sha256 == digest and (self._audit / last.folder / RUN).is_file():
            return self._published(last)
        entry = entries.make_entry(self.name, run, digest, last)
        target = self._audit / entry.folder
        try:
            self._write({**files, ENTRY: entry.dumps()}, target)
        except OSError as error:
            shutil.rmtree(self._audit / _STAGE, ignore_errors=True)
            raise InputError(f"history must be writable; got {target}: {error}. Nothing was filed.") from error
        return self._published(entry)

    def _last(self) -> Entry | None:
        """Return the entry filed last; one that cannot be read still counts in the numbers."""
        folders = names.run_folders(self._audit)
        if not folders:
            return None
        try:
            return entries.read(folders[-1].path)
        except InputError as error:
            _log.warning("The chain of hashes breaks here: %s", error)
            return entries.lost(self.name, folders[-1].sequence)

    def _write(self, files: Mapping[str, bytes], target: Path) -> None:
        """Write the files beside their place and down to the disk, and move them there at once."""
        stage = self._audit / _STAGE
        for name, data in files.items():
            write_through(stage / name, data)
        for folder in {(stage / name).parent for name in files}:
            _flush(folder)
        stage.rename(target)
        _flush(self._audit)

    def _published(self, entry: Entry) -> Filed:
        """List the run in the index, if that can be used now, and point to it."""
        try:
            self._index.add([Row(self._audit.name, entry)])
        except (sqlite3.Error, InputError) as error:
            _log.warning("The index could not be written (%s); the run is filed, and listed when it can.", error)
        beside = self._audit / f"{_STAGE}-{LATEST}"
        beside.unlink(missing_ok=True)
        write_through(beside, f"{entry.folder}\n".encode())
        beside.replace(self._audit / LATEST)
        _flush(self._audit)
        return Filed(entry, self._audit / entry.folder, kept=True)


def _troubles(folder: Path, entry: Entry, before: str, sequence: int) -> Iterator[str]:
    """Yield what is wrong with one run, given the hash and number of the one before."""
    where = f"{entry.reference}:"
    if entry.hash != entry.expected_hash():
        yield f"{where} entry.json was changed after it was filed."
    if entry.sequence != sequence + 1:
        yield f"{where} it follows number {sequence}; runs between them are missing."
    elif entry.previous_hash != before:
        yield f"{where} the run before it was changed after this one was filed."
    run = folder / RUN
    if run.is_file():
        if hashlib.sha256(run.read_bytes()).hexdigest() != entry.run_sha256:
            yield f"{where} run.json was changed after it was filed."
    elif not (folder / PRUNED).is_file():
        yield f"{where} run.json is missing, and retention did not delete it."


def _flush(folder: Path) -> None:
    """Put a folder's list of names on the disk."""
    door = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(door)
    finally:
        os.close(door)
