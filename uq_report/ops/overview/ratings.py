"""The recommendation of a filed run, read from its run.json once and then from a note beside the index."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable
from pathlib import Path

from ...core.errors import UQReportError
from ...document.document import Badge
from ...evidence import saved
from ...report.rating import WORDS, rating
from ..history import Filed

NOTE = "ratings.json"
UNREADABLE = Badge("Cannot be read", "unknown")
_log = logging.getLogger(__name__)


def ratings(root: Path, runs: Iterable[Filed]) -> dict[str, Badge]:
    """Return the recommendation of each run by the hash of its entry; only runs that are not in the note are read.

    The note is no truth: without it, or if it cannot be read or written, the runs are read.
    """
    noted, rated = _read(root / NOTE), {}
    for run in runs:
        key = run.entry.hash
        rated[key] = noted[key] if key in noted else _rated(run)
    lasting = {key: badge.text for key, badge in rated.items() if badge is not UNREADABLE}
    if lasting != {key: badge.text for key, badge in noted.items()}:
        _write(root, lasting)
    return rated


def _rated(filed: Filed) -> Badge:
    try:
        return rating(saved.read(filed.folder)[0].outcomes)
    except UQReportError as error:
        _log.warning("Not rated: %s: %s", filed.entry.reference, error)
        return UNREADABLE


def _read(file: Path) -> dict[str, Badge]:
    try:
        content = json.loads(file.read_bytes())
        return {str(key): WORDS[word] for key, word in content.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def _write(root: Path, content: dict[str, str]) -> None:
    try:
        saved.write_files(root, {NOTE: json.dumps(content, indent=2, sort_keys=True).encode() + b"\n"})
    except UQReportError as error:
        _log.warning("The note of ratings could not be written: %s", error)
