"""What the rankings agree on, where they part and why, and what correction for cover changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

from ...core.text import count
from ...document.evidence import Evidence
from ...document.text import joined, mention, mentions
from ...evidence import ids
from ...evidence.importance import CoverCorrected, CoverCorrectedLine
from ...evidence.information import Agreement
from .ranking import CORRECTED, Ranking, changed

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


def leads(e: Evidence, found: Sequence[Ranking]) -> str:
    """Say which features certainly lead which ranking, and which cannot be told apart at its head.

    Where correction for cover moves ranks, its own sentence says so.
    """
    known = [one for one in found if one.known and one.ranks and one.source.id != ids.COVER]
    if not known:
        return "No method here has intervals on its ranks: their order is not tested."
    sole: dict[str, list[str]] = {}
    for one in known:
        if len(one.first) == 1:
            sole.setdefault(one.first[0], []).append(one.source.words)
    told = [f"{mention(feature)} leads {_all(heads, len(known))}." for feature, heads in sole.items()]
    open_ = [one for one in known if len(one.first) > 1]
    return " ".join([*told, *([_open(e, open_)] if open_ else [])])


def _all(heads: Sequence[str], known: int) -> str:
    return f"all {known} rankings that have intervals" if len(heads) == known > 1 else joined(heads)


def _open(e: Evidence, open_: Sequence[Ranking]) -> str:
    """Say for which rankings several features can be first, those of one set together."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for one in open_:
        groups.setdefault(one.first, []).append(one.source.words)
    parts = [f"{joined(heads)} ({_able(features)})" for features, heads in groups.items()]
    n = e.subject.n
    return f"{count(n, 'row') if n else 'These rows'} cannot tell which feature leads {joined(parts)}."


def _able(features: Sequence[str]) -> str:
    if len(features) > NAMED:
        return f"any of {len(features)}"
    return f"{', '.join(mentions(features[:-1]))} or {mention(features[-1])}"


class Parting(NamedTuple):
    """A feature that one ranking places above where the other can: both have intervals, and these are apart."""

    feature: str
    high: Ranking
    low: Ranking

    @property
    def gap(self) -> int:
        """The places between the two intervals."""
        return self.low.places[self.feature].first - self.high.places[self.feature].last


def partings(found: Sequence[Ranking]) -> list[Parting]:
    """Return where rankings of one question part beyond their intervals, widest first; cover is told by itself."""
    known = [one for one in found if one.known and one.source.id != ids.COVER]
    pairs = [(a, b) for a, b in combinations(known, 2) if _asks(a) == _asks(b)]
    cases = [case for a, b in pairs if set(a.places) == set(b.places) for case in _cases(a, b)]
    return sorted(cases, key=lambda case: -case.gap)


def _asks(one: Ranking) -> str:
    """Return the question of a ranking; what is asked of the whole distribution is set beside the doubt."""
    return "uncertainty" if one.source.question == "distribution" else one.source.question


def _cases(a: Ranking, b: Ranking) -> Iterator[Parting]:
    for feature in a.places:
        for high, low in ((a, b), (b, a)):
            if high.places[feature].last < low.places[feature].first:
                yield Parting(feature, high, low)


def contradictions(e: Evidence, found: Sequence[Ranking]) -> list[str]:
    """Say where rankings of one question part, a sentence for each cause, widest first."""
    reasons, groups = _explained(e), dict[str, dict[str, list[Parting]]]()
    for case in partings(found):
        groups.setdefault(_cause(case, reasons), {}).setdefault(case.feature, []).append(case)
    return [f"{cause}: {_some([_parted(*one) for one in cases.items()])}." for cause, cases in groups.items()]


def _some(parts: Sequence[str]) -> str:
    more = f"; {len(parts) - NAMED} more" if len(parts) > NAMED else ""
    return f"{'; '.join(parts[:NAMED])}{more}"


def _parted(feature: str, cases: Sequence[Parting]) -> str:
    """Return the ranks of one feature where it stands higher and where lower."""
    sides = ([case.high for case in cases], [case.low for case in cases])
    high, low = (dict.fromkeys(f"{one.place(feature)} in {one.source.words}" for one in side) for side in sides)
    return f"{mention(feature)} ranks {joined(list(high))}, but {joined(list(low))}"


def _cause(case: Parting, reasons: Mapping[tuple[str, frozenset[tuple[str, str]]], Sequence[str]]) -> str:
    """Return why two rankings part: another result shows it, or they count differently, or it is not known."""
    if case.high.is_size is not case.low.is_size:
        return KINDS
    pair = frozenset((one.source.id, one.measure) for one in (case.high, case.low))
    shown = [CAUSES[key] for key in reasons.get((case.feature, pair), ()) if key in CAUSES]
    if shown:
        return shown[0]
    return WHOLE if ids.RSENS in {case.high.source.id, case.low.source.id} else UNKNOWN


def _explained(e: Evidence) -> dict[tuple[str, frozenset[tuple[str, str]]], Sequence[str]]:
    """Return the results that explain a disagreement, by its feature and its two rankings."""
    view = Agreement.find(e.run)
    cases: Sequence[Mapping[str, Any]] = () if view is None else view.disagreements
    return {
        (str(case["feature"]), frozenset(zip(case["methods"], case["measures"], strict=True))): case["evidence"]
        for case in cases
        if case["explained"]
    }


def corrections(e: Evidence, found: Sequence[Ranking]) -> str:
    """Say whom correction for cover moves, from where to where, because of which partner; or that it moves none."""
    view = CoverCorrected.find(e.run)
    if view is None or not view.lines:
        return ""
    if not any(view.partners.values()):
        return "No feature was found that carries another's information, so nothing is to be corrected for cover."
    corrected = [one for one in found if one.source.id == ids.COVER]
    told = [f"{words}: {'; '.join(parts)}." for more, words in MOVES if (parts := _moves(view, corrected, more=more))]
    return " ".join(told) or UNMOVED


def _moves(view: CoverCorrected, corrected: Sequence[Ranking], *, more: bool) -> list[str]:
    """Return by question whom correction lets weigh more, or less."""
    parts = []
    for one in corrected:
        here = [line for line in changed(view, one.measure) if (one.facts.sign * line.change > 0) is more]
        question = one.source.words.removesuffix(f" {CORRECTED}")
        parts += [f"in {question} {joined([_move(view, line) for line in here], NAMED + 1)}"] if here else []
    return parts


def _move(view: CoverCorrected, line: CoverCorrectedLine) -> str:
    partners = joined(mentions(view.partners.get(line.feature, ())), PARTNERS)
    rank = f"still rank {line.rank}" if line.rank == line.plain_rank else f"rank {line.plain_rank} to {line.rank}"
    return f"{mention(line.feature)} ({rank}, partner {partners})"
