"""How wide the columns of a printed table are; else WeasyPrint measures every cell word by word."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from markupsafe import Markup

from ..document.plots.letters import width

ROOM = {"slim": 64.0, "normal": 64.0, "dense": 70.0, "wide": 78.0}  # of an upright page, in sizes of each one's text
PADDING = {"slim": 1.3, "normal": 1.3, "dense": 1.4, "wide": 0.7}  # of a cell, left and right together
BADGE = 2.0  # shape and padding of a badge
UNBROKEN = frozenset({"number", "integer", "percent", "pvalue"})
_OTHER = re.compile("[^ -~\u00a1-\u024f\u2013\u2212]")  # may be missing in the font; then another one is used
_GAP = re.compile(r"[\s\u200b]+")


class Cell(Protocol):
    """What is needed of a cell: see `filters.Entry`."""

    @property
    def text(self) -> str:
        """Its text without links."""

    @property
    def content(self) -> Markup:
        """Its text with links."""

    @property
    def kind(self) -> str:
        """The kind of its column."""

    @property
    def tone(self) -> str:
        """The tone of a badge, empty for other cells."""


class Extent(NamedTuple):
    """The width of what does not break in a column, and of its longest line."""

    least: float
    most: float


def shares(extents: Sequence[Extent], room: float) -> list[float]:
    """Return the part of a table's width that each column takes.

    As in CSS 2.1 (17.5.2.2): what does not break has its room, and the rest goes where lines are longer than that.

    Parameters
    ----------
    extents : sequence of Extent
    room : float
        The width of the table, in their unit.

    Examples
    --------
    >>> shares([Extent(1, 1), Extent(1, 9)], 5), shares([Extent(1, 1), Extent(1, 3)], 8)
    ([0.2, 0.8], [0.25, 0.75])
    """
    least, most = (sum(column) for column in zip(*extents, strict=True))
    if most <= room or most == least:
        return [extent.most / most for extent in extents]
    rest = max(room - least, 0.0) / (most - least)
    taken = [extent.least + rest * (extent.most - extent.least) for extent in extents]
    return [part / sum(taken) for part in taken]


def extents(heads: Sequence[Markup], rows: Sequence[Sequence[Cell]], padding: float, last: bool) -> Iterator[Extent]:
    """Yield the extent of each column; cells of the last one do not break if `last`."""
    for place, head in enumerate(heads):
        ends = last and place == len(heads) - 1
        cells = [_extent(head, True, False), *(_cell(row[place], ends) for row in rows)]
        yield Extent(*(max(sizes) + padding for sizes in zip(*cells, strict=True)))


def _cell(cell: Cell, unbroken: bool) -> Extent:
    if cell.tone:
        badge = _width(cell.text, 1.0, True) + BADGE
        return Extent(badge, badge)
    return _extent(cell.content, "<" in cell.content, unbroken or cell.kind in UNBROKEN)


def _extent(content: Markup, bold: bool, unbroken: bool) -> Extent:
    """Return the width of the longest word of a content, and of the whole."""
    text = content.replace("<wbr>", "\u200b").striptags()
    line = _width(text.replace("\u200b", ""), 1.0, bold)
    return Extent(line if unbroken else max(_width(word, 1.0, bold) for word in _GAP.split(text)), line)


def _width(text: str, size: float, bold: bool) -> float:
    return width(_OTHER.sub("W", text), size, bold)
