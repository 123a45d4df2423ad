"""Rankings of features, and the places that features may have in them as far as the numbers tell."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pandas as pd

from ..core.ranking import ranks
from ..core.results import MeasureFacts, Result
from ..evidence import columns as col
from ..evidence import ids
from ..evidence.information import Agreement
from ..evidence.run import Run
from ..evidence.subject import SubjectFacts
from ..evidence.view import Estimate, by_feature, lines_of, of_measure
from .evidence import Evidence
from .plots.frames import has_interval
from .plots.ranks import places_words, tied
from .telling import ordered

METHODS = {
    ids.PFI: "permutation importance (mean change when the feature is shuffled)",
    ids.SHAP_IMPORTANCE: "mean size of the Shapley values",
    ids.DALEX_PARTS: f"{ids.DALEX}'s permutation importance",
}


class Place(NamedTuple):
    """The first and the last place that a feature may have; `by_intervals` by intervals, else only shared in a tie.

    Examples
    --------
    >>> Place(2, 4).words, Place(1, 1).words, Place(2, 3, by_intervals=False).words
    ('2 to 4', '1', 'tied, 2 to 3')
    """

    first: int
    last: int
    by_intervals: bool = True

    @property
    def words(self) -> str:
        """The places as the chapter on agreement says them."""
        tie = "" if self.by_intervals or self.first == self.last else "tied, "
        return f"{tie}{places_words(self.first, self.last)}"


@dataclass(frozen=True)
class Ranking:
    """One measure of a result over features, the leading first, and the places that its numbers tell."""

    result: Result
    measure: str
    facts: MeasureFacts
    table: pd.DataFrame
    places: Mapping[str, Place]

    @classmethod
    def of(cls, e: Evidence, result: Result, measure: str) -> Ranking:
        """Return the ranking of a result by one of its measures."""
        facts = e.words(measure, result)
        table = ordered(result.estimates[result.estimates[col.MEASURE] == measure], facts.sign)
        return cls(result, measure, facts, table, places(e.run, result.id, measure, table, facts.sign))

    def without(self, names: Collection[str]) -> Ranking:
        """Return the ranking of the other features."""
        return replace(self, table=self.table[~self.table[col.FEATURE].isin(list(names))])

    @property
    def unit(self) -> str:
        """The unit of its measure."""
        return self.facts.unit

    @property
    def sign(self) -> int:
        """What a value is multiplied by so that larger is worse or less certain."""
        return self.facts.sign

    @property
    def heading(self) -> str:
        """The question that it answers: the role of its measure."""
        return self.facts.role

    @property
    def method(self) -> str:
        """How its numbers were computed, in words."""
        return METHODS[self.result.id]

    @property
    def order(self) -> list[str]:
        """The features, and names of several that are changed together, the leading first."""
        return [str(feature) for feature in dict.fromkeys(self.table[col.FEATURE])]

    @cached_property
    def lines(self) -> Mapping[str, Estimate]:
        """The estimates by feature."""
        return by_feature(of_measure(lines_of(self.result, Estimate), self.measure))

    @property
    def distrust(self) -> Mapping[str, str]:
        """Why intervals are not to be trusted, for those features only."""
        if col.DISTRUST not in self.table.columns:
            return {}
        rows = zip(self.table[col.FEATURE], self.table[col.DISTRUST], strict=True)
        return {str(feature): str(reason) for feature, reason in rows if reason}


def places(run: Run, source: str, measure: str, table: pd.DataFrame, sign: int = 1) -> Mapping[str, Place]:
    """Return each feature's places in one ranking of the result `source`; of `sign` -1 the smallest leads.

    They are those of the agreement of methods where it ranks alike and has intervals; else the intervals of the
    estimates decide, where all have one: only what lies wholly above comes before. Without intervals equal values tie.
    A group of features has no place among its members.
    """
    single = table[table[col.ESTIMATE].notna() & ~table[col.FEATURE].isin(list(SubjectFacts.of(run).groups))]
    features = single[col.FEATURE].astype(str).tolist()
    together = simultaneous(run, source, measure)
    if set(together) >= set(features):
        return together
    if has_interval(single).all():
        return dict(zip(features, _apart(single, sign), strict=True))
    order = ranks(sign * single[col.ESTIMATE].to_numpy(dtype=float))
    shared = tied(dict(zip(features, order.tolist(), strict=True)))
    return {feature: Place(*ends, by_intervals=False) for feature, ends in shared.items()}


def simultaneous(run: Run, source: str, measure: str) -> Mapping[str, Place]:
    """Return the places that hold for all features of one ranking at once; none where they were not computed."""
    view = Agreement.find(run)
    every = view.lines if view is not None and view.sign != "absolute" else ()
    lines = [line for line in every if (line.item, line.measure) == (source, measure) and line.has_interval]
    return {line.feature: Place(int(line.lower), int(line.upper)) for line in lines}


def _apart(table: pd.DataFrame, sign: int) -> list[Place]:
    """Return the places that are left by the intervals that do not meet."""
    ends = np.sort(sign * table[[col.LOWER, col.UPPER]].to_numpy(dtype=float), axis=1)
    above = ends[:, 0] > ends[:, [1]]  # [j, l]: l lies above j
    firsts, lasts = 1 + above.sum(axis=1), len(ends) - above.sum(axis=0)
    return [Place(int(first), int(last)) for first, last in zip(firsts, lasts, strict=True)]
