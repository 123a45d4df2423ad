"""How far each audit of a history has come: heads.json, which tells of runs and audits that are gone.

A chain of hashes shows what was changed or taken out between its ends; that its end is missing, only somebody who
knows the end can say. That is heads.json, renewed with each run that is filed, and a copy of it kept elsewhere: an
anchor, which whoever can write to the history cannot write to.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock, Timeout
from pydantic import PositiveInt, TypeAdapter

from ...core.support.errors import InputError, LockedError
from ...core.support.safe_loading import SMALL
from ...evidence.canonical import canonical
from ...evidence.disk import file_content, write_through
from .entry import PRUNED, Hash, HistoryEntry, audit_folders, read_entry, run_folders, slug


@contextmanager
def locked(file: Path, what: str, wait: float = 0.0) -> Iterator[None]:
    """Hold the lock of a file; it is made if it is missing, and never deleted.

    Parameters
    ----------
    file : Path
        A link there is refused.
    what : str
        What is locked, for the message.
    wait : float
        Seconds to wait for another process.

    Raises
    ------
    LockedError
        If another process holds it; the message names that process.
    """
    lock = FileLock(file, timeout=wait)
    try:
        lock.acquire()
    except Timeout as error:
        raise LockedError(
            f"{what} must not be in work elsewhere; process {_holder(file)} holds its lock. Try again later."
        ) from error
    except OSError as error:
        raise InputError(
            f"{file} must be a lock file of the history, no link, and writable; got {error.strerror}. Remove it."
        ) from error
    try:
        with suppress(OSError):  # Windows lets nobody else open it
            file.write_text(f"{os.getpid()}\n", encoding="ascii")
        yield
    finally:
        lock.release()


def _holder(file: Path) -> str:
    """Return the process that holds a lock, if its file can be read."""
    with suppress(OSError):
        return file.read_text(encoding="ascii", errors="replace").strip() or "unknown"
    return "unknown"


HEADS, LOCK = "heads.json", ".lock"
HEADS_FORMAT = 1
_STAGE = ".new-heads.json"
_WAIT = 60.0


@dataclass(frozen=True)
class Head:
    """The last entry of an audit: its number and hash; and which runs retention deleted."""

    name: str
    sequence: PositiveInt
    hash: Hash
    deleted: tuple[PositiveInt, ...] = ()


@dataclass(frozen=True)
class Heads:
    """The heads of all audits by their folders.

    Parameters
    ----------
    audits : mapping of str to Head
    made_again : str
        When the file was missing or broken and was made of what was there; empty if it never was.
    """

    audits: Mapping[str, Head] = field(default_factory=dict)
    made_again: str = ""

    @property
    def sha256(self) -> str:
        """One hash that stands for the whole history."""
        return hashlib.sha256(canonical({key: asdict(head) for key, head in self.audits.items()})).hexdigest()

    def dumps(self) -> bytes:
        """Return the heads as JSON."""
        return canonical({"format": HEADS_FORMAT, "sha256": self.sha256, **asdict(self)})


_HEADS = TypeAdapter(Heads)


def heads_of_json(data: bytes, source: str) -> Heads:
    """Return the heads of their JSON; refuse anything but what `Heads.dumps` writes."""
    with suppress(ValueError):
        heads = _HEADS.validate_json(data, strict=True)
        if heads.dumps() == data and all(slug(head.name) == folder for folder, head in heads.audits.items()):
            return heads
    raise InputError(
        f"{source} must be the heads of a history as uq_report writes them; got something else, or it was changed. "
        "Restore it from a copy."
    )


def read_heads(file: Path) -> Heads:
    """Return the heads in a file."""
    return heads_of_json(file_content(file, "heads must be a file with the heads of a history", most=SMALL), str(file))


def of_folders(root: Path, known: Heads) -> Heads:
    """Return the heads that the folders of a history have, and where they end too early those that are known."""
    audits = dict(known.audits)
    for audit in audit_folders(root):
        for folder in reversed(run_folders(audit)):
            head = audits.get(audit.name)
            if head is not None and folder.sequence <= head.sequence:
                break
            try:
                audits[audit.name] = following(head, read_entry(folder.path))
            except InputError:
                continue
            break
    return replace(known, audits=audits)


def following(head: Head | None, entry: HistoryEntry) -> Head:
    """Return the head of an audit that goes on with an entry."""
    return Head(entry.name, entry.sequence, entry.hash, () if head is None else head.deleted)


def begin(root: Path) -> Heads:
    """Return the heads before something is filed; there is a heads.json from then on."""
    with locked(root / LOCK, f"history {root}", _WAIT):
        (root / _STAGE).unlink(missing_ok=True)  # of a process that was killed
        return _known(root)


def record(root: Path, folder: str, entry: HistoryEntry) -> None:
    """Make an entry, just filed, the head of its audit."""
    with locked(root / LOCK, f"history {root}", _WAIT):
        known = _known(root)
        audits = {**known.audits, folder: following(known.audits.get(folder), entry)}
        _write(root, replace(known, audits=audits))


def record_deleted(root: Path, folder: str, sequences: Iterable[int]) -> None:
    """Record which runs of an audit retention deletes, before it does."""
    with locked(root / LOCK, f"history {root}", _WAIT):
        known = of_folders(root, _known(root))
        head = known.audits[folder]
        deleted = tuple(sorted({*head.deleted, *sequences}))
        if deleted != head.deleted:
            _write(root, replace(known, audits={**known.audits, folder: replace(head, deleted=deleted)}))


def put(file: Path, stage: Path, data: bytes) -> None:
    """Put a file in its place at once, and down to the disk."""
    stage.unlink(missing_ok=True)
    write_through(stage, data)
    stage.replace(file)
    flush(file.parent)


def flush(folder: Path) -> None:
    """Put a folder's list of names on the disk; Windows opens no folders, and writes their names by itself."""
    if sys.platform == "win32":
        return
    door = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(door)
    finally:
        os.close(door)


def _known(root: Path) -> Heads:
    """Return the heads; if they are missing or broken, make them of what is there, and say so in them."""
    try:
        return read_heads(root / HEADS)
    except InputError:
        made = of_folders(root, Heads())
        known = Heads({folder: replace(head, deleted=_pruned(root / folder)) for folder, head in made.audits.items()})
        lost = (root / HEADS).exists() or bool(known.audits)
        now = datetime.now(UTC).isoformat(timespec="seconds")
        known = replace(known, made_again=now if lost else "")
        _write(root, known)
        return known


def _write(root: Path, heads: Heads) -> None:
    put(root / HEADS, root / _STAGE, heads.dumps())


def _pruned(audit: Path) -> tuple[int, ...]:
    """Return the runs of an audit that are marked as deleted, for want of a better witness."""
    return tuple(run.sequence for run in run_folders(audit) if (run.path / PRUNED).is_file())
