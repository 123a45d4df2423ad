"""How features depend on each other, and whether the methods agree in spite of it."""

from __future__ import annotations

from ...document.document import Block, Paragraph, Section
from ...document.evidence import Evidence
from ...document.questions import answers
from ...evidence import ids
from ..placing import Placed
from .ranking import drivers_table, rank_matrix
from .summary import agreement_of

TITLE = "Dependence and agreement between methods"


def relations(e: Evidence, placed: Placed) -> Section:
    """Return the questions side by side, agreement, redundancy and covered information."""
    answered = answers(e)
    blocks: list[Block] = []
    if answered:
        blocks += [Paragraph(text=agreement_of(answered)), drivers_table(e, answered, "relations-drivers")]
    else:
        blocks.append(Paragraph(text="No importance was computed, so there is nothing to set side by side."))
    if e.find(ids.AGREEMENT) is None:  # which shows the ranks with their intervals
        blocks += rank_matrix(e)
    return Section(id="relations", title=TITLE, blocks=tuple(blocks), sections=placed.chapter("relations"))
