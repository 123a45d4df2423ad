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

What is wrong with a history: files, entries, tombstones and heads that are gone or not as they were filed.
"""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from ...core.support.errors import InputError, OutputError
from ...evidence import disk
from ...evidence.disk import RUN, SUMS
from . import entry as entries
from .entry import FiledRun, Head, Heads, HistoryEntry, put

if TYPE_CHECKING:
    from .filing import Filing

NOTE = b"Deleted by retention; entry.json stays as a link in the chain of hashes.\n"


def troubles(root: Path, anchor: Heads | None = None) -> list[str]:
    """Return what is wrong with a history, one sentence each.

    Without an anchor the history is held against itself, which shows damage, and forgers who do not renew all hashes.

    Parameters
    ----------
    root : Path
    anchor : Heads, optional
        The heads as they were, kept where nobody who writes to the history can write: what was filed until then must
        still be there.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> troubles(Path(mkdtemp()))
    []
    """
    found: list[str] = []
    known, present = Heads(), True
    try:
        known = entries.read_heads(root / entries.HEADS)  # before the folders, which may grow meanwhile
    except InputError as error:
        present = (root / entries.HEADS).exists()
        found += [str(error)] if present else []
    chains = {audit.name: list(_chain(audit, known.audits.get(audit.name), found)) for audit in _audits(root, found)}
    found += _gone(known, chains, entries.HEADS)
    if not present and any(chains.values()):
        found.append(
            f"{entries.HEADS} is missing; without it, or an anchor, nobody knows whether the last runs are there."
        )
    if anchor is not None:
        found += _gone(anchor, chains, "the anchor")
    if known.made_again and (anchor is None or anchor.made_again != known.made_again):
        found.append(
            f"{entries.HEADS} was missing or broken, and made of what was there on {known.made_again}: runs deleted "
            "before are not noticed. Compare with an anchor of before, and make a new one."
        )
    return list(dict.fromkeys(found))


def _audits(root: Path, found: list[str]) -> list[Path]:
    """Return the folders of audits; a link among them is told, and not followed."""
    links = sorted(place.name for place in root.iterdir() if place.is_symlink()) if root.is_dir() else []
    found += [f"{name} is a link, and no part of the history." for name in links]
    return entries.audit_folders(root)


def _gone(known: Heads, chains: dict[str, list[HistoryEntry]], source: str) -> Iterator[str]:
    """Yield which audits do not reach, or not with the same entry, as far as they did."""
    for folder, head in known.audits.items():
        hashes = {entry.sequence: entry.hash for entry in chains.get(folder, ())}
        if head.sequence not in hashes:
            last = max((number for number in hashes if number < head.sequence), default=0)
            until = f"it ends with number {last}" if last else "nothing of it is there"
            yield f"{head.name}: {source} knows {head.sequence} runs; {until}."
        elif hashes[head.sequence] != head.hash:
            yield f"{head.name}@{head.sequence}: it is not the run that {source} knows."


def _chain(audit: Path, head: Head | None, found: list[str]) -> Iterator[HistoryEntry]:
    """Yield the entries of an audit that can be read, and collect what is wrong with it."""
    before, sequence, folders = "", 0, entries.run_folders(audit)
    for folder in folders:
        try:
            entry = entries.read_entry(folder.path)
        except InputError as error:
            found.append(str(error))
            before, sequence = "?", folder.sequence
            continue
        found += _linked(entry, before, sequence)
        found += [f"{entry.reference}: {fault}" for fault in _files(folder.path, entry, head)]
        before, sequence = entry.hash, entry.sequence
        yield entry
    if folders:
        found += [f"{audit.name}: {fault}" for fault in _beside(audit, [folder.path.name for folder in folders], head)]


def _linked(entry: HistoryEntry, before: str, sequence: int) -> Iterator[str]:
    """Yield how an entry does not follow the one before."""
    where = f"{entry.reference}:"
    if entry.hash != entry.expected_hash():
        yield f"{where} entry.json was changed after it was filed."
    if entry.sequence != sequence + 1:
        yield f"{where} it follows number {sequence}; runs between them are missing."
    elif entry.previous_hash != before:
        yield f"{where} the run before it was changed after this one was filed."


def _files(folder: Path, entry: HistoryEntry, head: Head | None) -> Iterator[str]:
    """Yield which files of a run are gone, added or not as they were filed."""
    present = dict(_listing(folder))
    if present.pop(entries.ENTRY).read_bytes() != entry.dumps():
        yield f"{entries.ENTRY} was changed after it was filed."
    note, there = present.pop(entries.PRUNED, None), RUN in present
    deleted = note is not None if head is None else entry.sequence in head.deleted
    if note is not None and not deleted:
        yield f"{entries.PRUNED} says that retention deleted it, and {entries.HEADS} does not."
    elif note is not None and note.read_bytes() != NOTE:
        yield f"{entries.PRUNED} was changed."
    elif note is None and deleted and not there:
        yield f"{entries.PRUNED} is missing."
    elif not there and not deleted:
        yield f"{RUN} is missing, and retention did not delete it."
    yield from _listed(folder, entry, present, deleted)


def _listed(folder: Path, entry: HistoryEntry, present: dict[str, Path], deleted: bool) -> Iterator[str]:
    """Yield which files are not as the list of hashes says, and whether that is the list that was filed.

    What a killed deletion left, which the next one removes, must be as it was filed too.
    """
    file, listed = present.pop(disk.SUMS, None), disk.loads(folder)
    if file is None and not deleted:
        yield f"{disk.SUMS} is missing."
    elif file is not None and entry.sums_sha256 and (fault := _fault(file, entry.sums_sha256)):
        yield fault
    listed = {**listed, RUN: entry.run_sha256}
    for name in sorted({*listed, *present}):
        if name not in present:
            if not deleted and name != RUN:
                yield f"{name} is missing."
        elif name not in listed:
            yield f"{name} was added after it was filed."
        elif fault := _fault(present[name], listed[name]):
            yield fault


def _beside(audit: Path, folders: list[str], head: Head | None) -> Iterator[str]:
    """Yield what stands in an audit's folder and is none of its runs, and whether `latest` names the last one."""
    for place in sorted(audit.iterdir()):
        if place.name not in (
            *folders,
            entries.HELD,
            entries.LOCK,
            entries.LATEST,
            entries.MAILED,
            entries.STARTED,
        ) and not place.name.startswith(entries.STAGE):
            yield f"{place.name} is no part of the history."
    pointed = (audit / entries.LATEST).read_bytes() if (audit / entries.LATEST).is_file() else b""
    lines = [f"{folder}\n".encode() for folder in folders]
    recorded = head is not None and folders[-1].startswith(f"{head.sequence:06d}_")
    if pointed != lines[-1] and (recorded or pointed not in (b"", *lines)):
        yield f"{entries.LATEST} does not name the last run."


