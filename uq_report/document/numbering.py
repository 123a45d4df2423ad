"""How the sections of a document are numbered, for those who print the numbers and those who cite them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from string import ascii_uppercase
from typing import Final

from ..core.errors import RenderError
from .document import Section

ANSWER: Final = "answer"
OPENING: Final = (ANSWER, "comparison")  # sections of which the one that stands first is page 1 and has no number


def numbers(sections: Sequence[Section]) -> list[str]:
    """Return a number for each section of the first level, a letter for each appendix, and nothing for the answer.

    Examples
    --------
    >>> numbers([Section(id=key, title=key, appendix=key == "rules") for key in ("answer", "findings", "rules")])
    ['', '1', 'A']
    """
    figures, letters = count(1), iter(ascii_uppercase)
    opens = bool(sections) and sections[0].id in OPENING
    try:
        named = [next(letters) if section.appendix else str(next(figures)) for section in sections[opens:]]
    except StopIteration:
        appendices = sum(section.appendix for section in sections)
        raise RenderError(
            f"document.sections must hold at most 26 appendices; got {appendices}. Make some sub-sections."
        ) from None
    return [*[""] * opens, *named]
