"""What ``--json`` says of the exit code is the exit code, also of mistakes of the command line and of errors."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from uq_report.core.support.errors import EXIT_CODES, INPUT, USAGE, VERIFICATION
from uq_report.ops.history import History

from ..ops import store_runs


@pytest.fixture
def called(main: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, Any]]:
    """Return what calls the program, and returns its exit code and its JSON."""
    return lambda *words: (main(*words), json.loads(capsys.readouterr().out))


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
    history: str, called: Callable[..., tuple[int, Any]], words: list[str], expected: int
) -> None:
    code, content = called(*(word.format(history=history) for word in words))
    assert code == content["exit_code"] == expected
    assert code in EXIT_CODES
    assert bool(content["reasons"]) is (code != 0)


def test_a_history_and_a_report_that_fail_say_so_as_json(history: str, called: Callable[..., tuple[int, Any]]) -> None:
    (folder,) = Path(history, "credit").glob("0*")
    (folder / "report.html").write_bytes(b"y")
    code, content = called("history", "--json", "--history", history, "--check")
    assert code == content["exit_code"] == VERIFICATION
    assert content["reasons"] == ["credit@1: report.html was changed after it was filed."]
    code, content = called("verify", "--json", str(folder))
    assert code == content["exit_code"] == VERIFICATION
