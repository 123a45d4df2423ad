"""The schedule for real: a scheduler of its own, an audit every other minute, five minutes by the clock, a SIGTERM."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from uq_report.ops.history import History

from ..jobs import audits_made

AUDIT = """
[model]
source = "model.skops"
label = "tiny"
[data]
source = "test.csv"
target = "risk"
ignore = ["application", "sex", "exposure", "household"]
[run]
explainers = ["calibration"]
checks = ["calibration"]
[output]
formats = ["html"]
history = "history"
"""


def _at_the_beginning_of_two_minutes() -> None:
    """Wait, or the run made up for is still at work when the next is due, which rightly counts as missed."""
    now = datetime.now(UTC)
    seconds = now.minute % 2 * 60 + now.second
    if seconds > 10:
        time.sleep(120 - seconds)


@pytest.mark.minute
def test_an_audit_every_other_minute_runs_once_and_is_unchanged_after(tmp_path: Path) -> None:
    pytest.importorskip("cronsim", reason="the schedule reads its times with cronsim")
    audits_made.write(tmp_path)
    (tmp_path / "audit.toml").write_text(AUDIT)
    (tmp_path / "audits.toml").write_text('[[audit]]\nfile = "audit.toml"\ncron = "*/2 * * * *"\ntimeout = "110s"\n')
    with History(tmp_path / "history").filing("tiny"):
        pass  # the folder is there, and no run: it counts as missed, and is made up for at once
    _at_the_beginning_of_two_minutes()
    command = [sys.executable, "-m", "uq_report", "schedule", "audits.toml", "--log-format", "journal"]
    log = tmp_path / "log"
    with log.open("w") as stream, subprocess.Popen(command, cwd=tmp_path, stderr=stream) as child:
        deadline = time.monotonic() + 480
        while log.read_text().count("run.end") < 3 and time.monotonic() < deadline and child.poll() is None:
            time.sleep(0.5)
        second = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
        child.send_signal(signal.SIGTERM)
        assert child.wait(60) == 0, log.read_text()
    assert second.returncode == 75
    assert "another scheduler is at work" in second.stderr
    lines = log.read_text().splitlines()
    ends = [line for line in lines if " audit=tiny state=" in line]
    assert "state=done" in ends[0]
    assert all("state=unchanged" in line for line in ends[1:])
    assert lines[-1] == f"<6>scheduler.stop code=0 done=1 unchanged={len(ends) - 1}"
    runs = History(tmp_path / "history").runs("tiny")
    assert [one.entry.sequence for one in runs] == [1]
    last = History(tmp_path / "history").last("tiny")
    assert last is not None
    assert last > datetime.fromisoformat(runs[0].entry.filed) + timedelta(seconds=1)
    assert datetime.now(UTC) - last < timedelta(minutes=8)
    assert json.loads((runs[0].folder / "run.json").read_bytes())
