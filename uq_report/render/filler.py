"""The process that fills the templates of a theme: strangers' code, so with limits of time and memory.

Run as ``python -m uq_report.render.filler SECONDS MEGABYTES``: standard input is a job, standard output its answer.
"""

import json
import os
import pickle
import signal
import sys
import time
from collections.abc import Sequence
from functools import partial
from math import ceil
from pathlib import Path
from typing import BinaryIO, NoReturn

from ..core.support.errors import RenderError
from .bounds import CLOCK, limit, serve
from .environment import fill
from .theme import refuse_addresses, refuse_unguarded


def main(arguments: Sequence[str], source: BinaryIO, target: BinaryIO) -> int:
    """Read a job, and write a line of JSON and the page; a limit is an error at the line where it was reached."""
    seconds, megabytes = map(int, arguments)
    house, kind, data = pickle.loads(source.read())  # noqa: S301 - of the process that started this one
    if sys.platform != "win32":
        signal.signal(signal.SIGXCPU, partial(_stop, seconds))
    limit(seconds + ceil(time.process_time()), CLOCK * seconds, megabytes + _taken())
    try:
        page = fill(house, kind, data)
        if data is not None:
            refuse_addresses(page)
            refuse_unguarded(page)
        body, head = page.encode("utf-8", "surrogatepass"), {}
    except RenderError as error:
        body, head = b"", {"error": str(error)}
    target.write(json.dumps(head | {"size": len(body)}).encode() + b"\n" + body)
    target.flush()
    return 0


def _taken() -> int:
    """Return the megabytes of address space that this process has; many processors make it large."""
    sizes = Path("/proc/self/statm")
    return int(sizes.read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE") // 2**20 if sizes.exists() else 0


def _stop(seconds: int, *_: object) -> NoReturn:
    raise TimeoutError(f"a page must be filled within {seconds} s of processor time")


if __name__ == "__main__":
    serve(main)
