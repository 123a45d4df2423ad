"""What a document says: every text of its sections in reading order, alternative texts included."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from . import document as doc

# The fields of each part that hold texts, or parts that hold some, in reading order.
_FIELDS: Mapping[type, tuple[str, ...]] = {
    doc.Section: ("title", "aside", "blocks", "sections"),
    doc.Paragraph: ("text",),
    doc.Bullets: ("items",),
    doc.Callout: ("title", "text"),
    doc.Facts: ("rows",),
    doc.Table: ("caption", "note", "columns", "rows"),
    doc.Column: ("label",),
    doc.Badge: ("text",),
    doc.Figure: ("caption", "alt"),
    doc.Verdict: ("badge", "text", "note"),
    doc.Cards: ("cards",),
    doc.Card: ("title", "headline", "aside", "texts"),
    doc.Steps: ("steps",),
    doc.Step: ("lead", "text", "aside"),
    doc.Fold: ("title", "blocks"),
    doc.Split: ("left", "right"),
    doc.Columns: ("left", "right"),
}


def texts(part: Any) -> Iterator[str]:
    """Yield every text of a section, a block or a cell, or of several of them; numbers have none.

    Examples
    --------
    >>> list(texts([doc.Section(id="s", title="Title", blocks=(doc.Paragraph(text="Words."),))]))
    ['Title', '', 'Words.']
    """
    if isinstance(part, str):
        yield part
    elif isinstance(part, Iterable):
        for item in part:
            yield from texts(item)
    else:
        for name in _FIELDS.get(type(part), ()):
            yield from texts(getattr(part, name))
