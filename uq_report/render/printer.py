"""WeasyPrint: one HTML page becomes one PDF, archival (PDF/A-3a), accessible (PDF/UA-1), with files attached.

Run as ``python -m uq_report.render.printer SECONDS MEGABYTES`` this is the process of one page (see `pdf`): standard
input is a job, standard output its answer. Only what printing needs is imported. The memory limit is of the address
space; the process ends by itself even if nobody waits for it.
"""

import json
import logging
import pickle
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

import pydyf
from weasyprint import HTML, Attachment as PdfAttachment
from weasyprint.urls import FatalURLFetchingError, URLFetcher

from ..core.support.errors import RenderError, words_of
from ..document.document import Attachment
from .bounds import limit, serve
from .text import clean

VARIANT = "pdf/a-3a"
_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,199}")
# Declares PDF/UA-1 beside PDF/A-3a; PDF/A asks for the schema of every property it does not know.
UA = Path(__file__).with_name("pdf_ua.xml").read_bytes()


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
            return _laid_out(html, files, {item.name: item.media_type for item in attachments}), problems
        except MemoryError:  # first, in a short function: CPython may spin where unwinding a long one needs memory
            raise
        except (FatalURLFetchingError, Exception) as error:  # the first derives from BaseException
            raise _refusal(error) from error


def _laid_out(html: str, files: list[Any], media_types: dict[str, str]) -> bytes:
    document = HTML(string=html, url_fetcher=DataOnly(), base_url=None).render(pdf_variant=VARIANT)
    document.metadata.attachments = files
    own_links(document.pages)
    _declare_ua(document.metadata)
    return bytes(document.write_pdf(finisher=_finisher(media_types), pdf_variant=VARIANT))


def _refusal(error: BaseException) -> Exception:
    """Return what an error of WeasyPrint means; the HTML is not affected."""
    match error:
        case FatalURLFetchingError():
            return RenderError(f"pdf.images must be data: addresses; got {error}. Embed what the page shows.")
        case RecursionError():
            return RenderError("pdf.page must not be nested this deeply; WeasyPrint gave up. Flatten it.")
        case SystemError():  # what C code makes of an allocation that failed
            return MemoryError()
        case _:  # WeasyPrint stops on some layouts by an assertion
            return RenderError(
                f"pdf.page must be printable; got {words_of(error)}. Use the HTML, or leave sections out."
            )


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
    moment = _moment(as_of) if attachments else None
    shared = {"created": moment, "modified": moment, "relationship": "Data", "url_fetcher": DataOnly()}
    return [
        PdfAttachment(string=item.content, name=item.name, description=clean(item.description) or item.name, **shared)
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
                file.stream, file.compress = [b"".join(file.stream)], True
        for item in pdf.objects:
            if isinstance(item, pydyf.Stream) and item.compress:  # here: pydyf packs for the file, and for its hash
                packed = item.data.partition(b"\nstream\n")[2].removesuffix(b"\nendstream")
                item.stream, item.compress = [packed], False
                item.extra["Filter"] = "/FlateDecode"

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


LONG = 3  # pages; a table on two is heard as two tables, each with its head, unless one of them is hardly a table


def own_links(pages: Any) -> None:
    """Keep the links of elements that are links; WeasyPrint lays one more over every box inside of them."""
    for page in pages:
        page.links = [link for link in page.links if link[-1].link]


def mend(pages: Any, pdf: Any) -> None:
    """Say which cells a header names, join long tables, and take running heads out of the text."""
    tables: dict[Any, list[Any]] = {}  # by their first cell, which stands on every page of a table
    for box in [box for page in pages for box in page._page_box.descendants()]:  # noqa: SLF001 - there is no other way
        mark = getattr(box, "mark", {})
        if "ID" in mark:
            row = box.element.get("scope") == "row"
            mark["A"]["Scope"] = "/Row" if row else "/Column"
            if not row and mark["ID"].string.endswith("-0-0"):
                tables.setdefault(box.element, []).append(_table(pdf, mark))
    for first, *rest in tables.values():
        if rest and (len(rest) + 1 >= LONG or any(_shredded(pdf, part) for part in (first, *rest))):
            _join(pdf, first, rest)
    _artifacts(pdf)


def _at(pdf: Any, reference: bytes) -> Any:
    return pdf.objects[int(reference.split()[0])]


def _table(pdf: Any, element: Any) -> Any:
    while element["S"] != "/Table":
        element = _at(pdf, element["P"])
    return element


def _kids(pdf: Any, element: Any, *kinds: str) -> list[Any]:
    """Return the elements of a kind right below one, or by further kinds below those."""
    below = [_at(pdf, kid) for kid in element["K"] if isinstance(kid, bytes)]
    matches = [kid for kid in below if kid.get("S") == kinds[0]]
    return [element for kid in matches for element in _kids(pdf, kid, *kinds[1:])] if kinds[1:] else matches


def _shredded(pdf: Any, table: Any) -> bool:
    """Return whether so few rows of a table stand on a page that its heads outnumber its cells there."""
    heads = _kids(pdf, table, "/THead", "/TR", "/TH") + _kids(pdf, table, "/TBody", "/TR", "/TH")
    return len(heads) > len(_kids(pdf, table, "/TBody", "/TR", "/TD"))


def _join(pdf: Any, first: Any, rest: list[Any]) -> None:
    """Move the rows of a table that goes on overleaf to where it began, under the header cells there."""
    (body,) = _kids(pdf, first, "/TBody")
    heads = _kids(pdf, first, "/THead", "/TR", "/TH")
    for table in rest:
        repeated = _kids(pdf, table, "/THead", "/TR", "/TH")
        names = {there["ID"].string: here["ID"] for here, there in zip(heads, repeated, strict=True)}
        for row in _kids(pdf, table, "/TBody", "/TR"):
            row["P"] = body.reference
            body["K"].append(row.reference)
            for cell in _kids(pdf, row, "/TD"):
                cell["A"]["Headers"][:] = [names.get(head.string, head) for head in cell["A"]["Headers"]]
        _at(pdf, table["P"])["K"].remove(table.reference)


def _artifacts(pdf: Any) -> None:
    """Mark as artifacts what the tree does not hold: running heads, and heads of long tables repeated overleaf."""
    root = _at(pdf, pdf.catalog["StructTreeRoot"])
    tree = set(_below(pdf, root))
    owners = _at(pdf, root["ParentTree"])["Nums"]
    for page in [item for item in pdf.objects if isinstance(item, dict) and item.get("Type") == "/Page"]:
        marked = owners[2 * page["StructParents"] + 1]
        stream = _at(pdf, page["Contents"]).stream
        for place, item in enumerate(stream):
            if isinstance(item, dict) and "MCID" in item and marked[item["MCID"]] not in tree:
                marked[item["MCID"]] = "null"
                stream[place - 1 : place + 1] = ["/Artifact", pydyf.Dictionary({"Type": "/Pagination"})]


def _below(pdf: Any, element: Any) -> Iterator[bytes]:
    for kid in element.get("K", ()):
        if isinstance(kid, bytes):
            yield kid
            yield from _below(pdf, _at(pdf, kid))


if __name__ == "__main__":
    serve(main)
