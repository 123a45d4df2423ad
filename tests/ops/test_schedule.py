"""Audits by the clock: cron as crontab(5), what is due, child processes, stops, and a fake day in a moment."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from typer.testing import CliRunner

pytest.importorskip("cronsim", reason="the schedule reads its times with cronsim")

from uq_report import cli
from uq_report.core.support.errors import InputError, LockedError
from uq_report.ops import schedule
from uq_report.ops.history import History
from uq_report.ops.schedule import (
    ChildEnd,
    Children,
    Cron,
    Job,
    Lines,
    Service,
    alone,
    jobs,
    read_schedule,
    run_command,
    to_journal,
)

from . import store_runs
from .conftest import ReadOnly

START = datetime(2026, 3, 2, 5, 0, tzinfo=UTC)  # a Monday


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def times(text: str, start: str, count: int, zone: str = "UTC") -> list[str]:
    """Return the next times of a cron expression, in its zone."""
    expression, moment, found = Cron(text, ZoneInfo(zone)), at(start) - timedelta(microseconds=1), []
    for _ in range(count):
        following = expression.after(moment)
        assert following is not None
        found.append(following.strftime("%a %d %H:%M"))
        moment = following
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0 6 * * 1", ["Mon 05 06:00", "Mon 12 06:00"]),
        ("0 6 * * 0", ["Sun 04 06:00", "Sun 11 06:00"]),
        ("0 6 * * 7", ["Sun 04 06:00", "Sun 11 06:00"]),
        ("0 6 * * mon-fri", ["Thu 01 06:00", "Fri 02 06:00", "Mon 05 06:00"]),
        ("30 */12 * * 6,0", ["Sat 03 00:30", "Sat 03 12:30", "Sun 04 00:30"]),
        ("0 0 13 * 5", ["Fri 02 00:00", "Fri 09 00:00", "Tue 13 00:00", "Fri 16 00:00"]),
        ("0 0 * * fri-sun", ["Thu 01 00:00"]),
        ("0 0 * * Sat-0", ["Sat 03 00:00", "Sun 04 00:00", "Sat 10 00:00"]),
        ("0 0 * * sun-sun,0-0", ["Sun 04 00:00", "Sun 11 00:00"]),
        ("@weekly", ["Sun 04 00:00"]),
    ],
)
def test_cron_expressions_mean_what_crontab_says(text: str, expected: list[str]) -> None:
    if text.endswith("fri-sun"):
        expected = ["Fri 02 00:00", "Sat 03 00:00", "Sun 04 00:00", "Fri 09 00:00"]
    assert times(text, "2026-01-01T00:00:00", len(expected)) == expected


@pytest.mark.parametrize(
    "text",
    ["", "0 6 * *", "61 * * * *", "0 6 * * 8", "0 6 * * fry", "0 6 * * 5-2", "a b c d e", "* * * * * *", "0 0 30 2 *"],
)
def test_what_is_no_cron_expression_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"cron expression|five fields"):
        Cron(text, UTC)


@pytest.mark.parametrize("text", ["* * * * * *", "0 0 30 2 *"])
def test_seconds_and_a_date_that_never_comes_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"cron expression|five fields"):
        Cron(text, UTC)


def test_no_day_is_left_out_when_clocks_change() -> None:
    zone = ZoneInfo("Europe/Vienna")
    for start, expected in (
        ("2026-03-28T00:00:00", ["28 01:30", "29 01:00", "30 00:30"]),  # 02:30 does not exist on the 29th: it is 03:00
        ("2026-10-24T00:00:00", ["24 00:30", "25 00:30", "26 01:30"]),  # 02:30 exists twice on the 25th, and runs once
    ):
        moment, found = at(start), []
        for _ in expected:
            following = Cron("30 2 * * *", zone).after(moment)
            assert following is not None
            found.append(f"{following.astimezone(UTC):%d %H:%M}")
            assert Cron("30 2 * * *", zone).latest(following) == following
            moment = following.astimezone(UTC)
        assert found == expected


@pytest.mark.parametrize(
    ("text", "now", "expected"),
    [
        ("0 6 * * 1", "2026-03-02T06:00:00", "2026-03-02T06:00:00"),
        ("0 6 * * 1", "2026-03-02T05:59:59", "2026-02-23T06:00:00"),
        ("* * * * *", "2026-03-02T05:59:59", "2026-03-02T05:59:00"),
        ("0 0 29 2 *", "2026-03-02T00:00:00", "2024-02-29T00:00:00"),
    ],
)
def test_the_last_time_is_found_however_rare(text: str, now: str, expected: str) -> None:
    assert Cron(text, UTC).latest(at(now)) == at(expected)


AUDIT = """
[model]
source = "model.skops"
label = "{label}"
[data]
source = "data.csv"
[output]
history = "{history}"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a schedule of two audits and their files."""
    for label in ("credit", "motor"):
        (tmp_path / label).mkdir()
        (tmp_path / label / "audit.toml").write_text(AUDIT.format(label=label, history=tmp_path / "history"))
    write(tmp_path)
    return tmp_path


def write(folder: Path, first: str = 'cron = "0 6 * * 1"\nmisfire = "1d"', head: str = 'timezone = "UTC"') -> Path:
    file = folder / "audits.toml"
    second = '[[audit]]\nfile = "motor/audit.toml"\ncron = "*/30 * * * *"\nmisfire = 600'
    file.write_text(f'{head}\n[[audit]]\nfile = "credit/audit.toml"\n{first}\n{second}\n')
    return file


def filed(folder: Path, name: str, when: datetime) -> None:
    """File a run, and set when."""
    with History(folder / "history").filing(name) as filing:
        filing.add(replace(store_runs.run(), results=()), reports={}, clock={})
    os.utime(folder / "history" / name / "latest", (when.timestamp(), when.timestamp()))


def test_a_schedule_file_is_read_with_its_places_and_durations(folder: Path) -> None:
    schedule = read_schedule(folder / "audits.toml")
    assert [Path(one.file) for one in schedule.audit] == [folder / n / "audit.toml" for n in ("credit", "motor")]
    assert [(one.misfire, one.timeout) for one in schedule.audit] == [(86400.0, None), (600.0, None)]
    assert (schedule.workers, schedule.grace) == (1, 60.0)
    credit, motor = jobs(schedule)
    assert (credit.label, credit.history, credit.late) == ("credit", str(folder / "history"), timedelta(days=1))
    assert motor.times.after(START) == at("2026-03-02T05:30:00")


def test_every_mistake_of_a_schedule_is_told_by_key(folder: Path) -> None:
    file = write(folder, 'cron = "0 6 * * 9"\nmisfire = "soon"\ntimout = "1h"', 'timezone = "Mars/Base"\nworkers = 0')
    with pytest.raises(InputError) as caught:
        read_schedule(file)
    told = str(caught.value)
    for part in (
        "audits.toml.audit.0.cron must be a cron expression", "audit.0.misfire must be a duration such as",
        "Did you mean 'timeout'?", "timezone must be a time zone such as", "workers must be",
    ):  # fmt: skip
        assert part in told
    assert len(told.splitlines()) == 5


def test_audit_files_that_cannot_be_used_are_told_together(folder: Path) -> None:
    (folder / "credit" / "audit.toml").write_text("[model]\nsource = 'm.skops'\n[data]\nsorce = 'd.csv'\n")
    (folder / "motor" / "audit.toml").unlink()
    with pytest.raises(InputError) as caught:
        jobs(read_schedule(folder / "audits.toml"))
    assert "Did you mean 'source'?" in str(caught.value)
    assert "motor/audit.toml" in str(caught.value)


def test_two_audits_of_one_name_and_one_file_twice_are_refused(folder: Path) -> None:
    (folder / "motor" / "audit.toml").write_text(AUDIT.format(label="credit", history=folder / "history"))
    with pytest.raises(InputError, match=r"output\.name must differ within a history; got 'credit'"):
        jobs(read_schedule(folder / "audits.toml"))
    (folder / "audits.toml").write_text('[[audit]]\nfile = "a.toml"\ncron = "@daily"\n' * 2)
    with pytest.raises(InputError, match=r"audit\.file must be named once"):
        read_schedule(folder / "audits.toml")


def test_what_is_missed_is_read_from_the_history(folder: Path) -> None:
    credit, _ = jobs(read_schedule(folder / "audits.toml"))
    monday = at("2026-03-02T06:00:00")
    assert credit.missed(monday + timedelta(hours=1)) == monday  # it was never filed
    assert credit.missed(monday + timedelta(hours=25)) is None  # too late to start
    filed(folder, "credit", monday + timedelta(minutes=5))
    assert credit.missed(monday + timedelta(hours=1)) is None
    assert credit.missed(monday + timedelta(days=7)) == monday + timedelta(days=7)
    filed(folder, "credit", monday + timedelta(days=300))  # by a clock that was ahead
    assert credit.missed(monday + timedelta(hours=1)) == monday


def test_an_unlimited_misfire_and_no_history(folder: Path) -> None:
    credit, _ = jobs(read_schedule(write(folder, 'cron = "0 6 1 1 *"')))
    assert credit.missed(START) == at("2026-01-01T06:00:00")
    assert replace(credit, history=None).missed(START) is None


class FakeClock:
    """A clock that only waiting moves; it stands in for the Event that a service waits for."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, start: datetime) -> None:
        self.time, self.until = start, start + timedelta(days=1)
        self.at_end: Callable[[], None] = lambda: None
        clock = self

        class Waiting:
            def __init__(self) -> None:
                self._set = False

            def is_set(self) -> bool:
                return self._set

            def set(self) -> None:
                self._set = True

            def wait(self, seconds: float) -> None:
                if not self._set:
                    clock.time += timedelta(seconds=seconds)
                if clock.time >= clock.until:
                    clock.at_end()

        monkeypatch.setattr(schedule, "Event", Waiting)
        monkeypatch.setattr(schedule, "ThreadPoolExecutor", AtOnce)


