"""What is wrong with a history: files, entries, tombstones and heads that are gone or not as they were filed."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from ...core.support.errors import InputError
from ...evidence import disk
from ...evidence.disk import RUN
from .entry import (
    ENTRY,
    HELD,
    LATEST,
    MAILED,
    PRUNED,
    STAGE,
    STARTED,
    HistoryEntry,
    audit_folders,
    read_entry,
    run_folders,
)
from .heads import HEADS, LOCK, Head, Heads, read_heads

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
        known = read_heads(root / HEADS)  # before the folders, which may grow meanwhile
    except InputError as error:
        present = (root / HEADS).exists()
        found += [str(error)] if present else []
    chains = {audit.name: list(_chain(audit, known.audits.get(audit.name), found)) for audit in _audits(root, found)}
    found += _gone(known, chains, HEADS)
    if not present and any(chains.values()):
        found.append(f"{HEADS} is missing; without it, or an anchor, nobody knows whether the last runs are there.")
    if anchor is not None:
        found += _gone(anchor, chains, "the anchor")
    if known.made_again and (anchor is None or anchor.made_again != known.made_again):
        found.append(
            f"{HEADS} was missing or broken, and made of what was there on {known.made_again}: runs deleted before are "
            "not noticed. Compare with an anchor of before, and make a new one."
        )
    return list(dict.fromkeys(found))


def _audits(root: Path, found: list[str]) -> list[Path]:
    """Return the folders of audits; a link among them is told, and not followed."""
    links = sorted(place.name for place in root.iterdir() if place.is_symlink()) if root.is_dir() else []
    found += [f"{name} is a link, and no part of the history." for name in links]
    return audit_folders(root)


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
    before, sequence, folders = "", 0, run_folders(audit)
    for folder in folders:
        try:
            entry = read_entry(folder.path)
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
    if present.pop(ENTRY).read_bytes() != entry.dumps():
        yield f"{ENTRY} was changed after it was filed."
    note, there = present.pop(PRUNED, None), RUN in present
    deleted = note is not None if head is None else entry.sequence in head.deleted
    if note is not None and not deleted:
        yield f"{PRUNED} says that retention deleted it, and {HEADS} does not."
    elif note is not None and note.read_bytes() != NOTE:
        yield f"{PRUNED} was changed."
    elif note is None and deleted and not there:
        yield f"{PRUNED} is missing."
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
        if place.name not in (*folders, HELD, LOCK, LATEST, MAILED, STARTED) and not place.name.startswith(STAGE):
            yield f"{place.name} is no part of the history."
    pointed = (audit / LATEST).read_bytes() if (audit / LATEST).is_file() else b""
    lines = [f"{folder}\n".encode() for folder in folders]
    recorded = head is not None and folders[-1].startswith(f"{head.sequence:06d}_")
    if pointed != lines[-1] and (recorded or pointed not in (b"", *lines)):
        yield f"{LATEST} does not name the last run."


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
