"""The calibration gate: whether a model's uncertainty may be explained as if it were right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, isnan, nan
from typing import ClassVar, NamedTuple

from ...core.errors import check_options
from ...core.numbers import value_words
from ...core.text import count
from ...core.trust import LEAST_EVENTS, Distrust, few_events
from ...evidence import ids
from ...evidence.finding import Finding, Outcome, Severity, Symptom
from ...evidence.outcomes import Calibration, rows_within
from ...evidence.run import Run
from ...rules.reading import absent
from ...rules.rule import Grade, Limit, Rule
from ..shared.events import class_counts, events

MEASURES = (
    "nll", "entropy", "variance", "aleatoric", "epistemic", "aleatoric_variance", "epistemic_variance"
)  # fmt: skip
RESTS_ON = "E_q[−log q(Y)] = H(q): loss and entropy agree on average when y follows the model (confidence gap)"
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
                title="The stated uncertainty does not match the outcomes",
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
                title="Too few rows to judge the stated uncertainty",
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
        return rule.finding(
            severity,
            _wrong_words(seen),
            (ids.CALIBRATION,),
            remedy="Recalibrate the model on held-out rows and audit it again.",
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
            _few_words(few) or self._doubt(seen),
            (ids.CALIBRATION,),
            remedy=_more_rows(few, seen, self.margin),
            measures=MEASURES,
            threshold=self.margin,
            observed=_known(seen.gap),
            lower=_known(seen.lower),
            upper=_known(seen.upper),
        )

    def _doubt(self, seen: Gap) -> str:
        """Say what keeps the gate from passing."""
        told = f"{count(seen.n, 'row')} cannot tell whether the stated uncertainty is right"
        if isnan(seen.gap):
            return f"{told}: {seen.reasons.get(GAP, 'how sure the model is could not be held against the outcomes')}."
        if isnan(seen.lower):
            return f"{told}: one row or cluster gives no interval."
        needed = seen.rows_to_pass(self.margin)
        enough = f" About {needed} would, if gap and spread stay as they are." if needed else ""
        rejected = ". A calibration test rejects, with a small effect" if seen.rejected else ""
        return f"{told}: {_gap_words(seen)}, and the limit is ±{self.margin:g} nats{rejected}.{enough}"

    def _passed(self, seen: Gap) -> str:
        tests = "a test rejects, with a small effect" if seen.rejected else "no test rejects"
        return f"The stated uncertainty is right on average: {_gap_words(seen)}, within ±{self.margin:g} nats; {tests}."


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


def _wrong_words(seen: Gap) -> str:
    """Say how the stated uncertainty is wrong."""
    if seen.infinite:
        rows = count(seen.infinite, "row")
        return f"In {rows} the model gave what happened a probability of 0. Its stated uncertainty is wrong there."
    saved = "" if isnan(seen.gain) else f" Recalibration would save {value_words(seen.gain, unit='nats')} a row."
    return f"The outcomes do not follow the stated probabilities: {_gap_words(seen)}.{saved}"


def _few_words(few: Distrust) -> str:
    """Say that there are few events, which leave the importances for the loss open too; empty if there are enough."""
    if not few.reason:
        return ""
    enough = "" if isnan(few.rows) else f" About {few.rows:.0f} rows would do if their share stays as it is."
    return f"Neither the stated uncertainty nor what drives the loss can be judged: {few.reason}.{enough}"


def _more_rows(few: Distrust, seen: Gap, margin: float) -> str:
    """Say what to do where calibration cannot be judged."""
    needed = seen.rows_to_pass(margin) if not few.reason else None if isnan(few.rows) else ceil(few.rows)
    return f"Audit the model on about {needed} unseen rows." if needed else "Audit the model on more unseen rows."


def _gap_words(seen: Gap) -> str:
    if isnan(seen.gap):
        return "the confidence gap is not known"
    side = "over-confident" if seen.gap > 0 else "under-confident"
    if seen.lower > 0 or seen.upper < 0:
        low, high = sorted((abs(seen.lower), abs(seen.upper)))
        size = value_words(abs(seen.gap), low, high, "nats", confidence=0.9)
        return f"the model is {side} by {size}"
    return f"the confidence gap is {value_words(seen.gap, seen.lower, seen.upper, 'nats', confidence=0.9)}"


def _known(value: float) -> float | None:
    return None if isnan(value) else value