class AtOnce:
    """A pool that runs what it gets before it returns."""

    def __init__(self, workers: int) -> None:
        assert workers == 1

    def __enter__(self) -> AtOnce:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is left to wait for."""

    def submit(self, run: Callable[..., None], *args: object) -> Future[None]:
        future: Future[None] = Future()
        run(*args)
        future.set_result(None)
        return future


class Day:
    """A service under a fake clock whose runs end at once, as `state` says."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, found: Sequence[Job], start: datetime = START) -> None:
        self.clock = FakeClock(monkeypatch, start)
        self.ran: list[tuple[str, str]] = []
        self.told = io.StringIO()
        self.state: Callable[[str], ChildEnd | None] = lambda name: ChildEnd("done", 0, 1.0)
        monkeypatch.setattr(Children, "run", lambda _, command, folder, *limits: self._run(folder.name))
        say = Lines(self.told, "journal")
        self.service = Service(found, say, grace=0.01, clock=lambda: self.clock.time)
        self.clock.at_end = lambda: self.service.stop("end of the day")

    def _run(self, name: str) -> ChildEnd | None:
        self.ran.append((name, f"{self.clock.time:%a %H:%M}"))
        return self.state(name)


def test_a_day_of_runs_at_their_times(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filed(folder, "credit", START - timedelta(days=1))
    filed(folder, "motor", START)
    day = Day(monkeypatch, jobs(read_schedule(folder / "audits.toml")))
    day.clock.until = START + timedelta(hours=2, minutes=10)
    assert day.service.serve() == 0
    assert [one for one in day.ran if one[0] == "credit"] == [("credit", "Mon 06:00")]
    assert [when for name, when in day.ran if name == "motor"] == ["Mon 05:30", "Mon 06:00", "Mon 06:30", "Mon 07:00"]
    lines = day.told.getvalue().splitlines()
    assert lines[0] == "<6>scheduler.start audits=2"
    assert "<6>run.end audit=credit state=done code=0 seconds=1.0" in lines
    assert lines[-1] == "<6>scheduler.stop code=0 done=5"
    assert all(line[:3] in ("<6>", "<4>", "<3>") and "\x1b" not in line for line in lines)


def test_a_restart_makes_up_for_a_missed_run_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filed(folder, "credit", START - timedelta(days=9))
    filed(folder, "motor", START + timedelta(hours=2))
    start = at("2026-03-02T07:05:00")
    day = Day(monkeypatch, jobs(read_schedule(folder / "audits.toml")), start)
    day.clock.until = start + timedelta(hours=1)
    assert day.service.serve() == 0
    assert [one for one in day.ran if one[0] == "credit"] == [("credit", "Mon 07:05")]
    assert "run.start audit=credit missed=2026-03-02T06:00:00+00:00" in day.told.getvalue()
    assert day.told.getvalue().count("missed=") == 2  # in the plan, and at the start


def test_the_worst_end_decides_the_exit_code(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filed(folder, "credit", START)
    filed(folder, "motor", START)
    for state, code, exit_code in (("findings", 1, 1), ("locked", 75, 75), ("failed", 3, 3), ("timeout", -15, 3)):
        day = Day(monkeypatch, jobs(read_schedule(folder / "audits.toml")))
        day.clock.until = START + timedelta(minutes=40)
        day.state = lambda _, state=state, code=code: ChildEnd(
            state, code, 1.0, {"findings": {"high": 2, "low": 0}}, "no\n"
        )  # type: ignore[misc]
        assert day.service.serve() == exit_code
        assert f"state={state} code={code} seconds=1.0 findings=2 error=no" in day.told.getvalue()


def test_a_clock_that_jumps_ahead_runs_once_or_tells_what_it_missed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filed(folder, "credit", START)
    filed(folder, "motor", START)
    day = Day(monkeypatch, jobs(read_schedule(folder / "audits.toml")))
    jumps = iter([timedelta(days=1, hours=2, minutes=15)])

    def state(name: str) -> ChildEnd:
        day.clock.time += next(jumps, timedelta(0))
        return ChildEnd("done", 0, 1.0)

    day.state = state
    day.clock.until = START + timedelta(days=1, hours=3)
    assert day.service.serve() == 75
    assert [one for one in day.ran if one[0] == "credit"] == []  # 25 hours late, and at most a day is allowed
    assert "run.missed audit=credit at=2026-03-02T06:00:00+00:00" in day.told.getvalue()


def test_once_runs_what_is_due_and_a_second_call_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = jobs(read_schedule(folder / "audits.toml"))
    moment = at("2026-03-02T06:10:00")
    filed(folder, "motor", moment)
    day = Day(monkeypatch, found, moment)
    day.state = lambda name: filed(folder, name, moment) or ChildEnd("done", 0, 0.0)  # type: ignore[func-returns-value]
    assert day.service.once() == 0
    assert day.ran == [("credit", "Mon 06:10")]
    again = Service(found, Lines(day.told, "journal"), clock=lambda: moment)
    assert again.once() == 0
    assert "scheduler.once audits=2 due=0" in day.told.getvalue()
    assert len(day.ran) == 1


def job(folder: Path, timeout: float | None = None) -> Job:
    return Job(folder / "audit.toml", "tiny", Cron("* * * * *", UTC), None, timeout, str(folder / "h"), "tiny")


def python(script: str) -> Callable[[Path], list[str]]:
    return lambda file: [sys.executable, "-c", script]


@pytest.mark.parametrize(
    ("script", "state", "summary", "error"),
    [
        ("print('{\"unchanged\": true}')", "unchanged", {"unchanged": True}, ""),
        ("print('noise'); print('[1]')", "done", {}, ""),
        ("import sys; print('{\"a\": 1}'); sys.exit(1)", "findings", {"a": 1}, ""),
        ("import sys; sys.stderr.write('x' * 10**6 + '\\nlast words\\n'); sys.exit(3)", "failed", {}, "last words"),
        ("import os; os.kill(os.getpid(), 9)", "failed", {}, "killed by SIGKILL"),
        ("import os; os.kill(os.getpid(), 40)", "failed", {}, "killed by signal 40"),
        ("import sys; sys.exit(75)", "locked", {}, ""),
    ],
)
def test_a_child_is_told_by_its_code_and_last_line(
    tmp_path: Path, script: str, state: str, summary: dict[str, Any], error: str
) -> None:
    ended = Children().run(python(script)(tmp_path), tmp_path, 60)
    assert ended is not None
    assert (ended.state, dict(ended.summary), ended.error) == (state, summary, error)


def test_a_timeout_stops_the_child_and_what_it_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("uq_report.ops.schedule._PATIENCE", 0.5)
    script = (
        "import signal, subprocess, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
        "p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']);"
        "open('pid', 'w').write(str(p.pid)); time.sleep(60)"
    )
    start = time.monotonic()
    ended = Children().run(python(script)(tmp_path), tmp_path, 3)
    assert ended is not None
    assert (ended.state, ended.code) == ("timeout", -9)
    assert time.monotonic() - start < 30
    grandchild = Path(f"/proc/{(tmp_path / 'pid').read_text()}/stat")
    deadline = time.monotonic() + 10
    while grandchild.exists() and grandchild.read_text().split()[2] != "Z" and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not grandchild.exists() or grandchild.read_text().split()[2] == "Z"


BUSY = "import os\nif os.fork() == 0:\n    while True: pass\nos.wait()"


def test_processor_time_stops_what_a_run_started_and_not_what_waits(tmp_path: Path) -> None:
    busy = Children().run(python(BUSY)(tmp_path), tmp_path, None, 0.3)
    assert busy is not None
    assert (busy.state, busy.error) == ("timeout", "stopped after 0.3 s of processor time")
    idle = Children().run(python("import time; time.sleep(0.5)")(tmp_path), tmp_path, 60, 30.0)
    assert idle is not None
    assert (idle.state, idle.error) == ("done", "")
    hung = Children().run(python("import time; time.sleep(60)")(tmp_path), tmp_path, 0.3, 30.0)
    assert hung is not None
    assert (hung.state, hung.error) == ("timeout", "stopped after 0.3 s")


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], None]:
    """Return what names another folder than /proc, where the system tells of its processes."""
    return partial(monkeypatch.setattr, schedule, "PROC")


