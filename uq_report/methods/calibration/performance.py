"""Performance: whether the model beats a baseline without features, and a stated skill, and finds each class."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, inf
from typing import ClassVar, NamedTuple

from ...checks.family import NotJudgedError, Said, family, judged, needed, outcome
from ...checks.reading import RuleOutcome, close
from ...checks.rule import Rule
from ...core.support.errors import check_options
from ...core.support.numbers import number, share_words, value_words
from ...evidence import ids
from ...evidence.finding import Outcome, Symptom
from ...evidence.outcomes import LOG_SCORE, CalibrationView, ScoreLine
from ...evidence.run import Run
from ...evidence.subject import SubjectFacts
from ..shared.checks import LEAST, class_counts, events, line_words, shares, span, too_few
from .missed import missed, recall_rule

# the first that a run has judges
SCORES = {LOG_SCORE: "log score", "brier": "Brier score", "crps": "CRPS", "interval_score": "interval score"}
WHEN = (
    "The interval of the skill (the baseline's score less the model's: log score, Brier score where that is infinite, "
    "CRPS or interval score for numbers) ends below {margin:pct} of the baseline's score, or holds 0 and ends below "
    "{little:pct}; for classes, on at least {events} rows outside the most frequent class. Where no other score shows "
    "the features to be of use: critical if it holds 0, or less, and ends below {margin:pct}, else high. High if it "
    "ends {worse:pct} or more below 0, else medium."
)
# Where nothing shows the features to be of use, what the model claims of them is not delivered, and its uncertainty is
# wrong; that a feature alone tells more (the first) follows from any lack of skill.
SYMPTOMS = tuple(Symptom(code=code) for code in ("UQ003", "UQ101", "UQ401", "UQ402"))
BASELINES = {True: "the class frequencies", False: "the distribution of the outcomes"}


class SkillTest(NamedTuple):
    """A baseline's score less the model's, and the baseline's; `uses` are other signs that the features are of use."""

    line: ScoreLine
    base: float
    score: str
    baseline: str
    uses: Mapping[str, float]

    @property
    def words(self) -> str:
        """The skill with its interval."""
        return _interval(self.line, self.line.unit)

    @property
    def numbers(self) -> dict[str, float]:
        """The numbers that the rule judges: shares of the baseline's score, and the largest of the other signs."""
        lower, upper = self.line.lower / self.base, self.line.upper / self.base
        use = max(self.uses.values(), default=0.0)
        return {"upper": upper, "lower": lower, "loss": -upper, "reached": self.line.upper, "use": use}

    def is_short(self, rule: Rule) -> bool:
        """Return whether only a stated skill is not reached: the model is better than the baseline, or may be."""
        return rule.judge(**self.numbers | {"reached": inf}, events=inf) is None


def _interval(line: ScoreLine, unit: str = "") -> str:
    return line_words(line, unit, line.confidence)


@dataclass(frozen=True)
class Performance:
    """Judges whether the model predicts unseen rows better than a baseline that ignores the features.

    UQ001 asks for an interval of the skill, the baseline's score less the model's, that ends below `margin` of the
    baseline's score: then the model is shown to be of no use, or worse. An interval that holds 0 and ends below
    `little` of it is not better either; one that holds 0 and ends above leaves it undetermined. Skill is that of the
    log score; of the Brier score where the log score is infinite; of the CRPS for numbers.

    UQ002 asks which classes the model's own decisions miss: the share of a class that is decided for (its recall)
    is below `recall`, tested exactly and adjusted over the classes.

    Parameters
    ----------
    margin, little : float
        Shares of the baseline's score.
    recall : float
        Share of a class that the model should decide for.
    expected : float, optional
        A skill stated for the model, or reached before, in the unit of the score (nats for the log score): UQ001 is
        raised too where the interval of the skill ends below it.
    """

    margin: float = 0.01
    little: float = 0.03
    recall: float = 0.2
    expected: float | None = None

    name: ClassVar[str] = "performance"
    title: ClassVar[str] = "Performance"
    api_version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        """Refuse a threshold that cannot be used."""
        limits = (
            *shares(self, "margin", "recall"),
            ("little", self.margin <= self.little < 1, "a number from margin to 1"),
            ("expected", self.expected is None or 0 < self.expected < inf, "a finite number > 0, or None"),
        )
        check_options(self.name, self, limits)

    @property
    def rules(self) -> tuple[Rule, Rule]:
        """The rules, with this check's thresholds."""
        return self._skill_rule(), recall_rule(self.recall)

    def _skill_rule(self) -> Rule:
        enough = "events >= events"
        raised = [f"upper < margin and {enough}", f"lower <= 0 and upper < little and {enough}"]
        thresholds = {"margin": self.margin, "little": self.little, "worse": 0.1, "events": LEAST}
        title, when = "The predictions are no better than without the features", WHEN
        grades = ["critical if use <= 0 and lower <= 0 and upper < margin", "high if use <= 0", "high if loss >= worse"]
        if self.expected is not None:
            raised.append(f"reached < expected and {enough}")
            thresholds["expected"] = self.expected
            title = "Predictions no better than without features, or than stated"
            when += " Low if only a skill of {expected}, stated in the score's unit, is not reached."
            grades = ["low if upper >= little", "low if lower > 0 and upper >= margin", *grades]
        return Rule(
            code="UQ001",
            title=title,
            thresholds=thresholds,
            when=when,
            raised=raised,
            grades=(*grades, "medium"),
            rests_on="A proper score is best on average for the true distribution, so a skill above 0 is what the "
            "features told (Gneiting & Raftery 2007)",
        )

    def check(self, run: Run) -> Outcome:
        """Judge the skill and the decisions of the run's calibration results."""
        if SubjectFacts.of(run).classes is None:
            return close(self.name, [judged(self.rules[0], _judge, run)])
        return outcome(self, run, _judge, missed)


