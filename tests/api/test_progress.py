"""Progress: bars on a terminal, nothing elsewhere, a callable as it is."""

import io
import sys

import pytest

from uq_report.api.progress import reported
from uq_report.core.engine import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_bars_are_drawn_on_a_terminal_and_name_the_explainer(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    with reported(None) as callback:
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


def test_nothing_elsewhere_and_nothing_if_unwanted(monkeypatch: pytest.MonkeyPatch) -> None:
    for stream, wanted in ((io.StringIO(), None), (io.StringIO(), True), (Terminal(), False)):
        monkeypatch.setattr(sys, "stderr", stream)
        with reported(wanted) as callback:
            assert callback is None
        assert stream.getvalue() == ""


def test_a_callable_is_handed_on() -> None:
    steps: list[Progress] = []
    with reported(steps.append) as callback:
        assert callback is not None
        callback(Progress("pfi", 1, 2))
    assert steps == [Progress("pfi", 1, 2)]