def test_processor_time_is_that_of_the_session_alone(tmp_path: Path, processes: Callable[[Path], None]) -> None:
    tick = 1 / os.sysconf("SC_CLK_TCK")
    head = "S 1 7 {session} 0 -1 0 0 0 0 0"
    for pid, session, times in ((7, 7, "1 2 4 8 99"), (8, 7, "16 32 64 128 99"), (9, 9, "1000 1000 1000 1000 99")):
        (tmp_path / str(pid)).mkdir()
        (tmp_path / str(pid) / "stat").write_text(f"{pid} (a) b ) {head.format(session=session)} {times}")
    (tmp_path / "10").mkdir()  # it has ended meanwhile
    (tmp_path / "meminfo").touch()
    processes(tmp_path)
    assert schedule.cpu_seconds(7) == pytest.approx(255 * tick)
    assert schedule.cpu_seconds(9) == pytest.approx(4000 * tick)
    assert schedule.cpu_seconds(1) == 0
    assert not schedule.tells_cpu_time()


def test_processor_time_is_read_and_refused_where_nobody_tells_it(
    folder: Path, processes: Callable[[Path], None]
) -> None:
    limits = 'cron = "@daily"\ntimeout = "2h"\ncpu_time = "90s"'
    credit, motor = jobs(read_schedule(write(folder, limits)))
    assert (credit.timeout, credit.cpu_time, motor.cpu_time) == (7200.0, 90.0, None)
    processes(folder)
    with pytest.raises(InputError, match=r"cpu_time must be left out on a system that does not tell .*; got"):
        read_schedule(write(folder, limits))
    read_schedule(write(folder, 'cron = "@daily"'))


