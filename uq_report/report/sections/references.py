"""Words and works: the terms this report uses, and the sources it cites, in full."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ...core.references import WORKS
from ...document.document import Badge, Block, Bullets, Callout, Cell, Columns, Facts, Figure, Paragraph, Section, Table
from ...evidence.glossary import TERMS


def references(sections: Iterable[Section | None]) -> Section:
    """Return the glossary of the terms, and the list of the works, that stand in `sections`."""
    text = "\n".join(_texts(section for section in sections if section is not None))
    terms = tuple((term, words) for term, words in TERMS.items() if _uses(text, term))
    works = tuple(f"{work.short.rstrip('.')}. {work.full}" for work in WORKS.values() if work.short in text)
    cited: Block = Bullets(items=works) if works else Paragraph(text="No work is cited.")
    explained: Block = Facts(rows=terms) if terms else Paragraph(text="No term needs words.")
    return Section(
        id="references",
        title="References and glossary",
        sections=(
            Section(id="works", title="Works cited in this report", blocks=(cited,)),
            Section(id="glossary", title="Terms used in this report", blocks=(explained,)),
        ),
        appendix=True,
    )


def _uses(text: str, term: str) -> bool:
    return re.search(rf"\b{re.escape(term)}\b", text, re.IGNORECASE) is not None


def _texts(sections: Iterable[Section]) -> Iterator[str]:
    """Yield every text of sections."""
    for section in sections:
        yield section.title
        for block in section.blocks:
            yield from _block(block)
        yield from _texts(section.sections)


def _block(block: Block) -> Iterator[str]:
    if isinstance(block, Paragraph | Callout):
        yield block.text
    elif isinstance(block, Bullets):
        yield from block.items
    elif isinstance(block, Facts):
        for label, cell in block.rows:
            yield from (label, _cell(cell))
    elif isinstance(block, Table):
        yield from (block.caption, block.note, *(column.label for column in block.columns))
        yield from (_cell(cell) for row in block.rows for cell in row)
    elif isinstance(block, Figure):
        yield from (block.caption, block.alt)
    elif isinstance(block, Columns):
        for side in (block.left, block.right):
            yield from _block(side) if side is not None else ()


def _cell(cell: Cell) -> str:
    return cell.text if isinstance(cell, Badge) else cell if isinstance(cell, str) else ""
