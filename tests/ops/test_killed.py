"""A run that is killed says nothing: the next run or the scheduler's next step tells it, once."""

from __future__ import annotations

import io
import re
import signal
import subprocess
import sys
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import uq_report as uq
from uq_report.core.engine.fast_path_evaluator import Progress
from uq_report.core.support.errors import InputError
from uq_report.jobs.audit_file import EmailPart
from uq_report.ops import mail
from uq_report.ops.history import History
from uq_report.ops.mail import RunEnd, State, is_due, never_ended, subject

from .conftest import Outbox

PART = EmailPart(host="h", sender="a@b.org", to=("c@d.org",), when="findings")
AUDIT = """
[data]
source = "rows.csv"
target = "paid"
predictions = { probability = "p", label = "scores" }
[run]
explainers = []
checks = []
[output]
formats = ["markdown"]
history = "filed"
[email]
host = "localhost"
sender = "a@example.org"
to = ["b@example.org"]
attach = false
when = "findings"
"""
DIES = """
import os, sys
import uq_report as uq
from uq_report.ops import run
run.audit_subject = lambda *_, **__: os.kill(os.getpid(), int(sys.argv[1]))
uq.run("audit.toml", force=True)
"""
MARKED = """
import os, sys
with open("filed/scores/started", "w") as mark:
    mark.write("2026-01-31T06:00:00+00:00")
os.kill(os.getpid(), int(sys.argv[1]))
"""
TOLD = r"A run started at (\S+) and never ended: it was killed, or the machine went down\."


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the working folder of an audit that is mailed and filed."""
    monkeypatch.chdir(tmp_path)
    rows = "\n".join(f"{age},{0.2 + 0.6 * (age % 2)},{age % 2}" for age in range(40))
    Path("rows.csv").write_text(f"age,p,paid\n{rows}\n")
    Path("audit.toml").write_text(AUDIT)
    return tmp_path


def subjects(outbox: Outbox) -> list[str]:
    found = [str(mail["Subject"]) for mail in outbox]
    outbox.clear()
    return found


def left(started: str = "2026-01-31T06:00:00+00:00\n") -> Path:
    """Leave the mark of a killed run."""
    with History("filed").filing("scores") as filing:
        (filing.folder / "started").write_text(started)
    return filing.folder / "started"


def test_a_run_that_is_killed_is_told_by_the_next_one_with_its_time(folder: Path, outbox: Outbox) -> None:
    begun = datetime.now(UTC).replace(microsecond=0)
    dead = subprocess.run([sys.executable, "-c", DIES, str(int(signal.SIGKILL))], capture_output=True, check=False)
    assert dead.returncode == -signal.SIGKILL
    uq.run("audit.toml")
    (text,) = (mail.get_content() for mail in outbox[:1])
    (started,) = re.findall(TOLD, text)
    assert begun <= datetime.fromisoformat(started) <= begun + timedelta(minutes=5)
    first, second = subjects(outbox)
    assert first == "scores: the audit was started and never ended"
    assert second.startswith("scores: the audit runs again, ")
    uq.run("audit.toml")
    assert (subjects(outbox), History("filed").check()) == ([], [])
    assert not (History("filed").folder("scores") / "started").exists()


def test_one_kill_after_another_is_mailed_once(folder: Path, outbox: Outbox) -> None:
    for day in (29, 30, 31):
        left(f"2026-01-{day}T06:00:00+00:00\n")
        assert mail.tell_if_left(folder / "audit.toml", "filed", "scores") == [
            f"A run started at 2026-01-{day}T06:00:00+00:00 and never ended: {mail.UNKNOWN}."
        ]
    assert len(subjects(outbox)) == 1
    assert History("filed").check() == []


@pytest.mark.parametrize("when", ["always", "findings", "failure"])
def test_a_kill_is_due_for_everybody_and_so_is_its_end(when: Any) -> None:
    part = PART.model_copy(update={"when": when})
    dead, again = (never_ended("credit", f"2026-01-{day}T06:00:00", "killed by SIGKILL") for day in (30, 31))
    assert is_due(part, dead, State())
    assert subject(dead, State()) == "credit: the audit was started and never ended"
    known = State.of(dead, State())
    assert not is_due(part, again, known)
    assert is_due(part, never_ended("credit", "", mail.UNKNOWN), known)
    assert is_due(part, RunEnd("credit", 0, unchanged=True), known)
    assert subject(RunEnd("credit", 0, {"recommendation": "Fit for purpose"}), known).startswith(
        "credit: the audit runs again, Fit for purpose"
    )


@pytest.mark.parametrize("text", ["", "soon", "2026-01-31", "\0" * 101])
def test_a_mark_that_does_not_say_when_is_told_without_a_time(folder: Path, outbox: Outbox, text: str) -> None:
    left(text)
    (told,) = mail.tell_if_left(folder / "audit.toml", "filed", "scores")
    assert told.startswith("A run started" + (" at 2026-01-31T00:00:00" if text == "2026-01-31" else " and never"))


def test_a_mail_that_fails_is_told_again_at_the_next_step(folder: Path, outbox: Outbox) -> None:
    mark = left()
    outbox.error = OSError("no route")
    for _ in range(2):
        assert "Mail: email failed: OSError: no route." in mail.tell_if_left(folder / "audit.toml", "filed", "scores")
        assert mark.exists()


def test_ends_that_are_told_otherwise_leave_no_mark(folder: Path, outbox: Outbox) -> None:
    mark = History("filed").folder("scores") / "started"
    seen: list[bool] = []

    for error in (KeyboardInterrupt(), InputError("no"), MemoryError()):

        def end(_: Progress, error: BaseException = error) -> None:
            seen.append(mark.exists())
            raise error

        with suppress(KeyboardInterrupt, InputError, MemoryError):
            uq.run("audit.toml", progress=end)
        assert not mark.exists()
    assert seen == [True] * 3
    assert all("never ended" not in one for one in subjects(outbox))


def test_what_a_kill_leaves_half_written_goes_with_the_next_filing(folder: Path) -> None:
    mark = left()
    for name in (f".new-{mark.name}", ".new-mailed.json", ".new-latest"):
        mark.with_name(name).write_text("half")
    with History("filed").filing("scores"):
        pass
    assert not list(mark.parent.glob(".new*"))
    assert History("filed").check() == []


def test_an_audit_at_work_is_not_taken_for_killed(folder: Path, outbox: Outbox) -> None:
    with History("filed").filing("scores") as filing, mail.at_work(filing):
        assert mail.tell_if_left(folder / "audit.toml", "filed", "scores") == []
        assert (filing.folder / "started").exists()
    assert subjects(outbox) == []


def test_a_mark_that_cannot_be_written_stops_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise PermissionError("read only")

    monkeypatch.setattr(mail, "put", refuse)
    assert uq.run("audit.toml").exit_code == 0


def test_the_scheduler_tells_at_once_what_it_saw_and_at_its_next_step_what_it_did_not(
    folder: Path, outbox: Outbox
) -> None:
    pytest.importorskip("cronsim", reason="the schedule reads its times with cronsim")
    from uq_report.ops.schedule import Lines, Service, jobs, read_schedule

    Path("audits.toml").write_text('[[audit]]\nfile = "audit.toml"\ncron = "@daily"\n')
    plan = jobs(read_schedule("audits.toml"))

    def step(number: int) -> str:
        """Run what is due by runs that mark themselves and die of a signal; return what is printed."""
        told, words = io.StringIO(), [sys.executable, "-c", MARKED, str(number)]
        assert Service(plan, Lines(told, "plain"), command=lambda _: words).once() == 3
        return told.getvalue()

    left()
    mail.tell_if_left(folder / "audit.toml", "filed", "scores")
    assert len(subjects(outbox)) == 1
    told = step(signal.SIGKILL)
    assert told.count("run.killed audit=scores") == 1
    assert "and never ended: killed by SIGKILL." in told
    assert subjects(outbox) == ["scores: the audit was started and never ended"]
    assert step(signal.SIGKILL).count("run.killed") == 1
    assert subjects(outbox) == []
    left()
    outbox.error = OSError("no route")
    again = step(signal.SIGTERM)
    assert again.index("run.killed") < again.index("run.start"), "before anything is run"
    Path("audit.toml").write_text("[email")
    assert "It cannot be told whether the last run was killed: " in step(signal.SIGTERM)