def test_a_stop_waits_for_the_grace_and_leaves_what_has_not_begun(tmp_path: Path) -> None:
    told = io.StringIO()
    two = [job(tmp_path), replace(job(tmp_path), file=tmp_path / "other.toml", label="other")]
    script = "import time; open('begun', 'w').close(); time.sleep(60)"
    made = Service(two, Lines(told, "plain"), grace=0.2, command=python(script))

    def stop() -> None:
        while not (tmp_path / "begun").exists():
            time.sleep(0.02)
        made.stop("SIGTERM")

    thread = threading.Thread(target=stop)
    thread.start()
    assert made.serve() == 0
    thread.join()
    lines = told.getvalue().splitlines()
    assert sum("run.start audit=" in line for line in lines) == 2
    assert any("run.end audit=tiny state=stopped code=-15" in line for line in lines)
    assert any("run.left audit=other" in line for line in lines)


def test_a_run_that_cannot_be_started_is_told(tmp_path: Path) -> None:
    told = io.StringIO()
    made = Service([job(tmp_path)], Lines(told, "plain"), command=lambda file: ["/nowhere/uq-report"])
    assert made.once() == 3
    assert "No such file" in told.getvalue()


def test_lines_are_one_line_and_know_the_journal(tmp_path: Path) -> None:
    told = io.StringIO()
    say = Lines(told, "plain", lambda: START)
    say("run.end", "error", audit="a\nb\x1b[31m", code=3, nothing=None, why='said "no"')
    (line,) = told.getvalue().splitlines()
    assert line.endswith('run.end audit="a b[31m" code=3 why="said \\"no\\""')
    with (tmp_path / "log").open("w") as stream:
        status = os.fstat(stream.fileno())
        assert to_journal(stream, {"JOURNAL_STREAM": f"{status.st_dev}:{status.st_ino}"})
        assert not to_journal(stream, {"JOURNAL_STREAM": "1:2"})
    assert not to_journal(io.StringIO(), {"JOURNAL_STREAM": "1:2"})


