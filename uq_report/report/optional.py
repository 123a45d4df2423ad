"""Blocks that a section leaves out where they would be empty."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from ..document.blocks import make_table
from ..document.document import Bullets, Column, Paragraph, Table


def spaced(*texts: str) -> str:
    """Return texts as one, those that are empty left out.

    Examples
    --------
    >>> spaced("It fails.", "", "See below.")
    'It fails. See below.'
    """
    return " ".join(filter(None, texts))


def paragraphs(*texts: str) -> tuple[Paragraph, ...]:
    """Return a paragraph for each text that is not empty."""
    return tuple(Paragraph(text=text) for text in texts if text)


def bullets(items: Iterable[str]) -> tuple[Bullets, ...]:
    """Return a list of sentences; none without any."""
    every = tuple(items)
    return (Bullets(items=every),) if every else ()


def tables(
    key: str, caption: str, columns: Sequence[Column | str], rows: Collection[Sequence[Any]], **options: Any
) -> tuple[Table, ...]:
    """Return a table as `make_table` does; none without rows."""
    return (make_table(key, caption, columns, rows, **options),) if rows else ()
