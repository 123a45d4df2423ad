"""One line per event on stderr, as cron mails and journals keep them: no colour, no second line."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from threading import Lock
from typing import Literal, TextIO

from ...core.support.text import clean

Level = Literal["info", "warning", "error"]
Style = Literal["auto", "plain", "journal"]
_PRIORITY = {"info": "<6>", "warning": "<4>", "error": "<3>"}  # sd-daemon(3)
_BARE = re.compile(r"[\w.:/@+,-]+", re.ASCII)


def now() -> datetime:
    """Return the time in UTC."""
    return datetime.now(UTC)


class Lines:
    """Writes events.

    Parameters
    ----------
    stream : TextIO, optional
        stderr by default.
    style : {"auto", "plain", "journal"}
        ``journal``: each line starts with its priority, and the journal adds the time. ``plain``: each line starts
        with its time. ``auto``: ``journal`` where the stream goes to one (`JOURNAL_STREAM`).
    """

    def __init__(
        self, stream: TextIO | None = None, style: Style = "auto", clock: Callable[[], datetime] = now
    ) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._journal = style == "journal" or (style == "auto" and to_journal(self._stream))
        self._clock = clock
        self._lock = Lock()

    def __call__(self, event: str, level: Level = "info", **fields: object) -> None:
        """Write an event and what belongs to it, ``run.end audit=credit code=0``; what is None is left out."""
        start = _PRIORITY[level] if self._journal else f"{self._clock().astimezone().isoformat(timespec='seconds')} "
        details = " ".join(f"{key}={_word(value)}" for key, value in fields.items() if value is not None)
        with self._lock:
            self._stream.write(f"{start}{event} {details}".rstrip() + "\n")
            self._stream.flush()


def to_journal(stream: TextIO, environ: Mapping[str, str] = os.environ) -> bool:
    """Say whether a stream goes to systemd's journal: `JOURNAL_STREAM` names its device and inode."""
    try:
        status = os.fstat(stream.fileno())
    except (OSError, ValueError):
        return False
    return environ.get("JOURNAL_STREAM") == f"{status.st_dev}:{status.st_ino}"


def _word(value: object) -> str:
    """Return a value as one word, or quoted."""
    if isinstance(value, datetime):
        return value.isoformat(timespec="seconds")
    text = clean(value, 500)
    return text if _BARE.fullmatch(text) else json.dumps(text, ensure_ascii=False)
