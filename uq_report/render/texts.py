"""Text is laid out once: WeasyPrint 70 lays out each line again to draw it, and each letter of a figure twice."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from .weasy import Layout, inline, line_break, pango, replaced, svg

# attributes of a label that place its letters one by one
_OF_LETTERS = ("dx", "dy", "rotate", "letter-spacing")
_END = re.compile("[\n\r\u2029]")  # of a paragraph


@contextmanager
def kept(*, own: bool = False) -> Iterator[None]:
    """Keep the layout of each line until it is drawn, and draw labels of figures as a whole: a sixth of a report.

    On pages of our `own`, which shorten no text by an ellipsis, lines that are the same share their layout. Lines
    without a break are one paragraph from the start, which WeasyPrint says before it draws them, and Pango then lays
    them out again. What names the font of a style, and how high its lines are, is made once for each style, a colour of
    figures for each name.
    """
    again, write, letters = Layout.reactivate, Layout.set_text, svg.text

    def reactivate(layout: Any, style: Any) -> None:
        if layout.justification_spacing:
            again(layout, style)

    def set_text(layout: Any, text: str, justify: bool = False) -> None:
        pango.pango_layout_set_single_paragraph_mode(layout.layout, _END.search(text) is None)
        write(layout, text, justify)

    def label(image: Any, node: Any, font_size: float) -> None:
        if node.text and not _in_letters(node):
            node._etree_node.text = _Whole(node.text)  # noqa: SLF001 - there is no other way
            node.attrib["lengthAdjust"] = "spacingAndGlyphs"  # a given length is that of the whole
        letters(image, node, font_size)

    def split(text: str, style: Any, context: Any, *room: Any, **options: Any) -> Any:
        known, key = vars(style).setdefault("split", {}), (text, *room, *options.items())
        if key not in known:
            known[key] = fit(text, style, context, *room, **options)
        return known[key]

    fit = inline.split_first_line
    fonts = {name: _once(getattr(line_break, name)) for name in ("get_font_description", "_font_style_cache_key")}
    with (
        replaced(Layout, deactivate=lambda _: None, reactivate=reactivate, set_text=set_text),
        replaced(line_break, **fonts),
        replaced(inline, split_first_line=split if own else fit, strut=_once(inline.strut)),
        replaced(svg, color=cache(svg.color), text=label, TAGS=svg.TAGS | {"text": label, "tspan": label}),
    ):
        yield


def _once(make: Callable[..., Any]) -> Callable[..., Any]:
    """Return what `make` returns, made once for each style."""

    def made(style: Any, **options: Any) -> Any:
        known, key = vars(style), (make.__name__, *options.values())
        if key not in known:
            known[key] = make(style, **options)
        return known[key]

    return made


class _Whole(str):
    """A text of one letter, for who goes through its letters."""

    def __iter__(self) -> Iterator[str]:
        yield str(self)


def _in_letters(node: Any) -> bool:
    places = f"{node.get('x', '')}{node.get('y', '')}"
    return " " in places or "," in places or any(node.get(name) for name in _OF_LETTERS)
