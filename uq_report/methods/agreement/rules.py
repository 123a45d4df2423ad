"""Methods that contradict each other, and drivers of the prediction that do not help it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import nan
from typing import Any, ClassVar, NamedTuple

from ...core.errors import check_options
from ...core.numbers import value_words
from ...core.text import count, short
from ...evidence import ids
from ...evidence.finding import Finding, Outcome
from ...evidence.importance import ABOUT_0, NEGATIVE, POSITIVE, Pfi
from ...evidence.information import Agreement, RankLine, same_convention
from ...evidence.run import Run
from ...evidence.view import by_feature
from ...rules.reading import Part, Sign, absent, close, listed, measure_words, method_words, signs, with_reasons
from ...rules.rule import Limit, Rule
from ..shared.checks import observed
from ..shared.options import at_least, shares
from ..shared.tidy import grouped

PART = 0.5  # of the features at most lead a ranking
LEADS = {"place": Limit("at most", "top"), "part": Limit("at most", "part")}
HOLDS = Limit("at most", "level")
Ranking = Sequence[RankLine]
Rankings = Mapping[tuple[str, str], Ranking]


@dataclass(frozen=True)
class Disagreement:
    """Looks for two methods that answer one question and surely give a leading feature different places.

    One question: the same measure, or rankings of the prediction by two methods, and the same kind of number
    (`uq_report.evidence.information.CONVENTIONS`): a signed mean change and a mean size may both be right.
    Variants of one method, and measures that ask different things (nll and squared error, R-sens and entropy),
    are not compared. Ranks without intervals prove nothing and raise nothing.

    Parameters
    ----------
    top : int
        Leading places; half of the features if they are fewer.
    apart : int
        How many places the two rank intervals must be apart.
    level : float
        Level of the signs of permutation importance, Holm-adjusted over features.
    """

    top: int = 3
    apart: int = 2
    level: float = 0.05

    name: ClassVar[str] = "disagreement"
    title: ClassVar[str] = "Disagreement between methods"
    api_version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        """Refuse thresholds that cannot be used."""
        limits = (*shares(self, "level"), *at_least(self, top=1, apart=1))
        check_options(self.name, self, limits)

    @property
    def rules(self) -> tuple[Rule, Rule]:
        """The two rules, with this object's thresholds."""
        return (
            Rule(
                code="UQ601",
                title="Two methods contradict each other about a leading feature",
                thresholds={"top": self.top, "part": PART, "apart": self.apart},
                when="One method's rank interval lies within the first {top} ({part:pct} of the features if fewer), "
                "that of another method of the same question and kind of number starts {apart} or more places behind.",
                raised=({**LEADS, "apart": Limit("at least", "apart")},),
                rests_on="klein:rank intervals that are apart",
            ),
            Rule(
                code="UQ602",
                title="A leading driver of the prediction does not lower the loss",
                thresholds={"top": self.top, "part": PART, "level": self.level},
                when="Every ranking of the prediction with intervals places the feature within the first {top} "
                "({part:pct} of the features if fewer), its permutation importance for every loss is about 0 or "
                "negative (level {level}, Holm-adjusted over features), and another feature's is positive.",
                raised=({**LEADS, "lowered": Limit("at most", 0), "p_negative": HOLDS, "p_other": HOLDS},),
                rests_on="breiman:permutation importance",
            ),
        )

    def check(self, run: Run) -> Outcome:
        """Judge the rankings of the run."""
        agreement = Agreement.find(run)
        if agreement is None:
            return close(self.name, [Part(code=rule.code, absent=absent(run, ids.AGREEMENT)) for rule in self.rules])
        contradicting, useless = self.rules
        rankings = _rankings(agreement)
        parts = [_contradictions(contradicting, agreement, rankings), _without_benefit(useless, run, rankings)]
        return close(self.name, parts)


def _rankings(agreement: Agreement) -> Rankings:
    """Return the rankings with intervals by method and measure."""
    sure = (line for line in agreement.lines if line.has_interval)
    return grouped(sure, lambda line: (line.item, line.measure))


def _contradictions(rule: Rule, agreement: Agreement, rankings: Rankings) -> Part:
    """Judge every two rankings of one question."""
    pairs = _pairs(rankings.values())
    if not pairs:
        return Part(code=rule.code, absent="no two rankings with intervals answer the same question")
    cases = agreement.disagreements
    cut = len(cases) < agreement.n_disagreements and cases[-1]["sure"]  # the clearest are listed first
    clashes = [clash for case in agreement.contradictions if (clash := _clash(rule, case, rankings)) is not None]
    by_question = grouped(clashes, lambda clash: (clash.first.feature, clash.first.role))
    return Part(
        code=rule.code,
        findings=tuple(_contradiction(rule, several) for several in by_question.values()),
        undecided=("the disagreements beyond those that are listed",) if cut else (),
        passed=f"No rank interval of {count(len(pairs), 'pair')} of methods contradicts another.",
    )


class Clash(NamedTuple):
    """A disagreement that raises the rule: both places of its feature, and of how many the first one is."""

    case: Mapping[str, Any]
    first: RankLine
    second: RankLine
    n: int


def _clash(rule: Rule, case: Mapping[str, Any], rankings: Rankings) -> Clash | None:
    """Return a disagreement that raises the rule; None also unless both rankings surely answer one question."""
    high, low = (rankings.get(key, ()) for key in zip(case["methods"], case["measures"], strict=True))
    if not (case["sure"] and _same_question(high, low)):
        return None
    first, second = (by_feature(ranking)[case["feature"]] for ranking in (high, low))
    places = {"place": first.upper, "part": first.upper / len(high), "apart": second.lower - first.upper}
    return None if rule.judge(**places) is None else Clash(case, first, second, len(high))


