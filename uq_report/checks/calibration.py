"""The calibration gate: whether a model's uncertainty may be explained as if it were right."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import isnan, nan
from typing import ClassVar, NamedTuple

from ..core.errors import check_options
from ..core.trust import LEAST_EVENTS, Distrust, few_events
from ..evidence import ids
from ..evidence.finding import Finding, Outcome, Severity, Symptom
from ..evidence.outcomes import Calibration, rows_within
from ..evidence.run import Run
from ..rules.reading import absent
from ..rules.rule import Grade, Limit, Rule
from ._events import class_counts, events

MEASURES = (
    "nll", "entropy", "variance", "aleatoric", "epistemic", "aleatoric_variance", "epistemic_variance"
)  # fmt: skip
RESTS_ON = "E_q[-log q(Y)] = H(q): nll and entropy agree on average when y follows the model (confidence gap)"
GAP, GAIN = "confidence_gap", "recalibration_gain"


class Gap(NamedTuple):
    """What the gate reads from the result ``calibration``: NaN where it is not known."""

    gap: float
    lower: float
    upper: float
    gain: float
    gain_lower: float
    p_adjusted: float
    rejected: tuple[str, ...]
    infinite: int
    reasons: Mapping[str, str]
    n: int

    @property
    def saved(self) -> float:
        """What recalibration would save, in nats; where it is not known, the size of G."""
        return abs(self.gap) if isnan(self.gain) else self.gain

    @property
    def surely(self) -> float:
        """The lower end of the interval of what recalibration saves; of the size of G where that is not known."""
        return max(self.lower, -self.upper) if isnan(self.gain) else self.gain_lower

    @property
    def observed(self) -> dict[str, float]:
        """What the rule on failing judges."""
        numbers = {"infinite": self.infinite, "p_adjusted": self.p_adjusted, "gap": abs(self.gap)}
        return {**numbers, "saved": self.saved, "surely": self.surely}

    def rows_to_pass(self, margin: float) -> int | None:
        """Return the rows at which the interval of this gap would lie within the margin; None unless they are more."""
        return rows_within(self.gap, self.lower, self.upper, margin, self.n)


@dataclass(frozen=True)
class CalibrationGate:
    """Fails, passes, or cannot be judged at this n; the last two are never merged.

    Fails (UQ101) when a Holm-adjusted calibration test rejects **and** the effect matters: the
    confidence gap G or the recalibration gain is at least `effect` nats; or when the nll is infinite
    somewhere. It is graded by the gain: a gap that no recalibration closes is an observation. Passes
    when the 90 % interval of G lies within ±`margin` nats and nothing fails. Anything else cannot be
    judged (UQ102), and neither can a sample with few rows of the rarer class.

    Parameters
    ----------
    level : float
        Level of the tests, Holm-adjusted.
    effect, medium, high : float
        In nats: from which gap or gain it is raised, and from which gain it is low, medium or high.
    margin : float
        In nats: within which the gap must lie for the gate to pass.
    """

    level: float = 0.05
    effect: float = 0.02
    medium: float = 0.05
    high: float = 0.1
    margin: float = 0.05

    name: ClassVar[str] = ids.CALIBRATION
    title: ClassVar[str] = "Calibration"
    api_version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        """Refuse thresholds that cannot be used."""
        rules = (
            ("level", 0 < self.level < 1, "a number in (0, 1)"),
            ("effect", self.effect > 0, "a number > 0"),
            ("medium", self.medium > 0, "a number > 0"),
            ("high", self.high > 0, "a number > 0"),
            ("margin", self.margin > 0, "a number > 0"),
        )
        check_options(self.name, self, rules)

    @property
    def rules(self) -> tuple[Rule, Rule]:
        """The two rules, with this gate's thresholds."""
        surely = {"surely": Limit("above", 0)}
        return (
            Rule(
                code="UQ101",
                title="The predictive distribution is not calibrated",
                thresholds={"level": self.level, "effect": self.effect, "medium": self.medium, "high": self.high},
                when="A calibration test rejects (level {level}, Holm-adjusted) and the confidence gap or the "
                "recalibration gain is at least {effect} nats, or the negative log-likelihood is infinite. High where "
                "it is infinite or the gain is at least {high} nats, medium from {medium}, low from {effect}, each "
                "with an interval above 0, else an observation. Where the gain is not known the gap's size counts.",
                raised=(
                    {"infinite": Limit("above", 0)},
                    {"p_adjusted": Limit("at most", "level"), "saved": Limit("at least", "effect")},
                    {"p_adjusted": Limit("at most", "level"), "gap": Limit("at least", "effect")},
                ),
                grades=(
                    Grade("high", {"infinite": Limit("above", 0)}),
                    Grade("high", {"saved": Limit("at least", "high"), **surely}),
                    Grade("medium", {"saved": Limit("at least", "medium"), **surely}),
                    Grade("low", {"saved": Limit("at least", "effect"), **surely}),
                    Grade("observation"),
                ),
                rests_on=RESTS_ON,
            ),
            Rule(
                code="UQ102",
                title="Calibration cannot be judged at this number of rows",
                thresholds={"margin": self.margin, "events": LEAST_EVENTS},
                when="UQ101 does not hold, and the 90 % interval of the gap is not within ±{margin} nats; or fewer "
                "than {events} rows are outside the most frequent class.",
                # a gap without an interval reaches infinitely far
                raised=({"reach": Limit("at least", "margin")}, {"events": Limit("below", "events")}),
                grades=(Grade("observation"),),
                rests_on=RESTS_ON,
            ),
        )

    def check(self, run: Run) -> Outcome:
        """Judge the run's calibration result."""
        view = Calibration.find(run)
        if view is None:
            return Outcome(check=self.name, state="not_applicable", reason=absent(run, ids.CALIBRATION))
        seen = _read(view, self.level)
        fails, unjudged = self.rules
        counts = class_counts(run)
        few = few_events(int(events(counts)), sum(counts)) if counts else Distrust()
        failed = fails.judge(**seen.observed)
        if failed and (seen.infinite or not few.reason):
            return Outcome(check=self.name, state="found", findings=(self._failed(fails, seen, failed),))
        reach = float("inf") if isnan(seen.lower) else max(-seen.lower, seen.upper)
        if unjudged.judge(reach=reach, events=events(counts)):
            return Outcome(check=self.name, state="found", findings=(self._unjudged(unjudged, seen, few),))
        return Outcome(check=self.name, state="passed", reason=self._passed(seen))

    def _failed(self, rule: Rule, seen: Gap, severity: Severity) -> Finding:
        if seen.infinite:
            statement = (
                f"The model gave what happened a probability of 0 in {seen.infinite} rows, so its negative "
                "log-likelihood is infinite and its stated uncertainty is wrong there."
            )
        else:
            statement = (
                f"The outcomes do not follow the predictive distributions: rejected by {', '.join(seen.rejected)} "
                f"(level {self.level:g}, Holm-adjusted). {_gap_words(seen)}{_gain_words(seen)}"
            )
        return rule.finding(
            severity,
            f"{statement} Read every explanation of this model's uncertainty with that in mind.",
            (ids.CALIBRATION,),
            remedy="Recalibrate the model on held-out rows, then audit it again.",
            measures=MEASURES,
            explains=(Symptom(code="UQ003"),),
            threshold=self.effect,
            observed=None if seen.infinite else seen.saved,
            lower=_known(seen.lower),
            upper=_known(seen.upper),
        )

    def _unjudged(self, rule: Rule, seen: Gap, few: Distrust) -> Finding:
        return rule.finding(
            rule.severity,
            f"{_few_words(few) or self._doubt(seen)} The model is neither shown to be calibrated nor shown not to be.",
            (ids.CALIBRATION,),
            remedy="Audit the model on more test rows.",
            measures=MEASURES,
            threshold=self.margin,
            observed=_known(seen.gap),
            lower=_known(seen.lower),
            upper=_known(seen.upper),
        )

    def _doubt(self, seen: Gap) -> str:
        """Say what keeps the gate from passing."""
        if isnan(seen.gap):
            reason = seen.reasons.get(GAP, "it was not computed")
            return f"The confidence gap is not known: {reason}."
        if isnan(seen.lower):
            return "The confidence gap has no interval, because there is only one row or cluster."
        rejected = f" Rejected by {', '.join(seen.rejected)}, with a small effect." if seen.rejected else ""
        needed = seen.rows_to_pass(self.margin)
        enough = f" About {needed} rows would be, if gap and spread stay as they are." if needed else ""
        return f"{_gap_words(seen)} That is not within ±{self.margin:g}.{enough}{rejected}"

    def _passed(self, seen: Gap) -> str:
        tests = (
            f"rejected by {', '.join(seen.rejected)} but below {self.effect:g} nats"
            if seen.rejected
            else "no test rejects"
        )
        return f"{_gap_words(seen)} That is within ±{self.margin:g}; {tests}."


