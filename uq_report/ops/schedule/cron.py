"""Cron expressions, read as crontab(5) reads them, and the times they name."""

from __future__ import annotations

from datetime import datetime, timedelta, tzinfo
from typing import Any

from ...core.errors import MissingDependencyError

try:
    from apscheduler.triggers.combining import OrTrigger
    from apscheduler.triggers.cron import CronTrigger
except ImportError as error:
    raise MissingDependencyError("schedule", "APScheduler 3", "schedule") from error

_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat", "sun")
_SHORTHANDS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
# Spans to look back for the last time: a longer one is only tried where the shorter one holds none.
_SPANS = tuple(timedelta(days=days) for days in (1 / 24, 1, 32, 366, 8 * 366))


def trigger(text: str, zone: tzinfo) -> Any:
    """Return APScheduler's trigger for a cron expression of five fields.

    As in crontab(5), and unlike APScheduler, 0 and 7 are Sunday, and a day of the month or a day of the week is enough
    where both are given. An hour that a change of clocks skips is made up for an hour later; in one that it repeats, a
    run starts twice, and the second finds nothing changed.

    Raises
    ------
    ValueError
        If it is no cron expression; the message says what is.

    Examples
    --------
    >>> from datetime import timezone
    >>> following(trigger("0 6 * * 1", timezone.utc), datetime(2026, 1, 1, tzinfo=timezone.utc)).isoformat()
    '2026-01-05T06:00:00+00:00'
    """
    fields = _SHORTHANDS.get(text.strip(), text).split()
    if len(fields) != 5:
        raise ValueError("five fields, minute hour day month weekday, or @daily, @weekly ...")
    minute, hour, day, month, weekday = fields
    days = weekday if weekday == "*" else _weekdays(weekday)
    both = not day.startswith("*") and not weekday.startswith("*")
    choices = [(day, "*"), ("*", days)] if both else [(day, days)]
    try:
        made = [
            CronTrigger(minute=minute, hour=hour, day=d, month=month, day_of_week=w, timezone=zone) for d, w in choices
        ]
    except ValueError as error:
        raise ValueError(f"a cron expression ({error})") from error
    return OrTrigger(made) if both else made[0]


def following(trigger: Any, now: datetime) -> datetime | None:
    """Return the first time at or after `now`; None if there is none."""
    return trigger.get_next_fire_time(None, now)


def latest(trigger: Any, now: datetime) -> datetime | None:
    """Return the last time at or before `now`, of the last eight years; None if there is none."""
    for span in _SPANS:
        found, at = None, following(trigger, now - span)
        while at is not None and at <= now:
            found, at = at, following(trigger, at + timedelta(microseconds=1))
        if found is not None:
            return found
    return None


def _weekdays(text: str) -> str:
    """Return the days of a weekday field by name, since APScheduler counts from Monday.

    Examples
    --------
    >>> _weekdays("1-5"), _weekdays("0,6"), _weekdays("*/3"), _weekdays("fri-sun")
    ('mon,tue,wed,thu,fri', 'sun,sat', 'sun,wed,sat', 'fri,sat,sun')
    """
    chosen = dict.fromkeys(_DAYS[number] for part in text.lower().split(",") for number in _numbers(part))
    return ",".join(chosen)


def _numbers(part: str) -> range:
    span, _, step = part.partition("/")
    first, _, last = span.partition("-")
    if span == "*":
        low, high = 0, 6
    else:
        low = _number(first)
        high = _number(last) if last else 6 if step else low
    if high < low:
        high += 7 if last in ("sun", "0") else 0
    if high < low or not (step or "1").isdigit() or int(step or 1) < 1:
        raise ValueError(f"a cron expression (its weekdays are {part!r})")
    return range(low, high + 1, int(step or 1))


def _number(day: str) -> int:
    if day in _DAYS:
        return _DAYS.index(day)
    if day.isdigit() and int(day) < len(_DAYS):
        return int(day)
    raise ValueError(f"a cron expression (its weekday is {day!r}, not 0 to 7 or sun to sat)")
