"""Whether the audit's own conclusions would hold with other rows, other shuffles, or without a few rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.special import chdtrc, chdtri

from ...core.errors import check_options
from ...core.inference import MIN_SHUFFLES
from ...core.numbers import number, share_words
from ...core.results import Result, RowValues
from ...core.text import short
from ...evidence import columns as col
from ...evidence import ids
from ...evidence.finding import Finding, Outcome
from ...evidence.importance import ABOUT_0, NEGATIVE, POSITIVE, UNDETERMINED, Pfi, PfiLine
from ...evidence.information import Agreement, RankLine
from ...evidence.run import Run
from ...evidence.view import Estimate, lines_of
from ...rules.reading import Part, absent, close, listed, measure_words, method_words
from ...rules.rule import Limit, Rule
from ..shared.options import at_least, shares
from ..shared.tidy import grouped

BY_INTERVAL = "by its interval"
# What a ranking explains, in the reader's words; others by the name of their measure.
ROLES = {"prediction": "the prediction", "loss": "the loss", "uncertainty": "how unsure the model is"}


@dataclass(frozen=True)
class Stability:
    """Judges the audit's conclusions, not the model: may the rows, the seed or a few rows turn them around.

    A wide rank interval is no defect of the model: features may well be equally important. Such a leader
    is therefore an observation that claims nothing (UQ501), and only where the leader matters; so is an
    importance whose sign rests on a few rows (UQ503). What is a fault of the audit itself is a finding:
    too few shuffles, which leave the numbers to the seed (UQ502).

    Parameters
    ----------
    top : int
        A leader is determined if its rank surely lies within the first `top`, or half of the features if fewer.
    seed_share : float
        Share of an importance's variance that the choice of shuffles may have.
    row_share : float
        Share of the rows without which the sign of an importance must still hold.
    level : float
        Level of the interval for the shuffles' share, divided by the number of measures.
    """

    top: int = 3
    seed_share: float = 0.1
    row_share: float = 0.01
    level: float = 0.05

    name: ClassVar[str] = "stability"
    title: ClassVar[str] = "Stability of the conclusions"
    api_version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        """Refuse thresholds that cannot be used."""
        limits = (
            *shares(self, "seed_share", "level"),
            *at_least(self, top=1),
            ("row_share", 0 < self.row_share < 0.5, "a number in (0, 0.5)"),
        )
        check_options(self.name, self, limits)

    @property
    def rules(self) -> tuple[Rule, Rule, Rule]:
        """The three rules, with this object's thresholds."""
        return (
            Rule(
                code="UQ501",
                title="Too few rows to tell which feature leads",
                thresholds={"top": self.top, "half": 0.5},
                when="The leader's importance matters, and its rank interval (all ranks together) reaches beyond rank "
                "{top}, or beyond {half:pct} of the features if they are fewer. It claims nothing about the model.",
                raised=({"rank": Limit("above", "top")}, {"share": Limit("above", "half")}),
                rests_on="klein:simultaneous rank intervals",
            ),
            Rule(
                code="UQ502",
                title="The random shuffles move the importances",
                thresholds={"seed_share": self.seed_share, "level": self.level},
                when="Shuffling has more than {seed_share:pct} of the variance of a measure's importances that "
                "are not about 0: the lower end of its interval (level {level} over all measures) is above.",
                raised=({"share": Limit("above", "seed_share"), "p_adjusted": Limit("at most", "level")},),
                rests_on="se² = var(g)/n + σ²/(nm): the second term is the shuffles' and falls with their number m",
            ),
            Rule(
                code="UQ503",
                title="The sign of an importance rests on a few rows",
                thresholds={"row_share": self.row_share},
                when="The verdict is positive or negative, and without the {row_share:pct} of the rows that "
                "support it most (one at least) the importance is 0 or of the other sign.",
                raised=({"share": Limit("at most", "row_share")}, {"rows": Limit("at most", 1)}),
                rests_on="The mean of the remaining row terms is, to first order, the importance without the rows "
                "left out",
            ),
        )

    def check(self, run: Run) -> Outcome:
        """Judge the run's rankings and permutation importances."""
        view = Pfi.find(run)
        leading, seeds, few = self.rules
        shuffled = [Part(code=rule.code, absent=absent(run, ids.PFI)) for rule in (seeds, few)]
        if view is not None:
            shuffled = [_seeds(seeds, view), _few_rows(few, view, weighted=bool(run.subject.get("weights")))]
        return close(self.name, [_leading(leading, run), *shuffled])


