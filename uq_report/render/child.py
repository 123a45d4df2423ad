"""The process that prints one page and ends: ``python -m uq_report.render.child SECONDS MEGABYTES``.

Standard input is a job, standard output the answer (see `wire` and `process`). Only what printing needs is
imported. The memory limit is of the address space; the process ends by itself even if nobody waits for it.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import warnings
from collections.abc import Sequence
from typing import Any, BinaryIO

from ..core.errors import RenderError
from ..document.document import Attachment
from .printer import print_page
from .wire import pack, unpack

if sys.platform != "win32":
    import resource

GRACE = 5  # seconds after which a child without parent ends


def limit(seconds: int, megabytes: int) -> None:
    """Bound time and memory of this process, and leave no core file; a lower bound that is set already stays."""
    if sys.platform == "win32":  # there are no such limits; the parent's clock is the only one
        return
    signal.alarm(seconds + GRACE)
    for what, most in (
        (resource.RLIMIT_AS, megabytes * 2**20),
        (resource.RLIMIT_CPU, seconds + 1),
        (resource.RLIMIT_CORE, 0),
    ):
        hard = resource.getrlimit(what)[1]
        bound = most if hard == resource.RLIM_INFINITY else min(most, hard)
        try:
            resource.setrlimit(what, (bound, bound))
        except (ValueError, OSError) as error:  # macOS refuses some of them
            warnings.warn(f"the printing process could not be limited: {error}", stacklevel=2)


def answer(job: bytes) -> bytes:
    """Return the PDF, complaints and warnings of a job; errors become part of the answer."""
    head, (html, *contents) = unpack(job)
    files = [Attachment(content=content, **told) for told, content in zip(head["attachments"], contents, strict=True)]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            pdf, problems = print_page(html.decode(), files, head["as_of"])
        except RenderError as error:
            return pack({"error": str(error)})
    said = [(warning.category.__name__, str(warning.message)) for warning in caught]
    return pack({"problems": problems, "warnings": said}, [pdf])


def main(arguments: Sequence[str], source: BinaryIO, target: BinaryIO) -> int:
    """Read a job, write its answer; a lack of memory is part of the answer as long as there is any left."""
    gc.disable()  # a fifth of the time; the process ends after one page, and its memory is bounded
    reserve: Any = bytearray(2**20)
    try:
        limit(*map(int, arguments))
        message = answer(source.read())
    except MemoryError:
        del reserve
        message = pack({"memory": True})
    target.write(message)
    target.flush()
    return 0


def run() -> None:
    """Keep standard output for the answer: what libraries print goes to standard error."""
    own = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    code = main(sys.argv[1:], sys.stdin.buffer, own)
    own.close()
    os._exit(code)  # taking the page apart costs more than it gives


if __name__ == "__main__":
    run()
