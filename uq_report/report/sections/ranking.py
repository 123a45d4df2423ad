"""One ranking table for all methods: what each says of the prediction, the loss, the doubt and the distribution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import floor, isfinite, log10
from typing import NamedTuple

import pandas as pd

from ...core.numbers import fixed
from ...core.numbers import places as places_of
from ...core.ranking import ranks
from ...core.results import MeasureFacts, Result
from ...core.text import count
from ...document.blocks import make_table
from ...document.document import Column, Table
from ...document.evidence import Evidence
from ...document.places import Place, places, simultaneous
from ...document.telling import NUMBERS, ordered
from ...document.text import clean, joined, name
from ...evidence import columns as col
from ...evidence import ids
from ...evidence.importance import CoverCorrected, CoverCorrectedLine
from ...evidence.information import CONVENTIONS, SIZE, Agreement
from ...evidence.view import of_measure

ROWS = 15  # features that are printed, the leading ones
LOSS, DOUBT = ("nll",), ("entropy", "variance")
CORRECTED = "corrected for cover"
KEPT = "\u2011"  # a hyphen at which no line breaks
HEADS = {"loss": "loss", "prediction": "prediction", "uncertainty": "doubt", "distribution": "distribution"}


class Source(NamedTuple):
    """Where a column comes from: the result, the question, the role of its measures, and those to prefer."""

    id: str
    question: str
    role: str
    preferred: tuple[str, ...]
    head: str
    words: str


# The columns in their order, grouped by question. R-sens is about the whole distribution, not the doubt alone.
SOURCES = (
    Source(ids.SHAP_IMPORTANCE, "prediction", "prediction", ("prediction", "log_odds"), "Shapley", "the prediction"),
    Source(ids.PFI, "loss", "loss", LOSS, "alone", "the loss"),
    Source(ids.COVER, "loss", "loss", LOSS, CORRECTED, f"the loss {CORRECTED}"),
    Source(ids.DALEX_PARTS, "loss", "prediction", ("prediction",), "drop-out", "the drop-out loss"),
    Source(ids.PFI, "uncertainty", "uncertainty", DOUBT, "alone", "the rise of the doubt"),
    Source(
        ids.COVER,
        "uncertainty",
        "uncertainty",
        DOUBT,
        "corrected for cover",
        "the rise of the doubt corrected for cover",
    ),
    Source(ids.SHAP_IMPORTANCE, "uncertainty", "uncertainty", DOUBT, "Shapley", "the moves of the doubt"),
    Source(ids.RSENS, "distribution", "uncertainty", ("rsens",), "R-sens", "the whole distribution"),
)


@dataclass(frozen=True)
class Ranking:
    """One column: a method's numbers for one question, largest first, with each single feature's rank and places."""

    source: Source
    result: Result
    measure: str
    facts: MeasureFacts
    table: pd.DataFrame
    ranks: Mapping[str, int]
    places: Mapping[str, Place]
    together: bool

    @property
    def known(self) -> bool:
        """Whether intervals tell the ranks."""
        return bool(self.places) and all(place.by_intervals for place in self.places.values())

    @property
    def is_size(self) -> bool:
        """Whether its numbers are mean sizes, which have no sign, and not mean changes."""
        return CONVENTIONS[self.source.id] == SIZE

    @property
    def first(self) -> tuple[str, ...]:
        """The features that can be first, leading first."""
        return tuple(f for f in self.ranks if self.places[f].first == 1)

    def column(self) -> Column:
        """Return the head: question, method, and whether sizes or changes are averaged."""
        kind = "mean size" if self.is_size else "mean change"
        return Column(f"{HEADS[self.source.question]}: {self.source.head}, {kind}", unit=self.facts.unit)

    def place(self, feature: str) -> str:
        """Return a rank with the ranks it may have: ``"2 (1 to 3)"``; without intervals ``"≈ 2"``."""
        place, rank = self.places[feature], self.ranks[feature]
        if not place.by_intervals:
            return f"≈ {rank}"
        return str(rank) if place.first == place.last else f"{rank} ({place.first} to {place.last})"

    def cells(self) -> dict[str, str]:
        """Return each feature's number, rounded to its error, with its ranks on one line: ``"0.041 · 2 (1-3)"``."""
        rows = self.table[[col.FEATURE, *NUMBERS]].itertuples(index=False)
        largest = self.table[col.ESTIMATE].abs().max()
        return {str(f): " · ".join((_rounded(largest, *numbers), *self._ranked(str(f)))) for f, *numbers in rows}

    def _ranked(self, feature: str) -> tuple[str, ...]:
        return (self.place(feature).replace(" to ", KEPT),) if feature in self.places else ()


def _rounded(largest: float, estimate: float, lower: float, upper: float) -> str:
    """Return a number to its interval's error, else two digits, but not finer than three digits of the largest."""
    own = places_of(lower, upper) if isfinite(lower) and isfinite(upper) else None
    return fixed(estimate, min(_decimals(estimate, 2) if own is None else own, _decimals(largest, 3)))


def _decimals(value: float, digits: int) -> int:
    """Return the decimals of a number's leading digits; none of 0."""
    return digits - 1 - floor(log10(abs(value))) if value and isfinite(value) else 0


def rankings(e: Evidence) -> list[Ranking]:
    """Return the columns that the run can fill, in their order."""
    found = [ranking for source in SOURCES if (ranking := _ranking(e, source)) is not None]
    view, alone = CoverCorrected.find(e.run), {one.measure for one in found if one.source.id == ids.PFI}
    return [one for one in found if one.source.id != ids.COVER or (one.measure in alone and _tells(view, one))]


