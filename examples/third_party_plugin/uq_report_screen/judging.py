"""A check of one's own: its rule is data, so that what is printed is what decides."""

from dataclasses import dataclass
from typing import ClassVar

from uq_report.checks.rule import Rule
from uq_report.core.support.numbers import value_words
from uq_report.evidence.finding import Finding, Outcome
from uq_report.evidence.run import Run
from uq_report.evidence.view import EstimateLine, of_measure

from .measures import EXCESS
from .screen import ID, Screen


@dataclass(frozen=True)
class FollowsFeature:
    """Finds features along which the log loss exceeds the entropy: the model is over-confident there.

    Parameters
    ----------
    weak, strong : float
        Sizes of the rank correlation that its interval must reach.
    """

    weak: float = 0.05
    strong: float = 0.3

    name: ClassVar[str] = ID
    title: ClassVar[str] = "Excess of the log loss by feature"
    api_version: ClassVar[int] = 1

    @property
    def rules(self) -> tuple[Rule]:
        """The one rule, with this object's thresholds."""
        return (
            Rule(
                code="SCREEN1",
                title="The excess of the log loss depends on a feature",
                thresholds={"weak": self.weak, "strong": self.strong},
                when="The interval of the rank correlation of the excess with a feature lies beyond ±{weak}. "
                "Medium beyond ±{strong}, else low.",
                raised=("nearest > weak",),
                grades=("medium if nearest > strong", "low"),
                rests_on="E[-log q(Y) - H(q)] = 0 in every part of the feature's range if y follows the model",
            ),
        )

    def check(self, run: Run) -> Outcome:
        """Judge the screen of the excess."""
        view = Screen.find(run)
        lines = of_measure(view.lines, EXCESS.name) if view else ()
        if not lines:
            return Outcome(check=self.name, state="not_applicable", reason="the excess was not screened")
        findings = tuple(finding for finding in map(self._finding, lines) if finding is not None)
        reason = "" if findings else f"No interval lies beyond ±{self.weak:g}."
        return Outcome(check=self.name, state="found" if findings else "passed", reason=reason, findings=findings)

    def _finding(self, line: EstimateLine) -> Finding | None:
        (rule,) = self.rules
        nearest = max(line.lower, -line.upper)  # of the interval, to 0; below 0 if it holds 0
        severity = rule.judge(nearest=nearest)
        if severity is None:
            return None
        side = "high" if line.estimate > 0 else "low"
        return rule.finding(
            severity,
            f"Where {line.feature} is {side}, the log loss exceeds the entropy (rank correlation "
            f"{value_words(line.estimate, line.lower, line.upper, confidence=line.confidence)}).",
            (ID,),
            remedy=f"Look at the residuals along {line.feature}, and recalibrate there.",
            measures=(EXCESS.name,),
            features=(line.feature,),
            threshold=self.weak,
            observed=line.estimate,
            lower=line.lower,
            upper=line.upper,
        )
