"""The error boundary: exit code 1 is a gate's alone, and text meets terminals that cannot take all of it."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from uq_report import cli
from uq_report.cli import shared as boundary
from uq_report.core.support import errors
from uq_report.core.support.errors import EXIT_CODES, InputError, UQReportError


def codes(kind: type[UQReportError]) -> set[int]:
    """Return the exit codes of an error and all below it."""
    return {kind.exit_code}.union(*(codes(below) for below in kind.__subclasses__()))


def test_the_table_of_exit_codes_is_complete() -> None:
    assert list(EXIT_CODES) == sorted(EXIT_CODES)
    assert codes(UQReportError) <= EXIT_CODES.keys()
    constants = {value for name, value in vars(errors).items() if name.isupper() and isinstance(value, int)}
    assert constants == set(EXIT_CODES)
    assert errors.FINDINGS not in codes(UQReportError), "an error is never a gate"


def ends(error: BaseException, as_json: bool = False) -> Any:
    """Return how a command ends by an error."""
    command = typer.Typer()

    @command.command()
    def fails() -> None:
        with boundary.errors_reported(as_json):
            raise error

    return CliRunner().invoke(command)


@pytest.mark.parametrize("kind", [KeyError, MemoryError, RecursionError, OSError, AssertionError, UnicodeDecodeError])
def test_a_fault_ends_with_70_its_cause_and_the_file_with_the_details(kind: type[Exception]) -> None:
    error = kind("utf-8", b"", 0, 1, "x") if kind is UnicodeDecodeError else kind("boom")
    result = ends(error, as_json=True)
    assert result.exit_code == json.loads(result.stdout)["exit_code"] == errors.INTERNAL
    (line,) = result.stderr.splitlines()
    assert re.match(rf"Error: uq_report failed on what it does not foresee: {kind.__name__}: .*test_boundary", line)
    assert ("no memory was left, or a limit of the address space" in line) is (kind is MemoryError)
    (name,) = re.findall(r"Details: (\S+\.log)\.", line)
    details = Path(name).read_text(encoding="utf-8")
    Path(name).unlink()
    assert "Traceback" in details
    assert json.loads(result.stdout)["reasons"] == [line.removeprefix("Error: ")]


@pytest.mark.parametrize("code", [0, 1, 7, None])
def test_code_of_others_that_ends_the_process_is_a_fault_and_never_a_gate(code: int | None) -> None:
    result = ends(SystemExit(code))
    assert (result.exit_code, f"does not foresee: SystemExit: {code} (" in result.stderr) == (errors.INTERNAL, True)
    for name in re.findall(r"Details: (\S+\.log)\.", result.stderr):
        Path(name).unlink()


def test_without_room_for_a_file_the_details_are_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> Any:
        raise OSError

    monkeypatch.setattr(tempfile, "mkstemp", full)
    assert "Traceback" in ends(KeyError("a")).stderr


def test_an_error_of_ours_ends_with_its_own_code_and_its_notes() -> None:
    error = InputError("a.b must be c; got d.")
    error.add_note("The results are saved in x")
    result = ends(error, as_json=True)
    assert result.exit_code == errors.INPUT
    assert result.stderr == "Error: a.b must be c; got d.\nThe results are saved in x\n"
    reasons = ["a.b must be c; got d.", "The results are saved in x"]
    assert json.loads(result.stdout) == {"exit_code": 3, "reasons": reasons}


@pytest.mark.parametrize("code", [0, 1, 5])
def test_an_end_that_a_command_chose_passes(code: int) -> None:
    assert ends(typer.Exit(code)).exit_code == code


@pytest.mark.parametrize(
    ("encoding", "printed"), [("ascii", rb"-0.5 ... J\xf6rg \u65e5"), ("latin-1", b"-0.5 ... J\xf6rg \\u65e5")]
)
def test_text_fits_any_terminal(encoding: str, printed: bytes) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    with redirect_stdout(stream):
        boundary.say("\u22120.5 \u2026 J\xf6rg \u65e5")
    assert stream.buffer.getvalue() == printed + b"\n"


def process(*words: str, **more: Any) -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own, as a shell does."""
    command = [sys.executable, "-m", "uq_report", *words]
    return subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False, **more)


def test_a_closed_pipe_and_a_full_disk_end_with_74() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    for words in (["--help"], ["plugins", "pfi"]):
        done = process(*words, stdout=writing)
        assert (done.returncode, done.stderr.count("\n")) == (errors.OUTPUT, 1), done.stderr
        assert "standard output must take what is printed; got Broken pipe" in done.stderr
    os.close(writing)
    if Path("/dev/full").exists():
        with open("/dev/full", "wb") as full:  # noqa: PTH123 - a device
            done = process("plugins", "pfi", stdout=full)
        assert (done.returncode, "No space left on device" in done.stderr) == (errors.OUTPUT, True)


@pytest.mark.skipif(sys.platform == "win32", reason="a shell closes the streams")
@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_end_with_74_where_something_had_to_be_printed_and_lose_no_file(
    closed: str, tmp_path: Path
) -> None:
    code = """
import os, sys
from uq_report import cli
from uq_report.cli.shared import errors_reported, say
def app(**_):
    with errors_reported():
        with open("file.txt", "wb", buffering=0) as file:
            assert file.fileno() > 2
            say("a", err=True)
            file.write(b"whole")
        say("b")
cli.app = app
sys.argv = ["uq-report"]
cli.main()
"""
    command = f"exec {shlex.quote(sys.executable)} -c {shlex.quote(code)} {closed}"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == (errors.DONE if closed == "2>&-" else errors.OUTPUT), done.stderr
    assert (tmp_path / "file.txt").read_bytes() == b"whole"


def test_usage_ends_with_2(main: Callable[..., int]) -> None:
    assert main("nonsense") == main("run") == main("run", "--seed", "x") == errors.USAGE
    assert main("--version") == errors.DONE
    assert main("show", "nowhere") == errors.INPUT


@pytest.mark.parametrize(
    ("end", "code"), [(typer.Abort(), errors.INTERRUPTED), (SystemExit(0), errors.INTERNAL)], ids=["prompt", "exit"]
)
def test_an_aborted_prompt_ends_with_130_and_an_exit_that_nobody_chose_with_70(
    end: BaseException, code: int, main: Callable[..., int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def ends_so(**_: Any) -> Any:
        raise end

    monkeypatch.setattr(cli, "app", ends_so)
    assert main("--version") == code
