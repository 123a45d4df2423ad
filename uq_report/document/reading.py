"""What a document says: every text of its sections in reading order, alternative texts included."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from .document import (
    Badge,
    Block,
    Bullets,
    Callout,
    Cards,
    Cell,
    Facts,
    Figure,
    Fold,
    Paragraph,
    Section,
    Steps,
    Table,
    Verdict,
    inside,
)


def texts(sections: Iterable[Section]) -> Iterator[str]:
    """Yield every text of sections, of their blocks and of the sections inside them.

    Examples
    --------
    >>> list(texts([Section(id="s", title="Title", blocks=(Paragraph(text="Words."),))]))
    ['Title', '', 'Words.']
    """
    for section in sections:
        yield from (section.title, section.aside)
        yield from (block.title for block in section.blocks if isinstance(block, Fold))
        for block in inside(section.blocks):
            yield from texts_of(block)
        yield from texts(section.sections)


def texts_of(block: Block) -> Iterator[str]:
    """Yield the texts of a block that holds no other blocks."""
    yield from _READERS[type(block)](block)


def _table(block: Table) -> Iterator[str]:
    yield from (block.caption, block.note, *(column.label for column in block.columns))
    yield from (_text(cell) for row in block.rows for cell in row)


def _cards(block: Cards) -> Iterator[str]:
    for card in block.cards:
        yield from (card.title, card.headline, card.aside, *card.texts)


def _steps(block: Steps) -> Iterator[str]:
    for step in block.steps:
        yield from (step.lead, step.text, step.aside)


def _text(cell: Cell) -> str:
    return cell.text if isinstance(cell, Badge) else cell if isinstance(cell, str) else ""


_READERS: Mapping[type, Callable[[Any], Iterable[str]]] = {
    Paragraph: lambda block: (block.text,),
    Callout: lambda block: (block.title, block.text),
    Bullets: lambda block: block.items,
    Facts: lambda block: (text for label, cell in block.rows for text in (label, _text(cell))),
    Table: _table,
    Figure: lambda block: (block.caption, block.alt),
    Verdict: lambda block: (block.badge.text, block.text, block.note),
    Cards: _cards,
    Steps: _steps,
}