def _leading(rule: Rule, run: Run) -> Part:
    """Judge the leader of every ranking; one observation for each question that is left open."""
    view = Agreement.find(run)
    if view is None:
        return Part(code=rule.code, absent=absent(run, ids.AGREEMENT))
    every = list(leaders(view, run))
    if not every:
        return Part(code=rule.code, absent="no ranking of two or more features has intervals")
    matter = [leader for leader in every if leader.verdict == POSITIVE]
    wide = [x for x in matter if rule.judge(rank=x.first.upper, share=x.first.upper / x.n)]
    firm = dict.fromkeys(leader.first.feature for leader in matter if leader not in wide)
    unsure = [leader for leader in every if leader.verdict in (UNDETERMINED, "")]
    return Part(
        code=rule.code,
        findings=tuple(_undetermined(rule, several) for several in grouped(wide, lambda x: x.role).values()),
        undecided=tuple(f"the leader by {leader.label}, whose importance has no sure sign" for leader in unsure),
        passed=f"Leaders whose ranks are determined: {listed(firm)}." if firm else "No ranking has a leader.",
    )


def _undetermined(rule: Rule, wide: Sequence[Leader]) -> Finding:
    candidates = dict.fromkeys(feature for leader in wide for feature in leader.candidates)
    worst = max(wide, key=lambda leader: leader.first.upper - leader.limit(rule.thresholds))
    role = wide[0].role
    return rule.finding(
        rule.severity,
        f"Which feature matters most for {ROLES.get(role, measure_words(role))} cannot be told: any of "
        f"{listed(candidates)} may lead{' in one ranking or another' if len(wide) > 1 else ''}. They may matter alike, "
        "or the rows be too few to tell: no fault of the model.",
        (ids.AGREEMENT, *(leader.first.item for leader in wide)),
        remedy="Do not name a single leader. More unseen rows may tell the candidates apart.",
        measures=tuple(dict.fromkeys(leader.first.measure for leader in wide)),
        features=tuple(dict.fromkeys(leader.first.feature for leader in wide)),
        threshold=float(worst.limit(rule.thresholds)),
        observed=1.0,
        lower=1.0,
        upper=worst.first.upper,
    )


class SignedLine(Estimate):
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

    def limit(self, thresholds: Mapping[str, float]) -> int:
        """Return the last rank that a determined leader may reach."""
        return int(min(thresholds["top"], thresholds["half"] * self.n))


def leaders(view: Agreement, run: Run) -> Iterator[Leader]:
    """Yield the leader of every ranking with rank intervals of two or more features.

    A size that is positive by nature matters from the margin of the permutation importances of its measure on.
    """
    pfi = Pfi.find(run)
    margins = {} if pfi is None else {line.measure: line.margin for line in pfi.lines}
    for lines in grouped(view.lines, lambda line: (line.item, line.measure)).values():
        if len(lines) > 1 and all(line.has_interval for line in lines):
            first = min(lines, key=lambda line: line.estimate)
            candidates = tuple(line.feature for line in lines if line.lower == 1)
            margin = margins.get(first.measure, 0.0)
            yield Leader(first, len(lines), candidates, _verdict(run.find(first.item), first, margin))


