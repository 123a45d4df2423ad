"""Expected directions: whether the model's curves go against what its owner says they must do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.special import stdtrit

from ...checks.family import Said, family, outcome, require
from ...checks.reading import RuleOutcome, absent, listed, measure_words, two_sided
from ...checks.rule import Rule, verbatim
from ...core.statistics.verdicts import holm
from ...core.support.arrays import FloatArray
from ...core.support.errors import UnsupportedError, check_options, nearest
from ...core.support.numbers import plain, share_words, value_words
from ...core.support.text import clean, short
from ...evidence.finding import Outcome
from ...evidence.profiles import Ale, Pdp
from ...evidence.run import Run
from ...evidence.subject import SubjectFacts
from ..shared.checks import at_least, positive, shares, span
from .steps import CurveSteps, ale_steps, pdp_steps

SIGNS = {"increasing": 1.0, "decreasing": -1.0}
NOTHING = "no direction was stated"


class DirectionCurve(NamedTuple):
    """One curve of a feature: its steps, and by step how far it goes the wrong way and whether that raises the rule.

    `against` is a share of the curve's range, NaN where a step goes the stated way; `clear` says that no step can go
    the wrong way by as much as the rule asks.
    """

    steps: CurveSteps
    p_values: FloatArray
    against: FloatArray
    wrong: FloatArray
    clear: bool

    @property
    def share(self) -> float:
        """The wrong steps together, as a share of the curve's range."""
        return float(np.abs(self.steps.change[self.wrong > 0]).sum() / self.steps.range) if self.wrong.any() else 0.0


