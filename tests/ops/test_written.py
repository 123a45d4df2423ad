"""Results before presentation: what the end needs is looked at first, results are saved next, the report is last."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner, Result

import uq_report as uq
from uq_report import cli, testing
from uq_report.core.support.errors import OutputError, RenderError
from uq_report.evidence import disk, run_folder
from uq_report.ops.history import History
from uq_report.render import pdf as libraries

from ..conftest import FullDisk
from ..packages import Packages, explainer
from .conftest import ReadOnly

MODEL = """
from pathlib import Path
import pandas as pd
from sklearn.linear_model import LogisticRegression

def model():
    Path("loaded").touch()
    return LogisticRegression().fit(pd.DataFrame({"a": [0.0, 1.0, 2.0, 3.0]}), [0, 1, 0, 1])
"""


@pytest.fixture
def folder(tmp_path: Path, import_paths: None, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a working folder with rows and a model that says when it is loaded."""
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"a": np.arange(40) % 4, "y": [0, 1] * 20}).to_csv("rows.csv", index=False)
    Path("made_for_writing.py").write_text(MODEL)
    monkeypatch.delitem(sys.modules, "made_for_writing", raising=False)
    return tmp_path


BASE = (
    *("--model", "made_for_writing:model", "--data", "rows.csv", "--target", "y", "--label", "m"),
    *("--explainers", "calibration"),
)


def run(*more: str) -> Result:
    return CliRunner().invoke(cli.app, ["run", *BASE, *more])


def refused(folder: Path, code: int, *more: str) -> str:
    """Return the one message of a run that ends before its model is loaded, and writes nothing."""
    before = sorted(folder.rglob("*"))
    result = run(*more)
    assert (result.exit_code, result.stdout) == (code, "")
    assert sorted(folder.rglob("*")) == before
    return result.stderr


def test_a_template_that_is_missing_or_broken_is_refused_first(folder: Path) -> None:
    assert "render.templates must be a directory" in refused(folder, 4, "--templates", "none")
    Path("house").mkdir()
    Path("house/own.html").write_text("{% if %}")
    assert "own.html, line 1" in refused(folder, 4, "--templates", "house")


def test_a_place_that_cannot_be_written_to_is_refused_first(
    folder: Path, read_only: ReadOnly, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("file").touch()
    assert "'file'" in refused(folder, 74, "--output", "file")
    assert "is a file. Nothing was computed or written." in refused(folder, 74, "--output", "file/out")
    Path("out/report.html").mkdir(parents=True)
    assert "report.html in the way" in refused(folder, 74, "--output", "out", "--format", "html")
    with read_only():
        assert "may not be written to" in refused(folder, 74, "--output", "new")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=2**20 - 1))
    assert "is full" in refused(folder, 74, "--output", "new")


def test_a_place_that_can_be_written_to_is_not_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=2**20))
    (tmp_path / "out" / "evidence").mkdir(parents=True)
    run_folder.check_place(tmp_path / "out", ["report.html"])
    run_folder.check_place(tmp_path / "deep" / "below", ["report.html"])
    assert [entry.name for entry in tmp_path.iterdir()] == ["out"]


def test_a_machine_without_pango_is_refused_first(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    libraries.check_libraries.cache_clear()
    monkeypatch.setattr(libraries, "_loads", lambda _: False)
    complaint = "OSError: cannot load library 'libpango-1.0-0': libpango-1.0-0: cannot open shared object file"
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: SimpleNamespace(stderr=complaint))
    message = refused(folder, 4, "--format", "pdf")
    assert "pdf needs libpango-1.0-0, which this machine lacks. Debian and Ubuntu: apt-get install libpango" in message
    assert "uq-report doctor" in message
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: SimpleNamespace(stderr=""))
    libraries.check_libraries()  # WeasyPrint found them by other names
    libraries.check_libraries.cache_clear()


def test_a_disk_that_is_full_for_the_report_keeps_the_results(folder: Path, full_disk: FullDisk) -> None:
    with full_disk("report.html"):
        result = run("--output", "out", "--format", "html")
    assert result.exit_code == 74
    assert "No space left on device" in result.stderr
    assert "The results are saved in out; what is missing of the report: uq-report render out" in result.stderr
    assert uq.load("out").run.subject["label"] == "m"
    assert CliRunner().invoke(cli.app, ["render", "out", "--format", "html"]).exit_code == 0
    assert disk.match(Path("out"), disk.loads(Path("out")), ["report.html", "run.json"])