def test_one_scheduler_to_a_folder(folder: Path) -> None:
    runner = CliRunner()
    with alone(folder):
        with pytest.raises(LockedError, match="another scheduler is at work"), alone(folder):
            pass
        result = runner.invoke(cli.app, ["schedule", str(folder / "audits.toml"), "--once"])
        assert (result.exit_code, result.stdout) == (75, "")
        assert runner.invoke(cli.app, ["schedule", str(folder / "audits.toml"), "--dry-run"]).exit_code == 0
    with alone(folder):
        pass


def test_one_scheduler_to_a_folder_that_cannot_be_written(
    folder: Path, read_only: ReadOnly, temporary_files: Callable[[Path], None]
) -> None:
    temporary_files(folder / "credit")
    before = sorted(folder.iterdir())
    with read_only(), alone(folder):
        with pytest.raises(LockedError, match="another scheduler is at work"), alone(folder):
            pass
        with alone(folder / "motor"):
            pass
    assert sorted(folder.iterdir()) == before


def test_the_command_prints_times_and_refuses_once_without_histories(folder: Path) -> None:
    now = datetime.now(UTC)
    filed(folder, "credit", now)
    result = CliRunner().invoke(cli.app, ["schedule", str(folder / "audits.toml"), "--dry-run"])
    assert result.exit_code == 0, result.output
    monday = now.replace(hour=6, minute=0) + timedelta(days=-now.weekday())
    first, second = (monday + timedelta(weeks=week + (monday <= now)) for week in (0, 1))
    words = ["credit", "-", f"{first:%Y-%m-%dT%H:%M}+00:00", f"{second:%Y-%m-%dT%H:%M}+00:00"]
    assert result.stdout.splitlines()[1].split()[:4] == words
    bare = (folder / "motor" / "audit.toml").read_text().partition("[output]")[0]
    (folder / "motor" / "audit.toml").write_text(bare)
    result = CliRunner().invoke(cli.app, ["schedule", str(folder / "audits.toml"), "--once"])
    assert result.exit_code == 3
    assert "output.history must be given for --once" in result.stderr


def test_the_child_is_our_own_command() -> None:
    words = run_command(Path("a.toml"))
    assert (words[1], words[5:]) == ("-I", ["uq_report", "run", "a.toml", "--quiet", "--json"])


def test_signals_stop_a_real_scheduler(folder: Path) -> None:
    """It starts, waits, and ends on SIGTERM with what its runs say: nothing ran, so 0."""
    command = [
        sys.executable,
        "-m",
        "uq_report",
        "schedule",
        str(write(folder, 'cron = "0 0 29 2 *"\nmisfire = "1s"')),
    ]
    text = (folder / "audits.toml").read_text().replace("*/30 * * * *", "0 0 29 2 *")
    (folder / "audits.toml").write_text(text)
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as service:
        assert service.stderr is not None
        lines = [service.stderr.readline() for _ in range(3)]
        service.send_signal(signal.SIGTERM)
        lines += service.stderr.readlines()
        assert service.wait(30) == 0
    assert "scheduler.start audits=2" in lines[0]
    assert "reason=SIGTERM" in lines[-2]
    assert lines[-1].endswith("scheduler.stop code=0\n")
