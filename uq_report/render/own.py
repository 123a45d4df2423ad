"""The page of our own templates as elements: it is well-formed XML but for void elements, which expat reads at once."""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element, ParseError, fromstring

_VOID = re.compile(r"<((?:br|col|img|meta)\b[^>]*)>")
# What our templates write no words into directly: blanks there lay out the source.
OF_BLOCKS = frozenset((
    "html", "head", "body", "header", "main", "nav", "section", "div", "details", "figure", "footer",
    "ol", "ul", "dl", "table", "colgroup", "thead", "tbody", "tr",
))  # fmt: skip


def elements(page: str) -> Element | None:
    r"""Return the root of a page, None for characters that XML has not.

    An id that no link names is left out: each is a style of its own, and so are those of all elements inside. So are
    blanks between blocks, which are boxes until they are found to be empty.

    Examples
    --------
    >>> root = elements('<html><p id="a">x<br>y</p><p id="b"><a href="#a">z</a></p></html>')
    >>> [element.get("id") for element in root]
    ['a', None]
    >>> elements("<html>\x01</html>")
    """
    try:
        root = fromstring(_VOID.sub(r"<\1/>", page))  # noqa: S314 - ours, and all that is not is escaped in it
    except (ParseError, UnicodeEncodeError):
        return None
    linked = {element.get("href", "") for element in root.iter("a")}
    for element in root.iter():
        if "id" in element.attrib and f"#{element.attrib['id']}" not in linked:
            del element.attrib["id"]
        if element.tag in OF_BLOCKS:
            element.text = _word(element.text)
            for child in element:
                child.tail = _word(child.tail)
    return root


def _word(text: str | None) -> str | None:
    return text if text and text.strip(" \t\n") else None