def test_a_disk_that_is_full_at_once_leaves_nothing(folder: Path, full_disk: FullDisk) -> None:
    with full_disk("run.json"):
        result = run("--output", "out", "--format", "html")
    assert (result.exit_code, "are saved" in result.stderr) == (74, False)
    assert list(Path("out").iterdir()) == []


def test_an_interrupt_says_what_is_saved(folder: Path, packages: Packages) -> None:
    packages.explainer("halts", explainer("halts", "raise KeyboardInterrupt"))
    result = run("--output", "out", "--explainers", "halts", "--quiet")
    assert (result.exit_code, result.stderr) == (130, "Interrupted.\nNo results were saved.\n")
    packages.renderer("stopped", "raise KeyboardInterrupt")
    result = run("--output", "out", "--history", "filed", "--format", "html", "--format", "stopped")
    assert result.exit_code == 130
    lines = result.stderr.splitlines()
    place = History("filed").find("m").folder
    assert lines[lines.index("Interrupted.") :] == [
        "Interrupted.",
        "Written in out: report.html.",
        "The results are saved in out; what is missing of the report: uq-report render out",
        f"The results are filed as m@1 in {place}",
    ]
    assert Path("out/report.html").read_bytes() == (place / "report.html").read_bytes()


KILLED = """
import os, signal, sys
from uq_report.cli import app
from uq_report.render.html import HtmlRenderer
HtmlRenderer.render = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
app(sys.argv[1:])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals are those of POSIX")
def test_a_process_killed_while_it_renders_loses_no_result(folder: Path) -> None:
    words = ["run", *BASE, "--output", "out", "--history", "filed", "--format", "html", "--quiet"]
    environ = os.environ | {"PYTHONPATH": str(Path(uq.__file__).parents[1])}
    killed = subprocess.run([sys.executable, "-c", KILLED, *words], env=environ, check=False, timeout=120)
    assert killed.returncode == -9
    assert not Path("out/report.html").exists()
    resumed = CliRunner().invoke(cli.app, ["render", "out", "--format", "html", "--quiet"])
    assert (resumed.exit_code, resumed.output) == (0, "")
    assert Path("out/report.html").is_file()
    history = History("filed")
    assert (history.runs("m"), history.check()) == ([], [])
    with history.filing("m") as filing:
        last = filing.previous()
    (filed,) = history.runs("m")
    assert last is not None
    assert filed.entry.run_sha256 == disk.loads(Path("out"))["run.json"]
    assert (filed.folder / "run.json").read_bytes() == Path("out/run.json").read_bytes()
    assert (history.check(), (filed.folder.parent / ".held").exists()) == ([], False)


def test_a_renderer_that_fails_costs_its_file_in_a_history_too(folder: Path, packages: Packages) -> None:
    packages.renderer("failing", "1 / 0")
    result = run("--history", "filed", "--format", "failing", "--format", "markdown", "--json")
    assert result.exit_code == 4
    assert '"reasons": ["report.failing could not be made: ZeroDivisionError: division by zero"' in result.stdout
    assert '"exit_code": 4' in result.stdout
    files = {file.name for file in History("filed").find("m").folder.iterdir()}
    assert {"run.json", "report.md"} < files
    assert "report.failing" not in files


def test_a_finding_at_the_gate_comes_before_a_renderer_that_fails(folder: Path, packages: Packages) -> None:
    packages.renderer("failing", "1 / 0")
    rule = ["--set", 'policy.rules=["nll <= 0.0001"]', "--fail-on", "high"]
    result = run("--output", "out", "--format", "failing", *rule)
    assert result.exit_code == 1
    assert "report.failing could not be made" in result.stderr


def test_python_saves_first_too(tmp_path: Path) -> None:
    audited = uq.audit(testing.linear_subject(20), explainers=[], progress=False)

    def stops() -> Iterator[tuple[str, bytes]]:
        assert (tmp_path / "run.json").is_file(), "results first"
        yield "report.md", b"made"
        raise RenderError("report.html could not be made: no ink")

    with pytest.raises(RenderError) as caught:
        run_folder.write_first(audited.run, tmp_path, reports=stops(), clock={})
    assert caught.value.__notes__[0] == f"Written in {tmp_path}: report.md."
    assert disk.match(tmp_path, disk.loads(tmp_path), ["report.md", "run.json"])


def test_what_stands_in_the_way_is_an_output_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match=r"run\.write\.folder must be writable"):
        run_folder.write_files(tmp_path / "file" / "below", {"a": b""})
