"""What drives the prediction and its loss, and what drives the uncertainty: each measure with all it rests on."""

from __future__ import annotations

from ...document import slots
from ...document.document import Paragraph, Section
from ...document.evidence import Evidence
from ...document.text import joined
from ...evidence.importance import Pfi
from ..placing import Placed

PREDICTION, UNCERTAINTY = "Drivers of the prediction", "Drivers of the uncertainty"
LEAD = (
    "Permutation importance is the mean change of a measure when the values of a feature are shuffled between rows. "
    "Signs are kept: below 0 the model does better, or becomes surer, without the feature's own values."
)
OF_UNCERTAINTY = (
    "Likelihood-PFI is the change of the negative log-likelihood (nll, how badly the outcome was foreseen) when a "
    "feature is shuffled, Entropy-PFI the change of the entropy (how unsure the model says it is). R-sens moves each "
    "feature a little instead and asks how far the whole predictive distribution moves. Curves of entropy along "
    "features stand in “Conceptual soundness”, Shapley values of entropy and nll in “Drivers of the prediction”."
)


def prediction(e: Evidence, placed: Placed) -> Section:
    """Return importance for the prediction and its loss, SHAP and DALEX, and what strangers explain of them."""
    blocks = (Paragraph(text=" ".join(filter(None, (LEAD, _reversed(e), e.group_words)))),)
    return Section(id=slots.PREDICTION, title=PREDICTION, blocks=blocks, sections=placed.chapter(slots.PREDICTION))


def _reversed(e: Evidence) -> str:
    """Name the measures whose signs read the other way round."""
    view = Pfi.find(e.run)
    facts = [] if view is None else [e.words(measure, view.result) for measure in view.measures]
    titles = [one.title for one in facts if one.sign < 0]
    return f"Of {joined(titles)} it is the other way round: lower values are worse or less certain." if titles else ""


def uncertainty_drivers(placed: Placed) -> Section:
    """Return importance for nll and entropy, their map, R-sens, and what strangers explain of uncertainty."""
    blocks = (Paragraph(text=OF_UNCERTAINTY),)
    return Section(id=slots.UNCERTAINTY, title=UNCERTAINTY, blocks=blocks, sections=placed.chapter(slots.UNCERTAINTY))
