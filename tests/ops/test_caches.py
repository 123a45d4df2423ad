"""Users without a home: caches go to a private folder that is announced once and gone at the end."""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from uq_report.cli.shared import logged
from uq_report.core.support import processes
from uq_report.ops import caches
from uq_report.ops.caches import CACHES, MATPLOTLIB

from .conftest import ReadOnly

BOTH = [MATPLOTLIB, CACHES]


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"HOME": "{here}"}, []),
        ({"HOME": "{here}/not/yet/there"}, []),
        ({"HOME": "{here}/file"}, BOTH),
        ({"HOME": "{here}/file/below"}, BOTH),
        ({"HOME": "{here}/file", CACHES: "{here}"}, [MATPLOTLIB]),
        ({"HOME": "{here}/file", CACHES: "{here}", "XDG_CONFIG_HOME": "{here}"}, []),
        ({"HOME": "{here}/file", MATPLOTLIB: "{here}"}, [CACHES]),
        ({"HOME": "{here}", CACHES: "{here}/file"}, BOTH),
        ({"HOME": "{here}", MATPLOTLIB: "{here}/file"}, [MATPLOTLIB]),
    ],
)
def test_what_has_no_place(tmp_path: Path, environ: dict[str, str], expected: list[str]) -> None:
    (tmp_path / "file").touch()
    assert caches.without_place({key: text.format(here=tmp_path) for key, text in environ.items()}) == expected


def test_a_folder_that_may_not_be_written_is_no_place(tmp_path: Path, read_only: ReadOnly) -> None:
    with read_only():
        assert caches.without_place({"HOME": str(tmp_path)}) == BOTH


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="only root may become another user")
def test_a_home_that_may_not_be_entered_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0o700)
    code = f"""
import os
from uq_report.ops import caches
os.setuid(65534)
print(*caches.without_place({{"HOME": {str(tmp_path / "closed" / "home")!r}}}))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == BOTH


def test_a_home_behind_an_error_is_no_place(monkeypatch: pytest.MonkeyPatch, read_only: ReadOnly) -> None:
    def closed(place: object, **_: object) -> os.stat_result:
        if "closed" in str(place):
            raise PermissionError(13, "Permission denied", place)
        return os.lstat("/")

    monkeypatch.setattr(os, "stat", closed)
    with read_only():
        assert caches.without_place({"HOME": "/closed/home"}) == BOTH


def test_a_user_whom_the_system_does_not_know_has_no_home(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", unknown)
    assert caches.without_place({}) == BOTH
    assert caches.without_place({"HOME": ""}) == BOTH


def test_the_folder_is_private_and_announced_once(
    tmp_path: Path, temporary_files: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = []
    monkeypatch.setattr(atexit, "register", lambda *call, **_: kept.append(call))
    temporary_files(tmp_path)
    environ = {"HOME": "/dev/null"}
    folder = caches.provide(environ)
    assert folder is not None
    assert (folder.parent, folder.stat().st_mode & 0o777) == (tmp_path, 0o700)
    assert kept == [(processes.remove_folder, folder)]
    assert {environ[name] for name in BOTH} == {str(folder)}
    assert caches.provide(environ) is None, "what this process starts has its place"
    assert str(folder) in caches.announcement(environ)
    assert caches.announcement(environ) == ""
    processes.remove_folder(folder)


def test_no_room_for_temporary_files_stops_nothing(tmp_path: Path, temporary_files: Callable[[Path], None]) -> None:
    temporary_files(tmp_path / "nowhere")
    environ = {"HOME": "/dev/null"}
    assert caches.provide(environ) is None
    assert environ == {"HOME": "/dev/null"}


def test_a_command_of_a_homeless_user_says_so_once_and_leaves_nothing(tmp_path: Path) -> None:
    """Fonts are looked up in this process and in that of the PDF, whose libraries have nothing to say."""
    rows = "\n".join(f"{age},{0.2 + 0.6 * (age % 2)},{age % 2}" for age in range(40))
    (tmp_path / "rows.csv").write_text(f"age,p,paid\n{rows}\n")
    (tmp_path / "audit.toml").write_text(
        '[data]\nsource = "rows.csv"\ntarget = "paid"\npredictions = { probability = "p" }\n'
        '[run]\nexplainers = []\nchecks = []\n[output]\nformats = ["pdf"]\n'
    )
    (tmp_path / "tmp").mkdir()
    names = {MATPLOTLIB, CACHES, "XDG_CONFIG_HOME", "HOME"}
    environ = {key: value for key, value in os.environ.items() if key not in names}
    environ |= {"HOME": os.devnull, "TMPDIR": str(tmp_path / "tmp")}
    command = [sys.executable, "-c", "from uq_report.cli import main; main()", "run", "audit.toml"]
    done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=True)
    assert done.stderr.count("cannot be written: caches go to") == 1
    assert "atplotlib" not in done.stderr
    assert "Fontconfig" not in done.stderr
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.parametrize(("quiet", "silent", "times"), [(False, False, 1), (True, True, 0), (False, True, 0)])
def test_quiet_commands_say_nothing_of_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], quiet: bool, silent: bool, times: int
) -> None:
    monkeypatch.setenv(caches.MARK, "/tmp/private")
    for _ in range(2):
        with logged(quiet, silent):
            pass
    assert capsys.readouterr().err.count("caches go to /tmp/private") == times