@dataclass(frozen=True)
class Direction:
    """Holds PDP and ALE against the directions that the model's owner states.

    A step from one point to the next goes the wrong way where its two-sided t test against 0, Holm-adjusted
    over all steps of all stated features and both curves, says so, and where it is at least `least` of the
    curve's range. Errors are those of the steps, not of the levels. Nothing speaks against a feature where
    no step can go the wrong way by as much as that: one-sided tests of every step.

    Parameters
    ----------
    monotone : mapping of feature to {"increasing", "decreasing"}
        What is expected; none by default.
    measure : str, default="prediction"
        Whose curves; those of the average or the local effects must have it.
    level : float, default=0.05
    least : float, default=0.02
        How much of the curve's range a step the wrong way must make up.
    serious : float, default=0.25
        From which share of the curve's range the steps the wrong way together are of high severity.
    rows_per_step : int, default=60
        Bins of an ALE are joined to steps of about as many rows, so that a t test holds; effects that differ very
        unevenly between rows need more.
    """

    monotone: Mapping[str, str] = field(default_factory=dict)
    measure: str = "prediction"
    level: float = 0.05
    least: float = 0.02
    serious: float = 0.25
    rows_per_step: int = 60

    name: ClassVar[str] = "direction"
    title: ClassVar[str] = "Expected directions"
    api_version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        """Refuse options that cannot be used."""
        stated: object = self.monotone
        is_stated = isinstance(stated, Mapping) and all(
            isinstance(f, str) and str(v) in SIGNS for f, v in stated.items()
        )
        limits = (
            ("monotone", is_stated, f"a mapping of features to one of {', '.join(SIGNS)}"),
            ("measure", bool(self.measure), "the name of a measure"),
            *shares(self, "level", "least"),
            *positive(self, "serious"),
            *at_least(self, rows_per_step=5),
        )
        check_options(self.name, self, limits)

    @property
    def rules(self) -> tuple[Rule]:
        """The one rule, with this check's thresholds."""
        return (
            Rule(
                code="UQ901",
                title="The model moves against an expected direction",
                thresholds={"level": self.level, "least": self.least, "serious": self.serious},
                when=f"A step of the PDP or ALE of {verbatim(self.measure)} goes against the stated direction (level "
                "{level}, Holm-adjusted over all steps) by at least {least:pct} of the curve's range; high if such "
                "steps make up {serious:pct} of it, else medium.",
                raised=("p_adjusted <= level and step >= least",),
                grades=("high if steps >= serious", "medium"),
                rests_on="Stated expectation; errors of changes: apley:section 2",
            ),
        )

    def check(self, run: Run) -> Outcome:
        """Judge the stated features, by the curves that have an error."""
        return outcome(self, run, self._judge)

    def _judge(self, rule: Rule, run: Run) -> RuleOutcome:
        require(self.monotone, NOTHING)
        steps, reasons = self._every(run)
        curves = self._tested(rule, steps)
        untested = [f"{short(f)} ({why})" for f, why in reasons.items()]
        require(curves, "; ".join(untested))
        used = dict.fromkeys(curve.steps.method for several in curves.values() for curve in several)
        methods, keep = listed(used).capitalize(), "keeps" if len(used) == 1 else "keep"
        return family(
            rule,
            list(curves.items()),
            lambda test: self._worst(test[1])[0],
            lambda test: self._against(*test),
            undecided=lambda rest: [*(f for f, few in rest if not all(curve.clear for curve in few)), *untested],
            passed=f"{methods} on {measure_words(self.measure)} {keep} to the stated direction of {listed(curves)}.",
        )

    def _every(self, run: Run) -> tuple[dict[str, list[CurveSteps]], dict[str, str]]:
        """Return the steps of every stated feature, and why others have none."""
        names = [feature.name for feature in SubjectFacts.of(run).features]
        every, reasons = {}, {}
        for feature in self.monotone:
            if names and feature not in names:
                reasons[feature] = f"no feature of this run. {clean(nearest(feature, names), 200)}"
                continue
            steps, why = [], []
            for view in (Ale, Pdp):
                try:
                    steps.append(self._steps(view, run, feature))
                except UnsupportedError as error:
                    why.append(str(error))
            if steps:
                every[feature] = steps
            else:
                reasons[feature] = " and ".join(dict.fromkeys(why))
        return every, reasons

    def _steps(self, kind: type[Ale] | type[Pdp], run: Run, feature: str) -> CurveSteps:
        view = kind.find(run)
        if view is None:
            raise UnsupportedError(absent(run, kind.id))
        if isinstance(view, Ale):
            return ale_steps(view, run, self.measure, feature, self.rows_per_step)
        return pdp_steps(view, run, self.measure, feature)

    def _tested(self, rule: Rule, every: Mapping[str, list[CurveSteps]]) -> dict[str, list[DirectionCurve]]:
        """Return every curve with its wrong steps; all steps of all curves are adjusted together."""
        p_values = [two_sided(s.tested, s.std_error, s.df) for several in every.values() for s in several]
        adjusted = iter(np.split(holm(np.concatenate([*p_values, []])), np.cumsum([len(p) for p in p_values])))
        return {
            feature: [self._curve(rule, SIGNS[self.monotone[feature]], steps, next(adjusted)) for steps in several]
            for feature, several in every.items()
        }

    def _curve(self, rule: Rule, sign: float, steps: CurveSteps, p_values: FloatArray) -> DirectionCurve:
        none = np.zeros(len(p_values))
        if steps.range == 0:
            return DirectionCurve(steps, p_values, none, none, clear=True)
        along = sign * steps.change / steps.range
        against = np.where(sign * steps.tested < 0, -along, np.nan)
        raised = [rule.judge(p_adjusted=p, step=step) is not None for p, step in zip(p_values, against, strict=True)]
        reach = stdtrit(steps.df, 1 - self.level) * steps.std_error / steps.range
        return DirectionCurve(
            steps, p_values, against, np.array(raised, dtype=float), bool((along - reach > -self.least).all())
        )

    def _worst(self, curves: list[DirectionCurve]) -> tuple[dict[str, float], DirectionCurve, int]:
        """Return the numbers of the largest step the wrong way, its curve and its place."""
        worst = max(curves, key=lambda curve: curve.share)
        k = int(np.argmax(np.abs(worst.steps.change) * worst.wrong))
        return {"p_adjusted": worst.p_values[k], "step": worst.against[k], "steps": worst.share}, worst, k

    def _against(self, feature: str, curves: list[DirectionCurve]) -> Said:
        """Return the finding on one feature, worded by its largest step the wrong way."""
        _, worst, k = self._worst(curves)
        steps, expected, measure = worst.steps, self.monotone[feature], measure_words(self.measure)
        change, reach = steps.change[k], stdtrit(steps.df[k], 1 - self.level / 2) * steps.std_error[k]
        interval = (float(change), float(change - reach), float(change + reach))
        return {
            "statement": f"{measure[0].upper()}{measure[1:]} should be {expected} in {short(feature)}, but between "
            f"{plain(steps.start[k])} and {plain(steps.end[k])} {steps.method} changes by "
            f"{value_words(*interval, confidence=1 - self.level)}. Such steps make up {share_words(worst.share)} of "
            "its range.",
            "evidence": [curve.steps.id for curve in curves if curve.wrong.any()],
            "remedy": "Constrain the model to the direction, or correct the expectation.",
            "measures": (self.measure,),
            "features": (feature,),
            "threshold": 0.0,
            **span(*interval),
        }
