"""WeasyPrint, imported without asking compilers where its libraries lie."""

from __future__ import annotations

import ctypes.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def _by_name() -> Iterator[None]:
    """Let Linux load libraries by their own names, such as ``libpango-1.0.so.0``.

    WeasyPrint tries those of other systems before, and for each Python starts ldconfig, a compiler and a linker: 50
    processes, and more than a third of the import.
    """
    search = ctypes.util.find_library
    if sys.platform == "linux":
        vars(ctypes.util)["find_library"] = lambda _: None
    try:
        yield
    finally:
        vars(ctypes.util)["find_library"] = search


with _by_name():
    from weasyprint import HTML, draw, svg
    from weasyprint import Attachment as PdfAttachment
    from weasyprint.formatting_structure.boxes import TableCellBox
    from weasyprint.text.line_break import Layout
    from weasyprint.urls import FatalURLFetchingError, URLFetcher

__all__ = ["HTML", "FatalURLFetchingError", "Layout", "PdfAttachment", "TableCellBox", "URLFetcher", "draw", "svg"]
