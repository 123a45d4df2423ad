"""A history of audits: one folder per run, and beside them only how far each audit has come.

::

    history/
      heads.json              how far each audit has come: the number and hash of its last entry
      credit-scoring/           one audit, under a safe form of its name
        .lock                   held while a run is filed; never deleted
        .held/                  a run whose report is being made; the next writer files it if that one was killed
        mailed.json             what was mailed last, see `ops.mail`; anybody may delete it, and no check reads it
        started                 when the run began that is at work, or was killed, see `ops.mail`; gone at its end
        latest                  the name of the newest run's folder, swapped last; its time: when that was confirmed
        000007_2026-01-31_8f14e45fceea/
          entry.json run.json report.html report.pdf evidence/ clock.json SHA256SUMS

A run is written beside its place, flushed to the disk, and renamed: it is there as a whole or not at all. Runs are
ordered by number, not by a clock. There is no index: to read the entries of 1,000 runs takes 0.03 s. Each entry.json
holds the hash of the one before, and of SHA256SUMS, which has those of all other files; see `check` and `heads`.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from ...core.support.errors import InputError, OutputError
from ...evidence.disk import RUN, SUMS
from .check import NOTE, troubles
from .entry import (
    ENTRY,
    LATEST,
    PRUNED,
    STAGE,
    Beside,
    FiledRun,
    HistoryEntry,
    audit_folders,
    checked,
    read_entry,
    run_folders,
    slug,
)
from .heads import HEADS, LOCK, Heads, locked, of_folders, put, read_heads, record_deleted

if TYPE_CHECKING:
    from .filing import Filing

__all__ = ["FiledRun", "Heads", "History", "HistoryEntry", "Retention", "delete", "put"]

_log = logging.getLogger(__name__)


class History:
    """The audits filed under one folder.

    Parameters
    ----------
    root : str or Path
        Made when the first run is filed. Links inside are refused; the folder itself may be one.
    """

    def __init__(self, root: str | Path) -> None:
        self.root = Path(root)

    @contextmanager
    def filing(self, name: str, wait: float = 0.0) -> Iterator[Filing]:
        """Hold the lock of one audit, to file a run; see `Filing`.

        Raises
        ------
        LockedError
            If another process holds it for longer than `wait` seconds.
        """
        from .filing import Filing  # with what makes and reads runs, which a list of them does without

        audit = self._audit(name)
        try:
            audit.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(
                f"history must be a folder to write to; got {self.root} ({error.strerror}). Name another."
            ) from error
        with locked(audit / LOCK, f"audit {name!r}", wait):
            try:
                filing = Filing(checked(name), audit)
            except OSError as error:
                raise OutputError(f"history must be writable; got {self.root}: {error}. Nothing was filed.") from error
            yield filing

    def runs(self, name: str | None = None) -> list[FiledRun]:
        """Return what is filed of one audit or of all, in order; a run that cannot be read is left out."""
        if not self.root.is_dir():
            raise InputError(f"history must be a folder with filed runs; got {self.root}. Check the path.")
        audits = audit_folders(self.root) if name is None else [self._audit(name)]
        filed = []
        for folder in (folder.path for audit in audits for folder in run_folders(audit)):
            try:
                filed.append(FiledRun(read_entry(folder), folder))
            except InputError as error:
                _log.warning("Not listed: %s", error)
        return filed

    def last(self, name: str) -> datetime | None:
        """Return when an audit was last filed or found unchanged, in UTC; None if it never was."""
        runs = self.runs(name) if self.root.is_dir() else []
        if not runs:
            return None
        try:
            confirmed = (self._audit(name) / LATEST).lstat().st_mtime
            return datetime.fromtimestamp(confirmed, UTC)
        except (OSError, ValueError, OverflowError):
            return runs[-1].entry.filed_at()

    def find(self, reference: str) -> FiledRun:
        """Return the run of ``NAME``, its latest one that is kept, or of ``NAME@NUMBER``."""
        name, _, number = reference.rpartition("@")
        runs = self.runs(name) if name and number.isdigit() else []
        matches = [run for run in runs if run.entry.sequence == int(number)]
        matches = matches or [run for run in self.runs(reference) if run.present]
        if not matches:
            audits = ", ".join(dict.fromkeys(run.entry.name for run in self.runs())) or "none"
            raise InputError(
                f"run must be a filed run, NAME or NAME@NUMBER; got {reference!r}. Audits in {self.root}: {audits}."
            )
        if not matches[-1].present:
            raise InputError(f"run must still be kept; {reference!r} was deleted by retention. Name a later one.")
        return matches[-1]

    def beside(self, name: str) -> Beside:
        """Return the files beside the runs of an audit."""
        return Beside(self._audit(name))

    def check(self, anchor: Heads | None = None) -> list[str]:
        """Return what is wrong, one sentence each; see `check.troubles`."""
        return troubles(self.root, anchor)

    def heads(self) -> Heads:
        """Return how far each audit has come: the anchor of this history, once `check` finds nothing wrong."""
        file = self.root / HEADS
        return of_folders(self.root, read_heads(file) if file.exists() else Heads())

    def _audit(self, name: str) -> Path:
        audit = self.root / slug(name)
        if audit.is_symlink():
            raise InputError(f"{audit} must be a folder of the history; got a link. Remove it.")
        return audit


_WAIT = 10.0


@dataclass(frozen=True)
class Retention:
    """A run is kept if one of the rules keeps it; the latest one of an audit always is.

    Parameters
    ----------
    last : int, optional
        Keep the last so many runs of each audit.
    days : int, optional
        Keep runs filed less than so many days ago.
    """

    last: int | None = None
    days: int | None = None

    def __post_init__(self) -> None:
        """Refuse a policy that keeps nothing on purpose."""
        if self.last is None and self.days is None:
            raise InputError("retention must be told what to keep; got nothing. Give a number of runs or of days.")
        for rule, value in (("last", self.last), ("days", self.days)):
            if value is not None and value < 1:
                raise InputError(f"retention.{rule} must be >= 1; got {value}.")

    def due(self, runs: Iterable[FiledRun], now: datetime | None = None) -> list[FiledRun]:
        """Return the runs that no rule keeps. Nothing is deleted."""
        limit = None if self.days is None else (now or datetime.now(UTC)) - timedelta(days=self.days)
        expired = []
        for _, group in groupby((run for run in runs if run.present), key=lambda run: run.entry.name):
            own = list(group)
            older = own[: -(self.last or 1)]
            expired += [run for run in older if limit is None or (run.entry.filed_at() or limit) < limit]
        return expired


def delete(history: History, runs: Iterable[FiledRun]) -> int:
    """Delete the content of runs, each under its audit's lock; return how many were still there.

    heads.json records it before, then run.json goes, after a note that says why it is gone: a run is either whole or
    marked as deleted. What a killed process left of one is removed by the next call for it.
    """
    count = 0
    for name, group in groupby(runs, key=lambda run: run.entry.name):
        due = list(group)
        with history.filing(name, _WAIT):
            record_deleted(history.root, due[0].folder.parent.name, [run.entry.sequence for run in due])
            count += sum(map(_emptied, due))
    return count


def _emptied(filed: FiledRun) -> bool:
    run, note = filed.folder / RUN, filed.folder / PRUNED
    was_there = run.is_file()
    if not note.exists():
        put(note, filed.folder.parent / f"{STAGE}-{PRUNED}", NOTE)
    run.unlink(missing_ok=True)
    for place in sorted(filed.folder.iterdir(), key=lambda place: place.name == SUMS):  # says what the others were
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place)
        elif place.name not in (ENTRY, PRUNED):
            place.unlink()
    return was_there
