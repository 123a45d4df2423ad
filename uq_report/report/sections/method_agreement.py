"""What the rankings agree on, where they part and why, and what correction for cover changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

from ...core.support.text import count
from ...document.text import joined, mention, mentions, spaced
from ...evidence import columns as col
from ...evidence import ids
from ...evidence.importance import CoverCorrected, CoverCorrectedLine
from ...evidence.information import AgreementView
from ...reading.run_reader import RunReader
from .ranking import CORRECTED, RankingColumn, changed

NAMED = 3  # features that a sentence names, of more it gives the number
PARTNERS = 2
# what other results show where two methods part, by the result that shows it
CAUSES: Mapping[str, str] = {
    ids.CID: "Other features carry part of the same information, which one of the two leaves as it is",
    ids.H_STATISTIC: "The feature acts together with others, which one of the two counts whole",
    ids.RSENS_INTERACTION: "The feature acts together with others, which one of the two counts whole",
    ids.PFI: "The model is surer on wrong values, which only one of the two uses",
    ids.ALE: "Average and local effect differ, and only one of the two uses rows that the data lack",
}
KINDS = "A size counts every move, a mean change lets rises and falls cancel, so no contradiction"
WHOLE = "R-sens follows the whole distribution, not the doubt alone"
UNMOVED = "For no feature do these rows show that correction for cover changes its importance."
MOVES = (
    (True, "Weigh more once partners that carry part of the same information are wrong too"),
    (False, "Weigh less, since with their partners they cost less than one by one"),
)
UNKNOWN = "Nothing else in this run says why these part, so take neither order as settled"


def leads(e: RunReader, columns: Sequence[RankingColumn]) -> str:
    """Say which features certainly lead which ranking, and which cannot be distinguished at its head.

    Where correction for cover moves ranks, its own sentence says so; what no feature moves at all has no leader.
    """
    ranked = [column for column in columns if column.has_intervals and column.ranks and column.source.id != ids.COVER]
    tested = [column for column in ranked if column.table[col.ESTIMATE].any()]
    if not tested:
        return "No method here has intervals on its ranks: their order is not tested."
    heads: dict[tuple[str, ...], list[str]] = {}  # the rankings, by the features that can be first in them
    for column in tested:
        heads.setdefault(column.first, []).append(column.source.words)
    every = f"all {len(tested)} rankings that have intervals"
    texts = [
        f"{mention(first[0])} leads {every if len(words) == len(tested) > 1 else joined(words)}."
        for first, words in heads.items()
        if len(first) == 1
    ]
    ties = [f"{joined(words)} ({_able(first)})" for first, words in heads.items() if len(first) > 1]
    rows = count(e.subject.n, "row") if e.subject.n else "These rows"
    return spaced(*texts, f"{rows} cannot tell which feature leads {joined(ties)}." if ties else "")


def _able(features: Sequence[str]) -> str:
    if len(features) > NAMED:
        return f"any of {len(features)}"
    return f"{', '.join(mentions(features[:-1]))} or {mention(features[-1])}"


class RankGap(NamedTuple):
    """A feature that one ranking places above where the other can: both have intervals, and these are apart."""

    feature: str
    high: RankingColumn
    low: RankingColumn

    @property
    def gap(self) -> int:
        """The places between the two intervals."""
        return self.low.features[self.feature].first - self.high.features[self.feature].last


def partings(columns: Sequence[RankingColumn]) -> list[RankGap]:
    """Return where rankings of one question part beyond their intervals, widest first; cover has its own sentence."""
    tested = [column for column in columns if column.has_intervals and column.source.id != ids.COVER]
    cases = [
        RankGap(feature, high, low)
        for pair in combinations(tested, 2)
        if _question(pair[0]) == _question(pair[1]) and set(pair[0].features) == set(pair[1].features)
        for feature in pair[0].features
        for high, low in (pair, pair[::-1])
        if high.features[feature].last < low.features[feature].first
    ]
    return sorted(cases, key=lambda case: -case.gap)


def _question(column: RankingColumn) -> str:
    """Return the question of a ranking; what is about the whole distribution is compared with the uncertainty."""
    return "uncertainty" if column.source.question == "distribution" else column.source.question


def contradictions(e: RunReader, columns: Sequence[RankingColumn]) -> list[str]:
    """Say where rankings of one question part, a sentence for each cause, widest first."""
    reasons, causes = _explained(e), dict[str, dict[str, list[RankGap]]]()
    for case in partings(columns):
        causes.setdefault(_cause(case, reasons), {}).setdefault(case.feature, []).append(case)
    texts = []
    for cause, cases in causes.items():
        parts = [_parted(feature, own) for feature, own in cases.items()]
        parts[NAMED:] = [f"{len(parts) - NAMED} more"] if len(parts) > NAMED else []
        texts.append(f"{cause}: {'; '.join(parts)}.")
    return texts


def _parted(feature: str, cases: Sequence[RankGap]) -> str:
    """Return the ranks of one feature where it stands higher and where lower."""
    sides = ([case.high for case in cases], [case.low for case in cases])
    high, low = (dict.fromkeys(f"{x.place(feature)} in {x.source.words}" for x in side) for side in sides)
    return f"{mention(feature)} ranks {joined(list(high))}, but {joined(list(low))}"


def _cause(case: RankGap, reasons: Mapping[tuple[str, frozenset[tuple[str, str]]], Sequence[str]]) -> str:
    """Return why two rankings part: another result shows it, or they count differently, or it is not known."""
    if case.high.is_size is not case.low.is_size:
        return KINDS
    pair = frozenset((column.source.id, column.measure) for column in (case.high, case.low))
    unexplained = WHOLE if ids.RSENS in {case.high.source.id, case.low.source.id} else UNKNOWN
    return next((CAUSES[key] for key in reasons.get((case.feature, pair), ()) if key in CAUSES), unexplained)


def _explained(e: RunReader) -> dict[tuple[str, frozenset[tuple[str, str]]], Sequence[str]]:
    """Return the results that explain a disagreement, by its feature and its two rankings."""
    view = AgreementView.find(e.run)
    cases: Sequence[Mapping[str, Any]] = () if view is None else view.disagreements
    return {
        (str(case["feature"]), frozenset(zip(case["methods"], case["measures"], strict=True))): case["evidence"]
        for case in cases
        if case["explained"]
    }


def corrections(e: RunReader, columns: Sequence[RankingColumn]) -> str:
    """Say whom correction for cover moves, from where to where, because of which partner; or that it moves none."""
    view = CoverCorrected.find(e.run)
    if view is None or not view.lines:
        return ""
    if not any(view.partners.values()):
        return "No feature was found that carries another's information, so nothing is to be corrected for cover."
    corrected = [column for column in columns if column.source.id == ids.COVER]
    texts = [f"{words}: {'; '.join(parts)}." for more, words in MOVES if (parts := _moves(view, corrected, more=more))]
    return " ".join(texts) or UNMOVED


def _moves(view: CoverCorrected, corrected: Sequence[RankingColumn], *, more: bool) -> list[str]:
    """Return by question whom correction lets weigh more, or less."""
    parts = []
    for column in corrected:
        here = [line for line in changed(view, column.measure) if (column.facts.sign * line.change > 0) is more]
        question = column.source.words.removesuffix(f" {CORRECTED}")
        parts += [f"in {question} {joined([_move(view, line) for line in here], NAMED + 1)}"] if here else []
    return parts


def _move(view: CoverCorrected, line: CoverCorrectedLine) -> str:
    partners = joined(mentions(view.partners.get(line.feature, ())), PARTNERS)
    rank = f"still rank {line.rank}" if line.rank == line.plain_rank else f"rank {line.plain_rank} to {line.rank}"
    return f"{mention(line.feature)} ({rank}, partner {partners})"
