"""Names of audits and of their folders: any text names an audit, and none leads out of its place."""

from __future__ import annotations

import hashlib
import os
import re
import unicodedata
from pathlib import Path
from typing import NamedTuple

from ...core.support.errors import InputError

MAX_NAME = 200
LATEST, MAILED, STARTED = "latest", "mailed.json", "started"
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
