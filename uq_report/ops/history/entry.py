"""What a history keeps of each run beside its content: its folder, and entry.json, a link in the chain of hashes.

Any text names an audit, and no name leads out of its place.

How far each audit of a history has come: heads.json, which tells of runs and audits that are gone.

A chain of hashes shows what was changed or taken out between its ends; that its end is missing, only somebody who
knows the end can say. That is heads.json, renewed with each run that is filed, and a copy of it kept elsewhere: an
anchor, which whoever can write to the history cannot write to.
"""

import hashlib
import os
import re
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, NamedTuple

from filelock import FileLock, Timeout
from pydantic import Field, PositiveInt, TypeAdapter

from ...core.support.errors import InputError, LockedError
from ...core.support.safe_loading import SMALL, bytes_of, json_of
from ...evidence.canonical import canonical
from ...evidence.disk import RUN, file_content, write_through

MAX_NAME = 200
LATEST, MAILED, STARTED = "latest", "mailed.json", "started"  # `ops.mail` keeps the last two; no check reads them
STAGE, HELD = ".new", ".held"
_LONGEST = 40
_RUN = re.compile(r"(?P<sequence>\d{6,12})_(?P<as_of>\d{4}-\d{2}-\d{2})_(?P<digest>[0-9a-f]{12})")


class RunFolder(NamedTuple):
    """The folder of one filed run: its place, and its number within the audit."""

    path: Path
    sequence: int


def checked(name: str) -> str:
    """Return an audit's name, composed (NFC); refuse one that is empty, too long, or holds control characters."""
    text = unicodedata.normalize("NFC", name).strip()
    if not text or len(text) > MAX_NAME or any(unicodedata.category(c) in ("Cc", "Cs") for c in text):
        quoted = repr(name if len(name) <= _LONGEST else f"{name[:_LONGEST]}…")
        raise InputError(
            f"history.name must be 1 to {MAX_NAME} characters of one line, no control characters; got {quoted} "
            f"({len(name)} characters). Name the audit otherwise."
        )
    return text


def slug(name: str) -> str:
    """Return the folder name of an audit: plain ASCII, and different for different names.

    A name that is no such folder name already gets eight digits of its SHA-256.

    Examples
    --------
    >>> slug("credit-scoring"), slug("../Kreditprüfung")
    ('credit-scoring', 'kreditpr-fung-659100e4')
    """
    text = checked(name)
    plain = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:_LONGEST].strip("-")
    if plain == text and not re.search(r"-[0-9a-f]{8}$", plain):
        return plain
    return f"{plain or 'audit'}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def run_folder(sequence: int, as_of: str, run_sha256: str) -> str:
    """Return the folder name of a run; refuse an `as_of` that is no date."""
    name = f"{sequence:06d}_{as_of}_{run_sha256[:12]}"
    if not _RUN.fullmatch(name):
        raise InputError(f"run.as_of must be a date written YYYY-MM-DD to be filed; got {as_of!r}. Correct it.")
    return name


def audit_folders(root: Path) -> list[Path]:
    """Return the folders of the audits in a history; links are no part of it."""
    return [place for place in _folders(root) if not place.name.startswith(".")]


def run_folders(audit: Path) -> list[RunFolder]:
    """Return the folders of an audit's runs in the order they were filed."""
    named = ((place, _RUN.fullmatch(place.name)) for place in _folders(audit))
    folders = [RunFolder(place, int(match["sequence"])) for place, match in named if match]
    return sorted(folders, key=lambda folder: (folder.sequence, folder.path.name))


def _folders(place: Path) -> list[Path]:
    try:
        with os.scandir(place) as listing:
            names = [entry.name for entry in listing if entry.is_dir(follow_symlinks=False)]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise InputError(f"history must be a readable folder; got {place} ({error.strerror}). Name another.") from error
    return [place / name for name in sorted(names)]


ENTRY, PRUNED = "entry.json", "pruned.txt"
FORMAT = 1
_LARGEST = 10**9  # runs of one audit
Hash = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


