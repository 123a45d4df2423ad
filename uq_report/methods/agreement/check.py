"""Methods that contradict each other, drivers without benefit, and conclusions that depend on sample or seed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import ceil, nan
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import chdtrc, chdtri

from ...checks import reading
from ...checks.family import Judge, NotJudgedError, Said, TableCheck, family, needed, require
from ...checks.reading import RuleOutcome, SignVerdict, listed, measure_words, method_words
from ...checks.rule import Rule
from ...core.model.results import Result, RowValues
from ...core.statistics.inference import MIN_SHUFFLES
from ...core.support import options as opt
from ...core.support.numbers import number, share_words, value_words
from ...core.support.text import count, short
from ...evidence import columns as col, ids
from ...evidence.importance import ABOUT_0, NEGATIVE, POSITIVE, UNDETERMINED, Pfi, PfiLine
from ...evidence.information import AgreementView, RankLine, same_convention
from ...evidence.run import Run
from ...evidence.view import EstimateLine, by_feature, lines_of
from ..shared.checks import about
from ..shared.estimates import grouped

CONTRADICTED = Rule.stated("UQ601")
WITHOUT_BENEFIT = Rule.stated("UQ602")


@dataclass(frozen=True)
class Ranking:
    """One ranking of ``agreement``: the result it ranks, its measure, and a line per feature, first rank first."""

    id: str
    measure: str
    lines: tuple[RankLine, ...]

    @property
    def role(self) -> str:
        """The question it answers."""
        return self.lines[0].role

    @property
    def sure(self) -> bool:
        """Whether its ranks have intervals."""
        return all(line.has_interval for line in self.lines)


def read_rankings(view: AgreementView) -> list[Ranking]:
    """Return every ranking, in the result's order; of a feature with several lines the last one."""
    by_method = grouped(view.lines, lambda line: (line.item, line.measure))
    return [
        Ranking(key, measure, tuple(sorted(by_feature(lines).values(), key=lambda line: line.estimate)))
        for (key, measure), lines in by_method.items()
    ]


Rankings = Mapping[tuple[str, str], Ranking]


def _rankings(agreement: AgreementView) -> Rankings:
    """Return the rankings with intervals by method and measure."""
    return {(r.id, r.measure): r for r in read_rankings(agreement) if r.sure}


