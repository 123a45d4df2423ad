"""House styles are strangers' code: their pages are filled by a process of its own, see `filler`."""

from __future__ import annotations

import json
import pickle
import subprocess
from collections.abc import Mapping
from pathlib import Path

from ..core.errors import RenderError
from ..core.processes import command
from ..core.text import clean
from .bounds import CLOCK

MAX_SECONDS = 60  # of processor time for a page; the largest reports take a few
MAX_MB = 2048  # of address space for it, beside what libraries take


def filled_apart(house: Path, kind: str, data: Mapping[str, object] | None) -> str:
    """Return a page that a process of its own fills; without `data`, parse its templates and return no text.

    Parsing alone may take all memory, as Jinja computes constants.

    Raises
    ------
    RenderError
        See `render`; or the process could not be started, or ended without a page.
    """
    words = command("uq_report.render.filler", str(MAX_SECONDS), str(MAX_MB))
    job = pickle.dumps((house.resolve(), kind, data))
    try:
        done = subprocess.run(words, input=job, capture_output=True, check=False, timeout=2 * CLOCK * MAX_SECONDS)  # noqa: S603 - our own interpreter and module
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RenderError(f"template: the process that fills {house} must start and end; got {error}.") from error
    line, _, page = done.stdout.partition(b"\n")
    head = json.loads(line) if line.startswith(b"{") else {"size": -1}
    if "error" in head:
        raise RenderError(str(head["error"]))
    if head["size"] != len(page):
        noise = clean(done.stderr.decode(errors="replace"), 300) or "no message"
        raise RenderError(
            f"template: a page of {house} must need less than {MAX_SECONDS} s of processor time and {MAX_MB} MB; the "
            f"process that fills it ended with {done.returncode} ({noise}). Look for a loop, or a text that grows."
        )
    return page.decode("utf-8", "surrogatepass")
