"""Shift: columns that are distributed otherwise than the training rows."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import ClassVar

from ...checks.family import Said, family, needed, outcome
from ...checks.reading import RuleOutcome
from ...checks.rule import Rule
from ...core.support.errors import check_options
from ...core.support.numbers import share_words
from ...core.support.text import short
from ...evidence.finding import Outcome, Symptom
from ...evidence.rows import ShiftLine, SupportShift
from ...evidence.run import Run
from ..shared.checks import observed

# what a column explains that is distributed otherwise: its new values, rows outside, and faults of the model as a whole
NEW_VALUES, OUTSIDE_ROWS, OF_MODEL = "UQ303", "UQ301", ("UQ101", "UQ401", "UQ402", "UQ001", "UQ003")


@dataclass(frozen=True)
class Shift:
    """Judges whether a column of the audited rows is distributed as in training (UQ304).

    The lower end of the interval of the distance decides, which holds for all columns at once.

    Parameters
    ----------
    low, medium, high : float
        Share of the rows that would have to change.
    """

    low: float = 0.1
    medium: float = 0.25
    high: float = 0.5

    name: ClassVar[str] = "shift"
    title: ClassVar[str] = "Shift"
    api_version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        """Refuse thresholds that cannot be used."""
        rules = (("low", 0 < self.low < self.medium < self.high < 1, "numbers 0 < low < medium < high < 1"),)
        check_options(self.name, self, rules)

    @property
    def rules(self) -> tuple[Rule]:
        """The rule, with this check's thresholds."""
        return (
            Rule(
                code="UQ304",
                title="A feature is distributed otherwise than in training",
                thresholds=asdict(self),
                when="The distance of a column's distributions in audited and training rows is at least {low:pct}, by "
                "the lower end of its interval (all columns at once). High from {high:pct}, medium from {medium:pct}, "
                "else low.",
                raised=("lower >= low",),
                grades=("high if lower >= high", "medium if lower >= medium", "low"),
                rests_on="Uniform bounds on empirical distributions (Massart 1990; Weissman et al. 2003)",
            ),
        )

    def check(self, run: Run) -> Outcome:
        """Judge the run's distances."""
        return outcome(self, run, _shifted)


def _shifted(rule: Rule, run: Run) -> RuleOutcome:
    lines, limit = needed(SupportShift, run).lines, share_words(rule.thresholds["low"])
    passed = f"No feature is shown to be farther than {limit} from its distribution in training."
    return family(rule, lines, lambda line: {"lower": line.lower}, lambda line: _said(rule, line), passed=passed)


def _said(rule: Rule, line: ShiftLine) -> Said:
    whole = (OUTSIDE_ROWS, *OF_MODEL) if line.lower >= rule.thresholds["medium"] else ()
    least = share_words(line.lower)
    return {
        "statement": f"{short(line.feature)} is distributed otherwise than in training: at least {least} of the rows "
        f"would have to change for both to be alike ({line.item}). This audit is about these rows, not about rows "
        "like the training rows.",
        "evidence": (SupportShift.id,),
        "remedy": "Find out whether people changed or the data did. A column may be filled or scaled in another way.",
        "features": (line.feature,),
        "threshold": rule.thresholds["low"],
        "affected": f"at least {least} of {line.n} rows",
        "explains": (Symptom(code=NEW_VALUES, feature=line.feature), *(Symptom(code=code) for code in whole)),
        **observed(line),
    }
