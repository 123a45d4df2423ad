"""The report as one PDF: the print of the HTML page, archival (PDF/A-3a) and accessible (PDF/UA-1).

It is printed in a process of its own, with limits: an endless page costs an error, not the program.
"""

import builtins
import ctypes
import json
import math
import pickle
import re
import signal
import subprocess
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

from ..core.support.errors import RenderError, installed
from ..core.support.processes import command
from ..core.support.text import clean
from ..document.document import Attachment, Document
from .bounds import CLOCK
from .html import Styled, page

CHILD = "uq_report.render.printer"
_TIME = tuple(getattr(signal, name, 0) for name in ("SIGXCPU", "SIGALRM"))
_LESS = "Raise it, leave sections out, or use the HTML."


@dataclass(frozen=True)
class PdfRenderer(Styled):
    """Write a document as one PDF; no clock enters, so the same document gives the same bytes.

    The document's attachments travel inside, so that the numbers of every printed table are at hand.

    Parameters
    ----------
    templates, template_cpu_seconds, template_memory_mb
        See `Styled`.
    strict : bool, default=False
        Fail on what is only a warning otherwise: a character that no installed font has, an
        image that cannot be drawn, a link without target.
    cpu_seconds : float, default=300
        Processor time the page may take, however busy the machine; a report of 60 pages takes about 10 s. Ten times
        so long by the clock ends it as well, which is the only limit on Windows.
    memory_mb : int, default=2048
        Address space the page may take; a report of 60 pages takes about 500 MB. Not bounded on Windows.
    isolated : bool, default=True
        Print in a process of its own. False is for programs that cannot start Python; then nothing is limited.
    """

    name: ClassVar[str] = "pdf"
    extension: ClassVar[str] = ".pdf"
    api_version: ClassVar[int] = 1
    strict: bool = False
    cpu_seconds: float = 300.0
    memory_mb: int = 2048
    isolated: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_limits("cpu_seconds", "memory_mb")

    def ready(self, kind: str) -> None:
        """Refuse templates that are missing or do not parse, and a machine without the libraries that print."""
        super().ready(kind)
        check_libraries()

    def render(self, document: Document) -> bytes:
        """Return the PDF; its dates are the document's `as_of`.

        Raises
        ------
        RenderError
            The page cannot be printed, or not within the limits; in strict mode, if anything is amiss.
        """
        pdf, problems = self._print(page(document, self.templates, paged=True, limits=self.limits), document)
        if problems and self.strict:
            raise RenderError(f"pdf.page must be free of faults; got {problems}. Mend them or set strict=False.")
        for problem in problems:
            warnings.warn(f"pdf: {problem}", stacklevel=2)
        return pdf

    def _print(self, html: str, document: Document) -> tuple[bytes, list[str]]:
        if self.isolated:
            return print_apart(html, document.attachments, document.as_of, self)
        from .printer import print_page  # WeasyPrint is the child's to import, unless there is none

        return print_page(html, document.attachments, document.as_of)


def print_apart(
    html: str, attachments: Sequence[Attachment], as_of: str, limits: PdfRenderer
) -> tuple[bytes, list[str]]:
    """Return the PDF of a page and the complaints, printed by a child process that is gone afterwards.

    The child is a fresh interpreter that imports nothing of the caller's, so this works from notebooks, from
    scripts without ``if __name__ == "__main__"`` and from threads. Its Python warnings are raised here again.

    Raises
    ------
    RenderError
        A limit was reached, the child died or could not be started, or the page cannot be printed.
    """
    job = pickle.dumps((html, attachments, as_of))
    try:
        most = CLOCK * limits.cpu_seconds
        done = subprocess.run(_command(limits), input=job, capture_output=True, timeout=most, check=False)  # noqa: S603 - our own interpreter and module
    except subprocess.TimeoutExpired as error:
        raise _too_slow(f"{CLOCK * limits.cpu_seconds:g} s passed by the clock", limits) from error
    except OSError as error:
        raise RenderError(f"pdf.process must start; got {error}. Free memory, or set isolated=False.") from error
    return _read(done, limits)


def _command(limits: PdfRenderer) -> list[str]:
    if not sys.executable or getattr(sys, "frozen", False):
        raise RenderError(
            f"pdf.process must be started by a Python interpreter; sys.executable is {sys.executable!r}. "
            "Set isolated=False to print in this process, without limits."
        )
    seconds = limits.cpu_seconds, CLOCK * limits.cpu_seconds
    return command(CHILD, *(str(math.ceil(most)) for most in seconds), str(limits.memory_mb))


