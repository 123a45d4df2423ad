"""Progress: bars on a terminal, nothing elsewhere, a callable as it is."""

import io
import sys
from contextlib import redirect_stderr
from types import ModuleType, SimpleNamespace

import pytest

import uq_report as uq
from uq_report.api import showing as progress
from uq_report.api.showing import reported
from uq_report.core.engine.fast_path_evaluator import Progress
from uq_report.testing import linear_subject


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_bars_are_drawn_on_a_terminal_and_name_the_explainer(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    with redirect_stderr(screen), reported(None) as callback:
        assert callback is not None
        for step in (
            Progress("pfi", 0, 0),
            Progress("pfi", 5, 10),
            Progress("pdp\x1b[31m", 1, 0),
            Progress("pfi", 10, 10),
        ):
            callback(step)
    drawn = screen.getvalue()
    assert "pfi" in drawn
    assert "10/10" in drawn
    assert "\x1b[31m\x1b[31m" not in drawn


def test_nothing_elsewhere_and_nothing_if_unwanted() -> None:
    for stream, wanted in ((io.StringIO(), None), (io.StringIO(), True), (Terminal(), False)):
        with redirect_stderr(stream), reported(wanted) as callback:
            assert callback is None
        assert stream.getvalue() == ""


def test_a_terminal_names_the_part_and_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    with redirect_stderr(screen), reported(True) as callback:
        assert callback is not None
        callback(Progress("pfi", 0, 0, 3, 14))
        callback(Progress("pfi", 5, 10))
    assert "pfi (3 of 14)" in screen.getvalue()
    assert "0:00:00" in screen.getvalue()


class Notebook:
    """IPython as a kernel has it: what is displayed is kept."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.lines: list[str] = []
        for name in ("IPython", "IPython.display"):
            module = ModuleType(name)
            vars(module).update(get_ipython=lambda: SimpleNamespace(kernel=object()), display=self.display)
            monkeypatch.setitem(sys.modules, name, module)

    def display(self, content: dict[str, str], *, raw: bool, display_id: bool) -> "Notebook":
        assert display_id
        self.update(content, raw=raw)
        return self

    def update(self, content: dict[str, str], *, raw: bool) -> None:
        assert raw
        self.lines.append(content.get("text/plain", ""))


def test_a_notebook_shows_one_line_for_each_part_and_half_second(monkeypatch: pytest.MonkeyPatch) -> None:
    notebook, clock = Notebook(monkeypatch), iter([0.0, 1.0, 1.4, 1.5, 1.6])
    monkeypatch.setattr(progress, "perf_counter", lambda: next(clock))
    with redirect_stderr(io.StringIO()), reported(None) as callback:
        assert callback is not None
        for step in (Progress("pfi", 0, 0, 3, 14), Progress("pfi", 1, 9), Progress("pfi", 2, 9), Progress("pdp", 0, 0)):
            callback(step)
    assert notebook.lines == ["pfi (3 of 14), 1 s", "pfi (3 of 14), 2 of 9, 2 s", "pdp, 2 s", ""]
    with reported(False) as silent:
        assert silent is None


def test_work_without_a_step_shows_nothing_in_a_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    notebook = Notebook(monkeypatch)
    with redirect_stderr(io.StringIO()), reported(None):
        pass
    assert notebook.lines == []


def test_every_explainer_and_format_is_announced_with_its_number() -> None:
    steps: list[Progress] = []
    run = uq.audit(linear_subject(30), explainers=["calibration", "data_quality"], progress=steps.append)
    assert [step[3:] for step in steps if step.parts] == [(1, 2), (2, 2)]
    assert {step.explainer for step in steps if step.parts} == {"calibration", "data_quality"}
    steps.clear()
    run.reports(["junit", "markdown"], progress=steps.append)
    assert steps == [Progress("writing junit", 0, 0, 1, 2), Progress("writing markdown", 0, 0, 2, 2)]


def test_a_callable_is_handed_on() -> None:
    steps: list[Progress] = []
    with reported(steps.append) as callback:
        assert callback is not None
        callback(Progress("pfi", 1, 2))
    assert steps == [Progress("pfi", 1, 2)]
