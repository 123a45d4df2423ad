"""Whether the audit's own conclusions would hold with other rows, other shuffles, or without a few rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from ...core.errors import check_options
from ...core.inference import MIN_SHUFFLES
from ...core.numbers import number, share_words
from ...core.text import short
from ...evidence import columns as col
from ...evidence import ids
from ...evidence.finding import Finding, Outcome
from ...evidence.importance import NEGATIVE, POSITIVE, Pfi
from ...evidence.information import Agreement
from ...evidence.run import Run
from ...rules.reading import Part, absent, close, listed, measure_words
from ...rules.rule import Grade, Limit, Rule
from .stability_terms import FewRows, Leader, Shuffling, leaders, shufflings, without_few

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
        rules = (
            ("top", isinstance(self.top, int) and self.top >= 1, "an integer >= 1"),
            ("seed_share", 0 < self.seed_share < 1, "a number in (0, 1)"),
            ("row_share", 0 < self.row_share < 0.5, "a number in (0, 0.5)"),
            ("level", 0 < self.level < 1, "a number in (0, 1)"),
        )
        check_options(self.name, self, rules)

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
                grades=(Grade("observation"),),
                rests_on="klein:simultaneous rank intervals",
            ),
            Rule(
                code="UQ502",
                title="The random shuffles move the importances",
                thresholds={"seed_share": self.seed_share, "level": self.level},
                when="Shuffling has more than {seed_share:pct} of the variance of a measure's importances that "
                "are not about 0: the lower end of its interval (level {level} over all measures) is above.",
                raised=({"share": Limit("above", "seed_share"), "p_adjusted": Limit("at most", "level")},),
                grades=(Grade("observation"),),
                rests_on="se² = var(g)/n + σ²/(nm): the second term is the shuffles' and falls with their number m",
            ),
            Rule(
                code="UQ503",
                title="The sign of an importance rests on a few rows",
                thresholds={"row_share": self.row_share},
                when="The verdict is positive or negative, and without the {row_share:pct} of the rows that "
                "support it most (one at least) the importance is 0 or of the other sign.",
                raised=({"share": Limit("at most", "row_share")}, {"rows": Limit("at most", 1)}),
                grades=(Grade("observation"),),
                rests_on="The mean of the remaining row terms is, to first order, the importance without the rows "
                "left out",
            ),
        )

    def check(self, run: Run) -> Outcome:
        """Judge the run's rankings and permutation importances."""
        pfi = Pfi.find(run)
        leading, seeds, few = self.rules
        if pfi is None:
            missing = absent(run, ids.PFI)
            shuffled = [Part(code=rule.code, absent=missing) for rule in (seeds, few)]
        else:
            shuffled = [_seeds(seeds, pfi), _few_rows(few, pfi, weighted=bool(run.subject.get("weights")))]
        return close(self.name, [_leading(leading, run), *shuffled])


def _leading(rule: Rule, run: Run) -> Part:
    """Judge the leader of every ranking; one observation for each question that is left open."""
    view = Agreement.find(run)
    if view is None:
        return Part(code=rule.code, absent=absent(run, ids.AGREEMENT))
    every = list(leaders(view, run))
    if not every:
        return Part(code=rule.code, absent="no ranking of two or more features has intervals")
    wide = [one for one in every if one.matters and rule.judge(rank=one.upper, share=one.upper / one.n)]
    firm = list(dict.fromkeys(one.feature for one in every if one.matters and one not in wide))
    roles = dict.fromkeys(leader.role for leader in wide)
    return Part(
        code=rule.code,
        findings=tuple(_undetermined(rule, [one for one in wide if one.role == role]) for role in roles),
        undecided=tuple(f"the leader by {one.label}, whose importance has no sure sign" for one in every if one.unsure),
        passed=f"Leaders whose ranks are determined: {listed(firm)}." if firm else "No ranking has a leader.",
    )


def _undetermined(rule: Rule, wide: Sequence[Leader]) -> Finding:
    candidates = dict.fromkeys(feature for leader in wide for feature in leader.candidates)
    worst = max(wide, key=lambda leader: leader.upper - leader.limit(rule.thresholds))
    return rule.finding(
        rule.severity,
        f"Which feature matters most for {ROLES.get(wide[0].role, measure_words(wide[0].role))} cannot be told: any of "
        f"{listed(candidates)} may lead{' in one ranking or another' if len(wide) > 1 else ''}. They may matter alike, "
        "or the rows be too few to tell: no fault of the model.",
        (ids.AGREEMENT, *(leader.method for leader in wide)),
        remedy="Do not name a single leader. More unseen rows may tell the candidates apart.",
        measures=tuple(dict.fromkeys(leader.measure for leader in wide)),
        features=tuple(dict.fromkeys(leader.feature for leader in wide)),
        threshold=float(worst.limit(rule.thresholds)),
        observed=1.0,
        lower=1.0,
        upper=float(worst.upper),
    )


def _seeds(rule: Rule, pfi: Pfi) -> Part:
    """Judge how much of the variance the choice of shuffles has."""
    if pfi.result.options.get("exact"):
        return Part(code=rule.code, passed="All pairs of rows were used: no seed enters the permutation importances.")
    if pfi.result.frame[col.REPEAT].nunique() < MIN_SHUFFLES:
        return Part(code=rule.code, absent=f"fewer than {MIN_SHUFFLES} random shuffles have no variance to judge")
    every = list(shufflings(pfi, rule.thresholds))
    raised = [one for one in every if rule.judge(share=one.share, p_adjusted=one.p_adjusted)]
    most = max((one.share for one in every), default=0.0)
    return Part(
        code=rule.code,
        findings=tuple(_seeded(rule, one) for one in raised),
        undecided=tuple(
            measure_words(o.measure) for o in every if o not in raised and o.upper > rule.thresholds["seed_share"]
        ),
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


def _few_rows(rule: Rule, pfi: Pfi, *, weighted: bool) -> Part:
    """Judge whether the sign of an importance survives without its strongest rows."""
    if weighted or pfi.result.rows is None:
        reason = "the rows are weighted" if weighted else "permutation importance has no row terms"
        return Part(code=rule.code, absent=reason)
    share = rule.thresholds["row_share"]
    signed = [line for line in pfi.lines if line.verdict in (POSITIVE, NEGATIVE)]
    every = [without_few(pfi.result.rows, line, share) for line in signed]
    return Part(
        code=rule.code,
        findings=tuple(
            _on_few_rows(rule, one) for one in every if rule.judge(share=one.n_turning / one.n, rows=one.n_turning)
        ),
        passed=f"The sign of {len(every)} importances holds without their strongest rows, {share_words(share)} of all.",
    )


def _on_few_rows(rule: Rule, few: FewRows) -> Finding:
    return rule.finding(
        rule.severity,
        f"The importance of {short(few.feature)} for {measure_words(few.measure)} is {number(few.estimate, 2)} on all "
        f"{few.n} rows, but {number(few.rest, 2)} without the {few.n_left_out} that support it most.",
        (ids.PFI,),
        remedy="Look at those rows before the importance is used. They may be errors, or a group of their own.",
        measures=(few.measure,),
        features=(few.feature,),
        threshold=0.0,
        observed=few.rest,
    )
