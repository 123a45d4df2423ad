"""The command line as a shell calls it, in this process."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from uq_report import cli


@pytest.fixture
def main(monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """Return what calls the program with some words, and returns its exit code."""

    def ended(*words: str) -> int:
        monkeypatch.setattr(sys, "argv", ["uq-report", *words])
        with pytest.raises(SystemExit) as end:
            cli.main()
        return int(end.value.code or 0)

    return ended
