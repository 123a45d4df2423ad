"""The three questions, and the result that answers each: what drives the prediction, the loss, the uncertainty."""

from __future__ import annotations

from collections.abc import Sequence

from ..evidence import ids
from .evidence import Evidence
from .places import Ranking

# role, and the result ids that can answer, best first
SOURCES = (
    ("prediction", (ids.SHAP_IMPORTANCE, ids.DALEX_PARTS)),
    ("loss", (ids.PFI,)),
    ("uncertainty", (ids.PFI, ids.SHAP_IMPORTANCE)),
)


def answers(e: Evidence) -> list[Ranking]:
    """Return the ranking that answers each question that the run can answer, in their order, for single features."""
    ranked = (next(filter(None, (e.ranked(key, role) for key in keys)), None) for role, keys in SOURCES)
    return [Ranking.of(e, *source).without(e.subject.groups) for source in ranked if source is not None]


def leader(answered: Sequence[Ranking]) -> Ranking:
    """Return the answer that orders figures of all questions: the loss's where there is one."""
    return next((answer for answer in answered if answer.heading == "loss"), answered[0])


def leading(answered: Sequence[Ranking], most: int) -> list[str]:
    """Return at most `most` features, in the order of the leader and then of the others."""
    order = (feature for answer in (leader(answered), *answered) for feature in answer.order)
    return list(dict.fromkeys(order))[:most]
