"""The report as one HTML file: offline, light and dark, on phone, desk and paper; complete without its script."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from ..document.document import Document
from .environment import ready, render
from .outline import outline


def page(document: Document, templates: Path | None = None, *, paged: bool = False) -> str:
    """Return the report as HTML text; `paged` adds what the PDF needs on every page, running heads and banner.

    Where names may break, paper has the character that WeasyPrint makes of each ``wbr``, a box of its own otherwise.
    """
    text = render(templates, document.kind, document=document, outline=outline(document), paged=paged)
    return text.replace("<wbr>", "\u200b") if paged else text


@dataclass(frozen=True)
class HtmlRenderer:
    """Write a document as one self-contained HTML file.

    Parameters
    ----------
    templates : Path, optional
        A house style: a directory whose ``report.html`` extends ``uq_report/report.html``; all kinds of document take
        it over.

    Examples
    --------
    >>> empty = Document(title="Audit", subtitle="", as_of="2026-11-21", generator="uq", evidence_sha256="0")
    >>> HtmlRenderer().render(empty)[:15]
    b'<!DOCTYPE html>'
    """

    name: ClassVar[str] = "html"
    extension: ClassVar[str] = ".html"
    api_version: ClassVar[int] = 1
    templates: Path | None = None

    def ready(self, kind: str) -> None:
        """Refuse templates that are missing or do not parse."""
        ready(self.templates, kind)

    def render(self, document: Document) -> bytes:
        """Return the page in UTF-8."""
        return page(document, self.templates).encode()
