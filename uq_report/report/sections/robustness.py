"""What would make the numbers move: interactions, rows outside the support, other rows, and over-fitting."""

from __future__ import annotations

from ...document.document import Paragraph, Section
from ..placing import Placed

TITLE = "Sensitivity, support and stability"
LEAD = (
    "The model and its rows are held fixed in this report. This section asks what else could move the numbers; groups "
    "of rows stand in “Outcomes analysis”. The model was not fitted again: other training rows, seeds of the fit and "
    "hyperparameters were not tried."
)


def robustness(placed: Placed) -> Section:
    """Return interactions, support, the stability of ranks, and training rows beside test rows."""
    return Section(id="robustness", title=TITLE, blocks=(Paragraph(text=LEAD),), sections=placed.chapter("robustness"))
