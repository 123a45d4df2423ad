"""Clocks go back and zones change: runs keep their order, nothing of a history is called changed, days are local."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from uq_report.ops.history import History, Retention, filing
from uq_report.runner.settings import Settings

from ..system.store_crash import NAME, add

NOON = datetime(2026, 6, 15, 12, tzinfo=UTC)


def at(moment: datetime, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the clock by which runs are filed."""

    class Clock(datetime):
        @classmethod
        def now(cls, tz: object = None) -> datetime:  # type: ignore[override]
            return moment

    monkeypatch.setattr(filing, "datetime", Clock)


def test_runs_filed_while_the_clock_goes_back_keep_their_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    history = History(tmp_path)
    days = (0, -400, 3, -1)
    for number, day in enumerate(days):
        at(NOON + timedelta(days=day), monkeypatch)
        assert add(history, number) == number + 1
    filed = history.runs(NAME)
    assert [one.entry.sequence for one in filed] == [1, 2, 3, 4]
    assert [one.entry.filed_at() for one in filed] == [NOON + timedelta(days=day) for day in days]
    assert history.check() == []
    assert history.find(NAME).entry.sequence == 4
    with history.filing(NAME) as filing:
        last = filing.previous()
    assert last is not None
    assert last.settings["n"] == 3
    assert [one.entry.sequence for one in Retention(last=2).due(filed)] == [1, 2]


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="zones of a process are set on POSIX")
@pytest.mark.parametrize(("zone", "day"), [("XXX-14", "2026-06-16"), ("XXX12", "2026-06-15"), ("XXX13", "2026-06-14")])
def test_a_report_has_the_day_of_its_zone_and_a_history_one_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, zone: str, day: str
) -> None:
    from uq_report.runner import settings

    class Clock(datetime):
        @classmethod
        def now(cls, tz: object = None) -> datetime:  # type: ignore[override]
            return NOON.astimezone().replace(tzinfo=None)

    monkeypatch.setattr(settings, "datetime", Clock)
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    at(NOON, monkeypatch)
    before = os.environ.get("TZ")
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        assert Settings().as_of == day
        add(History(tmp_path), 1)
        assert History(tmp_path).runs(NAME)[0].entry.filed == "2026-06-15T12:00:00+00:00"
        assert History(tmp_path).check() == []
    finally:
        monkeypatch.undo()
        assert os.environ.get("TZ") == before
        time.tzset()
