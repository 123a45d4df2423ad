"""Whether the audit's own conclusions would hold with other rows, other shuffles, or without a few rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from ..core.errors import check_options
from ..core.finding import Finding, Outcome, Rule
from ..core.inference import MIN_SHUFFLES
from ..core.results import Result
from ..core.run import Run
from ._reading import Part, absent, close, listed
from ._stability_terms import FewRows, Leader, Shuffling, leaders, shufflings, without_few

RANKS = "klein:simultaneous rank intervals"
SHUFFLES = "se² = var(g)/n + σ²/(nm): the second term is the shuffles' and falls with their number m"
FEW_ROWS = "The mean of the remaining row terms is, to first order, the importance without the rows left out"
LEADER = "The leading feature is not determined at this number of rows"
SEEDS = "The seed of the shuffles moves the importances"
FEW = "The sign of an importance rests on a few rows"


@dataclass(frozen=True)
class Stability:
    """Judges the audit's conclusions, not the model: may the rows, the seed or a few rows turn them around.

    A wide rank interval is no defect of the model: features may well be equally important. Such a leader
    is therefore an observation that claims nothing (UQ501), and only where the leader matters. What
    a user can cure is a finding: shuffles that leave the numbers to the seed (UQ502), and an importance
    whose sign rests on a few rows (UQ503).

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
    def rules(self) -> tuple[Rule, ...]:
        """The three rules, with this object's thresholds."""
        return (
            Rule(
                code="UQ501",
                title=LEADER,
                severity="observation",
                when=f"The leader's importance matters, and its rank interval (all ranks together) reaches beyond rank "
                f"{self.top}, or beyond half of the features if they are fewer. It claims nothing about the model.",
                rests_on=RANKS,
            ),
            Rule(
                code="UQ502",
                title=SEEDS,
                severity="low",
                when=f"Shuffling has more than {self.seed_share:.0%} of the variance of a measure's importances that "
                f"are not about 0: the lower end of its interval (level {self.level:g} over all measures) is above.",
                rests_on=SHUFFLES,
            ),
            Rule(
                code="UQ503",
                title=FEW,
                severity="medium",
                when=f"The verdict is positive or negative, and without the {self.row_share:.0%} of the rows that "
                "support it most the importance is 0 or of the other sign.",
                rests_on=FEW_ROWS,
            ),
        )

    def check(self, run: Run) -> Outcome:
        """Judge the run's rankings and permutation importances."""
        pfi = run.find("pfi")
        if pfi is None:
            missing = absent(run, "pfi")
            shuffled = [Part(code=code, absent=missing) for code in ("UQ502", "UQ503")]
        else:
            shuffled = [self._seeds(pfi), self._few_rows(pfi, weighted=bool(run.subject.get("weights")))]
        return close(self.name, [self._leading(run), *shuffled])

    def _leading(self, run: Run) -> Part:
        """Judge the leader of every ranking; one observation for each question that is left open."""
        agreement = run.find("agreement")
        if agreement is None:
            return Part(code="UQ501", absent=absent(run, "agreement"))
        found = list(leaders(agreement, run, self.top))
        if not found:
            return Part(code="UQ501", absent="no ranking of two or more features has intervals")
        wide = [leader for leader in found if leader.matters and leader.upper > leader.limit]
        firm = [f"{one.feature} by {one.label}" for one in found if one.matters and one not in wide]
        roles = dict.fromkeys(leader.role for leader in wide)
        return Part(
            code="UQ501",
            findings=tuple(self._undetermined([one for one in wide if one.role == role]) for role in roles),
            undecided=tuple(f"{one.label} (no sign)" for one in found if one.unsure),
            passed=f"Leaders whose ranks are determined: {listed(firm)}." if firm else "No ranking has a leader.",
        )

    def _undetermined(self, wide: Sequence[Leader]) -> Finding:
        worst = max(wide, key=lambda leader: leader.upper - leader.limit)
        return Finding(
            code="UQ501",
            title=LEADER,
            severity="observation",
            statement=" ".join(leader.words() for leader in wide)
            + " The features may be equally important, or the rows too few to tell.",
            evidence=tuple(dict.fromkeys(("agreement", *(leader.method for leader in wide)))),
            rests_on=RANKS,
            remedy="Do not name a single leader; audit the model on more test rows to tell the candidates apart.",
            measures=tuple(dict.fromkeys(leader.measure for leader in wide)),
            features=tuple(dict.fromkeys(leader.feature for leader in wide)),
            threshold=float(worst.limit),
            observed=1.0,
            lower=1.0,
            upper=float(worst.upper),
        )

    def _seeds(self, pfi: Result) -> Part:
        """Judge how much of the variance the choice of shuffles has."""
        if pfi.options.get("exact"):
            return Part(code="UQ502", passed="All pairs of rows were used: no seed enters the permutation importances.")
        if pfi.frame["repeat"].nunique() < MIN_SHUFFLES:
            return Part(code="UQ502", absent=f"fewer than {MIN_SHUFFLES} shuffles have no variance to judge")
        seen = list(shufflings(pfi, self.level))
        most = max((one.share for one in seen), default=0.0)
        return Part(
            code="UQ502",
            findings=tuple(self._seeded(one) for one in seen if one.lower > self.seed_share),
            undecided=tuple(one.measure for one in seen if one.lower <= self.seed_share < one.upper),
            passed=f"The shuffles have at most {most:.0%} of the variance of a measure's importances.",
        )

    def _seeded(self, seen: Shuffling) -> Finding:
        return Finding(
            code="UQ502",
            title=SEEDS,
            severity="low",
            statement=f"With {seen.n_repeats} shuffles, the choice of the shuffles has {seen.share:.0%} of the "
            f"variance of the importances for {seen.measure} (interval {seen.lower:.0%} to {seen.upper:.0%}): "
            "another seed would give visibly other numbers. Their intervals account for it.",
            evidence=("pfi",),
            rests_on=SHUFFLES,
            remedy=f"Raise pfi.n_repeats to about {seen.needed(self.seed_share)}.",
            measures=(seen.measure,),
            features=seen.features,
            threshold=self.seed_share,
            observed=seen.share,
            lower=seen.lower,
            upper=seen.upper,
        )

    def _few_rows(self, pfi: Result, *, weighted: bool) -> Part:
        """Judge whether the sign of an importance survives without its strongest rows."""
        if weighted or pfi.rows is None:
            reason = "the rows are weighted" if weighted else "pfi has no row terms"
            return Part(code="UQ503", absent=reason)
        signed = pfi.estimates[pfi.estimates["verdict"].isin(["positive", "negative"])]
        seen = [without_few(pfi.rows, line, self.row_share) for line in signed.to_dict("records")]
        return Part(
            code="UQ503",
            findings=tuple(_on_few_rows(one) for one in seen if one.estimate * one.rest <= 0),
            passed=f"The sign of {len(seen)} importances holds without the {self.row_share:.0%} strongest rows.",
        )


def _on_few_rows(seen: FewRows) -> Finding:
    return Finding(
        code="UQ503",
        title=FEW,
        severity="medium",
        statement=f"The importance of {seen.feature} for {seen.measure} is {seen.estimate:+.3g} on all {seen.n} rows, "
        f"but {seen.rest:+.3g} without the {seen.n_left_out} that support it most.",
        evidence=("pfi",),
        rests_on=FEW_ROWS,
        remedy="Look at those rows before the importance is used: they may be errors, or a group of their own.",
        measures=(seen.measure,),
        features=(seen.feature,),
        threshold=0.0,
        observed=seen.rest,
    )
