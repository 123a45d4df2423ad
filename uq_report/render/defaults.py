"""A page for WeasyPrint: as elements, and with its own style sheet without the pseudo-elements that a page has not."""

from __future__ import annotations

import copy
from typing import Any

from .own import elements
from .weasy import HTML, ElementWrapper

# The word that a page with such pseudo-elements has in its styles.
_WORDS = {
    "footnote-call": "footnote",
    "footnote-marker": "footnote",
    "note-call": "note(",
    "note-marker": "note(",
    "note-callback": "note(",
    "marker": "list-item",
}
_LISTED = "li"  # a list item without such a word
_AREAS = ("@footnote", "@note-area")  # of every page


class Page(HTML):  # type: ignore[misc] # WeasyPrint has no types
    """A page whose elements have styles for footnotes, notes and markers only where they can have these.

    WeasyPrint 70 computes all six for every element, which is a twelfth of a print, and all sixteen margins for every
    sheet; reading it as strangers' HTML is a twentieth, which a page of our `own` templates does not need.
    """

    def __init__(self, text: str, *, own: bool = False, **options: Any) -> None:
        root = elements(text) if own else None
        super().__init__(string=text if root is None else "", **options)
        if root is not None:
            self.etree_element = root
            self.wrapper_element = ElementWrapper.from_html_root(root)
        self._text = text

    def _ua_stylesheets(self, forms: bool = False) -> list[Any]:
        return [_needed(sheet, self._text) for sheet in super()._ua_stylesheets(forms)]


def _needed(sheet: Any, text: str) -> Any:
    """Return a style sheet for the pseudo-elements and margins of a page alone."""
    every = sheet.matcher.other_selectors
    unused = {pseudo for pseudo, word in _WORDS.items() if word not in text}
    matcher, own = copy.copy(sheet.matcher), copy.copy(sheet)
    matcher.other_selectors = [entry for entry in every if entry[3] not in unused]
    if "marker" in unused:
        by_name = matcher.lower_local_name_selectors
        markers = [entry for entry in every if entry[3] == "marker"]
        matcher.lower_local_name_selectors = by_name | {_LISTED: [*by_name.get(_LISTED, ()), *markers]}
    own.matcher, own.page_rules = matcher, [rule for rule in sheet.page_rules if _has(rule, text)]
    return own


def _has(rule: Any, text: str) -> bool:
    """Say whether a rule for pages is not of a margin that a page never names, which is empty then."""
    _, ((_, margin, _),), _ = rule
    return margin is None or margin in _AREAS or margin in text
