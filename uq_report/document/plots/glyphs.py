"""Which characters the one font of pages and figures can draw."""

from __future__ import annotations

from functools import cache

from ...core.text import code_point


def legible(text: str) -> str:
    """Return text with every character DejaVu Sans lacks shown as its code point.

    Examples
    --------
    >>> legible("Größe ≥ 3 中")
    'Größe ≥ 3 [U+4E2D]'
    """
    return text if text.isascii() else "".join(c if ord(c) in _glyphs() else code_point(c) for c in text)


@cache
def _glyphs() -> frozenset[int]:
    """Return the code points of the DejaVu Sans that matplotlib brings along."""
    from matplotlib import font_manager  # heavy, and most texts are ASCII

    path = font_manager.findfont("DejaVu Sans")
    return frozenset(font_manager.get_font(path).get_charmap())
