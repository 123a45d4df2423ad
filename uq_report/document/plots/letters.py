"""The one font of pages and figures: which characters it has, and how wide a text is in it."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from ...core.support.text import code_point

if TYPE_CHECKING:
    from matplotlib.ft2font import FT2Font

_EM = 1000


def legible(text: str) -> str:
    """Return text with every character DejaVu Sans lacks shown as its code point.

    Examples
    --------
    >>> legible("Größe ≥ 3 中")
    'Größe ≥ 3 [U+4E2D]'
    """
    return text if text.isascii() else "".join(c if ord(c) in _glyphs() else code_point(c) for c in text)


@lru_cache(maxsize=4096)
def width(text: str, size: float, bold: bool = False) -> float:
    """Return the width of one line in the unit of its size, from the advance widths of DejaVu Sans.

    Examples
    --------
    >>> round(width("0.00", 8.0), 1)
    17.8
    """
    return size * sum(_advance(character, bold) for character in text)


@cache
def _glyphs() -> frozenset[int]:
    return frozenset(_face(False).get_charmap())


@cache
def _advance(character: str, bold: bool) -> float:
    from matplotlib import ft2font  # heavy, and most commands draw nothing

    flags: Any = getattr(ft2font, "LoadFlags", None)  # new in matplotlib 3.10
    hinting: Any = getattr(ft2font, "LOAD_NO_HINTING", None) if flags is None else flags.NO_HINTING
    glyph = _face(bold).load_char(ord(character), flags=hinting)
    return float(glyph.linearHoriAdvance) / 65536 / _EM


@cache
def _face(bold: bool) -> FT2Font:
    """Return a copy of the font that nobody else sets to another size."""
    from matplotlib.font_manager import FontProperties, findfont
    from matplotlib.ft2font import FT2Font

    face = FT2Font(findfont(FontProperties(family=["DejaVu Sans"], weight="bold" if bold else "normal")))
    face.set_size(_EM, 72)
    return face
