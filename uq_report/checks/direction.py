"""Expected directions: whether the model's curves go against what its owner says they must do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.special import stdtrit

from ..core.arrays import FloatArray
from ..core.errors import UnsupportedError, check_options, nearest
from ..core.finding import Finding, Outcome, Rule
from ..core.run import Run
from ..core.text import clean, short
from ..core.verdicts import holm
from ._reading import Part, absent, close, listed, spanned, two_sided
from ._steps import Steps, ale_steps, pdp_steps

AGAINST = "The model moves against an expected direction"
SIGNS = {"increasing": 1.0, "decreasing": -1.0}
NOTHING = "no direction was stated (option monotone of checks.direction)"


class Held(NamedTuple):
    """One curve of a feature: its steps, their adjusted p-values, which go the wrong way, and whether none can."""

    steps: Steps
    wrong: FloatArray
    clear: bool

    @property
    def share(self) -> float:
        """The wrong steps together, as a share of the curve's range."""
        return float(np.abs(self.steps.shown[self.wrong > 0]).sum() / self.steps.range) if self.wrong.any() else 0.0


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
        Whose curves; `pdp` or `ale` must have it.
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
        given: object = self.monotone
        named = isinstance(given, Mapping) and all(isinstance(key, str) and str(v) in SIGNS for key, v in given.items())
        rules = (
            ("monotone", named, f"a mapping of features to one of {', '.join(SIGNS)}"),
            ("measure", bool(self.measure), "the name of a measure"),
            ("level", 0 < self.level < 1, "a number in (0, 1)"),
            ("least", 0 < self.least < 1, "a number in (0, 1)"),
            ("serious", self.serious > 0, "a number > 0"),
            ("rows_per_step", self.rows_per_step >= 5, "an integer >= 5"),
        )
        check_options(self.name, self, rules)

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The one rule, with this check's thresholds."""
        return (
            Rule(
                code="UQ901",
                title=AGAINST,
                severity="high",
                when=f"A step of the PDP or ALE of {self.measure} goes against the stated direction (level "
                f"{self.level:g}, Holm-adjusted over all steps) by at least {100 * self.least:g} % of the curve's "
                f"range; high if such steps make up {100 * self.serious:g} % of it, else medium.",
                rests_on="Stated expectation (option monotone); errors of changes: apley:section 2",
            ),
        )

    def check(self, run: Run) -> Outcome:
        """Judge the stated features, by the curves that have an error."""
        if not self.monotone:
            return close(self.name, [Part(code="UQ901", absent=NOTHING)])
        curves, reasons = self._curves(run)
        tested = self._tested(curves)
        findings = tuple(self._against(f, every) for f, every in tested.items() if any(t.wrong.any() for t in every))
        found = {finding.features[0] for finding in findings}
        unsure = [f for f, every in tested.items() if f not in found and not all(t.clear for t in every)]
        untested = [f"{short(f)} ({why})" for f, why in reasons.items()]
        methods = listed(dict.fromkeys(t.steps.method for every in tested.values() for t in every))
        part = Part(
            code="UQ901",
            findings=findings,
            undecided=(*unsure, *untested),
            absent="" if tested else "; ".join(untested),
            passed=f"{methods} of {self.measure} keep to the stated direction of {listed(tested)}.",
        )
        return close(self.name, [part])

    def _curves(self, run: Run) -> tuple[dict[str, list[Steps]], dict[str, str]]:
        """Return the steps of every stated feature, and why others have none."""
        names = [str(one["name"]) for one in run.subject.get("features", ())]
        found, reasons = {}, {}
        for feature in self.monotone:
            if names and feature not in names:
                reasons[feature] = f"no feature of this run. {clean(nearest(feature, names), 200)}"
                continue
            steps, why = self._steps(run, feature)
            if steps:
                found[feature] = steps
            else:
                reasons[feature] = " and ".join(dict.fromkeys(why))
        return found, reasons

    def _steps(self, run: Run, feature: str) -> tuple[list[Steps], list[str]]:
        steps, why = [], []
        for name in ("ale", "pdp"):
            result = run.find(name)
            if result is None:
                why.append(absent(run, name))
                continue
            try:
                if name == "ale":
                    steps.append(ale_steps(result, run, self.measure, feature, self.rows_per_step))
                else:
                    steps.append(pdp_steps(result, run, self.measure, feature))
            except UnsupportedError as error:
                why.append(str(error))
        return steps, why

    def _tested(self, curves: Mapping[str, list[Steps]]) -> dict[str, list[Held]]:
        """Return every curve with its wrong steps; all steps of all curves are adjusted together."""
        every = [steps for one in curves.values() for steps in one]
        p_values = [two_sided(s.tested, s.std_error, s.df) for s in every]
        adjusted = iter(np.split(holm(np.concatenate([*p_values, []])), np.cumsum([len(p) for p in p_values])))
        return {
            feature: [self._judged(SIGNS[self.monotone[feature]], steps, next(adjusted)) for steps in one]
            for feature, one in curves.items()
        }

    def _judged(self, sign: float, steps: Steps, p_values: FloatArray) -> Held:
        if steps.range == 0:
            return Held(steps, np.zeros(len(p_values)), clear=True)
        limit = self.least * steps.range
        wrong = (sign * steps.tested < 0) & (sign * steps.shown <= -limit) & (p_values <= self.level)
        reach = stdtrit(steps.df, 1 - self.level) * steps.std_error
        return Held(steps, wrong.astype(float), clear=bool((sign * steps.shown - reach > -limit).all()))

    def _against(self, feature: str, every: list[Held]) -> Finding:
        """Return the finding on one feature, told by its largest step the wrong way."""
        worst = max(every, key=lambda one: one.share)
        steps, expected = worst.steps, self.monotone[feature]
        k = int(np.argmax(np.abs(steps.shown) * worst.wrong))
        change, reach = steps.shown[k], stdtrit(steps.df[k], 1 - self.level / 2) * steps.std_error[k]
        interval = (float(change), float(change - reach), float(change + reach))
        counts = [
            f"{int(t.wrong.sum())} of {len(t.wrong)} steps of the {t.steps.method}" for t in every if t.wrong.any()
        ]
        return Finding(
            code="UQ901",
            title=AGAINST,
            severity="high" if worst.share >= self.serious else "medium",
            statement=f"The {self.measure} is expected to be {expected} in {short(feature)}, but between "
            f"{steps.start[k]:.4g} and {steps.end[k]:.4g} the {steps.method} changes by "
            f"{spanned(*interval, 1 - self.level)}. {listed(counts).capitalize()} go the wrong way, by "
            f"{worst.share:.0%} of the range of the {steps.method} together.",
            evidence=tuple(t.steps.method.lower() for t in every if t.wrong.any()),
            rests_on="Stated expectation (option monotone); errors of changes: apley:section 2",
            remedy="Constrain the model to the direction, or correct the expectation and say why.",
            measures=(self.measure,),
            features=(feature,),
            threshold=0.0,
            observed=interval[0],
            lower=interval[1],
            upper=interval[2],
        )