def _tells(view: CoverCorrected | None, one: Ranking) -> bool:
    """Say whether a corrected column tells more than the one beside it: of the loss, any partner; else, any change."""
    if view is None:
        return False
    return any(view.partners.values()) if one.source.question == "loss" else bool(changed(view, one.measure))


def changed(view: CoverCorrected, measure: str) -> list[CoverCorrectedLine]:
    """Return the lines whose importance correction changes by more than what matters, largest change first.

    The whole interval of the change lies beyond the margin, and is to be trusted.
    """
    lines = [line for line in of_measure(view.lines, measure) if not line.distrust]
    beyond = [line for line in lines if line.change_lower > line.margin or line.change_upper < -line.margin]
    return sorted(beyond, key=lambda line: -abs(line.change))


def _ranking(e: Evidence, source: Source) -> Ranking | None:
    """Return one column: of the preferred measures the first that is there, else any of the role."""
    result = e.find(source.id)
    if result is None or not len(result.estimates):
        return None
    measures = [str(m) for m in dict.fromkeys(result.estimates[col.MEASURE])]
    fitting = [m for m in source.preferred if m in measures and e.words(m).role in (source.role, "")]
    fitting += [m for m in measures if e.words(m).role == source.role]
    if not fitting:
        return None
    facts, rows = e.words(fitting[0], result), result.estimates[result.estimates[col.MEASURE] == fitting[0]]
    table = ordered(rows[rows[col.ESTIMATE].notna()].drop_duplicates(col.FEATURE), facts.sign)
    held = places(e.run, source.id, fitting[0], table, facts.sign)
    single = table[table[col.FEATURE].isin(list(held))]
    order = ranks(facts.sign * single[col.ESTIMATE].to_numpy(dtype=float)).tolist() if len(single) else []
    rank = dict(zip(single[col.FEATURE].astype(str), order, strict=True))
    together = bool(set(simultaneous(e.run, source.id, fitting[0])) >= set(rank))
    return Ranking(source, result, fitting[0], _unit(result, facts), table, rank, held, together)


def _unit(result: Result, facts: MeasureFacts) -> MeasureFacts:
    """Return the facts with the unit of a drop-out loss, which is that of its loss."""
    if result.id != ids.DALEX_PARTS:
        return facts
    losses = result.meta.get("losses", {})
    return replace(facts, unit=clean(losses.get("prediction", ""), 20).replace(" - ", " − "))


def features(e: Evidence, found: Sequence[Ranking]) -> list[str]:
    """Return the features, those to print first: the first of any column, groups, then the others.

    Either part is in the order of the loss, or else of the first column.
    """
    lead = next((one for one in found if one.source.question == "loss"), found[0])
    order = list(dict.fromkeys(f for one in (lead, *found) for f in one.table[col.FEATURE].astype(str)))
    groups = [feature for feature in order if feature in e.subject.groups]
    best = {f: min(one.ranks.get(f, len(order)) for one in found) for f in order if f not in groups}
    top = sorted(best, key=lambda feature: best[feature])[: max(0, ROWS - len(groups))]
    return [*(f for f in best if f in top), *groups, *(f for f in best if f not in top)]


def ranking_table(e: Evidence, found: Sequence[Ranking]) -> Table:
    """Return a row per feature, the leading first, and a column per method, grouped by question."""
    order, cells = features(e, found), [one.cells() for one in found]
    single = len(set(order) - set(e.subject.groups))
    rows = [(name(feature), *(column.get(feature) for column in cells)) for feature in order]
    whole = make_table(
        "drives-table",
        f"{count(single, 'feature')} by every method: number, rank and in brackets the ranks it may have.",
        [Column("feature"), *(one.column() for one in found)],
        rows[:ROWS],
        evidence=ids.AGREEMENT if e.find(ids.AGREEMENT) is not None else found[0].result.id,
        note=_note(e, found),
    )
    return replace(whole, rest=tuple(rows[ROWS:]), total_rows=len(rows))


def _note(e: Evidence, found: Sequence[Ranking]) -> str:
    """Say what the numbers are, which rank intervals hold together, and what groups stand for."""
    words = (_changes(found), _sizes(found), _intervals(e, found), e.group_words)
    return " ".join(filter(None, words))


def _changes(found: Sequence[Ranking]) -> str:
    if all(one.is_size for one in found):
        return ""
    covered = any(one.source.id == ids.COVER for one in found)
    more = " (corrected for cover: with those that carry the same information wrong too)" * covered
    return f"Mean change: the rise with wrong values of the feature{more}; rises and falls of single rows cancel."


def _sizes(found: Sequence[Ranking]) -> str:
    whole = any(one.source.id == ids.RSENS for one in found)
    words = "Mean size: how far the feature moves a row, up or down; never to be set beside a change."
    return f"{words}{' R-sens is about the whole distribution.' * whole}" if any(one.is_size for one in found) else ""


def _intervals(e: Evidence, found: Sequence[Ranking]) -> str:
    """Say for which columns rank intervals hold for all features at once, and which ranks have none."""
    kinds = [[one.source.words for one in found if one.known and one.together is joint] for joint in (True, False)]
    bare = [one.source.words for one in found if not one.known]
    whose = "Those" if kinds[0] else "Rank intervals"
    parts = [
        f"Rank intervals hold for a whole column at once{_level(e)}." * bool(kinds[0]),
        f"{whose} of {joined(kinds[1])} hold feature by feature only." * bool(kinds[1]),
        f"≈: the method gives no interval ({joined(bare)})." * bool(bare),
    ]
    return " ".join(filter(None, parts))


def _level(e: Evidence) -> str:
    view = Agreement.find(e.run)
    levels = [line.confidence for line in view.lines if line.has_interval] if view is not None else []
    return f" ({100 * levels[0]:.0f} %)" if levels else ""
