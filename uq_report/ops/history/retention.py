"""Which runs of a history are no longer kept, and how they go: entry.json stays, so that the chain can be checked."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby

from ...core.support.errors import InputError
from ...evidence.checksums import RUN, SUMS
from .check import NOTE
from .entry import ENTRY, PRUNED, FiledRun
from .heads import put, record_deleted
from .history import History
from .names import STAGE

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
