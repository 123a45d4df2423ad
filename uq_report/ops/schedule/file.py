"""``audits.toml``: which audits run when."""

from __future__ import annotations

import re
import tomllib
from datetime import UTC, tzinfo
from pathlib import Path
from typing import Annotated, Any
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BeforeValidator, Field

from ...core.support.errors import InputError
from ...core.support.safe_loading import bytes_of
from ...runner.setting_errors import validated
from ...runner.settings import Positive, SettingsPart, Text
from .child import tells_cpu_time
from .cron import Cron

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


def _is_told(seconds: float) -> float:
    if not tells_cpu_time():
        raise ValueError("left out on a system that does not tell the processor time of its processes")
    return seconds


Duration = Annotated[float, BeforeValidator(_seconds)]
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

    audit: Annotated[tuple[ScheduledAudit, ...], Field(min_length=1)]
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
    try:
        content = tomllib.loads(bytes_of(file).decode())
    except OSError as error:
        raise InputError(f"schedule must be readable; got {str(path)!r} ({error.strerror}). Check the path.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{file.name} must be TOML in UTF-8; got something else: {error}.") from error
    schedule = validated(ScheduleFile, content, file.name)
    folder = file.resolve().parent
    files = [str((folder / audit.file).resolve()) for audit in schedule.audit]
    doubled = sorted({name for name in files if files.count(name) > 1})
    if doubled:
        raise InputError(f"{file.name}.audit.file must be named once; got {doubled[0]!r} twice. Join their times.")
    audits = (audit.model_copy(update={"file": name}) for audit, name in zip(schedule.audit, files, strict=True))
    return schedule.model_copy(update={"audit": tuple(audits)})
