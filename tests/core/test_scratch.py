"""Temporary folders: gone at the end of their process, and after a kill when the next is made."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from uq_report.core.support import processes
from uq_report.ops import caches

DIES = """
import os, sys
from uq_report.core.support import processes
folder = processes.make_folder()
(folder / "model").write_bytes(b"large")
print(folder, flush=True)
os.kill(os.getpid(), int(sys.argv[1]))
"""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, temporary_files: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch) -> Path:
    """Have temporary files in a folder of our own."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    temporary_files(tmp_path)
    return tmp_path


def aged(folder: Path, seconds: float = processes.YOUNG + 1) -> Path:
    then = time.time() - seconds
    os.utime(folder / processes.LOCK, (then, then))
    return folder


@pytest.fixture
def left() -> Path:
    """Return the folder of a process that was killed."""
    done = subprocess.run(
        [sys.executable, "-c", DIES, str(int(signal.SIGKILL))], stdout=subprocess.PIPE, text=True, check=False
    )
    assert done.returncode == -signal.SIGKILL
    folder = Path(done.stdout.strip())
    assert (folder / "model").is_file()
    return folder


def test_the_folder_of_a_killed_process_goes_with_the_next(left: Path) -> None:
    young = processes.make_folder()
    assert left.exists(), "its lock may not be held yet"
    aged(left)
    folder = processes.make_folder()
    assert not left.exists()
    assert (folder.stat().st_mode & 0o777, young.exists()) == (0o700, True)
    for one in (young, folder):
        processes.remove_folder(one)
        assert not one.exists()


def test_folders_at_work_of_others_and_without_a_lock_stay(
    place: Path, left: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "uq-report-other").mkdir()
    (place / "uq-report-details.log").touch()
    own = aged(processes.make_folder())
    with subprocess.Popen([sys.executable, "-c", DIES, "0"], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        gone = Path(child.stdout.readline().strip())
    aged(left)
    with monkeypatch.context() as patch:
        patch.setattr(os, "getuid", lambda: -1)
        other = processes.make_folder()
    assert left.exists(), "it is of another user"
    aged(gone)
    aged(other)
    last = processes.make_folder()
    kept = {path.name for path in place.iterdir()}
    assert kept == {"uq-report-other", "uq-report-details.log", own.name, other.name, last.name}
    for one in (own, other, last):
        processes.remove_folder(one)


def test_a_folder_that_another_process_holds_stays(place: Path) -> None:
    script = DIES.replace("os.kill(os.getpid(), int(sys.argv[1]))", "sys.stdin.read()")
    with subprocess.Popen([sys.executable, "-c", script], stdin=-1, stdout=-1, text=True) as child:
        assert child.stdout is not None
        held = aged(Path(child.stdout.readline().strip()))
        processes.remove_folder(processes.make_folder())
        assert held.exists()
        child.communicate()
    processes.remove_folder(processes.make_folder())
    assert not held.exists()


def test_caches_keep_what_is_theirs_in_such_folders(place: Path) -> None:
    folder = caches.provide({"HOME": os.devnull})
    assert folder is not None
    assert (folder / processes.LOCK).is_file()
    processes.remove_folder(folder)
    assert list(place.iterdir()) == []
