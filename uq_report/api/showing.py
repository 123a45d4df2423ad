"""What is shown at work: reports, figures and progress, in the notebook's cell, the browser or on the error stream."""

import sys
import tempfile
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from html import escape
from importlib import import_module
from math import inf
from pathlib import Path
from time import perf_counter
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TimeElapsedColumn

from ..core.engine.fast_path_evaluator import Progress as Step
from ..core.support.text import short

Callback = Callable[[Step], None]
SECONDS = 0.5  # between two lines of one part in a notebook


def in_notebook() -> bool:
    """Say whether a kernel of IPython is at work."""
    shell: Any = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")


def show(thing: Any) -> None:
    """Show a thing with a notebook's hooks below the cell at work."""
    import_module("IPython.display").display(thing)


def show_page(content: bytes) -> None:
    """Show a page of HTML: in a frame below the cell at work, else in the browser."""
    if in_notebook():
        frame = f'<iframe srcdoc="{escape(content.decode())}" style="width:100%;height:720px;border:0"></iframe>'
        show(import_module("IPython.display").HTML(frame))
    else:
        open_file(content, ".html")


def open_file(content: bytes, suffix: str) -> None:
    """Write a temporary file and open it in the browser."""
    with tempfile.NamedTemporaryFile(prefix="uq-report-", suffix=suffix, delete=False) as file:
        file.write(content)
    webbrowser.open(Path(file.name).as_uri())


@contextmanager
def reported(progress: bool | Callback | None) -> Iterator[Callback | None]:
    """Yield the callback to hand to the runner.

    Parameters
    ----------
    progress : bool, callable or None
        A callable is used as it is; False shows nothing; None and True show bars if stderr is a terminal, and a line
        in a notebook. Both are gone when the work is done.
    """
    if callable(progress):
        yield progress
    elif progress is False:
        yield None
    elif sys.stderr.isatty():
        columns = (SpinnerColumn(), "{task.description}", BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
            yield Bars(bars)
    elif in_notebook():
        with closing(ProgressLine(import_module("IPython.display").display)) as line:
            yield line
    else:
        yield None


class ProgressPart:
    """Which part is at work: ``pfi (3 of 14)``."""

    def __init__(self) -> None:
        self._explainer = self._of = ""

    def __call__(self, step: Step) -> tuple[str, bool]:
        """Return the words for a step, and whether it is of another part than the one before."""
        new = step.explainer != self._explainer
        if new or step.parts:
            self._of = f" ({step.part} of {step.parts})" if step.parts else ""
        self._explainer = step.explainer
        return f"{short(step.explainer)}{self._of}", new


class Bars:
    """One bar: variants done of the last question that the explainer at work asked the engine, and the time in all."""

    def __init__(self, bars: Progress) -> None:
        self._bars, self._place = bars, ProgressPart()
        self._task = bars.add_task("starting", total=None)

    def __call__(self, step: Step) -> None:
        """Show one step."""
        words, _ = self._place(step)
        self._bars.update(self._task, description=words, completed=step.done, total=step.total or None)


class ProgressLine:
    """A line below the notebook's cell at work, shown anew for every part and at most every half second.

    ``pfi (3 of 14), 40 of 540, 12 s``; it is an output of its own, which `close` empties.
    """

    def __init__(self, display: Callable[..., Any]) -> None:
        self._display, self._place = display, ProgressPart()
        self._started, self._shown = perf_counter(), -inf
        self._handle: Any = None

    def __call__(self, step: Step) -> None:
        """Show one step."""
        words, new = self._place(step)
        now = perf_counter()
        if new or now - self._shown >= SECONDS:
            self._shown = now
            done = f", {step.done} of {step.total}" if step.total else ""
            self._show({"text/plain": f"{words}{done}, {now - self._started:.0f} s"})

    def close(self) -> None:
        """Empty the output, where there is one."""
        if self._handle is not None:
            self._show({})

    def _show(self, content: dict[str, str]) -> None:
        if self._handle is None:
            self._handle = self._display(content, raw=True, display_id=True)
        else:
            self._handle.update(content, raw=True)
