"""What drives the prediction, the loss and the doubt: one ranking for all methods, the map, covered information."""

from __future__ import annotations

from ...document.document import Paragraph, Section
from ...document.evidence import Evidence
from ...document.questions import answers
from .ranking import drivers_table, side_by_side

TITLE = "What drives it"


def drives(e: Evidence) -> Section:
    """Return the ranking of all features by all methods, and what the methods agree on."""
    answered = answers(e)
    if not answered:
        return Section(id="drives", title=TITLE, blocks=(Paragraph(text="No importance was computed in this run."),))
    blocks = (*side_by_side(answered, 6), drivers_table(e, answered, "drives-table"))
    return Section(id="drives", title=TITLE, blocks=blocks)
