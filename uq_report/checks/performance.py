"""Performance: whether the model predicts better than a baseline that ignores the features."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, isnan
from typing import ClassVar, NamedTuple

from ..core.errors import check_options
from ..evidence import ids
from ..evidence.finding import Finding, Outcome, Severity
from ..evidence.outcomes import LOG_SCORE, Calibration, ScoreLine
from ..evidence.run import Run
from ..evidence.subject import SubjectFacts
from ..rules.reading import Part, absent, amount, close
from ..rules.rule import Grade, Limit, Rule
from ._events import LEAST, class_counts, events, too_few

SCORES = {LOG_SCORE: "log score", "brier": "Brier score", "crps": "CRPS"}  # the first that a run has judges
BASELINES = {True: "the class frequencies", False: "the distribution of the outcomes"}


class Skill(NamedTuple):
    """A baseline's score less the model's, and the baseline's; `uses` are other signs that the features are of use."""

    line: ScoreLine
    base: float
    score: str
    baseline: str
    uses: Mapping[str, float]

    @property
    def upper(self) -> float:
        """The upper end of the interval, as a share of the baseline's score."""
        return self.line.upper / self.base

    @property
    def use(self) -> float:
        """The largest lower end of the other signs; 0 where there is none."""
        return max(self.uses.values(), default=0.0)

    @property
    def words(self) -> str:
        """The skill with its interval."""
        line = self.line
        return amount(line.estimate, line.lower, line.upper, line.confidence, line.unit)

    @property
    def loss(self) -> str:
        """What the model loses against the baseline, with its interval."""
        line = self.line
        return amount(-line.estimate, -line.upper, -line.lower, line.confidence, line.unit)


@dataclass(frozen=True)
class Performance:
    """Judges whether the model predicts unseen rows better than a baseline that ignores the features.

    UQ001 asks for an interval of the skill, the baseline's score less the model's, that ends below `margin` of the
    baseline's score: then the model is shown to be of no use, or worse. An interval that holds 0 and the margin
    leaves it undetermined. Skill is that of the log score; of the Brier score where the log score is infinite; of
    the CRPS for numbers.

    Parameters
    ----------
    margin : float
        Share of the baseline's score.
    """

    margin: float = 0.01

    name: ClassVar[str] = "performance"
    title: ClassVar[str] = "Performance"
    api_version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        """Refuse a threshold that cannot be used."""
        check_options(self.name, self, (("margin", 0 < self.margin < 1, "a number in (0, 1)"),))

    @property
    def rules(self) -> tuple[Rule]:
        """The rule, with this check's margin."""
        return (
            Rule(
                code="UQ001",
                title="The predictions are no better than a baseline that ignores the features",
                thresholds={"margin": self.margin, "worse": 0.1, "events": LEAST},
                when="The interval of the skill (the baseline's score less the model's: log score, Brier score where "
                "that is infinite, CRPS for numbers) ends below {margin:pct} of the baseline's score; for classes, on "
                "at least {events} rows outside the most frequent class. High if it ends {worse:pct} or more below 0, "
                "or if no other score shows the features to be of use, else medium.",
                raised=({"upper": Limit("below", "margin"), "events": Limit("at least", "events")},),
                grades=(
                    Grade("high", {"loss": Limit("at least", "worse")}),
                    Grade("high", {"use": Limit("at most", 0)}),
                    Grade("medium"),
                ),
                rests_on="A proper score is best on average for the true distribution, so a skill above 0 is what the "
                "features told (Gneiting & Raftery 2007)",
            ),
        )

    def check(self, run: Run) -> Outcome:
        """Judge the skill of the run's calibration result."""
        return close(self.name, [self._part(self.rules[0], run)])

    def _part(self, rule: Rule, run: Run) -> Part:
        view = Calibration.find(run)
        if view is None:
            return Part(code=rule.code, absent=absent(run, ids.CALIBRATION))
        skill, few = _skill(view, run), too_few(class_counts(run))
        if few or skill is None:
            return Part(code=rule.code, absent=few or "calibration has no skill with an interval")
        severity = rule.judge(upper=skill.upper, loss=-skill.upper, use=skill.use, events=events(class_counts(run)))
        if severity:
            return Part(code=rule.code, findings=(_finding(rule, severity, skill),))
        if not skill.line.lower > 0:
            return Part(code=rule.code, undecided=(f"the skill, {skill.words}, which may be none",))
        passed = f"The {skill.score} is better than that of {skill.baseline} by {skill.words}, where that is "
        return Part(code=rule.code, passed=f"{passed}{skill.base:.3g}.")


def _skill(view: Calibration, run: Run) -> Skill | None:
    """Return the skill that judges, or None where there is none with an interval."""
    lines = {line.item: line for line in view.lines}
    for item, score in SCORES.items():
        line, base = lines.get(f"{item}_skill"), lines.get(f"{item}_baseline")
        if line and base and line.has_interval and base.estimate > 0:
            return Skill(line, base.estimate, score, BASELINES[item != "crps"], _uses(lines, item, run))
    return None


def _uses(lines: Mapping[str, ScoreLine], judged: str, run: Run) -> dict[str, float]:
    """Return, by their words, the lower ends above 0 of what else shows the features to be of use."""
    uses = {}
    area, brier, error = lines.get("roc_auc"), lines.get("brier_skill"), lines.get("squared_error")
    spread = SubjectFacts.of(run).y_summary.get("std")
    if area:
        ends = f"{100 * area.confidence:g} % interval {area.lower:.2f} to {area.upper:.2f}"
        words = f"It does order the rows: the area under the ROC curve is {area.estimate:.2f} ({ends})."
        uses[words] = area.lower - 0.5
    if brier and judged == LOG_SCORE:
        better = amount(brier.estimate, brier.lower, brier.upper, brier.confidence, brier.unit)
        uses[f"By the Brier score it is better than the baseline, by {better}."] = brier.lower
    if error and spread:
        share = 1 - error.upper / spread**2
        uses[f"Its means do help: they take at least {100 * share:.2g} % off the variance of the outcome."] = share
    return {words: lower for words, lower in uses.items() if not isnan(lower) and lower > 0}


def _said(skill: Skill, margin: float) -> str:
    base, known = f"the baseline's {skill.base:.3g}", f"{skill.baseline}, without the features"
    if skill.line.upper < 0:
        words = f"worse than {known}: its {skill.score} is worse by {skill.loss}, against {base}"
    else:
        most = max(ceil(1000 * skill.upper), 1) / 10  # in percent, rounded up
        words = (
            f"no better than {known}: its {skill.score} is better by less than {most:g} % of {base} "
            f"({100 * skill.line.confidence:g} % interval; {100 * margin:g} % would count)"
        )
    return f"On unseen rows the model predicts {words}."


def _finding(rule: Rule, severity: Severity, skill: Skill) -> Finding:
    margin = rule.thresholds["margin"]
    recalibrate = "Recalibrate the model on held-out rows, then audit it again."
    refit = (
        f"Do not use the model in place of {skill.baseline}. Check that the features reach it as they did in training, "
        "and that its fit found any signal (splits, penalty, target)."
    )
    return rule.finding(
        severity,
        " ".join([_said(skill, margin), *skill.uses]),
        (ids.CALIBRATION,),
        remedy=recalibrate if skill.uses else refit,
        threshold=margin,
        observed=skill.line.estimate / skill.base,
        lower=skill.line.lower / skill.base,
        upper=skill.upper,
    )