@dataclass(frozen=True, kw_only=True)
class HistoryEntry:
    """One filed run.

    Parameters
    ----------
    name : str
        Of the audit.
    sequence : int
        Runs of an audit are numbered from 1 as they are filed; this, and no clock, is their order.
    as_of, label, task : str
        Of the run.
    filed : str
        When it was filed, ISO 8601 in UTC, by the clock of that machine.
    run_sha256 : str
        Of run.json.
    inputs : str
        `inputs_key` of the run; empty where the model has no hash.
    findings : mapping of str to int
        Open findings by severity; ``"waived"`` counts those a waiver sets aside.
    checks : mapping of str to int
        Checks by their state.
    scores : mapping of str to float
        How well the predictions fit the outcomes, for trends.
    recommendation : str
        One of the four words of the rule.
    sums_sha256 : str
        Of SHA256SUMS, which lists all other files of the run; empty in entries of format 1.
    previous_hash, hash : str
        The hash of the audit's entry before, and that of this one, which covers all other fields.
    """

    name: str
    sequence: Annotated[int, Field(gt=0, lt=_LARGEST)]
    as_of: str
    label: str
    task: str
    filed: str
    run_sha256: Hash
    inputs: str
    findings: Mapping[str, int] = field(default_factory=dict)
    checks: Mapping[str, int] = field(default_factory=dict)
    scores: Mapping[str, float] = field(default_factory=dict)
    recommendation: str = ""
    sums_sha256: str = ""
    previous_hash: str = ""
    hash: str = ""
    format: int = FORMAT

    @property
    def folder(self) -> str:
        """The name of the run's folder within that of its audit."""
        return run_folder(self.sequence, self.as_of, self.run_sha256)

    @property
    def reference(self) -> str:
        """How the run is named on the command line."""
        return f"{self.name}@{self.sequence}"

    def filed_at(self) -> datetime | None:
        """Return when the run was filed, if that is a time."""
        try:
            return datetime.fromisoformat(self.filed).astimezone(UTC)
        except (ValueError, OverflowError):
            return None

    def expected_hash(self) -> str:
        """Return the hash that the other fields give."""
        content = {key: value for key, value in asdict(self).items() if key != "hash"}
        return hashlib.sha256(canonical(content)).hexdigest()

    def dumps(self) -> bytes:
        """Return the entry as JSON."""
        return canonical(asdict(self))


_ENTRY = TypeAdapter(HistoryEntry)


class FiledRun(NamedTuple):
    """A filed run: its entry and its folder."""

    entry: HistoryEntry
    folder: Path

    @property
    def present(self) -> bool:
        """Whether the run is still in its folder; retention leaves the entry alone."""
        return (self.folder / RUN).is_file()


def entry_of_json(data: bytes | str, source: str) -> HistoryEntry:
    """Return the entry of its JSON; refuse anything else."""
    try:
        content = json_of(data, source)
        number = content.get("format") if isinstance(content, dict) else None
        entry = None if isinstance(number, int) and number > FORMAT else _ENTRY.validate_json(data, strict=True)
    except ValueError as error:
        raise InputError(
            f"{source} must be an entry of a history, with its name, number and run; got something else. "
            "Restore it from a copy."
        ) from error
    if entry is None:
        raise InputError(f"{source} must have format {FORMAT}; got {number}. Upgrade uq_report to read it.")
    return entry


def read_entry(folder: Path) -> HistoryEntry:
    """Return the entry in a run's folder; refuse one that belongs to another folder."""
    file = folder / ENTRY
    try:
        entry = entry_of_json(bytes_of(file), str(file))
    except OSError as error:
        raise InputError(f"{file} must be readable; got {error.strerror}. Restore it from a copy.") from error
    if (slug(entry.name), entry.folder) != (folder.parent.name, folder.name):
        raise InputError(f"{file} must belong to its folder; got that of {entry.reference}. Restore it from a copy.")
    return entry


def lost(name: str, sequence: int) -> HistoryEntry:
    """Return what stands for an entry that cannot be read, so that the next one still has its number."""
    return HistoryEntry(name=name, sequence=sequence, as_of="", label="", task="", filed="", run_sha256="", inputs="")


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
        put(root / HEADS, replace(known, audits=audits).dumps())


def record_deleted(root: Path, folder: str, sequences: Iterable[int]) -> None:
    """Record which runs of an audit retention deletes, before it does."""
    with locked(root / LOCK, f"history {root}", _WAIT):
        known = of_folders(root, _known(root))
        head = known.audits[folder]
        deleted = tuple(sorted({*head.deleted, *sequences}))
        if deleted != head.deleted:
            known = replace(known, audits={**known.audits, folder: replace(head, deleted=deleted)})
            put(root / HEADS, known.dumps())


def put(file: Path, data: bytes, stage: Path | None = None) -> None:
    """Put a file in its place at once, and down to the disk; `stage` is where it is written first, beside it if None.

    Runs have no files beside theirs, not even of a process that was killed.
    """
    stage = stage or file.with_name(f"{STAGE}-{file.name}")
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
        put(root / HEADS, known.dumps())
        return known


def _pruned(audit: Path) -> tuple[int, ...]:
    """Return the runs of an audit that are marked as deleted, for want of a better witness."""
    return tuple(run.sequence for run in run_folders(audit) if (run.path / PRUNED).is_file())