def _listing(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield the files of a run by their names in it; links are files, and never followed."""
    for place, folders, files in os.walk(folder):
        here = Path(place)
        for name in sorted([*files, *(name for name in folders if (here / name).is_symlink())]):
            yield (here / name).relative_to(folder).as_posix(), here / name


def _fault(file: Path, digest: str) -> str:
    """Return what is wrong with a filed file of this SHA-256, or nothing."""
    if file.is_symlink() or not file.is_file():
        return f"{file.name} is no file any longer."
    try:
        same = hashlib.sha256(file.read_bytes()).hexdigest() == digest
    except OSError as error:
        return f"{file.name} cannot be read ({error.strerror})."
    return "" if same else f"{file.name} was changed after it was filed."


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

        audit = self.folder(name)
        try:
            audit.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(
                f"history must be a folder to write to; got {self.root} ({error.strerror}). Name another."
            ) from error
        with entries.locked(audit / entries.LOCK, f"audit {name!r}", wait):
            try:
                filing = Filing(entries.checked(name), audit)
            except OSError as error:
                raise OutputError(f"history must be writable; got {self.root}: {error}. Nothing was filed.") from error
            yield filing

    def runs(self, name: str | None = None) -> list[FiledRun]:
        """Return what is filed of one audit or of all, in order; a run that cannot be read is left out."""
        if not self.root.is_dir():
            raise InputError(f"history must be a folder with filed runs; got {self.root}. Check the path.")
        audits = entries.audit_folders(self.root) if name is None else [self.folder(name)]
        filed = []
        for folder in (folder.path for audit in audits for folder in entries.run_folders(audit)):
            try:
                filed.append(FiledRun(entries.read_entry(folder), folder))
            except InputError as error:
                _log.warning("Not listed: %s", error)
        return filed

    def last(self, name: str) -> datetime | None:
        """Return when an audit was last filed or found unchanged, in UTC; None if it never was."""
        runs = self.runs(name) if self.root.is_dir() else []
        if not runs:
            return None
        try:
            confirmed = (self.folder(name) / entries.LATEST).lstat().st_mtime
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

    def check(self, anchor: Heads | None = None) -> list[str]:
        """Return what is wrong, one sentence each; see `check.troubles`."""
        return troubles(self.root, anchor)

    def heads(self) -> Heads:
        """Return how far each audit has come: the anchor of this history, once `check` finds nothing wrong."""
        file = self.root / entries.HEADS
        return entries.of_folders(self.root, entries.read_heads(file) if file.exists() else Heads())

    def folder(self, name: str) -> Path:
        """Return the folder of an audit, which need not be there yet; refuse a link."""
        audit = self.root / entries.slug(name)
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
            entries.record_deleted(history.root, due[0].folder.parent.name, [run.entry.sequence for run in due])
            count += sum(map(_emptied, due))
    return count


def _emptied(filed: FiledRun) -> bool:
    run, note = filed.folder / RUN, filed.folder / entries.PRUNED
    was_there = run.is_file()
    if not note.exists():
        put(note, NOTE, filed.folder.parent / f"{entries.STAGE}-{entries.PRUNED}")
    run.unlink(missing_ok=True)
    for place in sorted(filed.folder.iterdir(), key=lambda place: place.name == SUMS):  # says what the others were
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place)
        elif place.name not in (entries.ENTRY, entries.PRUNED):
            place.unlink()
    return was_there
