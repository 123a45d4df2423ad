"""A report as a file: its bytes, what is printed on its pages, and what travels inside."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Literal

from ...core.errors import InputError
from .words import headings, html_blocks, html_says

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
    def text(self) -> str:
        """The printed text: of a PDF without blanks, of other formats as it stands."""
        if self.format == "pdf":
            return _pdf().pdf_text(self.data)
        return "\n".join(html_blocks(self.data)) if self.format == "html" else self.data.decode("utf-8", "replace")

    def says(self, word: str) -> bool:
        """Say whether a word is part of the printed text; an HTML page is read no further than there."""
        return html_says(self.data, word) if self.format == "html" else word in self.text

    @cached_property
    def headings(self) -> list[str] | None:
        """The headings, of a PDF its bookmarks; None in formats that have none."""
        if self.format == "pdf":
            return _pdf().pdf_bookmarks(self.data)
        return headings(self.data) if self.format == "html" else None

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
        return _pdf().attachments(self.data)

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


def _pdf() -> ModuleType:
    """Return what reads a PDF: its library is loaded for one that is opened, and not for one whose hash is listed."""
    from . import pdf_words

    return pdf_words
