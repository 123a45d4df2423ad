"""Which runs of a history are no longer kept, and how they go: entry.json stays, so that the chain can be checked."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby

from ...core.errors import InputError
from ...evidence.saved import RUN, write_through
from .entry import ENTRY
from .filing import Filed
from .history import PRUNED, History

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

    def due(self, runs: Iterable[Filed], now: datetime | None = None) -> list[Filed]:
        """Return the runs that no rule keeps. Nothing is deleted."""
        limit = None if self.days is None else (now or datetime.now(UTC)) - timedelta(days=self.days)
        expired = []
        for _, group in groupby((run for run in runs if run.present), key=lambda run: run.entry.name):
            own = list(group)
            older = own[: -(self.last or 1)]
            expired += [run for run in older if limit is None or (run.entry.filed_at() or limit) < limit]
        return expired


def delete(history: History, runs: Iterable[Filed]) -> int:
    """Delete the content of runs, each under its audit's lock; return how many were still there.

    run.json goes first, after a note that says why it is gone: a run is either whole or marked as deleted. What a
    killed process left of one is removed by the next call for it.
    """
    count = 0
    for run in runs:
        with history.filing(run.entry.name, _WAIT):
            count += _emptied(run)
    return count


def _emptied(filed: Filed) -> bool:
    run, note = filed.folder / RUN, filed.folder / PRUNED
    was_there = run.is_file()
    if not note.exists():
        write_through(note, b"Deleted by retention; entry.json stays as a link in the chain of hashes.\n")
    run.unlink(missing_ok=True)
    for place in filed.folder.iterdir():
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place)
        elif place.name not in (ENTRY, PRUNED):
            place.unlink()
    return was_there