def _contradictions(rule: Rule, run: Run) -> RuleOutcome:
    """Judge every two rankings of one question."""
    agreement = needed(AgreementView, run)
    rankings, cases = _rankings(agreement), agreement.disagreements
    alike = [(a, b) for a, b in combinations(rankings.values(), 2) if _same_question(a, b)]
    pairs = {(a.id, b.id, a.measure if a.measure == b.measure else a.role) for a, b in alike}
    require(pairs, "no two rankings with intervals answer the same question")
    cut = len(cases) < agreement.n_disagreements and cases[-1]["sure"]  # the clearest are listed first
    return family(
        rule,
        [*_clashes(agreement, rankings)],
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


def _clashes(view: AgreementView, rankings: Rankings) -> Iterator[Clash]:
    """Yield the contradictions in which both rankings surely answer one question."""
    for case in view.contradictions:
        high, low = (rankings.get(key) for key in zip(case["methods"], case["measures"], strict=True))
        if high and low and case["sure"] and _same_question(high, low):
            first, second = (by_feature(ranking.lines)[case["feature"]] for ranking in (high, low))
            yield Clash(case, first, second, len(high.lines))


def _contradiction(rule: Rule, clashes: Sequence[Clash]) -> Said:
    """Return the finding for one feature and question, in the words of its clearest pair of methods."""
    _, first, second, n = clashes[0]
    more = f"; {count(len(clashes) - 1, 'more pair')} of methods disagree" if len(clashes) > 1 else ""
    apart = count(int(clashes[0].rank_gap), "place")
    return {
        "statement": f"{short(first.feature)} has {_place(first)}, but {_place(second)}. The rank intervals are "
        f"{apart} apart{more}.",
        "remedy": "State which method answers the question of the intended use. Report that ranking.",
        "measures": _distinct(measure for clash in clashes for measure in clash.case["measures"]),
        "features": (first.feature,),
        "threshold": float(int(min(rule.thresholds["top"], rule.thresholds["half"] * n))),
        **about(second, ids.AGREEMENT, *(method for clash in clashes for method in clash.case["methods"])),
    }


def _place(line: RankLine) -> str:
    ranks = f"{line.lower:.0f}" if line.lower == line.upper else f"{line.lower:.0f} to {line.upper:.0f}"
    return f"rank {ranks} by {method_words(line.item)} for {measure_words(line.measure)}"


def _without_benefit(rule: Rule, run: Run) -> RuleOutcome:
    """Judge whether what drives the prediction lowers a loss."""
    rankings, view = _rankings(needed(AgreementView, run)), needed(Pfi, run)
    losses = [name for name, facts in view.result.measures.items() if facts.role == "loss"]
    tables = {name: reading.signs(view, name, rule.thresholds["level"]) for name in losses}
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
        undecided=lambda rest: reading.with_reasons(view, [f for f in rest if f not in lowering], *tables),
        size=reading.size_within(run, [x for x in view.lines if x.measure in tables and x.feature in leading]),
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
        if all(limit.holds(places, rule.thresholds) for limit in rule.conditions[0] if limit.observed in places):
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
    sizes = {name: value_words(sign.estimate, sign.lower, sign.upper) for name, sign in own.items()}
    words = "; ".join(f"{sign.verdict} for {measure_words(name)}, {sizes[name]}" for name, sign in own.items())
    worst = min(own.values(), key=lambda sign: sign.estimate)
    return {
        "statement": f"{short(feature)} is among the leading drivers of the prediction, but permuting it does not "
        f"increase the loss: its importance is {words}.",
        "remedy": "Refit the model without this feature and compare the losses.",
        "threshold": worst.margin,
        **about(worst, ids.AGREEMENT, ids.PFI, *methods, features=(feature,), measures=tuple(own)),
    }


def _same_question(a: Ranking, b: Ranking) -> bool:
    """Say whether two rankings by different methods answer one question."""
    alike = a.role == b.role and (a.measure == b.measure or a.role == "prediction")
    return a.id != b.id and alike and same_convention(a.id, b.id)


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


BY_INTERVAL = "by its interval"
# What a ranking explains, in the reader's words; others by the name of their measure.
ROLES = {"prediction": "the prediction", "loss": "the loss", "uncertainty": "the uncertainty"}


OPEN_LEADER = Rule.stated("UQ501")
MOVED_BY_SHUFFLES = Rule.stated("UQ502")
ON_FEW_ROWS = Rule.stated("UQ503")


def _open_leaders(rule: Rule, run: Run) -> RuleOutcome:
    """Judge the leader of every ranking; one observation for each question that is left open."""
    every = list(leaders(needed(AgreementView, run), run))
    require(every, "no ranking of two or more features has intervals")
    matter = [leader for leader in every if leader.verdict == POSITIVE]
    inconclusive = [leader for leader in every if leader.verdict in (UNDETERMINED, "")]
    firm = dict.fromkeys(leader.first.feature for leader in matter if rule.judge(**leader.numbers) is None)
    return family(
        rule,
        matter,
        lambda leader: leader.numbers,
        lambda *wide: _undetermined(rule, wide),
        by=lambda leader: leader.role,
        undecided=lambda _: [f"the leader by {x.label}, whose importance has no determined sign" for x in inconclusive],
        passed=f"Leaders whose ranks are determined: {listed(firm)}." if firm else "No ranking has a leader.",
    )


def _undetermined(rule: Rule, wide: Sequence[Leader]) -> Said:
    candidates = dict.fromkeys(feature for leader in wide for feature in leader.candidates)
    worst = max(wide, key=lambda leader: leader.first.upper - leader.limit(rule.thresholds))
    role = wide[0].role
    return {
        "statement": f"Which feature is most important for {ROLES.get(role, measure_words(role))} is inconclusive by "
        f"{listed(dict.fromkeys(method_words(leader.first.item) for leader in wide))}: the ranking of "
        f"{listed(candidates)} is not statistically distinguishable. This is no defect of the model.",
        "remedy": "Do not report a single leading feature. A larger test sample may distinguish the candidates.",
        "measures": tuple(dict.fromkeys(leader.first.measure for leader in wide)),
        "features": tuple(dict.fromkeys(leader.first.feature for leader in wide)),
        "threshold": float(worst.limit(rule.thresholds)),
        **about((1.0, 1.0, worst.first.upper), ids.AGREEMENT, *(leader.first.item for leader in wide)),
    }


class SignedLine(EstimateLine):
    """An importance of any method; its interval is its verdict where the method gives none."""

    verdict: str = BY_INTERVAL


class Leader(NamedTuple):
    """The first line of a ranking of `n` features, who else may lead it, and the verdict on its importance."""

    first: RankLine
    n: int
    candidates: tuple[str, ...]
    verdict: str

    @property
    def role(self) -> str:
        """The question that the ranking answers."""
        return self.first.role or self.first.measure

    @property
    def label(self) -> str:
        """The method and what it explains."""
        return f"{method_words(self.first.item)} for {measure_words(self.first.measure)}"

    @property
    def numbers(self) -> dict[str, float]:
        """The last rank that the leader may have, and the same as a share of the features."""
        return {"rank": self.first.upper, "share": self.first.upper / self.n}

    def limit(self, thresholds: Mapping[str, float]) -> int:
        """Return the last rank that a determined leader may reach."""
        return int(min(thresholds["top"], thresholds["half"] * self.n))


def leaders(view: AgreementView, run: Run) -> Iterator[Leader]:
    """Yield the leader of every ranking with rank intervals of two or more features.

    A size that is positive by nature matters from the margin of the permutation importances of its measure on.
    """
    pfi = Pfi.find(run)
    margins = {} if pfi is None else {line.measure: line.margin for line in pfi.lines}
    for ranking in read_rankings(view):
        if len(ranking.lines) > 1 and ranking.sure:
            first, key = ranking.lines[0], (ranking.id, ranking.measure)
            able = (line for line in view.lines if (line.item, line.measure) == key and line.lower == 1)
            candidates = tuple(line.feature for line in able)
            margin = margins.get(first.measure, 0.0)
            yield Leader(first, len(ranking.lines), candidates, _verdict(run.find(first.item), first, margin))


def _verdict(result: Result | None, leader: RankLine, margin: float) -> str:
    """Return the verdict on an importance, or where it has none what its interval says against the margin."""
    for line in () if result is None else lines_of(result, SignedLine):
        if (line.measure, line.feature) == (leader.measure, leader.feature):
            by_interval = POSITIVE if line.lower > margin else ABOUT_0
            return by_interval if line.verdict == BY_INTERVAL else line.verdict
    return ""


def _seeds(rule: Rule, run: Run) -> RuleOutcome:
    """Judge how much of the variance the choice of shuffles has."""
    view, allowed = needed(Pfi, run), rule.thresholds["max_shuffle_variance"]
    exact = bool(view.lines) and all(line.shuffling_error == 0 for line in view.lines)
    few = view.result.frame[col.REPEAT].nunique() < MIN_SHUFFLES
    reason = f"fewer than {MIN_SHUFFLES} random permutations do not allow their variance to be estimated"
    require(exact or not few, reason)
    every = [] if exact else list(shufflings(view, rule.thresholds))
    most = share_words(max((x.share for x in every), default=0.0))
    passed = f"The random permutations have at most {most} of the variance of an importance."
    if exact:
        passed = "All pairs of observations were used: the permutation importances do not depend on a seed."
    return family(
        rule,
        every,
        lambda x: {"share": x.share, "p_adjusted": x.p_adjusted},
        lambda x: _seeded(x, allowed),
        undecided=lambda rest: [measure_words(x.measure) for x in rest if x.upper > allowed],
        passed=passed,
    )


def _seeded(shuffling: ShuffleShare, allowed: float) -> Said:
    share = (shuffling.share, shuffling.lower, shuffling.upper)
    return {
        "statement": f"The random choice of {shuffling.n_repeats} permutations has {share_words(*share)} of the "
        f"variance of the importances for {measure_words(shuffling.measure)}: another seed would change the values. "
        "The intervals account for this.",
        "remedy": f"Use about {shuffling.needed(allowed)} permutations per feature.",
        **about(share, ids.PFI, measures=(shuffling.measure,), features=shuffling.features, threshold=allowed),
    }


class ShuffleShare(NamedTuple):
    """The shuffles' share of one measure's variance, with its interval, and how many shuffles were made.

    `p_adjusted` is that of a share no larger than allowed, adjusted for the number of measures.
    """

    measure: str
    features: tuple[str, ...]
    share: float
    lower: float
    upper: float
    p_adjusted: float
    n_repeats: int

    def needed(self, allowed: float) -> int:
        """Return the number of shuffles that brings the share down to what is allowed."""
        share = min(self.share, 0.99)
        return ceil(self.n_repeats * share * (1 - allowed) / (allowed * (1 - share)))


def shufflings(view: Pfi, thresholds: Mapping[str, float]) -> Iterator[ShuffleShare]:
    """Yield the shuffles' share for each measure, over the features that are not about 0.

    ``Σ_j s_j²/m / Σ_j se_j²`` with s_j² the variance over the m shuffles, and the χ² interval of its numerator
    with Satterthwaite's degrees of freedom: the shuffles of different features are drawn independently. A feature of
    which all pairs of rows are known has an s_j² of 0.
    """
    used = [line for line in view.lines if line.verdict != ABOUT_0 and line.std_error > 0]
    by_measure, frame = grouped(used, lambda line: line.measure), view.result.frame
    for measure, lines in by_measure.items():
        features = tuple(line.feature for line in lines)
        values = frame[frame[col.MEASURE] == measure].groupby(col.FEATURE)[col.VALUE]
        m = values.size().reindex(features).to_numpy(dtype=float)
        noise = values.var(ddof=1).reindex(features).to_numpy(dtype=float) / m
        noise[[line.shuffling_error == 0 for line in lines]] = 0.0  # all pairs of rows are known
        if not noise.sum() > 0:
            continue
        df = noise.sum() ** 2 / (noise**2 / (m - 1)).sum()
        share = float(noise.sum() / sum(line.std_error**2 for line in lines))
        tail = thresholds["level"] / len(by_measure)
        low, high = (share * df / float(chdtri(df, p)) for p in (tail, 1 - tail))
        p_adjusted = len(by_measure) * float(chdtrc(df, share * df / thresholds["max_shuffle_variance"]))
        yield ShuffleShare(measure, features, share, low, high, p_adjusted, int(m.max()))


def _few_rows(rule: Rule, run: Run) -> RuleOutcome:
    """Judge whether the sign of an importance survives without its strongest rows."""
    view, share = needed(Pfi, run), rule.thresholds["row_share"]
    rows = view.result.rows
    require(not run.subject.get("weights"), "the observations are weighted")
    if rows is None:
        raise NotJudgedError("permutation importance has no terms of single observations")
    tests = [(x, without_few(rows, x, share)) for x in view.lines if x.verdict in (POSITIVE, NEGATIVE)]
    return family(
        rule,
        tests,
        lambda x: {"share": x[1].n_turning / x[1].n, "rows": x[1].n_turning},
        lambda x: _on_few_rows(*x),
        passed=f"The sign of {len(tests)} importances is unchanged without the most influential {share_words(share)} "
        "of the observations.",
    )


def _on_few_rows(line: PfiLine, few: FewRows) -> Said:
    return {
        "statement": f"The importance of {short(line.feature)} for {measure_words(line.measure)} is "
        f"{number(line.estimate, 2)} on all {few.n} observations, but {number(few.rest, 2)} without the "
        f"{few.n_left_out} that support it most.",
        "evidence": (ids.PFI,),
        "remedy": "Inspect these observations before the importance is used. They may be errors or a separate group.",
        "measures": (line.measure,),
        "features": (line.feature,),
        "threshold": 0.0,
        "observed": few.rest,
    }


class FewRows(NamedTuple):
    """What is left of an importance without the rows that speak for it most, and how many rows turn its sign."""

    rest: float
    n_left_out: int
    n_turning: int
    n: int


def without_few(rows: RowValues, line: PfiLine, row_share: float) -> FewRows:
    """Return what is left of an importance without the rows that speak for it most."""
    sign = np.sign(line.estimate)
    totals = np.cumsum(np.sort(rows.of(line.measure, line.feature) * sign))  # of the rows that speak for it least
    n = len(totals)
    k = max(int(round(row_share * n, 9)), 1)
    rest = float(totals[n - k - 1] / (n - k) * sign)
    return FewRows(rest, k, max(n - int((totals <= 0).sum()), 1), n)


@dataclass(frozen=True)
class Stability(TableCheck):
    """Judges whether the audit's conclusions depend on the sample, the seed or a few observations.

    A wide rank interval is no defect of the model: features may well be equally important. Such a leader
    is therefore an observation that claims nothing (UQ501), and only where the leader matters; so is an
    importance whose sign rests on a few rows (UQ503). What is a fault of the audit itself is a finding:
    too few shuffles, which leave the numbers to the seed (UQ502).

    Parameters
    ----------
    top : int
        A leader is determined if its rank surely lies within the first `top`, or half of the features if fewer.
    max_shuffle_variance : float
        Share of an importance's variance that the choice of shuffles may have.
    row_share : float
        Share of the rows without which the sign of an importance must still hold.
    level : float
        Level of the interval for the shuffles' share, divided by the number of measures.
    """

    top: int = opt.at_least(1, 3)
    max_shuffle_variance: float = opt.share(0.1)
    row_share: float = opt.option(0.01, "a number in (0, 0.5)", lambda value: 0 < value < 0.5)
    level: float = opt.share(0.05)

    name: ClassVar[str] = "stability"
    title: ClassVar[str] = "Stability of the conclusions"
    table: ClassVar[tuple[Rule, ...]] = (OPEN_LEADER, MOVED_BY_SHUFFLES, ON_FEW_ROWS)
    judges: ClassVar[tuple[Judge, ...]] = (_open_leaders, _seeds, _few_rows)
