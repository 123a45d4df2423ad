"""House styles are strangers' code: their pages are filled by a process of its own, see `filler`."""

from __future__ import annotations

import json
import pickle
import subprocess
from collections.abc import Mapping
from math import ceil
from pathlib import Path
from typing import NamedTuple

from ..core.errors import RenderError
from ..core.processes import command
from ..core.text import clean
from .bounds import CLOCK


class Limits(NamedTuple):
    """Processor time of a page (the largest reports take a few seconds), and memory beside what libraries take."""

    cpu_seconds: float = 60.0
    memory_mb: int = 2048


USUAL = Limits()


def filled_apart(house: Path, kind: str, data: Mapping[str, object] | None, limits: Limits) -> str:
    """Return a page that a process of its own fills; without `data`, parse its templates and return no text.

    Parsing alone may take all memory, as Jinja computes constants.

    Raises
    ------
    RenderError
        See `render`; or the process could not be started, or ended without a page.
    """
    seconds = ceil(limits.cpu_seconds)
    words = command("uq_report.render.filler", str(seconds), str(limits.memory_mb))
    job = pickle.dumps((house.resolve(), kind, data))
    try:
        done = subprocess.run(words, input=job, capture_output=True, check=False, timeout=2 * CLOCK * seconds)  # noqa: S603 - our own interpreter and module
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RenderError(f"template: the process that fills {house} must start and end; got {error}.") from error
    line, _, page = done.stdout.partition(b"\n")
    head = json.loads(line) if line.startswith(b"{") else {"size": -1}
    if "error" in head:
        raise RenderError(str(head["error"]))
    if head["size"] != len(page):
        noise = clean(done.stderr.decode(errors="replace"), 300) or "no message"
        raise RenderError(
            f"template: a page of {house} must need less than {seconds} s of processor time and {limits.memory_mb} MB; "
            f"the process that fills it ended with {done.returncode} ({noise}). Look for a loop, or a text that grows, "
            "or raise template_cpu_seconds or template_memory_mb."
        )
    return page.decode("utf-8", "surrogatepass")