def _judge(rule: Rule, run: Run) -> RuleOutcome:
    skill, counts = _skill(needed(CalibrationView, run), run), class_counts(run)
    if skill is None or too_few(counts):
        raise NotJudgedError(too_few(counts) or "no score of the outcomes has an interval")
    better = f"The {skill.score} is better than that of {skill.baseline} by {skill.words}, where that is "
    gain = f"the gain over {skill.baseline}, {skill.words}, which may be none"
    return family(
        rule,
        [skill],
        lambda x: x.numbers | {"events": events(counts)},
        lambda x: _said(rule, x),
        undecided=lambda rest: [gain for x in rest if not x.line.lower > 0],
        passed=f"{better}{number(skill.base)}.",
    )


def _skill(view: CalibrationView, run: Run) -> SkillTest | None:
    """Return the skill that judges, or None where there is none with an interval."""
    lines = {line.item: line for line in view.lines}
    for item, score in SCORES.items():
        line, base = lines.get(f"{item}_skill"), lines.get(f"{item}_baseline")
        if line and base and line.has_interval and base.estimate > 0:
            baseline = BASELINES[item not in ("crps", "interval_score")]
            return SkillTest(line, base.estimate, score, baseline, _uses(lines, item, run))
    return None


def _uses(lines: Mapping[str, ScoreLine], score: str, run: Run) -> dict[str, float]:
    """Return, by their words, the lower ends above 0 of what beside `score` shows the features to be of use."""
    uses = {}
    area, brier, error = lines.get("roc_auc"), lines.get("brier_skill"), lines.get("squared_error")
    spread = SubjectFacts.of(run).y_summary.get("std")
    if area:
        uses[f"It does order the rows: the area under the ROC curve is {_interval(area)}."] = area.lower - 0.5
    if brier and score == LOG_SCORE:
        uses[f"By the Brier score it is better than the baseline, by {_interval(brier)}."] = brier.lower
    if error and spread:
        share = 1 - error.upper / spread**2
        uses[f"Its means do help: they take at least {share_words(share)} off the variance of the outcome."] = share
    return {words: lower for words, lower in uses.items() if lower > 0}


def _statement(skill: SkillTest, rule: Rule) -> str:
    line, baseline, upper = skill.line, f"{skill.baseline}, without the features", skill.numbers["upper"]
    if skill.is_short(rule):
        better = "better than" if line.lower > 0 else "not shown to be better than"
        expected = f"and not by the expected {rule.thresholds['expected']:g}"
        words = f"{better} {baseline}: its {skill.score} is better by {skill.words}, {expected}"
    elif line.upper < 0:
        loss = value_words(-line.estimate, -line.upper, -line.lower, line.unit, confidence=line.confidence)
        words = f"worse than {baseline}: its {skill.score} is worse by {loss}, where theirs is {number(skill.base)}"
    else:
        most = max(ceil(1000 * upper), 1) / 10  # in percent, rounded up
        counts = "may be none" if upper >= rule.thresholds["margin"] else "is less than would count"
        sure = f"{100 * line.confidence:g} % interval, so it {counts}"
        words = f"no better than {baseline}: its {skill.score} is better by less than {most:g} % of theirs ({sure})"
    return f"On unseen rows the model predicts {words}."


def _said(rule: Rule, skill: SkillTest) -> Said:
    statement, explains, threshold = _statement(skill, rule), SYMPTOMS, rule.thresholds["margin"]
    remedy = (
        "Do not use the model's predictions. Check that the features reach it as they did in training, and that "
        "its fit found any signal."
    )
    if skill.is_short(rule):
        explains, threshold = (), rule.thresholds["expected"] / skill.base
        remedy = "Compare rows and fit with those that the gain was stated for."
    elif skill.uses:
        statement, explains = f"{statement} {next(iter(skill.uses))}", SYMPTOMS[:1]
        remedy = "Recalibrate the model on held-out rows and audit it again."
    estimate, numbers = skill.line.estimate / skill.base, skill.numbers
    parts = {"remedy": remedy, "threshold": threshold, "explains": explains, "evidence": (ids.CALIBRATION,)}
    return {"statement": statement, **parts, **span(estimate, numbers["lower"], numbers["upper"])}
