"""A history survives kill -9 at any moment and ten writers at once: nothing half written, nothing lost."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("store_crash.py")

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="forks")


def crash(mode: str, root: Path) -> dict[str, int]:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), mode, str(root / "history")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    told: dict[str, int] = json.loads(done.stdout)
    return told


def test_filing_can_be_killed_at_every_point(tmp_path: Path) -> None:
    told = crash("everywhere", tmp_path)
    assert told["points"] > 40  # every write, flush and rename is one
    assert told["runs"] > told["points"]
    assert told["rescued"] > 10  # killed while it was held, before it was filed


def test_filing_can_be_killed_at_any_time(tmp_path: Path) -> None:
    assert crash("at_random", tmp_path)["intact"] == 1


def test_whole_runs_can_be_killed_at_any_time(tmp_path: Path) -> None:
    told = crash("whole_runs", tmp_path)
    assert told["died"] > 0
    assert told["lost"] == 0


def test_deleting_can_be_killed_at_every_point(tmp_path: Path) -> None:
    assert crash("deleting", tmp_path)["points"] > 10


def test_ten_processes_lose_nothing(tmp_path: Path) -> None:
    assert crash("together", tmp_path) == {"failed": 0, "torn": 0, "shared": 40, "all": 80}
