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

# role, result ids that can answer (best first), and the measures to prefer in them
SOURCES = (
    ("prediction", (ids.SHAP_IMPORTANCE, ids.DALEX_PARTS), ("prediction", "log_odds")),
    ("loss", (ids.PFI,), ("nll",)),
    ("uncertainty", (ids.PFI, ids.SHAP_IMPORTANCE), ("entropy", "variance")),
)
METHODS = {
    ids.PFI: "permutation importance (mean change when the feature is shuffled)",
    ids.SHAP_IMPORTANCE: "mean size of the Shapley values",
    ids.DALEX_PARTS: "dalex's permutation importance",
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
    """Return an answer to each question that the run can answer, in their order, groups of features left out."""
    return [answer for source in SOURCES if (answer := _answer(e, *source)) is not None]


def leader(answered: Sequence[Answer]) -> Answer:
    """Return the answer that orders figures of all questions: the loss's where there is one."""
    return next((answer for answer in answered if answer.heading == "loss"), answered[0])


def leading(answered: Sequence[Answer], most: int) -> list[str]:
    """Return at most `most` features, in the order of the leader and then of the others."""
    order = (feature for answer in (leader(answered), *answered) for feature in answer.features)
    return list(dict.fromkeys(order))[:most]


def _answer(e: Evidence, role: str, sources: Sequence[str], preferred: Sequence[str]) -> Answer | None:
    for key in sources:
        result = e.find(key)
        if result is None or not len(result.estimates):
            continue
        measures = [str(m) for m in dict.fromkeys(result.estimates[col.MEASURE])]
        fitting = [m for m in (*preferred, *measures) if m in measures and e.words(m).role == role]
        if fitting:
            facts = e.words(fitting[0], result)
            rows = result.estimates[result.estimates[col.MEASURE] == fitting[0]]
            table = ordered(rows[~rows[col.FEATURE].isin(list(e.subject.groups))], facts.sign)
            held = places(e.run, key, fitting[0], table, facts.sign)
            return Answer(role, fitting[0], facts, METHODS[key], result, table, held)
    return None
