"""Cron expressions, read as crontab(5) of Debian reads them, and the times they name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

from ...core.support.errors import MissingDependencyError

try:
    from cronsim import CronSim, CronSimError
except ImportError as error:
    raise MissingDependencyError("schedule", "cronsim", "schedule") from error

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
