"""What is to run, and when: the schedule beside the histories of its audits."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from ...core.errors import InputError
from ...jobs.reading import read_audit
from ..history import History
from . import cron
from .file import ScheduledAudit, ScheduleFile


@dataclass(frozen=True)
class Job:
    """One audit of a schedule.

    Parameters
    ----------
    file : Path
    label : str
        Its name in log lines.
    trigger : object
        APScheduler's.
    late : timedelta, optional
        How late a run may start; None for no limit.
    timeout : float, optional
    history : str, optional
        Where its runs are filed.
    name : str, optional
        Under which name.
    """

    file: Path
    label: str
    trigger: Any
    late: timedelta | None
    timeout: float | None
    history: str | None
    name: str | None

    def last(self) -> datetime | None:
        """Return when the audit last ran, from its history."""
        if self.history is None or self.name is None:
            return None
        return History(self.history).last(self.name)

    def missed(self, now: datetime) -> datetime | None:
        """Return the time at which the audit should have run and did not, if it may still start.

        An audit that was never filed counts as missed. A last run in the future was told by another clock, and is
        taken for none. Without a history nothing is known to be missed.
        """
        if self.history is None:
            return None
        due, last = cron.latest(self.trigger, now), self.last()
        if due is None or (last is not None and due <= last <= now):
            return None
        return due if self.late is None or now - due <= self.late else None

    def next(self, now: datetime) -> datetime | None:
        """Return the next time after `now`."""
        return cron.following(self.trigger, now + timedelta(microseconds=1))


def jobs(schedule: ScheduleFile) -> list[Job]:
    """Return the audits of a schedule; mistakes in all their files are told together.

    Raises
    ------
    InputError
        A file cannot be read or has mistakes.
    """
    zone, made, mistakes = schedule.zone(), [], []
    for one in schedule.audit:
        try:
            made.append(_job(one, cron.trigger(one.cron, zone)))
        except InputError as error:
            mistakes += [f"{one.file}: {line}" for line in str(error).splitlines()]
    if mistakes:
        raise InputError("\n".join(mistakes))
    return _distinct(made)


def _job(one: ScheduledAudit, trigger: Any) -> Job:
    audit = read_audit(one.file)
    name = audit.output.name or (None if audit.model is None else audit.model.label)
    label = name or Path(one.file).parent.name
    if audit.output.history is not None and name is None:
        raise InputError("output.name must be given, or model.label, for a schedule to find its last runs; it is not.")
    return Job(Path(one.file), label, trigger, one.late, one.timeout, audit.output.history, name)


def _distinct(made: list[Job]) -> list[Job]:
    """Refuse two audits that would be filed as one."""
    found: dict[tuple[str, str | None], Job] = {}
    for job in made:
        if job.history is None:
            continue
        other = found.setdefault((job.history, job.name), job)
        if other is not job:
            raise InputError(
                f"output.name must differ within a history; got {job.name!r} in {other.file} and {job.file}. "
                "Name one otherwise."
            )
    return made
