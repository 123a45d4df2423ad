"""The three questions, and the result that answers each: what drives the prediction, the loss, the uncertainty."""

from __future__ import annotations

from typing import NamedTuple

import pandas as pd

from ..core.results import Result
from ..plots.importance import Panel, panel
from ..plots.words import MeasureWords
from .evidence import Evidence

# role, result ids that can answer (best first), and the measures to prefer in them
SOURCES = (
    ("prediction", ("shap.importance", "dalex.model_parts"), ("prediction", "log_odds")),
    ("loss", ("pfi",), ("nll",)),
    ("uncertainty", ("pfi", "shap.importance"), ("entropy", "variance")),
)
METHODS = {
    "pfi": "permutation importance (mean change when the feature is shuffled)",
    "shap.importance": "mean size of the Shapley values",
    "dalex.model_parts": "dalex's permutation importance",
}


class Answer(NamedTuple):
    """One question's ranking: its heading, its measure and words, how it was computed, and its numbers."""

    heading: str
    measure: str
    said: MeasureWords
    method: str
    result: Result
    table: pd.DataFrame

    def panel(self) -> Panel:
        """Return the ranking as a panel of a figure."""
        return panel(self.result, self.measure, self.heading)


def answers(e: Evidence) -> list[Answer]:
    """Return an answer to each question that the run can answer, in their order."""
    return [found for source in SOURCES if (found := _answer(e, *source)) is not None]


def _answer(e: Evidence, role: str, ids: tuple[str, ...], preferred: tuple[str, ...]) -> Answer | None:
    for key in ids:
        result = e.find(key)
        if result is None or not len(result.estimates):
            continue
        held = [str(m) for m in dict.fromkeys(result.estimates["measure"])]
        fitting = [m for m in (*preferred, *held) if m in held and e.words(m).role == role]
        if fitting:
            table = result.estimates[result.estimates["measure"] == fitting[0]]
            return Answer(role, fitting[0], e.words(fitting[0]), METHODS[key], result, table)
    return None
