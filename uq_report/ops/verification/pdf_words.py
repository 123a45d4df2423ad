"""What a PDF holds: its files, its bookmarks and the text of its pages."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence

from pypdf import PdfReader
from pypdf.generic import Destination

from ...core.errors import InputError, words_of
from .words import BLANK


def attachments(data: bytes) -> dict[str, bytes]:
    """Return the files inside a PDF by name.

    Raises
    ------
    InputError
        The PDF cannot be read, or two files inside have one name.
    """
    try:
        files = PdfReader(io.BytesIO(data)).attachments
        contents = {name: list(map(bytes, each)) for name, each in files.items()}
    except Exception as error:  # a damaged file can fail in any way in the reader
        raise _unreadable(error) from error
    for name, each in contents.items():
        if len(each) != 1:
            raise InputError(f"attachments must have names of their own; got {len(each)} called {name!r}.")
    return {name: each[0] for name, each in contents.items()}


def pdf_bookmarks(data: bytes) -> list[str]:
    """Return the bookmarks of a PDF in their order; none if they cannot be read."""
    try:
        return [" ".join(str(mark.title).split()) for mark in _flat(PdfReader(io.BytesIO(data)).outline)]
    except Exception:  # noqa: BLE001 - a hint which template was used; a damaged file can fail in any way
        return []


def pdf_text(data: bytes) -> str:
    """Return the text on the pages of a PDF, page by page, without blanks; labels of figures are part of it.

    Raises
    ------
    InputError
        The PDF cannot be read.
    """
    try:
        return BLANK.sub("", "".join(page.extract_text() for page in PdfReader(io.BytesIO(data)).pages))
    except Exception as error:  # a damaged file can fail in any way in the reader
        raise _unreadable(error) from error


def _unreadable(error: Exception) -> InputError:
    """Return what is said of a PDF that a library cannot read."""
    return InputError(f"report must be a PDF that can be read; got one that fails ({words_of(error)}).")


def _flat(marks: Sequence[object]) -> Iterator[Destination]:
    for mark in marks:
        if isinstance(mark, Destination):
            yield mark
        elif isinstance(mark, list):
            yield from _flat(mark)
