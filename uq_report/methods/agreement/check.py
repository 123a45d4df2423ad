"""Methods that contradict each other, and drivers of the prediction that do not help it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import nan
from typing import Any, ClassVar, NamedTuple

from ...checks.family import Judge, Said, TableCheck, family, needed, require
from ...checks.reading import (
    RuleOutcome,
    SignVerdict,
    listed,
    measure_words,
    method_words,
    signs,
    size_within,
    with_reasons,
)
from ...checks.rule import Rule, limits
from ...core.support import options as opt
from ...core.support.numbers import value_words
from ...core.support.text import count, short
from ...evidence import ids
from ...evidence.importance import ABOUT_0, NEGATIVE, POSITIVE, Pfi
from ...evidence.information import AgreementView, RankLine, same_convention
from ...evidence.run import Run
from ...evidence.view import by_feature
from ..shared.checks import observed
from .rankings import Ranking, read_rankings

HALF = 0.5  # of the features at most lead a ranking
LEADS = "place <= top and share <= half"
Rankings = Mapping[tuple[str, str], Ranking]


CONTRADICTED = Rule(
    code="UQ601",
    title="Two methods contradict each other about a leading feature",
    options=("top", "min_rank_gap"),
    thresholds={"half": HALF},
    when="One method's rank interval lies within the first {top} ({half:pct} of the features if "
    "fewer); the rank interval of another method for the same question and kind of number starts {min_rank_gap} or "
    "more places lower.",
    raised=(f"{LEADS} and rank_gap >= min_rank_gap",),
    rests_on="klein:rank intervals that are apart",
)
WITHOUT_BENEFIT = Rule(
    code="UQ602",
    title="A driver of the prediction has no importance for the loss",
    options=("top", "level"),
    thresholds={"half": HALF},
    when="Every ranking of the prediction with intervals places the feature within the first {top} "
    "({half:pct} of the features if fewer), its permutation importance for every loss is about 0 or "
    "negative (level {level}, Holm-adjusted over features), and another feature's is positive.",
    raised=(f"{LEADS} and lowered <= 0 and p_negative <= level and p_other <= level",),
    rests_on="breiman:permutation importance",
)


def _rankings(agreement: AgreementView) -> Rankings:
    """Return the rankings with intervals by method and measure."""
    return {(r.id, r.measure): r for r in read_rankings(agreement, Ranking) if r.sure}


def _contradictions(rule: Rule, run: Run) -> RuleOutcome:
    """Judge every two rankings of one question."""
    agreement = needed(AgreementView, run)
    rankings, cases = _rankings(agreement), agreement.disagreements
    pairs = _pairs(rankings.values())
    require(pairs, "no two rankings with intervals answer the same question")
    cut = len(cases) < agreement.n_disagreements and cases[-1]["sure"]  # the clearest are listed first
    clashes = (_clash(case, rankings) for case in agreement.contradictions)
    return family(
        rule,
        [clash for clash in clashes if clash is not None],
        lambda x: {"place": x.first.upper, "share": x.first.upper / x.n, "rank_gap": x.rank_gap},
        lambda *raised: _contradiction(rule, raised),
        by=lambda x: (x.first.feature, x.first.role),
        undecided=lambda _: ["the disagreements that are not listed"] if cut else [],
        passed=f"No rank interval of {count(len(pairs), 'pair')} of methods contradicts another.",
    )


class Clash(NamedTuple):
    """A disagreement on one question: both places of its feature, and of how many the first one is."""

    case: Mapping[str, Any]
    first: RankLine
    second: RankLine
    n: int

    @property
    def rank_gap(self) -> float:
        """How many ranks the two intervals are apart."""
        return self.second.lower - self.first.upper


def _clash(case: Mapping[str, Any], rankings: Rankings) -> Clash | None:
    """Return a disagreement; None unless both rankings surely answer one question."""
    high, low = (rankings.get(key) for key in zip(case["methods"], case["measures"], strict=True))
    if high is None or low is None or not (case["sure"] and _same_question(high, low)):
        return None
    first, second = (by_feature(ranking.lines)[case["feature"]] for ranking in (high, low))
    return Clash(case, first, second, len(high.lines))


def _contradiction(rule: Rule, clashes: Sequence[Clash]) -> Said:
    """Return the finding for one feature and question, in the words of its clearest pair of methods."""
    _, first, second, n = clashes[0]
    more = f"; {count(len(clashes) - 1, 'more pair')} of methods disagree" if len(clashes) > 1 else ""
    apart = count(int(clashes[0].rank_gap), "place")
    return {
        "statement": f"{short(first.feature)} has {_place(first)}, but {_place(second)}. The rank intervals are "
        f"{apart} apart{more}.",
        "evidence": [ids.AGREEMENT, *(method for clash in clashes for method in clash.case["methods"])],
        "remedy": "State which method answers the question of the intended use. Report that ranking.",
        "measures": _distinct(measure for clash in clashes for measure in clash.case["measures"]),
        "features": (first.feature,),
        "threshold": float(int(min(rule.thresholds["top"], rule.thresholds["half"] * n))),
        **observed(second),
    }


def _place(line: RankLine) -> str:
    ranks = f"{line.lower:.0f}" if line.lower == line.upper else f"{line.lower:.0f} to {line.upper:.0f}"
    return f"rank {ranks} by {method_words(line.item)} for {measure_words(line.measure)}"


def _without_benefit(rule: Rule, run: Run) -> RuleOutcome:
    """Judge whether what drives the prediction lowers a loss."""
    rankings, view = _rankings(needed(AgreementView, run)), needed(Pfi, run)
    losses = [name for name, facts in view.result.measures.items() if facts.role == "loss"]
    tables = {name: signs(view, name, rule.thresholds["level"]) for name in losses}
    drivers = [ranking for ranking in rankings.values() if ranking.role == "prediction"]
    require(tables, "no loss was computed")
    require(drivers, "no ranking of the prediction has intervals")
    leading = _leading(rule, drivers)
    useful = [sign for table in tables.values() for sign in table.values() if sign.verdict == POSITIVE]
    lowering = {sign.feature for sign in useful}
    methods = _distinct(ranking.id for ranking in drivers)
    own = {f: {name: table[f] for name, table in tables.items() if f in table} for f in leading}
    others = {f: min((sign.p_value for sign in useful if sign.feature != f), default=nan) for f in leading}
    words = f"Permuting each leading driver of the prediction increases a loss: {listed(leading)}."
    return family(
        rule,
        [*leading],
        lambda f: {**leading[f], **_benefit(own[f]), "p_other": others[f]},
        lambda f: _useless(f, methods, own[f]),
        undecided=lambda rest: with_reasons(view, [f for f in rest if f not in lowering], *tables),
        size=size_within(run, [x for x in view.lines if x.measure in tables and x.feature in leading]),
        passed=words if leading else "No feature is shown to lead in every ranking of the prediction.",
    )


def _leading(rule: Rule, rankings: Sequence[Ranking]) -> dict[str, dict[str, float]]:
    """Return the features that every one of these rankings surely places first, with the last of their places."""
    tables = [by_feature(ranking.lines) for ranking in rankings]
    leading = {}
    for feature in sorted(set[str].intersection(*map(set, tables))):
        upper = [table[feature].upper for table in tables]
        parts = [place / len(table) for place, table in zip(upper, tables, strict=True)]
        places = {"place": max(upper), "share": max(parts)}
        if all(limit.holds(places, rule.thresholds) for limit in limits(LEADS)):
            leading[feature] = places
    return leading


def _benefit(own: Mapping[str, SignVerdict]) -> dict[str, float]:
    """Return how many losses a feature may lower, and the p-value for those that it raises; nothing without a loss."""
    if not own:
        return {}
    raised = [sign.p_value for sign in own.values() if sign.interval == NEGATIVE]
    lowered = sum(sign.interval not in (ABOUT_0, NEGATIVE) for sign in own.values())
    return {"lowered": lowered, "p_negative": max(raised, default=0.0)}


def _useless(feature: str, methods: Sequence[str], own: Mapping[str, SignVerdict]) -> Said:
    words = "; ".join(
        f"{sign.verdict} for {measure_words(name)}, {value_words(sign.estimate, sign.lower, sign.upper)}"
        for name, sign in own.items()
    )
    worst = min(own.values(), key=lambda sign: sign.estimate)
    return {
        "statement": f"{short(feature)} is among the leading drivers of the prediction, but permuting it does not "
        f"increase the loss: its importance is {words}.",
        "evidence": (ids.AGREEMENT, ids.PFI, *methods),
        "remedy": "Refit the model without this feature and compare the losses.",
        "measures": tuple(own),
        "features": (feature,),
        "threshold": worst.margin,
        **observed(worst),
    }


def _same_question(a: Ranking, b: Ranking) -> bool:
    """Say whether two rankings by different methods answer one question."""
    alike = a.role == b.role and (a.measure == b.measure or a.role == "prediction")
    return a.id != b.id and alike and same_convention(a.id, b.id)


def _pairs(rankings: Iterable[Ranking]) -> tuple[str, ...]:
    """Return the pairs of methods that are compared, and on what: their measure, or the prediction."""
    pairs = [(a, b) for a, b in combinations(rankings, 2) if _same_question(a, b)]
    return _distinct(f"{a.id} and {b.id} on {a.measure if a.measure == b.measure else a.role}" for a, b in pairs)


def _distinct(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


@dataclass(frozen=True)
class Disagreement(TableCheck):
    """Looks for two methods that answer one question and rank a leading feature differently beyond their intervals.

    One question: the same measure, or rankings of the prediction by two methods, and the same kind of number
    (`uq_report.evidence.information.CONVENTIONS`): a signed mean change and a mean size may both be right.
    Variants of one method, and measures that ask different things (nll and squared error, R-sens and entropy),
    are not compared. Ranks without intervals prove nothing and raise nothing.

    Parameters
    ----------
    top : int
        Leading places; half of the features if they are fewer.
    min_rank_gap : int
        How many places the two rank intervals must be apart.
    level : float
        Level of the signs of permutation importance, Holm-adjusted over features.
    """

    top: int = opt.at_least(1, 3)
    min_rank_gap: int = opt.at_least(1, 2)
    level: float = opt.share(0.05)

    name: ClassVar[str] = "disagreement"
    title: ClassVar[str] = "Disagreement between methods"
    table: ClassVar[tuple[Rule, ...]] = (CONTRADICTED, WITHOUT_BENEFIT)
    judges: ClassVar[tuple[Judge, ...]] = (_contradictions, _without_benefit)
