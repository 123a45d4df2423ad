"""The three questions, and the result that answers each: what drives the prediction, the loss, the uncertainty."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import pandas as pd

from ..core.results import MeasureFacts, Result
from ..evidence import columns as col
from ..evidence import ids
from .evidence import Evidence
from .places import Place, places
from .telling import ordered

# role, and the result ids that can answer, best first
SOURCES = (
    ("prediction", (ids.SHAP_IMPORTANCE, ids.DALEX_PARTS)),
    ("loss", (ids.PFI,)),
    ("uncertainty", (ids.PFI, ids.SHAP_IMPORTANCE)),
)
METHODS = {
    ids.PFI: "permutation importance (mean change when the feature is shuffled)",
    ids.SHAP_IMPORTANCE: "mean size of the Shapley values",
    ids.DALEX_PARTS: f"{ids.DALEX}'s permutation importance",
}


class Answer(NamedTuple):
    """One question's ranking: its heading, measure and facts, how it was computed, its numbers in order, and places."""

    heading: str
    measure: str
    facts: MeasureFacts
    method: str
    result: Result
    table: pd.DataFrame
    places: Mapping[str, Place]

    @property
    def features(self) -> list[str]:
        """The features in the order of the ranking."""
        return [str(feature) for feature in self.table[col.FEATURE]]


def answers(e: Evidence) -> list[Answer]:
    """Return an answer to each question that the run can answer, in their order, for single features."""
    return [answer for source in SOURCES if (answer := _answer(e, *source)) is not None]


def leader(answered: Sequence[Answer]) -> Answer:
    """Return the answer that orders figures of all questions: the loss's where there is one."""
    return next((answer for answer in answered if answer.heading == "loss"), answered[0])


def leading(answered: Sequence[Answer], most: int) -> list[str]:
    """Return at most `most` features, in the order of the leader and then of the others."""
    order = (feature for answer in (leader(answered), *answered) for feature in answer.features)
    return list(dict.fromkeys(order))[:most]


def _answer(e: Evidence, role: str, sources: Sequence[str]) -> Answer | None:
    result, measure = next(filter(None, (e.ranked(key, role) for key in sources)), (None, ""))
    if result is None:
        return None
    facts = e.words(measure, result)
    rows = result.estimates[result.estimates[col.MEASURE] == measure]
    table = ordered(rows[~rows[col.FEATURE].isin(list(e.subject.groups))], facts.sign)
    place_of = places(e.run, result.id, measure, table, facts.sign)
    return Answer(role, measure, facts, METHODS[result.id], result, table, place_of)