def _read(done: subprocess.CompletedProcess[bytes], limits: PdfRenderer) -> tuple[bytes, list[str]]:
    """Return the child's answer, raise its error, and warn of what it warned of."""
    noise = clean(done.stderr.decode(errors="replace"), 500)
    if done.returncode < 0 and -done.returncode in _TIME:
        raise _too_slow(f"{limits.cpu_seconds:g} s of processor time were used up", limits)
    line, _, pdf = done.stdout.partition(b"\n")
    try:
        head = json.loads(line)
    except ValueError:
        head = {}
    if head.get("memory"):
        raise RenderError(f"pdf.memory_mb must be enough for the page; {limits.memory_mb} MB were used up. {_LESS}")
    if "error" in head:
        raise RenderError(head["error"])
    if head.get("size") != len(pdf):  # without memory, libraries in C end the child by a signal
        refuse_missing(done.stderr.decode(errors="replace"))
        code = done.returncode
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        raise RenderError(
            f"pdf.process must end with a page; it ended with {how} ({noise or 'no message'}). "
            f"If memory ran out, raise memory_mb ({limits.memory_mb})."
        )
    for category, message in head["warnings"]:
        warnings.warn(message, getattr(builtins, category, UserWarning), stacklevel=4)
    if noise:
        warnings.warn(f"pdf: {noise}", stacklevel=4)
    return pdf, head["problems"]


def _too_slow(what: str, limits: PdfRenderer) -> RenderError:
    return RenderError(
        f"pdf.cpu_seconds must be enough for the page; {what}. {_LESS} "
        f"Python can spend them on a lack of memory, too: memory_mb is {limits.memory_mb}."
    )


PANGO = "Debian and Ubuntu: apt-get install libpango-1.0-0 libpangoft2-1.0-0 libharfbuzz-subset0"
# Each by its names on Linux, macOS and Windows.
_NAMES = {
    name: (f"lib{stem}.so.{number}", f"lib{stem}.{number}.dylib", f"lib{stem}.dylib", f"lib{stem}-{number}.dll")
    for name, stem, number in (
        ("GObject", "gobject-2.0", 0), ("Pango", "pango-1.0", 0), ("PangoFT2", "pangoft2-1.0", 0),
        ("HarfBuzz", "harfbuzz", 0), ("Fontconfig", "fontconfig", 1),
    )
}  # fmt: skip
_UNLOADED = re.compile(r"cannot load library '?([^':]+)|No module named '(weasyprint|pydyf|cffi)\b")
_NO_FONTS = "No fonts configured in FontConfig"  # WeasyPrint's words; Pango then ends the process
_SECONDS = 60


@cache
def check_libraries() -> None:
    """Refuse a machine that cannot print; where a name is not found here, WeasyPrint itself is asked.

    Raises
    ------
    RenderError
        What is missing, the package that brings it, and what looks at everything.
    """
    if installed("weasyprint") and all(map(_loads, _NAMES.values())):
        return
    with suppress(OSError, subprocess.TimeoutExpired):  # then the page is tried
        words = command("weasyprint", "--version")
        done = subprocess.run(words, capture_output=True, timeout=_SECONDS, check=False, text=True)  # noqa: S603 - our own interpreter
        refuse_missing(done.stderr)


def refuse_missing(complaint: str) -> None:
    """Raise the error of a library or of fonts that are missing, if that is what a process complains of.

    Examples
    --------
    >>> refuse_missing("all is well")
    >>> refuse_missing("OSError: cannot load library 'libpango-1.0-0': no such file")
    Traceback (most recent call last):
        ...
    uq_report.core.support.errors.RenderError: pdf needs libpango-1.0-0, which this machine lacks. ...
    """
    if _NO_FONTS in complaint:
        raise RenderError(
            "pdf needs a font, and Fontconfig finds none on this machine. Debian and Ubuntu: apt-get install "
            "fonts-dejavu-core. uq-report doctor looks at the rest."
        )
    match = _UNLOADED.search(complaint)
    if match is None:
        return
    remedy = PANGO if match[1] else f"pip install {match[2]}"
    missing = match[1] or match[2]
    raise RenderError(f"pdf needs {missing}, which this machine lacks. {remedy}. uq-report doctor looks at the rest.")


def _loads(names: tuple[str, ...]) -> bool:
    for name in names:
        with suppress(OSError):
            ctypes.CDLL(name)
            return True
    return False
