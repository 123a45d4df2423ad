"""What tests read in a document."""

from __future__ import annotations

from collections.abc import Iterator

from uq_report.document import document
from uq_report.document.document import Block, Bullets, Callout, Columns, Document, Facts, Paragraph, Section, Table


def sections(document: Document) -> Iterator[Section]:
    """Yield every section in reading order."""
    todo = list(document.sections)
    while todo:
        section = todo.pop(0)
        yield section
        todo = [*section.sections, *todo]


def blocks(document: Document) -> Iterator[Block]:
    """Yield every block in reading order."""
    for section in sections(document):
        yield from section.blocks


def section(document: Document, key: str) -> Section:
    """Return the section with this id."""
    return next(found for found in sections(document) if found.id == key)


def table(document: Document, key: str) -> Table:
    """Return the table with this id."""
    return next(b for b in blocks(document) if isinstance(b, Table) and b.id == key)


def words(document: Document) -> list[str]:
    """Return every text a reader sees, alternative texts included."""
    found = [document.title, document.subtitle, document.generator, document.as_of]
    found += [str(cell) for row in document.facts for cell in row]
    for part in sections(document):
        found.append(part.title)
        for block in part.blocks:
            found += _words(block)
    return found


def _words(block: Block) -> list[str]:
    if isinstance(block, Table):
        heads = [f"{column.label} {column.unit}" for column in block.columns]
        cells = [str(cell) for row in block.rows for cell in row if cell is not None]
        return [block.caption, block.note, *heads, *cells]
    if isinstance(block, Facts):
        return [str(cell) for row in block.rows for cell in row]
    if isinstance(block, Columns):
        inside = [inner for inner in (block.left, block.right) if inner is not None]
        return [*block.names, *(text for inner in inside for text in _words(inner))]
    if isinstance(block, Bullets):
        return list(block.items)
    texts = (getattr(block, part, "") for part in ("title", "text", "caption", "alt"))
    return [str(text) for text in texts if text]


def all_blocks(section: Section) -> list[Block]:
    """Return the blocks of a section and of those inside it, in reading order."""
    return [*section.blocks, *(block for part in section.sections for block in all_blocks(part))]


def text_of(section: Section) -> str:
    """Return paragraphs, bullets and callouts of a section."""
    told = []
    for block in all_blocks(section):
        match block:
            case Paragraph() | Callout():
                told.append(block.text)
            case Bullets():
                told += block.items
    return " ".join(told)


def table_of(section: Section, key: str) -> Table:
    """Return the table with this id in a section."""
    return next(block for block in document.inside(all_blocks(section)) if isinstance(block, Table) and block.id == key)
