"""Rankings of features, and the ranges of ranks that their intervals leave open."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import nan
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ..core.model.results import MeasureFacts, Result
from ..core.statistics.ranking import ranks
from ..document.plots.frames import has_interval, places_words, tied
from ..evidence import columns as col, ids
from ..evidence.importance import ABOUT_0, NEGATIVE, POSITIVE, UNDETERMINED, ShapImportance
from ..evidence.information import AgreementView
from ..evidence.run import Run
from ..evidence.subject import SubjectFacts
from ..evidence.view import EstimateLine, by_feature, lines_of, of_measure
from .run_reader import RunReader
from .sentences import NUMBERS, ordered

VERDICTS = (POSITIVE, NEGATIVE, ABOUT_0, UNDETERMINED)
# role, and the result ids that can answer, best first
ANSWERS = (
    ("prediction", (ids.SHAP_IMPORTANCE, ids.DALEX_PARTS)),
    ("loss", (ids.PFI,)),
    ("uncertainty", (ids.PFI_UNCERTAINTY, ids.SHAP_IMPORTANCE)),
)


class RankedFeature(NamedTuple):
    """A feature in a ranking: its importance with interval, and its first and last possible rank.

    Parameters
    ----------
    feature : str
    estimate, lower, upper : float
    first, last : int
    by_intervals : bool
        Whether intervals decide the ranks; otherwise equal values share them.
    verdict : str
        Empty without one.
    unreliable : str
        Why the interval is not reliable; empty where it is.

    Examples
    --------
    >>> age = RankedFeature("age", 0.2, 0.1, 0.3, 2, 4)
    >>> age.words, age._replace(first=1, last=1).words, age._replace(last=3, by_intervals=False).words
    ('2 to 4', '1', 'tied, 2 to 3')
    """

    feature: str
    estimate: float
    lower: float
    upper: float
    first: int
    last: int
    by_intervals: bool = True
    verdict: str = ""
    unreliable: str = ""

    @property
    def words(self) -> str:
        """The range of ranks in words."""
        tie = "" if self.by_intervals or self.first == self.last else "tied, "
        return f"{tie}{places_words(self.first, self.last)}"


class RankedLine(EstimateLine):
    """An importance, and why its interval is unreliable."""

    unreliable: str = ""


@dataclass(frozen=True)
class FeatureRanking:
    """One measure of a result over features, the leading first, and the ranks that each feature may have.

    `n` is the number of observations behind it, in words.
    """

    result: Result
    measure: str
    facts: MeasureFacts
    table: pd.DataFrame
    features: Mapping[str, RankedFeature]
    n: str

    @classmethod
    def of(cls, e: RunReader, result: Result, measure: str) -> FeatureRanking:
        """Return the ranking of a result by one of its measures."""
        facts = e.words(measure, result)
        table = ordered(result.estimates[result.estimates[col.MEASURE] == measure], facts.sign)
        features = ranked_features(e.run, result.id, measure, table, facts.sign)
        return cls(result, measure, facts, table, features, sample_size(e, result.id))

    def without(self, names: Collection[str]) -> FeatureRanking:
        """Return the ranking of the other features."""
        return replace(self, table=self.table[~self.table[col.FEATURE].isin(list(names))])

    @property
    def order(self) -> list[str]:
        """The features, and names of several that are changed together, the leading first."""
        return [str(feature) for feature in dict.fromkeys(self.table[col.FEATURE])]

    @property
    def ranked(self) -> list[RankedFeature]:
        """The single features, the leading first; those without a number are left out."""
        return [self.features[feature] for feature in self.order if feature in self.features]

    @property
    def leaders(self) -> list[RankedFeature]:
        """The features that may lead."""
        return [line for line in self.ranked if line.first == 1]

    @property
    def has_intervals(self) -> bool:
        """Whether intervals decide the ranks."""
        return bool(self.features) and all(line.by_intervals for line in self.features.values())

    @cached_property
    def lines(self) -> Mapping[str, RankedLine]:
        """The estimates by feature."""
        return by_feature(of_measure(lines_of(self.result, RankedLine), self.measure))


def ranked_features(
    run: Run, source: str, measure: str, table: pd.DataFrame, sign: int = 1
) -> Mapping[str, RankedFeature]:
    """Return each feature of one ranking of the result `source`; of `sign` -1 the smallest leads.

    The ranks are those of the agreement of methods where it ranks alike and has intervals; else the intervals of the
    estimates decide, where all have one: only what lies wholly above comes before. Without intervals equal values tie.
    A group of features has no rank among its members.
    """
    single = table[table[col.ESTIMATE].notna() & ~table[col.FEATURE].isin(list(SubjectFacts.of(run).groups))]
    rows = {str(row[col.FEATURE]): row for row in single.to_dict("records")}
    spans, by_intervals = simultaneous(run, source, measure), True
    if not set(spans) >= set(rows):
        by_intervals = bool(has_interval(single).all())
        spans = _apart(single, sign) if by_intervals else _tied(single, sign)
    return {feature: _ranked(feature, rows.get(feature, {}), span, by_intervals) for feature, span in spans.items()}


def _ranked(feature: str, row: Mapping[Any, Any], span: tuple[int, int], by_intervals: bool) -> RankedFeature:
    estimate, lower, upper = (float(row.get(name, nan)) for name in NUMBERS)
    words, unreliable = (str(row.get(name) or "") for name in (col.VERDICT, col.DISTRUST))
    verdict = next((name for name in VERDICTS if words.startswith(name)), "")
    return RankedFeature(feature, estimate, lower, upper, *span, by_intervals, verdict, unreliable)


def simultaneous(run: Run, source: str, measure: str) -> Mapping[str, tuple[int, int]]:
    """Return the first and last ranks that hold for all features of one ranking at once; none where not computed."""
    view = AgreementView.find(run)
    every = view.lines if view is not None and view.sign != "absolute" else ()
    lines = [line for line in every if (line.item, line.measure) == (source, measure) and line.has_interval]
    return {line.feature: (int(line.lower), int(line.upper)) for line in lines}


def _apart(table: pd.DataFrame, sign: int) -> Mapping[str, tuple[int, int]]:
    """Return the ranks that the intervals leave open: only an interval wholly above another comes before it."""
    ends = np.sort(sign * table[[col.LOWER, col.UPPER]].to_numpy(dtype=float), axis=1)
    above = ends[:, 0] > ends[:, [1]]  # [j, l]: l lies above j
    spans = zip((1 + above.sum(axis=1)).tolist(), (len(ends) - above.sum(axis=0)).tolist(), strict=True)
    return dict(zip(table[col.FEATURE].astype(str), spans, strict=True))


def _tied(table: pd.DataFrame, sign: int) -> Mapping[str, tuple[int, int]]:
    """Return the ranks of the estimates; equal estimates share them."""
    order = ranks(sign * table[col.ESTIMATE].to_numpy(dtype=float)).tolist()
    return tied(dict(zip(table[col.FEATURE].astype(str), order, strict=True)))


def sample_size(e: RunReader, source: str) -> str:
    """Return the number of observations that a ranking rests on, in words."""
    view = ShapImportance.find(e.run) if source == ids.SHAP_IMPORTANCE else None
    used, n = len(view.rows_used) if view is not None else 0, e.subject.n
    if used and used != n:
        return f"n = {used} explained observations"
    return "without a known number of observations" if n is None else f"n = {n}"


def answers(e: RunReader) -> list[FeatureRanking]:
    """Return the rankings for prediction, loss and uncertainty that the run has, for single features."""
    ranked = (next(filter(None, (e.ranked(key, role) for key in keys)), None) for role, keys in ANSWERS)
    rankings = (FeatureRanking.of(e, *source).without(e.subject.groups) for source in ranked if source is not None)
    return [ranking for ranking in rankings if len(ranking.table)]


def leader(answered: Sequence[FeatureRanking]) -> FeatureRanking:
    """Return the ranking that orders figures of several: that of the loss where there is one."""
    return next((answer for answer in answered if answer.facts.role == "loss"), answered[0])


def leading(answered: Sequence[FeatureRanking], most: int) -> list[str]:
    """Return at most `most` features, in the order of the leader, then of the others."""
    order = (feature for answer in (leader(answered), *answered) for feature in answer.order)
    return list(dict.fromkeys(order))[:most]