def _verdict(result: Result | None, leader: RankLine, margin: float) -> str:
    """Return the verdict on an importance, or where it has none what its interval says against the margin."""
    for line in () if result is None else lines_of(result, SignedLine):
        if (line.measure, line.feature) == (leader.measure, leader.feature):
            by_interval = POSITIVE if line.lower > margin else ABOUT_0
            return by_interval if line.verdict == BY_INTERVAL else line.verdict
    return ""


def _seeds(rule: Rule, view: Pfi) -> Part:
    """Judge how much of the variance the choice of shuffles has."""
    if view.lines and all(line.shuffling_error == 0 for line in view.lines):
        return Part(code=rule.code, passed="All pairs of rows were used: no seed enters the permutation importances.")
    if view.result.frame[col.REPEAT].nunique() < MIN_SHUFFLES:
        return Part(code=rule.code, absent=f"fewer than {MIN_SHUFFLES} random shuffles have no variance to judge")
    every = list(shufflings(view, rule.thresholds))
    raised = [x for x in every if rule.judge(share=x.share, p_adjusted=x.p_adjusted)]
    unsure = [x for x in every if x not in raised and x.upper > rule.thresholds["seed_share"]]
    most = max((x.share for x in every), default=0.0)
    return Part(
        code=rule.code,
        findings=tuple(_seeded(rule, shuffling) for shuffling in raised),
        undecided=tuple(measure_words(shuffling.measure) for shuffling in unsure),
        passed=f"The random shuffles make at most {share_words(most)} of the variance of an importance.",
    )


def _seeded(rule: Rule, shuffling: Shuffling) -> Finding:
    allowed = rule.thresholds["seed_share"]
    return rule.finding(
        rule.severity,
        f"The random choice of {shuffling.n_repeats} shuffles makes "
        f"{share_words(shuffling.share, shuffling.lower, shuffling.upper)} of the variance of the importances for "
        f"{measure_words(shuffling.measure)}: others would give other numbers. The intervals account for it.",
        (ids.PFI,),
        remedy=f"Shuffle each feature about {shuffling.needed(allowed)} times.",
        measures=(shuffling.measure,),
        features=shuffling.features,
        threshold=allowed,
        observed=shuffling.share,
        lower=shuffling.lower,
        upper=shuffling.upper,
    )


class Shuffling(NamedTuple):
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


def shufflings(view: Pfi, thresholds: Mapping[str, float]) -> Iterator[Shuffling]:
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
        p_adjusted = len(by_measure) * float(chdtrc(df, share * df / thresholds["seed_share"]))
        yield Shuffling(measure, features, share, low, high, p_adjusted, int(m.max()))


def _few_rows(rule: Rule, view: Pfi, *, weighted: bool) -> Part:
    """Judge whether the sign of an importance survives without its strongest rows."""
    if weighted or view.result.rows is None:
        reason = "the rows are weighted" if weighted else "permutation importance has no row terms"
        return Part(code=rule.code, absent=reason)
    share = rule.thresholds["row_share"]
    signed = [line for line in view.lines if line.verdict in (POSITIVE, NEGATIVE)]
    every = [(line, without_few(view.result.rows, line, share)) for line in signed]
    return Part(
        code=rule.code,
        findings=tuple(
            _on_few_rows(rule, line, few)
            for line, few in every
            if rule.judge(share=few.n_turning / few.n, rows=few.n_turning)
        ),
        passed=f"The sign of {len(every)} importances holds without their strongest rows, {share_words(share)} of all.",
    )


def _on_few_rows(rule: Rule, line: PfiLine, few: FewRows) -> Finding:
    return rule.finding(
        rule.severity,
        f"The importance of {short(line.feature)} for {measure_words(line.measure)} is {number(line.estimate, 2)} on "
        f"all {few.n} rows, but {number(few.rest, 2)} without the {few.n_left_out} that support it most.",
        (ids.PFI,),
        remedy="Look at those rows before the importance is used. They may be errors, or a group of their own.",
        measures=(line.measure,),
        features=(line.feature,),
        threshold=0.0,
        observed=few.rest,
    )


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
