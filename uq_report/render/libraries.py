"""The libraries of the system that print a PDF: WeasyPrint loads them, and a machine may lack them."""

from __future__ import annotations

import ctypes
import re
import subprocess
from contextlib import suppress
from functools import cache

from ..core.support.errors import RenderError, installed
from ..core.support.processes import command

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
def check() -> None:
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
        refuse(done.stderr)


def refuse(complaint: str) -> None:
    """Raise the error of a library or of fonts that are missing, if that is what a process complains of.

    Examples
    --------
    >>> refuse("all is well")
    >>> refuse("OSError: cannot load library 'libpango-1.0-0': no such file")
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
