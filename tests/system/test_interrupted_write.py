"""A full disk or a killed process leaves the old report or the new one: each file whole, and the set of one kind."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from uq_report.core.support.errors import InputError
from uq_report.evidence import disk
from uq_report.evidence.run_folder import write_files

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals, limits and locks are those of POSIX")

NAMES = ("evidence/pfi.csv", "evidence/README.txt", "report.html", "report.pdf", "run.json")
ROOT = Path(__file__).parents[2]
# Writes the new report, and dies by itself at one point: before the n-th file is written, or before the n-th move.
WRITER = """
import os, pathlib, signal, sys
from uq_report.evidence import run_folder as folder
what, count, target = sys.argv[1], int(sys.argv[2]), sys.argv[3]
files = {name: b"new " + name.encode() * 50_000 for name in sys.argv[4:]}
owner, name = (folder, "write_through") if what == "write" else (pathlib.Path, "replace")
real, calls = getattr(owner, name), [0]
def deadly(*arguments):
    calls[0] += 1
    if calls[0] == count:
        os.kill(os.getpid(), signal.SIGKILL)
    return real(*arguments)
setattr(owner, name, deadly)
folder.write_files(target, files)
"""


def report(kind: str) -> dict[str, bytes]:
    return {name: f"{kind} ".encode() + name.encode() * 50_000 for name in NAMES}


def kinds(target: Path) -> set[str]:
    """Return which reports the files belong to; every file there must be whole."""
    found = {}
    for file in (file for file in target.rglob("*") if file.is_file()):
        name = file.relative_to(target).as_posix()
        if name.startswith("."):
            continue
        kind, _, content = file.read_bytes().partition(b" ")
        assert content == name.encode() * 50_000, f"{name} is no whole file"
        found[name] = kind.decode()
    return set(found.values())


def complete(target: Path, kind: str) -> bool:
    """Say whether a folder is exactly the report of a kind, with nothing beside it."""
    files = {f.relative_to(target).as_posix(): f.read_bytes() for f in target.rglob("*") if f.is_file()}
    return files == report(kind) and not list(target.glob(".*"))


@pytest.mark.parametrize(
    ("what", "count"), [("write", n) for n in (1, 2, 5, 6)] + [("replace", n) for n in range(1, 6)], ids=str
)
def test_a_killed_writer_leaves_whole_files_and_the_next_one_mends_the_folder(
    tmp_path: Path, what: str, count: int
) -> None:
    target = tmp_path / "out"
    write_files(target, report("old"))
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", WRITER, what, str(count), str(target), *NAMES]
    assert subprocess.run(command, env=env, check=False, timeout=60).returncode == -signal.SIGKILL
    if what == "write":
        assert kinds(target) == {"old"}
    else:
        assert kinds(target) <= {"old", "new"}
    write_files(target, {"note.txt": b"x"})
    (target / "note.txt").unlink()
    assert complete(target, "old" if what == "write" else "new")


def test_a_folder_that_cannot_be_locked_is_written_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: int) -> None:
        raise OSError(9, "Bad file descriptor")  # of NFS

    monkeypatch.setattr(disk, "fcntl", SimpleNamespace(flock=refused, LOCK_EX=2))
    write_files(tmp_path, report("new"))
    assert complete(tmp_path, "new")


def test_a_writer_at_work_is_left_alone(tmp_path: Path) -> None:
    """A second writer in the middle of the first one's work does not take its stage for one left behind."""

    class Slow(dict[str, bytes]):
        """Files before the last of which another writer comes and goes."""

        def items(self) -> Any:
            for name, content in super().items():
                if name == "run.json":
                    write_files(tmp_path, {"other.txt": b"x"})
                yield name, content

    write_files(tmp_path, Slow(report("new")))
    (tmp_path / "other.txt").unlink()
    assert complete(tmp_path, "new")


def test_an_interrupt_between_two_moves_puts_everything_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_files(tmp_path, report("old"))
    real = Path.replace

    def interrupted(self: Path, target: Path) -> Path:
        if self.name == "run.json" and self.parent.name == "new":
            raise KeyboardInterrupt
        return real(self, target)

    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_files(tmp_path, report("new"))
    assert complete(tmp_path, "old")
    with pytest.raises(KeyboardInterrupt):
        write_files(tmp_path / "empty", report("new"))
    assert not list((tmp_path / "empty").iterdir())


FULL = """
import resource, signal, sys
from uq_report.core.support.errors import InputError
from uq_report.evidence.run_folder import write_files
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
try:
    write_files(sys.argv[1], {name: b"new " + name.encode() * 50_000 for name in sys.argv[2:]})
except InputError as error:
    print(error)
"""


def test_a_file_that_finds_no_room_leaves_the_old_report(tmp_path: Path) -> None:
    write_files(tmp_path, report("old"))
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    said = subprocess.check_output([sys.executable, "-c", FULL, str(tmp_path), *NAMES], text=True, env=env, timeout=60)
    assert "run.write.folder must be writable" in said
    assert "File too large" in said
    assert complete(tmp_path, "old")


def test_a_full_disk_leaves_the_old_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_files(tmp_path, report("old"))

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match="No space left on device"):
        write_files(tmp_path, report("new"))
    assert complete(tmp_path, "old")


def test_a_disk_that_fills_while_the_old_report_is_set_aside_leaves_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was set aside in part is not put back."""
    write_files(tmp_path, report("old"))

    def filling(source: Path, target: Path) -> None:
        target.write_bytes(source.read_bytes()[:100])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(shutil, "copy2", filling)
    with pytest.raises(InputError, match="No space left on device"):
        write_files(tmp_path, report("new"))
    assert complete(tmp_path, "old")
