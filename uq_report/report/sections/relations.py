"""How features depend on each other, and whether the methods agree in spite of it."""

from __future__ import annotations

from ..document import Block, Paragraph, Section
from ..evidence import Evidence
from ..questions import answers
from .agreement import agreement
from .covered import covered
from .dependence import dependence
from .ranking import drivers_table, rank_matrix
from .summary import agreement_of

TITLE = "Dependence and agreement between methods"


def relations(e: Evidence) -> Section:
    """Return the questions side by side, agreement, redundancy and covered information."""
    told = answers(e)
    blocks: list[Block] = []
    if told:
        blocks += [Paragraph(text=agreement_of(told)), drivers_table(e, told, "relations-drivers")]
    else:
        blocks.append(Paragraph(text="No importance was computed, so there is nothing to set side by side."))
    if e.find("agreement") is None:  # which shows the ranks with their intervals
        blocks += rank_matrix(e)
    return Section(
        id="relations", title=TITLE, blocks=tuple(blocks), sections=(dependence(e), covered(e), agreement(e))
    )
