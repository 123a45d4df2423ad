"""A report as a file: its bytes, what is printed on its pages, and what travels inside."""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from ...core.support.errors import InputError, words_of
from .claims import VerificationVerdict
from .evidence import RUN, first_change, sha256

_ID = re.compile(r'\sid="([^"]+)"')
_SILENT = re.compile(r"<!--.*?(?:-->|\Z)|<(style|script|title)\b.*?(?:</\1\s*>|\Z)|<[^>]*>", re.DOTALL | re.IGNORECASE)
Format = Literal["pdf", "html", "other"]


@dataclass(frozen=True)
class Report:
    """A report as it stands in its file; parts are read when they are needed."""

    path: Path
    format: Format
    data: bytes

    @property
    def name(self) -> str:
        """The file name, as claims show it."""
        return self.path.name

    @cached_property
    def sha256(self) -> str:
        """Of its bytes."""
        return hashlib.sha256(self.data).hexdigest()

    @cached_property
    def sections(self) -> set[str]:
        """The bookmarks of a PDF, the ids of an HTML page, nothing in other formats: they show the template."""
        if self.format == "html":
            return set(_ID.findall(self.data.decode("utf-8", "replace")))
        return _bookmarks(self.data) if self.format == "pdf" else set()

    @cached_property
    def attachments(self) -> Mapping[str, bytes]:
        """The files inside a PDF, by name, as its last revision gives them to a reader.

        Raises
        ------
        InputError
            The PDF cannot be read, or two files inside have one name.
        """
        if self.format != "pdf":
            return {}
        return _attachments(self.data)

    @property
    def has_signature(self) -> bool:
        """Whether there is anything like a signature in the file."""
        return self.format == "pdf" and b"/ByteRange" in self.data


def open_report(path: Path) -> Report:
    """Read a report; its first bytes say what it is, or else its name.

    Raises
    ------
    InputError
        The file cannot be read.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(
            f"verify.path must be a report or a run folder; got {str(path)!r} ({error.strerror}). Check the path."
        ) from error
    ending = path.suffix.lower()
    page = data[:100].lstrip().lower().startswith(b"<!doctype html")
    pdf = data.startswith(b"%PDF-") or ending == ".pdf"
    return Report(path, "pdf" if pdf else "html" if page or ending in {".html", ".htm"} else "other", data)


def inside(report: Report, evidence: bytes) -> VerificationVerdict:
    """Judge whether the run.json inside a PDF is the evidence."""
    try:
        own = report.attachments.get(RUN)
    except InputError as error:
        return VerificationVerdict("evidence", "FAILED", str(error))
    if own == evidence:
        return VerificationVerdict("evidence", "ok", f"the run.json inside has SHA-256 {sha256(evidence)}")
    fault = "there is no run.json inside" if own is None else first_change(own, evidence)
    return VerificationVerdict(
        "evidence", "FAILED", f"the run.json inside is not that of SHA-256 {sha256(evidence)}: {fault}"
    )


def printed(report: Report, digest: str) -> VerificationVerdict:
    """Judge whether a report prints the SHA-256 of the evidence; comments, styles and scripts are no print."""
    if digest in _SILENT.sub("", report.data.decode("utf-8", "replace")):
        return VerificationVerdict("evidence", "ok", f"it is made from run.json of SHA-256 {digest}")
    return VerificationVerdict("evidence", "FAILED", f"it does not print the SHA-256 of run.json, {digest}")


def _attachments(data: bytes) -> dict[str, bytes]:
    from pypdf import PdfReader

    try:
        files = PdfReader(io.BytesIO(data)).attachments
        contents = {name: list(map(bytes, each)) for name, each in files.items()}
    except Exception as error:  # a damaged file can fail in any way in the reader
        raise InputError(f"report must be a PDF that can be read; got one that fails ({words_of(error)}).") from error
    for name, each in contents.items():
        if len(each) != 1:
            raise InputError(f"attachments must have names of their own; got {len(each)} called {name!r}.")
    return {name: each[0] for name, each in contents.items()}


def _bookmarks(data: bytes) -> set[str]:
    """Return the titles of the bookmarks of a PDF; none if they cannot be read."""
    from pypdf import PdfReader

    try:
        return {" ".join(str(mark.title).split()) for mark in _flat(PdfReader(io.BytesIO(data)).outline)}
    except Exception:  # noqa: BLE001 - it only shows the template; a damaged file can fail in any way
        return set()


def _flat(marks: Iterable[Any]) -> Iterator[Any]:
    for mark in marks:
        if isinstance(mark, list):
            yield from _flat(mark)
        else:
            yield mark
