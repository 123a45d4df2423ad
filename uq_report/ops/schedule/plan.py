"""What is to run, and when: the schedule beside the histories of its audits."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from ...core.support.errors import InputError
from ...jobs.reading import read_audit
from ..history import History
from .cron import Cron
from .file import ScheduledAudit, ScheduleFile


@dataclass(frozen=True)
class Job:
    """One audit of a schedule.

    Parameters
    ----------
    file : Path
    label : str
        Its name in log lines.
    times : Cron
    late : timedelta, optional
        How late a run may start; None for no limit.
    timeout : float, optional
    history : str, optional
        Where its runs are filed.
    name : str, optional
        Under which name.
    cpu_time : float, optional
    """

    file: Path
    label: str
    times: Cron
    late: timedelta | None
    timeout: float | None
    history: str | None
    name: str | None
    cpu_time: float | None = None

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
        due, last = self.times.latest(now), self.last()
        if due is None or self.is_late(due, now) or (last is not None and due <= last <= now):
            return None
        return due

    def is_late(self, due: datetime, now: datetime) -> bool:
        """Return whether it is too late to start the run of `due`."""
        return self.late is not None and now - due > self.late


def jobs(schedule: ScheduleFile) -> list[Job]:
    """Return the audits of a schedule; mistakes in all their files are told together.

    Raises
    ------
    InputError
        A file cannot be read or has mistakes.
    """
    zone, planned, mistakes = schedule.zone(), [], []
    for audit in schedule.audit:
        try:
            planned.append(_job(audit, Cron(audit.cron, zone)))
        except InputError as error:
            mistakes += [f"{audit.file}: {line}" for line in str(error).splitlines()]
    if mistakes:
        raise InputError("\n".join(mistakes))
    _check_distinct(planned)
    return planned


def _job(scheduled: ScheduledAudit, times: Cron) -> Job:
    audit = read_audit(scheduled.file)
    label = audit.name or Path(scheduled.file).parent.name
    if audit.output.history is not None and audit.name is None:
        raise InputError("output.name must be given, or model.label, for a schedule to find its last runs; it is not.")
    late = None if scheduled.misfire is None else timedelta(seconds=scheduled.misfire)
    return Job(
        Path(scheduled.file),
        label,
        times,
        late,
        scheduled.timeout,
        audit.output.history,
        audit.name,
        scheduled.cpu_time,
    )


def _check_distinct(planned: list[Job]) -> None:
    """Refuse two audits that would be filed as one."""
    by_place: dict[tuple[str, str | None], Job] = {}
    for job in planned:
        if job.history is None:
            continue
        other = by_place.setdefault((job.history, job.name), job)
        if other is not job:
            raise InputError(
                f"output.name must differ within a history; got {job.name!r} in {other.file} and {job.file}. "
                "Name one otherwise."
            )
