"""Whether the audit's own conclusions would hold with other rows, other shuffles, or without a few rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.special import chdtrc, chdtri

from ...checks.family import NotJudgedError, Said, TableCheck, family, needed, outcome, require
from ...checks.reading import RuleOutcome, listed, measure_words, method_words
from ...checks.rule import Rule
from ...core.model.results import Result, RowValues
from ...core.statistics.inference import MIN_SHUFFLES
from ...core.support.errors import check_options
from ...core.support.numbers import number, share_words
from ...core.support.text import short
from ...evidence import columns as col
from ...evidence import ids
from ...evidence.finding import Outcome
from ...evidence.importance import ABOUT_0, NEGATIVE, POSITIVE, UNDETERMINED, Pfi, PfiLine
from ...evidence.information import AgreementView, RankLine
from ...evidence.run import Run
from ...evidence.view import EstimateLine, lines_of
from ..shared.checks import at_least, shares, span
from ..shared.estimates import grouped
from .rankings import Ranking, read_rankings

BY_INTERVAL = "by its interval"
# What a ranking explains, in the reader's words; others by the name of their measure.
ROLES = {"prediction": "the prediction", "loss": "the loss", "uncertainty": "the uncertainty"}


OPEN_LEADER = Rule(
    code="UQ501",
    title="The leading feature is inconclusive",
    options=("top",),
    thresholds={"half": 0.5},
    when="The leader's importance matters, and its rank interval (all ranks together) reaches beyond rank "
    "{top}, or beyond {half:pct} of the features if they are fewer. This is no statement about the model.",
    raised=("rank > top", "share > half"),
    rests_on="klein:simultaneous rank intervals",
)
MOVED_BY_SHUFFLES = Rule(
    code="UQ502",
    title="Importances depend on the random permutations",
    options=("max_shuffle_variance", "level"),
    when="The random permutations have more than {max_shuffle_variance:pct} of the variance of a measure's importances "
    "that are not about 0, by the lower end of the interval (level {level} over all measures).",
    raised=("share > max_shuffle_variance and p_adjusted <= level",),
    rests_on="se² = var(g)/n + σ²/(nm): the second term is due to the permutations and falls with their number m",
)
ON_FEW_ROWS = Rule(
    code="UQ503",
    title="The sign of an importance depends on a few observations",
    options=("row_share",),
    when="The verdict is positive or negative, and without the {row_share:pct} of the observations that support it "
    "most (at least one) the importance is 0 or of the other sign.",
    raised=("share <= row_share", "rows <= 1"),
    rests_on="The mean of the remaining observations' terms is, to first order, the importance without the omitted "
    "observations",
)


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

    top: int = 3
    max_shuffle_variance: float = 0.1
    row_share: float = 0.01
    level: float = 0.05

    name: ClassVar[str] = "stability"
    title: ClassVar[str] = "Stability of the conclusions"
    table: ClassVar[tuple[Rule, ...]] = (OPEN_LEADER, MOVED_BY_SHUFFLES, ON_FEW_ROWS)

    def __post_init__(self) -> None:
        """Refuse thresholds that cannot be used."""
        limits = (
            *shares(self, "max_shuffle_variance", "level"),
            *at_least(self, top=1),
            ("row_share", 0 < self.row_share < 0.5, "a number in (0, 0.5)"),
        )
        check_options(self.name, self, limits)

    def check(self, run: Run) -> Outcome:
        """Judge the run's rankings and permutation importances."""
        return outcome(self, run, _leading, _seeds, _few_rows)


def _leading(rule: Rule, run: Run) -> RuleOutcome:
    """Judge the leader of every ranking; one observation for each question that is left open."""
    every = list(leaders(needed(AgreementView, run), run))
    require(every, "no ranking of two or more features has intervals")
    matter = [leader for leader in every if leader.verdict == POSITIVE]
    unsure = [leader for leader in every if leader.verdict in (UNDETERMINED, "")]
    firm = dict.fromkeys(leader.first.feature for leader in matter if rule.judge(**leader.numbers) is None)
    return family(
        rule,
        matter,
        lambda leader: leader.numbers,
        lambda *wide: _undetermined(rule, wide),
        by=lambda leader: leader.role,
        undecided=lambda _: [f"the leader by {x.label}, whose importance has no determined sign" for x in unsure],
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
        "evidence": (ids.AGREEMENT, *(leader.first.item for leader in wide)),
        "remedy": "Do not report a single leading feature. A larger test sample may distinguish the candidates.",
        "measures": tuple(dict.fromkeys(leader.first.measure for leader in wide)),
        "features": tuple(dict.fromkeys(leader.first.feature for leader in wide)),
        "threshold": float(worst.limit(rule.thresholds)),
        **span(1.0, 1.0, worst.first.upper),
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
    for ranking in read_rankings(view, Ranking):
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
    require(
        exact or not few, f"fewer than {MIN_SHUFFLES} random permutations do not allow their variance to be estimated"
    )
    every = [] if exact else list(shufflings(view, rule.thresholds))
    most = share_words(max((x.share for x in every), default=0.0))
    return family(
        rule,
        every,
        lambda x: {"share": x.share, "p_adjusted": x.p_adjusted},
        lambda x: _seeded(x, allowed),
        undecided=lambda rest: [measure_words(x.measure) for x in rest if x.upper > allowed],
        passed="All pairs of observations were used: the permutation importances do not depend on a seed."
        if exact
        else f"The random permutations have at most {most} of the variance of an importance.",
    )


def _seeded(shuffling: ShuffleShare, allowed: float) -> Said:
    share = span(shuffling.share, shuffling.lower, shuffling.upper)
    return {
        "statement": f"The random choice of {shuffling.n_repeats} permutations has "
        f"{share_words(shuffling.share, shuffling.lower, shuffling.upper)} of the variance of the importances for "
        f"{measure_words(shuffling.measure)}: another seed would change the values. The intervals account for this.",
        "evidence": (ids.PFI,),
        "remedy": f"Use about {shuffling.needed(allowed)} permutations per feature.",
        "measures": (shuffling.measure,),
        "features": shuffling.features,
        "threshold": allowed,
        **share,
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