def _contradiction(rule: Rule, clashes: Sequence[Clash]) -> Finding:
    """Return the finding for one feature and question, in the words of its clearest pair of methods."""
    _, first, second, n = clashes[0]
    more = f", and so in {count(len(clashes) - 1, 'more pair')} of methods" if len(clashes) > 1 else ""
    apart = count(int(second.lower - first.upper), "place")
    return rule.finding(
        rule.severity,
        f"{short(first.feature)} has {_place(first)}, but {_place(second)}. The rank intervals are {apart} "
        f"apart{more}.",
        [ids.AGREEMENT, *(method for clash in clashes for method in clash.case["methods"])],
        remedy="Say which method's question is that of the model's use. Quote that ranking.",
        measures=_distinct(measure for clash in clashes for measure in clash.case["measures"]),
        features=(first.feature,),
        threshold=float(int(min(rule.thresholds["top"], rule.thresholds["part"] * n))),
        **observed(second),
    )


def _place(line: RankLine) -> str:
    ranks = f"{line.lower:.0f}" if line.lower == line.upper else f"{line.lower:.0f} to {line.upper:.0f}"
    return f"rank {ranks} by {method_words(line.item)} for {measure_words(line.measure)}"


def _without_benefit(rule: Rule, run: Run, rankings: Rankings) -> Part:
    """Judge whether what drives the prediction lowers a loss."""
    view = Pfi.find(run)
    if view is None:
        return Part(code=rule.code, absent=absent(run, ids.PFI))
    losses = [name for name, facts in view.result.measures.items() if facts.role == "loss"]
    tables = {name: signs(view, name, rule.thresholds["level"]) for name in losses}
    drivers = [ranking for ranking in rankings.values() if ranking[0].role == "prediction"]
    if not drivers or not tables:
        reason = "no ranking of the prediction has intervals" if tables else "no loss was computed"
        return Part(code=rule.code, absent=reason)
    leading = _leading(rule, drivers)
    useful = [sign for table in tables.values() for sign in table.values() if sign.verdict == POSITIVE]
    methods = _distinct(ranking[0].item for ranking in drivers)
    findings: dict[str, Finding] = {}
    for feature, places in leading.items():
        own = {name: table[feature] for name, table in tables.items() if feature in table}
        others = [sign.p_value for sign in useful if sign.feature != feature]
        if rule.judge(**places, **_benefit(own), p_other=min(others, default=nan)) is not None:
            findings[feature] = _useless(rule, feature, methods, own)
    unsure = [feature for feature in leading if feature not in {*findings, *(sign.feature for sign in useful)}]
    words = f"Each leading driver of the prediction lowers a loss: {listed(leading)}."
    return Part(
        code=rule.code,
        findings=tuple(findings.values()),
        undecided=with_reasons(view, unsure, *tables),
        passed=words if leading else "No feature surely leads in every ranking of the prediction.",
    )


def _leading(rule: Rule, rankings: Sequence[Ranking]) -> dict[str, dict[str, float]]:
    """Return the features that every one of these rankings surely places first, with the last of their places."""
    tables = [by_feature(ranking) for ranking in rankings]
    leading = {}
    for feature in sorted(set[str].intersection(*map(set, tables))):
        upper = [table[feature].upper for table in tables]
        parts = [place / len(table) for place, table in zip(upper, tables, strict=True)]
        places = {"place": max(upper), "part": max(parts)}
        if all(LEADS[name].holds(place, rule.thresholds) for name, place in places.items()):
            leading[feature] = places
    return leading


def _benefit(own: Mapping[str, Sign]) -> dict[str, float]:
    """Return how many losses a feature may lower, and the p-value for those that it raises; nothing without a loss."""
    if not own:
        return {}
    raised = [sign.p_value for sign in own.values() if sign.interval == NEGATIVE]
    lowered = sum(sign.interval not in (ABOUT_0, NEGATIVE) for sign in own.values())
    return {"lowered": lowered, "p_negative": max(raised, default=0.0)}


def _useless(rule: Rule, feature: str, methods: Sequence[str], own: Mapping[str, Sign]) -> Finding:
    words = "; ".join(
        f"{sign.verdict} for {measure_words(name)}, {value_words(sign.estimate, sign.lower, sign.upper)}"
        for name, sign in own.items()
    )
    worst = min(own.values(), key=lambda sign: sign.estimate)
    return rule.finding(
        rule.severity,
        f"{short(feature)} is among the leading drivers of the prediction, but with wrong values of it the loss does "
        f"not rise: its importance is {words}.",
        (ids.AGREEMENT, ids.PFI, *methods),
        remedy="Refit the model without this feature and compare the losses.",
        measures=tuple(own),
        features=(feature,),
        threshold=worst.margin,
        **observed(worst),
    )


def _same_question(ranking: Ranking, other: Ranking) -> bool:
    """Say whether two rankings by different methods answer one question, and both have intervals."""
    if not ranking or not other:
        return False
    a, b = ranking[0], other[0]
    alike = a.role == b.role and (a.measure == b.measure or a.role == "prediction")
    return a.item != b.item and alike and same_convention(a.item, b.item)


def _pairs(rankings: Iterable[Ranking]) -> tuple[str, ...]:
    """Return the pairs of methods that are compared, and on what: their measure, or the prediction."""
    pairs = [(a[0], b[0]) for a, b in combinations(rankings, 2) if _same_question(a, b)]
    return _distinct(f"{a.item} and {b.item} on {a.measure if a.measure == b.measure else a.role}" for a, b in pairs)


def _distinct(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
