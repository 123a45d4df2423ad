"""Text is laid out once: WeasyPrint 70 lays out each line again to draw it, and each letter of a figure twice."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .weasy import Layout, svg

# attributes of a label that place its letters one by one
_OF_LETTERS = ("dx", "dy", "rotate", "letter-spacing")


@contextmanager
def kept() -> Iterator[None]:
    """Keep the layout of each line until it is drawn, and draw labels of figures as a whole: a sixth of a report."""
    end, again, letters = Layout.deactivate, Layout.reactivate, svg.text
    tags = svg.TAGS["text"], svg.TAGS["tspan"]

    def reactivate(layout: Any, style: Any) -> None:
        if layout.justification_spacing:
            again(layout, style)

    def label(image: Any, node: Any, font_size: float) -> None:
        if node.text and not _in_letters(node):
            node._etree_node.text = _Whole(node.text)  # noqa: SLF001 - there is no other way
            node.attrib["lengthAdjust"] = "spacingAndGlyphs"  # a given length is that of the whole
        letters(image, node, font_size)

    Layout.deactivate, Layout.reactivate, svg.text = lambda _: None, reactivate, label
    svg.TAGS["text"] = svg.TAGS["tspan"] = label
    try:
        yield
    finally:
        Layout.deactivate, Layout.reactivate, svg.text = end, again, letters
        svg.TAGS["text"], svg.TAGS["tspan"] = tags


class _Whole(str):
    """A text of one letter, for who goes through its letters."""

    def __iter__(self) -> Iterator[str]:
        yield str(self)


def _in_letters(node: Any) -> bool:
    places = f"{node.get('x', '')}{node.get('y', '')}"
    return " " in places or "," in places or any(node.get(name) for name in _OF_LETTERS)
