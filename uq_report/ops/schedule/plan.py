"""What is to run, and when: the schedule beside the histories of its audits."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Annotated, Any
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BeforeValidator, Field

from ...core.support.errors import InputError, MissingDependencyError
from ...jobs.reading import read_audit, toml_content
from ...runner.settings import Positive, SettingsPart, Text, must, validated
from ..history import History

try:
    from cronsim import CronSim, CronSimError
except ImportError as error:
    raise MissingDependencyError("schedule", "cronsim", "schedule") from error

PROC = Path("/proc")
_SHORTHANDS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_TO_SUNDAY = re.compile(r"(?<!\bsun)(?<!\b0)-(sun|0)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Cron:
    """The times of a cron expression of five fields in a time zone.

    0 and 7 are Sunday, and a day of the month or a day of the week is enough where both are given. A run at an hour
    that a change of clocks skips starts right after it; at an hour that is repeated, it starts once.

    Raises
    ------
    ValueError
        If it is no cron expression; the message says what is.

    Examples
    --------
    >>> Cron("0 6 * * 1", UTC).after(datetime(2026, 1, 1, tzinfo=UTC)).isoformat()
    '2026-01-05T06:00:00+00:00'
    """

    text: str
    zone: tzinfo

    def __post_init__(self) -> None:
        if len(self._fields.split()) != 5:
            raise ValueError("five fields, minute hour day month weekday, or @daily, @weekly ...")
        try:
            CronSim(self._fields, datetime.now(UTC))
        except CronSimError as error:
            raise ValueError(f"a cron expression ({str(error).lower()})") from error

    def after(self, moment: datetime) -> datetime | None:
        """Return the first time after `moment`; None if there is none."""
        return next(CronSim(self._fields, moment.astimezone(self.zone)), None)

    def latest(self, moment: datetime) -> datetime | None:
        """Return the last time at or before `moment`; None if there is none."""
        # the library steps in whole seconds, back from the one it is given
        second = moment.replace(microsecond=0) + timedelta(seconds=1)
        return next(CronSim(self._fields, second.astimezone(self.zone), reverse=True), None)

    @property
    def _fields(self) -> str:
        """The expression as the library reads it: a span of weekdays that ends on Sunday ends on 7."""
        text = self.text.strip()
        rest, _, weekdays = _SHORTHANDS.get(text, text).rpartition(" ")
        return f"{rest} {_TO_SUNDAY.sub('-7', weekdays)}"


_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*([smhdw])")
_LONGEST = 10 * 366 * 86400.0


def _seconds(value: Any) -> Any:
    """Return a duration in seconds."""
    if isinstance(value, str):
        match = _DURATION.fullmatch(value.strip())
        value = float(match[1]) * _UNITS[match[2]] if match else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= _LONGEST:
        raise ValueError('a duration such as "90s", "15m", "6h", "1d", "1w", or seconds')
    return value


def _is_cron(text: str) -> str:
    Cron(text, UTC)
    return text


def _is_zone(text: str) -> str:
    try:
        ZoneInfo(text)
    except (ValueError, OSError, KeyError) as error:
        raise ValueError("a time zone such as Europe/Vienna") from error
    return text


def tells_cpu_time() -> bool:
    """Say whether the system tells the processor time of other processes, as Linux does."""
    return (PROC / "self" / "stat").is_file()


def _is_told(seconds: float) -> float:
    if not tells_cpu_time():
        raise ValueError("left out on a system that does not tell the processor time of its processes")
    return seconds


Duration = Annotated[float, BeforeValidator(_seconds)]
_SOME = Field(json_schema_extra={"minItems": 1})
CpuTime = Annotated[float, AfterValidator(_is_told), BeforeValidator(_seconds)]
CronText = Annotated[str, AfterValidator(_is_cron)]
Zone = Annotated[str, AfterValidator(_is_zone)]


class ScheduledAudit(SettingsPart):
    """One audit and its times.

    Parameters
    ----------
    file : str
        Its ``audit.toml``.
    cron : str
        Five fields as in crontab(5).
    misfire : float, optional
        How late a run may start, ``"1d"``; later it is told as missed and waits for its next time. No limit by default.
    timeout : float, optional
        After which a run is stopped, by the clock.
    cpu_time : float, optional
        After which it is stopped, of the processor, for it and all that it starts.
    """

    file: Text
    cron: CronText
    misfire: Duration | None = None
    timeout: Duration | None = None
    cpu_time: CpuTime | None = None


class ScheduleFile(SettingsPart):
    """A schedule as written in ``audits.toml``.

    Parameters
    ----------
    audit : tuple of ScheduledAudit
    timezone : str, optional
        Of the cron expressions; that of the machine by default.
    workers : int
        How many audits may run at once.
    grace : float
        How long a running audit may go on when the scheduler is stopped.
    """

    audit: Annotated[tuple[ScheduledAudit, ...], AfterValidator(must(bool, "one [[audit]] or more")), _SOME]
    timezone: Zone | None = None
    workers: Positive = 1
    grace: Duration = 60.0

    def zone(self) -> tzinfo:
        """Return the time zone of the cron expressions."""
        if self.timezone is not None:
            return ZoneInfo(self.timezone)
        from tzlocal import get_localzone

        return get_localzone()


def read_schedule(path: str | Path) -> ScheduleFile:
    """Return the schedule a TOML file describes; the files in it are relative to it.

    Raises
    ------
    InputError
        The file cannot be read, is no TOML, or has mistakes: all of them, by key.
    """
    file = Path(path)
    schedule = validated(ScheduleFile, toml_content(file, "schedule"), file.name)
    folder = file.resolve().parent
    files = [str((folder / audit.file).resolve()) for audit in schedule.audit]
    doubled = sorted({name for name in files if files.count(name) > 1})
    if doubled:
        raise InputError(f"{file.name}.audit.file must be named once; got {doubled[0]!r} twice. Join their times.")
    audits = (audit.model_copy(update={"file": name}) for audit, name in zip(schedule.audit, files, strict=True))
    return schedule.model_copy(update={"audit": tuple(audits)})


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
    where = (audit.output.history, audit.name)
    return Job(Path(scheduled.file), label, times, late, scheduled.timeout, *where, scheduled.cpu_time)


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
