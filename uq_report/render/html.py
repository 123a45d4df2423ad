"""The report as one HTML file: offline, light and dark, on phone, desk and paper; complete without its script."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from ..core.support.errors import check_options
from ..document.document import Document
from .environment import USUAL, Limits, ready, render
from .outline import outline


def page(document: Document, templates: Path | None = None, *, paged: bool = False, limits: Limits = USUAL) -> str:
    """Return the report as HTML text; `paged` adds what the PDF needs on every page, running heads and banner.

    Where names may break, paper has the character that WeasyPrint makes of each ``wbr``, a box of its own otherwise.
    """
    text = render(templates, document.kind, limits, document=document, outline=outline(document), paged=paged)
    return text.replace("<wbr>", "\u200b") if paged else text


@dataclass(frozen=True)
class Styled:
    """What renderers take that fill templates.

    Parameters
    ----------
    templates : Path, optional
        A theme: a directory whose ``report.html`` extends ``uq_report/report.html``; all kinds of document take
        it over.
    template_cpu_seconds : float, default=60
        Processor time that filling the templates of a theme may take; ten times so long by the clock, too.
    template_memory_mb : int, default=2048
        Memory that filling them may take, beside what libraries take.
    """

    name: ClassVar[str]
    templates: Path | None = None
    template_cpu_seconds: float = USUAL.cpu_seconds
    template_memory_mb: int = USUAL.memory_mb

    def __post_init__(self) -> None:
        """Refuse limits that are none."""
        self.check_limits("template_cpu_seconds", "template_memory_mb")

    def check_limits(self, seconds: str, megabytes: str) -> None:
        """Refuse a limit of time and one of memory, by their names, that are none."""
        holds = (0 < getattr(self, seconds) < 1e6, 0 < getattr(self, megabytes) < 1e9)
        words = ("a number of seconds above 0", "a number of megabytes above 0")
        check_options(self.name, self, tuple(zip((seconds, megabytes), holds, words, strict=True)))

    def ready(self, kind: str) -> None:
        """Refuse templates that are missing or do not parse."""
        ready(self.templates, kind, self.limits)

    @property
    def limits(self) -> Limits:
        """How much the templates of a theme may take."""
        return Limits(self.template_cpu_seconds, self.template_memory_mb)


@dataclass(frozen=True)
class HtmlRenderer(Styled):
    """Write a document as one self-contained HTML file.

    Parameters
    ----------
    templates, template_cpu_seconds, template_memory_mb
        See `Styled`.

    Examples
    --------
    >>> empty = Document(title="Audit", subtitle="", as_of="2026-11-21", generator="uq", evidence_sha256="0")
    >>> HtmlRenderer().render(empty)[:15]
    b'<!DOCTYPE html>'
    """

    name: ClassVar[str] = "html"
    extension: ClassVar[str] = ".html"
    api_version: ClassVar[int] = 1

    def render(self, document: Document) -> bytes:
        """Return the page in UTF-8."""
        return page(document, self.templates, limits=self.limits).encode()
