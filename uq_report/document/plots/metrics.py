"""How wide and high text is in DejaVu Sans, from its advance widths alone: what a layout needs, and nothing drawn."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.ft2font import FT2Font

ASCENT, DESCENT, LINE = 0.76, 0.236, 1.2  # of the size: above and below the base line, from line to line
_EM = 1000


@lru_cache(maxsize=4096)
def width(text: str, size: float, bold: bool = False) -> float:
    """Return the width of one line, in the unit of its size.

    Examples
    --------
    >>> round(width("0.00", 8.0), 1)
    17.8
    """
    return size * sum(_advance(character, bold) for character in text)


def height(lines: int, size: float) -> float:
    """Return the height of a text of so many lines."""
    return size * (ASCENT + DESCENT + LINE * (lines - 1))


@cache
def _advance(character: str, bold: bool) -> float:
    from matplotlib import ft2font  # heavy, and most commands draw nothing

    flags = getattr(ft2font, "LoadFlags", None)  # new in matplotlib 3.10
    hinting = ft2font.LOAD_NO_HINTING if flags is None else flags.NO_HINTING
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
