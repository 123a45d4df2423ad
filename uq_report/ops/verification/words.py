"""The words of a report, so that what it says can be compared where its bytes cannot."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from html.parser import HTMLParser

_SILENT = frozenset({"style", "script", "title"})
_VOID = frozenset(
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
)
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_BLOCKS = _HEADINGS | {
    *("address", "article", "aside", "blockquote", "caption", "dd", "details", "div", "dl", "dt", "figcaption"),
    *("figure", "footer", "form", "header", "hr", "li", "main", "nav", "ol", "p", "pre", "section", "summary"),
    *("table", "tbody", "tfoot", "thead", "tr", "ul"),
}
_DESCRIBING = frozenset({"alt", "aria-label", "content", "title"})
_NOT_ON_PAPER = frozenset({"skip", "back", "colophon"})  # css/print.css hides them
BLANK = re.compile("[\\s\u00ad\u200b\u2060]+")
_PIECE = 2**15  # characters of a page
_GAP = 4000  # characters between two blocks of a PDF: running heads and the labels of a figure


class _Page(HTMLParser):
    """Collects the text of a page block by block, a table row being one."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks: list[str] = []
        self.headings: list[str] = []
        self.descriptions: list[str] = []
        self.on_paper: list[bool] = []
        self._text: list[str] = []
        self._hidden = False
        self._open = [("", False, False)]  # tag, silent, hidden

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.descriptions += [value for name, value in attrs if name in _DESCRIBING and value]
        if tag in _VOID:
            return
        if tag in _BLOCKS:
            self.end_block()
        _, silent, hidden = self._open[-1]
        classes = set((dict(attrs).get("class") or "").split())
        self._open.append((tag, silent or tag in _SILENT, hidden or bool(classes & _NOT_ON_PAPER)))

    def handle_endtag(self, tag: str) -> None:
        if tag in _BLOCKS:
            self.end_block(tag)
        if tag in {name for name, _, _ in self._open}:
            while self._open.pop()[0] != tag:
                pass

    def handle_data(self, data: str) -> None:
        _, silent, hidden = self._open[-1]
        if not silent:
            self._text.append(data)
            self._hidden |= hidden and not data.isspace()

    def end_block(self, tag: str = "") -> None:
        """Close a block of text; its end tag says what it was."""
        text = " ".join("".join(self._text).split())
        if text:
            self.blocks.append(text)
            self.on_paper.append(not self._hidden)
        self._text, self._hidden = [], False
        if text and tag in _HEADINGS:
            self.headings.append(text)


def _read(page: bytes) -> _Page:
    reader = _Page()
    reader.feed(page.decode("utf-8", "replace"))
    reader.close()
    reader.end_block()
    return reader


def html_blocks(page: bytes) -> list[str]:
    """Return all an HTML page says: text block by block, then descriptions.

    Examples
    --------
    >>> html_blocks(b'<p>a <b>b</b></p><tr><td>1<td>2</tr><img alt="c">')
    ['a b', '12', 'c']
    """
    content = _read(page)
    return [*content.blocks, *content.descriptions]


def html_says(page: bytes, word: str) -> bool:
    """Say whether a word stands in a block of an HTML page, which is read no further than there.

    Examples
    --------
    >>> html_says(b"<p>a <b>b</b></p>", "b"), html_says(b"<style>b</style><!-- b --><p>a", "b")
    (True, False)
    """
    reader, text = _Page(), page.decode("utf-8", "replace")
    for start in range(0, len(text), _PIECE):
        reader.feed(text[start : start + _PIECE])
        if any(word in block for block in reader.blocks):
            return True
    reader.close()
    reader.end_block()
    return any(word in block for block in reader.blocks)


def paper_blocks(page: bytes) -> list[str]:
    """Return the blocks of an HTML page that its print shows."""
    content = _read(page)
    return [block for block, printed in zip(content.blocks, content.on_paper, strict=True) if printed]


def headings(page: bytes) -> list[str]:
    """Return the headings of an HTML page, which are the bookmarks of its print."""
    return _read(page).headings


def absent(blocks: Sequence[str], text: str) -> list[str]:
    """Return the blocks that `text`, of a PDF, does not hold in their order; one may run on over a page break.

    Examples
    --------
    >>> absent(["Table 1", "age 0.3", "sex 0.1"], "Table1age0.3(page2)sex0.2")
    ['sex 0.1']
    """
    missing, start = [], 0
    for block in blocks:
        end = _end(BLANK.sub("", block), text, start)
        if end < 0:
            missing.append(block)
        else:
            start = end
    return missing


def _end(block: str, text: str, start: int) -> int:
    """Return where `block` ends in `text`, -1 if it is not there; it may be in two parts."""
    within = start + _GAP + len(block)
    whole = text.find(block, start, within)
    if whole >= 0:
        return whole + len(block)
    # the longest part there is from the block's start
    low = bisect_left(range(1, len(block)), True, key=lambda size: text.find(block[:size], start, within) < 0)
    place = text.find(block[:low], start, within) + low
    rest = text.find(block[low:], place, place + _GAP) if low else -1
    return rest + len(block) - low if rest >= 0 else -1
