"""The report as one PDF: the print of the HTML page, archival (PDF/A-3a) and accessible (PDF/UA-1)."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from weasyprint import HTML
from weasyprint.urls import FatalURLFetchingError, URLFetcher

from ..core.errors import RenderError
from ..report.document import Document
from .html import page

VARIANT = "pdf/a-3a"
# Declares PDF/UA-1 beside PDF/A-3a; PDF/A asks for the schema of every property it does not know.
UA = b"""<rdf:Description rdf:about="" xmlns:pdfuaid="http://www.aiim.org/pdfua/ns/id/" pdfuaid:part="1"/>
<rdf:Description rdf:about="" xmlns:pdfaExtension="http://www.aiim.org/pdfa/ns/extension/"
 xmlns:pdfaSchema="http://www.aiim.org/pdfa/ns/schema#" xmlns:pdfaProperty="http://www.aiim.org/pdfa/ns/property#">
<pdfaExtension:schemas><rdf:Bag><rdf:li rdf:parseType="Resource">
<pdfaSchema:schema>PDF/UA identification</pdfaSchema:schema>
<pdfaSchema:namespaceURI>http://www.aiim.org/pdfua/ns/id/</pdfaSchema:namespaceURI>
<pdfaSchema:prefix>pdfuaid</pdfaSchema:prefix>
<pdfaSchema:property><rdf:Seq><rdf:li rdf:parseType="Resource">
<pdfaProperty:name>part</pdfaProperty:name><pdfaProperty:valueType>Integer</pdfaProperty:valueType>
<pdfaProperty:category>internal</pdfaProperty:category><pdfaProperty:description>Part</pdfaProperty:description>
</rdf:li></rdf:Seq></pdfaSchema:property>
</rdf:li></rdf:Bag></pdfaExtension:schemas></rdf:Description>
"""


class DataOnly(URLFetcher):  # type: ignore[misc] # WeasyPrint has no types
    """Opens ``data:`` addresses and refuses every other, files and redirects included."""

    def __init__(self) -> None:
        super().__init__(allowed_protocols={"data"}, allow_redirects=False, fail_on_errors=True)


class _Log(logging.Handler):
    """Keeps what WeasyPrint has to say about the page, instead of the terminal."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.problems: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep errors, and characters that no font has; remarks on style sheets are not a reader's business."""
        message = record.getMessage()
        if record.levelno >= logging.ERROR or message.startswith(".notdef glyph"):
            self.problems.append(message if len(message) < 200 else f"{message[:200]}…")


@contextmanager
def _listening() -> Iterator[list[str]]:
    """Collect WeasyPrint's complaints, and keep its log and fontTools' from the user's handlers."""
    log = _Log()
    loggers = [logging.getLogger("weasyprint"), logging.getLogger("fontTools")]
    before = [logger.propagate for logger in loggers]
    loggers[0].addHandler(log)
    for logger in loggers:
        logger.propagate = False
    try:
        yield log.problems
    finally:
        loggers[0].removeHandler(log)
        for logger, propagate in zip(loggers, before, strict=True):
            logger.propagate = propagate


def print_page(html: str) -> tuple[bytes, list[str]]:
    """Return the PDF of a page and what WeasyPrint complained about.

    Raises
    ------
    RenderError
        The page asks for anything but ``data:`` images, or is nested too deeply, or WeasyPrint cannot lay it out.
    """
    with _listening() as problems, warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # WeasyPrint leaves its own colour profile open
        try:
            document = HTML(string=html, url_fetcher=DataOnly(), base_url=None).render(pdf_variant=VARIANT)
            _declare_ua(document.metadata)
            return bytes(document.write_pdf(pdf_variant=VARIANT)), problems
        except FatalURLFetchingError as error:  # derives from BaseException
            raise RenderError(f"pdf.images must be data: addresses; got {error}. Embed what the page shows.") from error
        except RecursionError as error:
            raise RenderError("pdf.page must not be nested this deeply; WeasyPrint gave up. Flatten it.") from error
        except Exception as error:  # WeasyPrint stops on some layouts by an assertion; the HTML is not affected
            cause = f"{type(error).__name__} {error}"
            raise RenderError(
                f"pdf.page must be printable; got {cause}. Use the HTML, or leave sections out."
            ) from error


def _declare_ua(metadata: Any) -> None:
    """Add the mark of PDF/UA-1 to the metadata; WeasyPrint writes one standard at a time."""
    make = metadata.generate_rdf_metadata
    metadata.generate_rdf_metadata = lambda *args: make(*args).replace(b"</rdf:RDF>", UA + b"</rdf:RDF>")


@dataclass(frozen=True)
class PdfRenderer:
    """Write a document as one PDF; no clock enters, so the same document gives the same bytes.

    Parameters
    ----------
    templates : Path, optional
        A house style: a directory whose ``report.html`` extends ``uq_report/report.html``.
    strict : bool, default=False
        Fail on what is only a warning otherwise: a character that no installed font has, an
        image that cannot be drawn, a link without target.
    """

    name: ClassVar[str] = "pdf"
    extension: ClassVar[str] = ".pdf"
    api_version: ClassVar[int] = 1
    templates: Path | None = None
    strict: bool = False

    def render(self, document: Document) -> bytes:
        """Return the PDF; its dates are the document's `as_of`."""
        pdf, problems = print_page(page(document, self.templates))
        if problems and self.strict:
            raise RenderError(f"pdf.page must be free of faults; got {problems}. Mend them or set strict=False.")
        for problem in problems:
            warnings.warn(f"pdf: {problem}", stacklevel=2)
        return pdf
