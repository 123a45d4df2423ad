"""How features depend on each other, and whether the methods agree in spite of it."""

from __future__ import annotations

from ...document.document import Paragraph, Section
from ..placing import Placed

TITLE = "Dependence and agreement between methods"
LEAD = (
    "What the ranking in “What drives it” rests on: how features repeat each other, importance corrected for it, and "
    "the ranks of every method with their intervals."
)


def relations(placed: Placed) -> Section:
    """Return redundancy, importance corrected for cover, covered information and agreement."""
    return Section(id="relations", title=TITLE, blocks=(Paragraph(text=LEAD),), sections=placed.chapter("relations"))
