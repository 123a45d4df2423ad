"""The rankings of the result ``agreement`` as sections read them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from ...core.results import Result
from ...core.text import count
from ...plots.rank_intervals import Ranking
from ..text import clean, joined, name

METHODS = {
    "pfi": "PFI",
    "pfi.train": "PFI, training rows",
    "shap.importance": "SHAP",
    "dalex.model_parts": "DALEX",
    "rsens": "R-sens",
    "rsens.comparators": "comparator",
    "h_statistic": "H², total",
    "cid.corrected": "PFI, corrected",
}
QUESTIONS = {
    "prediction": "the prediction (the mean)",
    "loss": "the loss",
    "uncertainty": "the uncertainty",
    "interaction": "interaction",
}
SHORT = {"ead": "E|∂f|", "aed": "|E ∂f|", "apc": "APC", "var": "VAR", "pd": "PD spread"}
FEW = 3


class Ranked(NamedTuple):
    """One ranking: the method's name, its measure, the question, and a table by feature, first rank first."""

    id: str
    method: str
    measure: str
    role: str
    table: pd.DataFrame

    @property
    def key(self) -> str:
        """What the result calls this ranking."""
        return f"{self.id}: {self.measure}" if self.measure else self.id

    @property
    def label(self) -> str:
        """What a reader calls it; a method's only measure is not repeated."""
        return self.method if self.measure in ("", self.id) else f"{self.method} {self.short}"

    @property
    def short(self) -> str:
        """The measure, as short as columns need."""
        return SHORT.get(self.measure, clean(self.measure, 40))

    @property
    def sure(self) -> bool:
        """Whether its ranks have intervals."""
        return bool(np.isfinite(self.table["lower"].to_numpy(dtype=float)).all())

    def column(self) -> Ranking:
        """Return it as a column of a figure."""
        measure = "" if self.measure == self.id else self.short
        return Ranking(self.method, measure, self.table)

    def place(self, feature: str) -> str:
        """Return a feature with the interval of its rank, where there is one: ``"age (1 to 3)"``."""
        if not self.sure:
            return name(feature)
        low, high = (int(self.table.loc[feature, end]) for end in ("lower", "upper"))  # type: ignore[arg-type]
        return f"{name(feature)} ({low}{'' if low == high else f' to {high}'})"


def rankings(result: Result) -> list[Ranked]:
    """Return every ranking of ``agreement``, in its order."""
    found = []
    for (method, measure), part in result.estimates.groupby(["item", "measure"], sort=False):
        table = part.drop_duplicates("feature").sort_values("estimate", kind="stable").set_index("feature")
        table.index = table.index.astype(str)
        shown = METHODS.get(str(method), clean(method, 60))
        found.append(Ranked(str(method), shown, str(measure), str(part["role"].iloc[0]), table))
    return found


def first_words(one: Ranked) -> str:
    """Say which features can be first: one by name, a few by name, more as a count."""
    able = sorted(str(f) for f in one.table.index[one.table["lower"] == 1])
    if len(able) == 1:
        return f"only {name(able[0])} can be first"
    if len(able) <= FEW:
        return f"{joined([name(f) for f in able])} can be first"
    return f"{count(len(able), 'feature')} can be first"
