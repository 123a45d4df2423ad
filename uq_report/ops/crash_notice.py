"""Runs that were killed: each marks its audit while it is at work, and whoever comes next tells of a mark that stayed.

A process that is killed, that runs out of memory or whose machine goes down says nothing itself. Its mark lies beside
the runs of its audit; the next run, or the scheduler at its next step, finds it while nobody is at work, and mails it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from ..core.support.errors import InputError, LockedError
from ..core.support.safe_loading import bytes_of
from ..jobs.audit_file import EmailPart
from ..jobs.reading import read_audit
from . import alerts, mail
from .history import History, put
from .history.filing import Filing

UNKNOWN = "it was killed, or the machine went down"


@contextmanager
def at_work(filing: Filing) -> Iterator[None]:
    """Mark an audit as at work, until that ends in any way but by a kill."""
    mark, now = filing.beside.started, datetime.now(UTC).isoformat(timespec="seconds")
    with suppress(OSError):  # nothing is filed in a history that can only be read
        put(mark, mark.with_name(f".new-{mark.name}"), f"{now}\n".encode())
    try:
        yield
    finally:
        with suppress(OSError):
            mark.unlink()


def tell(part: EmailPart | None, filing: Filing, how: str = UNKNOWN) -> list[str]:
    """Mail that the last run of an audit never ended, and take its mark away.

    Returns
    -------
    list of str
        What is to be said of it, and of a mail that failed: then the mark stays. Empty if the last run ended.
    """
    started = _begun(filing.beside.started)
    if started is None:
        return []
    ended = alerts.never_ended(filing.name, started, how)
    told = [*ended.summary["reasons"]]
    if failure := mail.send_after(part, ended, filing.beside.mailed):
        return [*told, f"Mail: {failure}"]
    filing.beside.started.unlink()
    return told


def tell_if_left(file: Path, history: str, name: str, how: str = UNKNOWN) -> list[str]:
    """Do as `tell` does for an audit file, unless its audit is at work."""
    place = History(history)
    if not place.beside(name).started.is_file():
        return []
    try:
        with place.filing(name) as filing:
            return tell(read_audit(file).email, filing, how)
    except LockedError:
        return []


def _begun(mark: Path) -> str | None:
    """Return when the run began that left a mark: empty if that does not say it, None if there is none."""
    try:
        return datetime.fromisoformat(bytes_of(mark, 100).decode().strip()).isoformat()
    except FileNotFoundError:
        return None
    except (OSError, ValueError, InputError):
        return ""
