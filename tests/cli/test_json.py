"""What ``--json`` says of the exit code is the exit code, also of mistakes of the command line and of errors."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from uq_report import cli
from uq_report.core.support.errors import EXIT_CODES, INPUT, USAGE, VERIFICATION
from uq_report.ops.history import History

from ..ops import store_runs


def called(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, Any]:
    """Return how the process would end, and its JSON."""
    monkeypatch.setattr(sys, "argv", ["uq-report", *words])
    with pytest.raises(SystemExit) as end:
        cli.main()
    return int(end.value.code or 0), json.loads(capsys.readouterr().out)


@pytest.fixture
def history(tmp_path: Path) -> str:
    with History(tmp_path).filing("credit") as filing:
        filing.add(store_runs.run(), reports={"report.html": b"x"}, clock={})
    return str(tmp_path)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["run", "--jsn", "--json"], USAGE),
        (["run", "--json"], USAGE),
        (["run", "nowhere.toml", "--json"], INPUT),
        (["run", "--json", "--model", "m.skops", "--data", "d.csv", "--fail-on", "every"], USAGE),
        (["history", "--json", "--history", "nowhere"], INPUT),
        (["history", "--json", "--history", "{history}", "--check"], 0),
        (["show", "--json", "nobody", "--history", "{history}"], INPUT),
        (["compare", "--json", "credit", "nobody", "--history", "{history}"], INPUT),
        (["verify", "--json", "nowhere.pdf"], INPUT),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_the_exit_code_is_that_of_the_process(
    history: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str], expected: int
) -> None:
    code, content = called(monkeypatch, capsys, *(word.format(history=history) for word in words))
    assert code == content["exit_code"] == expected
    assert code in EXIT_CODES
    assert bool(content["reasons"]) is (code != 0)


def test_a_history_and_a_report_that_fail_say_so_as_json(
    history: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder,) = Path(history, "credit").glob("0*")
    (folder / "report.html").write_bytes(b"y")
    code, content = called(monkeypatch, capsys, "history", "--json", "--history", history, "--check")
    assert code == content["exit_code"] == VERIFICATION
    assert content["reasons"] == ["credit@1: report.html was changed after it was filed."]
    code, content = called(monkeypatch, capsys, "verify", "--json", str(folder))
    assert code == content["exit_code"] == VERIFICATION