def _read(view: Calibration, level: float) -> Gap:
    lines = {line.item: line for line in view.lines}
    gap, gain = lines.get(GAP), lines.get(GAIN)
    return Gap(
        gap=gap.estimate if gap else nan,
        lower=gap.lower_90 if gap else nan,
        upper=gap.upper_90 if gap else nan,
        gain=gain.estimate if gain else nan,
        gain_lower=gain.lower_90 if gain else nan,
        p_adjusted=min((line.p_adjusted for line in view.lines if not isnan(line.p_adjusted)), default=nan),
        rejected=tuple(line.item for line in view.lines if line.p_adjusted <= level),
        infinite=view.infinite_nll,
        reasons={gap.measure: gap.reason for gap in view.omissions},
        n=view.n,
    )


def _few_words(few: Distrust) -> str:
    """Say that there are few events, which leave the importances for the loss open too; empty if there are enough."""
    if not few.reason:
        return ""
    enough = "" if isnan(few.rows) else f" About {few.rows:.0f} rows would do if their share stays as it is."
    return f"Neither calibration nor the importances for the loss can be judged: {few.reason}.{enough}"


def _gap_words(seen: Gap) -> str:
    if isnan(seen.gap):
        return "The confidence gap is not known."
    side = "over-confident" if seen.gap > 0 else "under-confident"
    sure = side if seen.lower > 0 or seen.upper < 0 else "no clear direction"
    words = f"Confidence gap {seen.gap:+.3f} nats ({sure}), 90 % interval {seen.lower:+.3f} to {seen.upper:+.3f}."
    return re.sub(r"-(?=\d\.)", "−", words)


def _gain_words(seen: Gap) -> str:
    return "" if isnan(seen.gain) else f" Recalibration would save {seen.gain:.3f} nats a row."


def _known(value: float) -> float | None:
    return None if isnan(value) else value
