"""WeasyPrint: one HTML page becomes one PDF, archival (PDF/A-3a), accessible (PDF/UA-1), with files attached.

Run as ``python -m uq_report.render.printer SECONDS MEGABYTES`` this is the process of one page (see `pdf`): standard
input is a job, standard output its answer. Only what printing needs is imported. The memory limit is of the address
space; the process ends by itself even if nobody waits for it.
"""

from __future__ import annotations

import json
import logging
import pickle
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, BinaryIO

import pydyf
from weasyprint import HTML
from weasyprint import Attachment as PdfAttachment
from weasyprint.urls import FatalURLFetchingError, URLFetcher

from ..core.support.errors import RenderError, words_of
from ..document.document import Attachment
from .bounds import limit, serve
from .tags import mend, own_links
from .text import clean

VARIANT = "pdf/a-3a"
_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,199}")
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


def print_page(html: str, attachments: Sequence[Attachment] = (), as_of: str = "") -> tuple[bytes, list[str]]:
    """Return the PDF of a page with files attached, and what WeasyPrint complained about.

    Parameters
    ----------
    html : str
    attachments : sequence of Attachment
        Written in the order of their names.
    as_of : str
        ISO date, or date and time, of the attachments; no clock enters the file.

    Raises
    ------
    RenderError
        The page asks for anything but ``data:`` images, or is nested too deeply, or WeasyPrint cannot lay it out;
        attachments share a name, or have none that a file can have.
    """
    files = _attached(attachments, as_of)
    with _listening() as problems, warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # WeasyPrint leaves its own colour profile open
        try:
            document = HTML(string=html, url_fetcher=DataOnly(), base_url=None).render(pdf_variant=VARIANT)
            document.metadata.attachments = files
            own_links(document.pages)
            _declare_ua(document.metadata)
            finish = _finisher({item.name: item.media_type for item in attachments})
            return bytes(document.write_pdf(finisher=finish, pdf_variant=VARIANT)), problems
        except FatalURLFetchingError as error:  # derives from BaseException
            raise RenderError(f"pdf.images must be data: addresses; got {error}. Embed what the page shows.") from error
        except RecursionError as error:
            raise RenderError("pdf.page must not be nested this deeply; WeasyPrint gave up. Flatten it.") from error
        except MemoryError:
            raise
        except SystemError as error:  # what C code makes of an allocation that failed
            raise MemoryError from error
        except Exception as error:  # WeasyPrint stops on some layouts by an assertion; the HTML is not affected
            raise RenderError(
                f"pdf.page must be printable; got {words_of(error)}. Use the HTML, or leave sections out."
            ) from error


def _attached(attachments: Sequence[Attachment], as_of: str) -> list[Any]:
    """Return the files as WeasyPrint takes them, in the order a name tree asks for."""
    names = [attachment.name for attachment in attachments]
    for name in names:
        if not _FILE_NAME.fullmatch(name) or names.count(name) > 1:
            raise RenderError(
                f"document.attachments must have plain file names, each once; got {name!r}. "
                "Use letters, digits, blanks and . _ - alone."
            )
    ordered = sorted(attachments, key=lambda item: item.name)
    return [
        PdfAttachment(
            string=item.content,
            name=item.name,
            description=clean(item.description) or item.name,
            created=_moment(as_of),
            modified=_moment(as_of),
            relationship="Data",
            url_fetcher=DataOnly(),
        )
        for item in ordered
    ]


def _moment(as_of: str) -> datetime:
    """Return a date as naive UTC, which is how WeasyPrint writes it."""
    try:
        moment = datetime.fromisoformat(as_of)
    except ValueError as error:
        raise RenderError(f"document.as_of must be an ISO date; got {as_of!r}. Write it as YYYY-MM-DD.") from error
    return moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)


def _finisher(media_types: dict[str, str]) -> Any:
    """Return a function that corrects WeasyPrint's tags and attachments.

    WeasyPrint lists each attachment twice in /AF and guesses its media type from the name.
    """

    def finish(document: Any, pdf: Any) -> None:
        mend(document.pages, pdf)
        if "AF" in pdf.catalog:
            pdf.catalog["AF"] = pydyf.Array(dict.fromkeys(pdf.catalog["AF"]))
        for item in pdf.objects:
            if isinstance(item, dict) and item.get("Type") == "/Filespec":
                file = pdf.objects[int(item["EF"]["F"].split()[0])]
                file.extra["Subtype"] = "/" + _name(media_types[item["UF"].string])

    return finish


def _name(text: str) -> str:
    """Return text as a PDF name, all but the plainest characters by their number."""
    return re.sub(rb"[^A-Za-z0-9.+-]", lambda match: b"#" + match[0].hex().encode(), text.encode()).decode()


def _declare_ua(metadata: Any) -> None:
    """Add the mark of PDF/UA-1 to the metadata; WeasyPrint writes one standard at a time."""
    make = metadata.generate_rdf_metadata
    metadata.generate_rdf_metadata = lambda *args: make(*args).replace(b"</rdf:RDF>", UA + b"</rdf:RDF>")


def answer(job: bytes) -> bytes:
    """Return a line of JSON and the PDF of a job; an error becomes a line."""
    html, files, as_of = pickle.loads(job)  # noqa: S301 - of the process that started this one
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            pdf, problems = print_page(html, files, as_of)
        except RenderError as error:
            return _line(error=str(error))
    raised = [(warning.category.__name__, str(warning.message)) for warning in caught]
    return _line(problems=problems, warnings=raised, size=len(pdf)) + pdf


def main(arguments: Sequence[str], source: BinaryIO, target: BinaryIO) -> int:
    """Read a job, write its answer; a lack of memory is part of the answer as long as there is any left."""
    reserve: Any = bytearray(2**20)
    try:
        limit(*map(int, arguments))
        message = answer(source.read())
    except MemoryError:
        del reserve
        message = _line(memory=True)
    target.write(message)
    target.flush()
    return 0


def _line(**content: object) -> bytes:
    return json.dumps(content).encode() + b"\n"


if __name__ == "__main__":
    serve(main)
