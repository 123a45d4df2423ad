"""The report as one PDF: the print of the HTML page, archival (PDF/A-3a) and accessible (PDF/UA-1)."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from ..core.errors import RenderError, check_options
from ..document.document import Document
from .html import page
from .process import Limits, print_apart


@dataclass(frozen=True)
class PdfRenderer:
    """Write a document as one PDF; no clock enters, so the same document gives the same bytes.

    The document's attachments travel inside, so that the numbers of every printed table are at hand.

    Parameters
    ----------
    templates : Path, optional
        A house style: a directory whose ``report.html`` extends ``uq_report/report.html``.
    strict : bool, default=False
        Fail on what is only a warning otherwise: a character that no installed font has, an
        image that cannot be drawn, a link without target.
    timeout_seconds : float, default=300
        Wall time the page may take; a report of 60 pages takes about 10 s.
    memory_mb : int, default=2048
        Address space the page may take; a report of 60 pages takes about 500 MB. Not bounded on Windows.
    isolated : bool, default=True
        Print in a process of its own. False is for programs that cannot start Python; then nothing is limited.
    """

    name: ClassVar[str] = "pdf"
    extension: ClassVar[str] = ".pdf"
    api_version: ClassVar[int] = 1
    templates: Path | None = None
    strict: bool = False
    timeout_seconds: float = 300.0
    memory_mb: int = 2048
    isolated: bool = True

    def __post_init__(self) -> None:
        check_options(
            "pdf",
            self,
            (
                ("timeout_seconds", 0 < self.timeout_seconds < 1e6, "a number of seconds above 0"),
                ("memory_mb", 0 < self.memory_mb < 1e9, "a number of megabytes above 0"),
            ),
        )

    def render(self, document: Document) -> bytes:
        """Return the PDF; its dates are the document's `as_of`.

        Raises
        ------
        RenderError
            The page cannot be printed, or not within the limits; in strict mode, if anything is amiss.
        """
        pdf, problems = self._print(page(document, self.templates, paged=True), document)
        if problems and self.strict:
            raise RenderError(f"pdf.page must be free of faults; got {problems}. Mend them or set strict=False.")
        for problem in problems:
            warnings.warn(f"pdf: {problem}", stacklevel=2)
        return pdf

    def _print(self, html: str, document: Document) -> tuple[bytes, list[str]]:
        if self.isolated:
            limits = Limits(self.timeout_seconds, self.memory_mb)
            return print_apart(html, document.attachments, document.as_of, limits)
        from .printer import print_page  # WeasyPrint is the child's to import, unless there is none

        return print_page(html, document.attachments, document.as_of)
