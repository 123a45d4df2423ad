"""The calibration gate: whether a model's uncertainty may be explained as if it were right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isnan
from typing import ClassVar, NamedTuple

from ..core.errors import check_options
from ..core.finding import Finding, Outcome, Rule
from ..core.results import Result
from ..core.run import Run

MEASURES = (
    "nll", "entropy", "variance", "aleatoric", "epistemic", "aleatoric_variance", "epistemic_variance"
)  # fmt: skip
RESTS_ON = "E_q[-log q(Y)] = H(q): nll and entropy agree on average when y follows the model (confidence gap)"


class Evidence(NamedTuple):
    """What the gate reads from the result ``calibration``: NaN where it is not known."""

    gap: float
    lower: float
    upper: float
    gain: float
    rejected: tuple[str, ...]
    infinite: int
    reasons: Mapping[str, str]

    @property
    def effect(self) -> float:
        """The larger of the size of G and the recalibration gain, in nats."""
        return max((v for v in (abs(self.gap), self.gain) if not isnan(v)), default=float("nan"))


@dataclass(frozen=True)
class CalibrationGate:
    """Fails, passes, or cannot be judged at this n; the last two are never merged.

    Fails (UQ101) when a Holm-adjusted calibration test rejects **and** the effect matters: the
    confidence gap G or the recalibration gain is at least `effect` nats; or when the nll is infinite
    somewhere. Passes when the 90 % interval of G lies within ±`margin` nats and nothing fails.
    Anything else cannot be judged (UQ102).

    Parameters
    ----------
    level : float
        Level of the tests, Holm-adjusted.
    effect, margin : float
        In nats.
    """

    level: float = 0.05
    effect: float = 0.02
    margin: float = 0.05

    name: ClassVar[str] = "calibration"
    title: ClassVar[str] = "Calibration"
    api_version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        """Refuse thresholds that cannot be used."""
        rules = (
            ("level", 0 < self.level < 1, "a number in (0, 1)"),
            ("effect", self.effect > 0, "a number > 0"),
            ("margin", self.margin > 0, "a number > 0"),
        )
        check_options("calibration", self, rules)

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The two rules, with this gate's thresholds."""
        return (
            Rule(
                code="UQ101",
                title="The predictive distribution is not calibrated",
                severity="high",
                when=f"A calibration test rejects (level {self.level:g}, Holm-adjusted) and the confidence gap or the "
                f"recalibration gain is at least {self.effect:g} nats, or the negative log-likelihood is infinite.",
                rests_on=RESTS_ON,
            ),
            Rule(
                code="UQ102",
                title="Calibration cannot be judged at this number of rows",
                severity="medium",
                when=f"UQ101 does not hold, and the 90 % interval of the gap is not within ±{self.margin:g} nats.",
                rests_on=RESTS_ON,
            ),
        )

    def check(self, run: Run) -> Outcome:
        """Judge the run's calibration result."""
        result = run.find("calibration")
        if result is None:
            return Outcome(check=self.name, state="not_applicable", reason=_absent(run))
        seen = _read(result, self.level)
        if seen.infinite or (seen.rejected and seen.effect >= self.effect):
            return Outcome(check=self.name, state="found", findings=(self._failed(seen),))
        if -self.margin < seen.lower and seen.upper < self.margin:
            return Outcome(check=self.name, state="passed", reason=self._passed(seen))
        return Outcome(check=self.name, state="found", findings=(self._unjudged(seen),))

    def _failed(self, seen: Evidence) -> Finding:
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
        return Finding(
            code="UQ101",
            title="The predictive distribution is not calibrated",
            severity="high",
            statement=statement + " Read every explanation of this model's uncertainty with that in mind.",
            evidence=("calibration",),
            rests_on=RESTS_ON,
            remedy="Recalibrate the model on held-out rows, then audit it again.",
            measures=MEASURES,
            threshold=self.effect,
            observed=None if seen.infinite else seen.effect,
            lower=_known(seen.lower),
            upper=_known(seen.upper),
        )

    def _unjudged(self, seen: Evidence) -> Finding:
        return Finding(
            code="UQ102",
            title="Calibration cannot be judged at this number of rows",
            severity="medium",
            statement=f"{self._doubt(seen)} The model is neither shown to be calibrated nor shown not to be.",
            evidence=("calibration",),
            rests_on=RESTS_ON,
            remedy="Audit the model on more test rows.",
            measures=MEASURES,
            threshold=self.margin,
            observed=_known(seen.gap),
            lower=_known(seen.lower),
            upper=_known(seen.upper),
        )

    def _doubt(self, seen: Evidence) -> str:
        """Say what keeps the gate from passing."""
        if isnan(seen.gap):
            reason = seen.reasons.get("confidence_gap", "it was not computed")
            return f"The confidence gap is not known: {reason}."
        if isnan(seen.lower):
            return "The confidence gap has no interval, because there is only one row or cluster."
        rejected = f" Rejected by {', '.join(seen.rejected)}, with a small effect." if seen.rejected else ""
        return f"{_gap_words(seen)} That is not within ±{self.margin:g}.{rejected}"

    def _passed(self, seen: Evidence) -> str:
        tests = (
            f"rejected by {', '.join(seen.rejected)} but below {self.effect:g} nats"
            if seen.rejected
            else "no test rejects"
        )
        return f"{_gap_words(seen)} That is within ±{self.margin:g}; {tests}."


def _read(result: Result, level: float) -> Evidence:
    table = result.estimates.set_index("item")

    def value(item: str, column: str) -> float:
        return float(table[column].get(item, float("nan")))

    return Evidence(
        gap=value("confidence_gap", "estimate"),
        lower=value("confidence_gap", "lower_90"),
        upper=value("confidence_gap", "upper_90"),
        gain=value("recalibration_gain", "estimate"),
        rejected=tuple(str(item) for item in table.index[table["p_adjusted"] <= level]),
        infinite=int(result.meta.get("infinite_nll", 0)),
        reasons={gap.measure: gap.reason for gap in result.omissions},
    )


def _absent(run: Run) -> str:
    reason = next((one.reason for one in run.not_run if one.name == "calibration"), "")
    return f"calibration was not run: {reason}" if reason else "calibration was not run"


def _gap_words(seen: Evidence) -> str:
    if isnan(seen.gap):
        return "The confidence gap is not known."
    side = "over-confident" if seen.gap > 0 else "under-confident"
    sure = side if seen.lower > 0 or seen.upper < 0 else "no clear direction"
    return f"Confidence gap {seen.gap:+.3f} nats ({sure}), 90 % interval {seen.lower:+.3f} to {seen.upper:+.3f}."


def _gain_words(seen: Evidence) -> str:
    return "" if isnan(seen.gain) else f" Recalibration would save {seen.gain:.3f} nats a row."


def _known(value: float) -> float | None:
    return None if isnan(value) else value
