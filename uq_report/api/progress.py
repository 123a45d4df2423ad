"""Progress of long work, on the terminal's error stream; silent anywhere else."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TimeElapsedColumn

from ..core.engine import Progress as Step
from ..core.text import short

Callback = Callable[[Step], None]


@contextmanager
def reported(progress: bool | Callback | None) -> Iterator[Callback | None]:
    """Yield the callback to hand to the runner.

    Parameters
    ----------
    progress : bool, callable or None
        A callable is used as it is; False shows nothing; None and True show bars if stderr is a terminal.
    """
    if callable(progress):
        yield progress
    elif progress is False or not sys.stderr.isatty():
        yield None
    else:
        columns = (SpinnerColumn(), "{task.description}", BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
            yield Bars(bars)


class Bars:
    """One bar per explainer: variants done of the last question it asked the engine."""

    def __init__(self, bars: Progress) -> None:
        self._bars = bars
        self._current = ""
        self._task = bars.add_task("starting", total=None)

    def __call__(self, step: Step) -> None:
        """Show one step."""
        if step.explainer != self._current:
            self._bars.remove_task(self._task)
            self._current = step.explainer
            self._task = self._bars.add_task(short(step.explainer), total=None)
        self._bars.update(self._task, completed=step.done, total=step.total or None)
