"""Whether a model may be used: its skill, the classes that its decisions miss, and its stated uncertainty."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, inf, isnan, nan
from typing import Any, ClassVar, NamedTuple

from ...checks.family import NotJudgedError, Said, TableCheck, family, judged, needed, outcome
from ...checks.reading import RuleOutcome, absent, close, listed
from ...checks.rule import Rule
from ...core.statistics.verdicts import LEAST_EVENTS, Distrust, SampleSize, beyond, few_events
from ...core.support import options as opt
from ...core.support.numbers import number, share_words, value_words
from ...core.support.text import count, short
from ...evidence import ids, outcomes
from ...evidence.comparisons import ComparisonLine
from ...evidence.finding import Finding, Outcome, Severity, Symptom
from ...evidence.run import Run
from ...evidence.subject import SubjectFacts
from ..shared.checks import LEAST, LEAST_UNITS, about, class_counts, events, line_words, span, too_few, wrong_level
from .tables import at_most

STATED_SKILL_SIZE = 0.05  # nats, or share of the baseline's score: the true skill that a sample size is advised for
# the first that a run has judges the skill
SCORES = {outcomes.LOG_SCORE: "log loss", "brier": "Brier score", "crps": "CRPS", "interval_score": "interval score"}
# Where nothing shows the features to be of use, what the model claims of them is not delivered, and its uncertainty is
# wrong; that a feature alone tells more (the first) follows from any lack of skill.
SYMPTOMS = tuple(Symptom(code=code) for code in ("UQ003", "UQ101", "UQ121", "UQ123", "UQ401", "UQ402"))
OF_LEVEL = ("UQ121", "UQ123", "UQ401", "UQ402")  # what probabilities that are wrong on average explain
MEASURES = (
    "nll", "entropy", "width", "set_size", "variance", "aleatoric", "epistemic", "aleatoric_variance",
    "epistemic_variance",
)  # fmt: skip
COVERAGE_GAP, MISCOVERAGE = "coverage_gap", "miscoverage"

SKILL = Rule.stated("UQ001", events=LEAST)
STATED_SKILL = replace(
    SKILL,
    title="Predictions no better than without features, or than stated",
    options=("margin", "small_gain", "expected"),
    when=f"{SKILL.when} Low if only a skill of {{expected}}, stated in the score's unit, is not reached.",
    raised=(*SKILL.raised, "reached < expected and events >= events"),
    grades=("low if upper >= small_gain", "low if lower > 0 and upper >= margin", *SKILL.grades),
)
RECALL = Rule.stated("UQ002", rows=LEAST)
MISCALIBRATED = Rule.stated("UQ101")
FEW_ROWS = Rule.stated("UQ102", events=LEAST_EVENTS, units=LEAST_UNITS)


class SkillTest(NamedTuple):
    """A baseline's score less the model's, and the baseline's; `uses` are other signs that the features are of use."""

    line: outcomes.ScoreLine
    base: float
    score: str
    baseline: str
    uses: Mapping[str, float]

    @property
    def words(self) -> str:
        """The skill with its interval."""
        return line_words(self.line, self.line.unit, self.line.confidence)

    @property
    def numbers(self) -> dict[str, float]:
        """The numbers that the rule judges: shares of the baseline's score, and the largest of the other signs."""
        lower, upper = self.line.lower / self.base, self.line.upper / self.base
        use = max(self.uses.values(), default=0.0)
        return {"upper": upper, "lower": lower, "loss": -upper, "reached": self.line.upper, "use": use}

    def size(self, n: int) -> SampleSize | None:
        """Return the sample size that shows a skill of 0.05 nats, or 5% of the baseline's score, to be above 0."""
        nats = self.line.unit == "nats"
        given = f"the skill is {'0.05 nats' if nats else '5% of the score of ' + self.baseline}"
        size = STATED_SKILL_SIZE * (1.0 if nats else self.base)
        return beyond(n, self.line.std_error, size, given, confidence=self.line.confidence)

    def is_short(self, rule: Rule) -> bool:
        """Return whether only a stated skill is not reached: the model is better than the baseline, or may be."""
        return rule.judge(**self.numbers | {"reached": inf}, events=inf) is None


def _skill(rule: Rule, run: Run) -> RuleOutcome:
    """Judge the skill by the first score that has an interval."""
    view, counts = needed(outcomes.CalibrationView, run), class_counts(run)
    skill = _skill_test(view)
    if skill is None or too_few(counts):
        raise NotJudgedError(too_few(counts) or "no score of the outcomes has an interval")
    gain = f"the gain over {skill.baseline}, {skill.words}, which may be none"
    return family(
        rule,
        [skill],
        lambda x: x.numbers | {"events": events(counts)},
        lambda x: _no_skill(rule, x),
        undecided=lambda rest: [gain for x in rest if not x.line.lower > 0],
        size=skill.size(view.n),
        passed=f"The {skill.score} is better than that of {skill.baseline} by {skill.words}, where that is "
        f"{number(skill.base)}.",
    )


def _skill_test(view: outcomes.CalibrationView) -> SkillTest | None:
    """Return the skill that judges, or None where there is none with an interval."""
    lines = {line.item: line for line in view.lines}
    for item, score in SCORES.items():
        line, base = lines.get(f"{item}_skill"), lines.get(f"{item}_baseline")
        if line and base and line.has_interval and base.estimate > 0:
            of_numbers = item in ("crps", "interval_score")
            baseline = "the distribution of the outcomes" if of_numbers else "the class frequencies"
            return SkillTest(line, base.estimate, score, baseline, _uses(lines, item))
    return None


def _uses(lines: Mapping[str, outcomes.ScoreLine], score: str) -> dict[str, float]:
    """Return, by their words, the lower ends above 0 of what beside `score` shows the features to be of use."""
    uses = {}
    area, brier, r2 = lines.get("roc_auc"), lines.get("brier_skill"), lines.get("r2")
    if area:
        words = line_words(area, confidence=area.confidence)
        uses[f"It does rank the observations: the area under the ROC curve is {words}."] = area.lower - 0.5
    if brier and score == outcomes.LOG_SCORE:
        words = line_words(brier, confidence=brier.confidence)
        uses[f"By the Brier score it is better than the baseline, by {words}."] = brier.lower
    if r2:
        share = share_words(r2.lower)
        uses[f"Its means do help: they take at least {share} off the variance of the outcome."] = r2.lower
    return {words: lower for words, lower in uses.items() if lower > 0}


def _skill_words(skill: SkillTest, rule: Rule) -> str:
    line, baseline, upper = skill.line, f"{skill.baseline}, without the features", skill.numbers["upper"]
    if skill.is_short(rule):
        better = "better than" if line.lower > 0 else "not shown to be better than"
        expected = f"and not by the expected {rule.thresholds['expected']:g}"
        return f"{better} {baseline}: its {skill.score} is better by {skill.words}, {expected}"
    if line.upper < 0:
        loss = value_words(-line.estimate, -line.upper, -line.lower, line.unit, confidence=line.confidence)
        return f"worse than {baseline}: its {skill.score} exceeds theirs ({number(skill.base)}) by {loss}"
    most = max(ceil(1000 * upper), 1) / 10  # in percent, rounded up
    counts = "may be none" if upper >= rule.thresholds["margin"] else "is less than would count"
    sure = f"{100 * line.confidence:g}% CI, so it {counts}"
    return f"no better than {baseline}: its {skill.score} is better by less than {most:g}% of theirs ({sure})"


def _no_skill(rule: Rule, skill: SkillTest) -> Said:
    statement, explains = f"Out of sample the model predicts {_skill_words(skill, rule)}.", SYMPTOMS
    threshold, numbers = rule.thresholds["margin"], skill.numbers
    remedy = (
        "Do not use the model's predictions. Check that the features reach it as they did in training, and that "
        "its fit found any signal."
    )
    if skill.is_short(rule):
        explains, threshold = (), rule.thresholds["expected"] / skill.base
        remedy = "Compare the sample and the fit with those that the gain was stated for."
    elif skill.uses:
        statement, explains = f"{statement} {next(iter(skill.uses))}", SYMPTOMS[:1]
        remedy = "Recalibrate the model on held-out observations and audit it again."
    parts = {"remedy": remedy, "threshold": threshold, "explains": explains, "evidence": (ids.CALIBRATION,)}
    interval = span(skill.line.estimate / skill.base, numbers["lower"], numbers["upper"])
    return {"statement": statement, **parts, **interval}


def _recall(rule: Rule, run: Run) -> RuleOutcome:
    """Judge the recall of every class at the model's own decisions."""
    view, scores = needed(outcomes.Decisions, run), outcomes.CalibrationView.find(run)
    area = None if scores is None else scores.of("roc_auc")
    order, expected = nan if area is None else area.estimate, rule.thresholds["recall"]
    lines = [line for line in view.lines if line.item == "recall"]
    total = sum(line.n for line in lines)
    few = [short(line.label) for line in lines if line.n_effective < rule.thresholds["rows"]]
    return family(
        rule,
        lines,
        lambda x: {"upper": x.upper, "rows": x.n_effective, "share": x.n / total, "order": order},
        lambda x: _missed_class(rule, x, view),
        p_values=[at_most(x.estimate * x.n_effective, x.n_effective, expected) for x in lines],
        undecided=lambda _: [f"the recall of {label}, a class of too few observations" for label in few],
        passed="No class is shown to be missed by the model's own decisions.",
    )


def _missed_class(rule: Rule, line: outcomes.DecisionLine, view: outcomes.Decisions) -> Said:
    label, precision = short(line.label), view.of_class(line.label).get("precision")
    recall = share_words(line.estimate, line.lower, line.upper, confidence=line.confidence)
    right = f" Its precision is {share_words(precision.estimate)} (n = {precision.n})." if precision else ""
    return {
        "statement": f"Predicting {short(view.rule, 160)}, the model recalls {round(line.estimate * line.n)} of the "
        f"{line.n} observations of {label}, {recall}; {share_words(rule.thresholds['recall'])} would pass.{right}",
        "remedy": "Choose the threshold by what a miss and a false alarm cost.",
        **about(line, ids.CALIBRATION_DECISIONS, ids.CALIBRATION, threshold=rule.thresholds["recall"]),
    }


@dataclass(frozen=True)
class Performance(TableCheck):
    """Judges whether the model predicts unseen rows better than a baseline that ignores the features.

    UQ001 asks for an interval of the skill, the baseline's score minus the model's, that ends below `margin` of the
    baseline's score: then the model is shown to be of no use, or worse. An interval that holds 0 and ends below
    `small_gain` of it is not better either; one that holds 0 and ends above leaves it undetermined. Skill is that of
    the log loss; of the Brier score where the log loss is infinite; of the CRPS for numbers.

    UQ002 asks which classes the model's own decisions miss: the share of a class that is decided for (its recall)
    is below `recall`, tested exactly and adjusted over the classes.

    Parameters
    ----------
    margin, small_gain : float
        Shares of the baseline's score.
    recall : float
        Share of a class that the model should decide for.
    expected : float, optional
        A skill stated for the model, or reached before, in the unit of the score (nats for the log loss): UQ001 is
        raised too where the interval of the skill ends below it.
    """

    margin: float = opt.share(0.01)
    small_gain: float = 0.03
    recall: float = opt.share(0.2)
    expected: float | None = opt.option(
        None, "a finite number > 0, or None", lambda value: value is None or 0 < value < inf
    )

    name: ClassVar[str] = "performance"
    title: ClassVar[str] = "Performance"

    def limits(self) -> Iterable[opt.Limit]:
        """Return the limits of options that depend on each other."""
        return (("small_gain", self.margin <= self.small_gain < 1, "a number from margin to 1"),)

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules, with this check's thresholds."""
        return (SKILL if self.expected is None else STATED_SKILL).of(self), RECALL.of(self)

    def check(self, run: Run) -> Outcome:
        """Judge the skill and the decisions of the run's calibration results."""
        if SubjectFacts.of(run).classes is None:
            return close(self.name, [judged(self.rules[0], _skill, run)])
        return outcome(self, run, _skill, _recall)


class Undercoverage(NamedTuple):
    """By how much more rows than `stated` lie outside, with its 90% CI; NaN without intervals or sets."""

    stated: float = nan
    excess: float = nan
    lower: float = nan
    upper: float = nan
    p_adjusted: float = nan

    @classmethod
    def of(cls, line: outcomes.ScoreLine | None) -> Undercoverage:
        """Return what a line of the calibration result says; nothing is known without one."""
        if line is None:
            return cls()
        may = line.null_mean
        return cls(may, line.estimate - may, line.lower_90 - may, line.upper_90 - may, line.p_adjusted)

    @property
    def words(self) -> str:
        """What is missed, and what may be."""
        share, lower, upper = (self.stated + part for part in (self.excess, self.lower, self.upper))
        return (
            f"{share_words(share, lower, upper, confidence=0.9)} of the outcomes lie outside what should hold all but "
            f"{share_words(self.stated)}"
        )


class Gain(NamedTuple):
    """By how much a recalibration lowers the log loss, in nats, with its 90% CI; NaN where it is not known."""

    estimate: float = nan
    lower: float = nan
    upper: float = nan

    @classmethod
    def of(cls, line: outcomes.ScoreLine | None) -> Gain:
        """Return what a line of the calibration result says; nothing is known without one."""
        return cls() if line is None else cls(line.estimate, line.lower_90, line.upper_90)

    @property
    def words(self) -> str:
        """The gain with its interval."""
        return value_words(self.estimate, self.lower, self.upper, "nats", confidence=0.9)


class GateInputs(NamedTuple):
    """What the gate reads from a result: the gap and what recalibration gains at 90%, NaN where it is not known.

    `gain` is that of a recalibrated shape, `segment` that of a spread by segment. `coverage` is the line of the largest
    error of a central interval, where neither gap nor gain can be judged.
    """

    gap: float
    lower: float
    upper: float
    gain: Gain
    segment: Gain
    p_adjusted: float
    missed: Undercoverage
    coverage: outcomes.ScoreLine | None
    view: outcomes.CalibrationView

    @classmethod
    def of(cls, view: outcomes.CalibrationView) -> GateInputs:
        """Return what the gate reads."""
        lines = {line.item: line for line in view.lines}
        gap, gain, segment = (
            Gain.of(lines.get(item)) for item in (outcomes.CONFIDENCE_GAP, outcomes.SHAPE_GAIN, outcomes.ROW_GAIN)
        )
        tests = (line.p_adjusted for line in view.lines if line.item != MISCOVERAGE and not isnan(line.p_adjusted))
        bare = isnan(gap.estimate) and isnan(gain.estimate) and not view.infinite_nll
        coverage, missed = lines.get(COVERAGE_GAP) if bare else None, Undercoverage.of(lines.get(MISCOVERAGE))
        return cls(*gap, gain, segment, min(tests, default=nan), missed, coverage, view)

    @property
    def reach(self) -> float:
        """How far from 0 the gap may be: infinitely without an interval, NaN of intervals, which have no gap."""
        if isnan(self.gap) and not isnan(self.missed.excess):
            return nan
        return inf if isnan(self.lower) else max(-self.lower, self.upper)

    @property
    def off(self) -> float:
        """By how much the coverage of a central interval is off, beyond what it is in outcomes drawn from the model."""
        return nan if self.coverage is None else self.coverage.estimate - self.coverage.null_mean

    @property
    def observed(self) -> dict[str, float]:
        """What the rule on failing judges: gains, tests, and what intervals or label sets miss."""
        (gain, gain_lower, _), (segment, segment_lower, _) = self.gain, self.segment
        _, missed, missed_surely, _, missed_p = self.missed
        off_p = nan if self.coverage is None else self.coverage.p_adjusted
        gains = {"gain": gain, "gain_lower": gain_lower, "segment": segment, "segment_lower": segment_lower}
        coverage = {"missed": missed, "missed_surely": missed_surely, "missed_p": missed_p, "off": self.off}
        return gains | coverage | {"off_p": off_p, "infinite": self.view.infinite_nll, "p_adjusted": self.p_adjusted}

    @property
    def words(self) -> str:
        """The gap with its interval."""
        if isnan(self.gap):
            return "the calibration gap is not known"
        if not (self.lower > 0 or self.upper < 0):
            return f"the calibration gap is {value_words(self.gap, self.lower, self.upper, 'nats', confidence=0.9)}"
        low, high = sorted((abs(self.lower), abs(self.upper)))
        size = value_words(abs(self.gap), low, high, "nats", confidence=0.9)
        side, more, less = ("over", "log loss", "entropy") if self.gap > 0 else ("under", "entropy", "log loss")
        return f"the model is {side}-confident: mean {more} exceeds mean {less} by {size}"


@dataclass(frozen=True)
class CalibrationGate(TableCheck):
    """Fails, passes, or cannot be judged at this n; the last two are never merged.

    Fails (UQ101) when recalibration lowers the log loss by at least `effect` nats, and a Holm-adjusted calibration test
    rejects **or** the 90% CI of the gain is above 0; when a spread by segment does, with such an interval; or
    when the nll is infinite somewhere. It is graded by the lower end of the gain, never by the calibration gap G. A
    test that rejects where the gain is smaller is an observation. Passes when the 90% CI of G is within
    ±`margin` nats and nothing fails. Anything else cannot be judged (UQ102), and neither can fewer than 20
    observations, clusters or blocks, blocks of time that had to be cut short, or a sample with few rows of the rarer
    class.

    Prediction intervals and label sets promise to hold at least their stated share of the outcomes: the gate
    fails when an exact test rejects that and `missed` of the rows more than stated lie outside, and passes when
    the 90% CI of that excess ends below `pass_margin`. Where there is no density, that alone is judged; and of a
    distribution without one, which has a coverage but no gap, the gate fails when the test of the coverage rejects and
    that of one central interval is off by `missed` more than chance does.

    Parameters
    ----------
    level : float
        Level of the tests, Holm-adjusted.
    effect, medium, high : float
        In nats: from which gain it is raised, and from which lower end of its interval it is medium or high.
    margin : float
        In nats: within which the gap must lie for the gate to pass.
    missed, pass_margin : float
        Shares of rows: from which excess outside intervals or sets the gate fails, and below which it may pass.
    """

    level: float = opt.share(0.05)
    effect: float = opt.positive(0.02)
    medium: float = opt.positive(0.05)
    high: float = opt.positive(0.1)
    margin: float = opt.positive(0.05)
    missed: float = opt.share(0.02)
    pass_margin: float = opt.share(0.05)

    name: ClassVar[str] = ids.CALIBRATION
    title: ClassVar[str] = "Calibration"
    table: ClassVar[tuple[Rule, ...]] = (MISCALIBRATED, FEW_ROWS)

    def check(self, run: Run) -> Outcome:
        """Judge the run's calibration result."""
        view = outcomes.CalibrationView.find(run)
        if view is None:
            return Outcome(check=self.name, state="not_applicable", reason=absent(run, ids.CALIBRATION))
        gate, counts = GateInputs.of(view), class_counts(run)
        fails, unjudged = self.rules
        few = few_events(int(events(counts)), sum(counts)) if counts else Distrust()
        severity, units = fails.judge(**gate.observed), inf if isnan(gate.gap) else view.units
        reached = {"reach": gate.reach, "units": units, "cut": view.blocks_cut, "events": events(counts)}
        if severity and (view.infinite_nll or not few.reason):
            finding, needed = self._failed(fails, gate, severity, run), None
        elif unjudged.judge(**reached, missed=gate.missed.upper):
            finding, needed = self._unjudged(unjudged, gate, few)
        else:
            return Outcome(check=self.name, state="passed", reason=self._passed(gate))
        return Outcome(check=self.name, state="found", findings=(finding,), n_needed=needed)

    def _failed(self, rule: Rule, gate: GateInputs, severity: Severity, run: Run) -> Finding:
        parts: dict[str, Any] = {"remedy": _remedy(run), "explains": (Symptom(code="UQ003"),), "threshold": self.missed}
        missed, line, infinite = gate.missed, gate.coverage, gate.view.infinite_nll
        if missed.p_adjusted <= self.level and missed.excess >= self.missed and not infinite:
            what = "prediction intervals" if isnan(gate.gap) else "label sets"
            words = f"Its {what} do not hold what they state: {missed.words}."
            return _finding(rule, severity, words, (missed.excess, missed.lower, missed.upper), **parts)
        if line is not None:
            words = (
                "Its central intervals do not hold what they state: the share of outcomes in one of them is off by "
                f"{share_words(line.estimate)}, where outcomes drawn from the model would give "
                f"{share_words(line.null_mean)}."
            )
            return _finding(rule, severity, words, (gate.off, nan, nan), **parts)
        parts["threshold"] = self.effect
        if infinite:
            words = f"The model assigns probability 0 to the outcomes of {count(infinite, 'observation')}."
            return _finding(rule, severity, words, Gain(), **parts)
        by_segment = gate.segment.estimate >= self.effect and gate.segment.lower > 0
        features = gate.view.gain_features if by_segment else ()
        parts |= {"features": features, "remedy": _remedy(run, features)}
        words = self._wrong_words(gate, features, by_segment=by_segment, raised=severity != "observation")
        if level := wrong_level(run):
            words = f"{_level_words(level)}; {words[0].lower()}{words[1:]}"
            parts["explains"] += tuple(Symptom(code=code) for code in OF_LEVEL)
        decisive = max(gate.gain, gate.segment, key=lambda gain: -inf if isnan(gain.lower) else gain.lower)
        return _finding(rule, severity, words, decisive, **parts)

    def _wrong_words(self, gate: GateInputs, features: Sequence[str], *, by_segment: bool, raised: bool) -> str:
        """Say which way the uncertainty is wrong, and what recalibration lowers the log loss by."""
        gap = "; ".join(filter(None, (gate.words, gate.view.events_words)))
        gap = f"{gap[0].upper()}{gap[1:]}."
        if not raised:
            return (
                f"A calibration test rejects, but recalibration is not shown to lower the log loss by {self.effect:g} "
                f"nats: by {gate.gain.words}. {gap}"
            )
        lowered = []
        if gate.gain.estimate >= self.effect:
            least = "at least " if gate.gain.lower > 0 else ""
            lowered.append(f"recalibration lowers the log loss by {least}{gate.gain.words} per observation")
        if by_segment:
            segments = f"segments of {listed(map(short, features))}" if features else "segments"
            least = gate.segment.words
            lowered.append(f"a spread by {segments} lowers the log loss by at least {least} per observation")
        words = "; ".join(lowered)
        return f"{gap} {words[0].upper()}{words[1:]}."

    def _unjudged(self, rule: Rule, gate: GateInputs, few: Distrust) -> tuple[Finding, int | None]:
        """Return the finding, and the sample size that decides: where events are few, the one that has enough."""
        size = gate.view.gap_size(self.margin)
        needed = size.rounded if size is not None and size.is_larger else None
        by_coverage = not gate.reach >= self.margin and gate.missed.upper >= self.pass_margin
        statement = f"The sample (n = {gate.view.n:,}) does not show whether the predictive uncertainty is calibrated: "
        statement += f"{gate.missed.words}." if by_coverage else self._open(gate, size)
        if few.reason:
            needed = None if isnan(few.rows) else ceil(few.rows)
            enough = f" About {needed:,} observations are needed if their share stays as it is." if needed else ""
            both = "Whether the model is calibrated, and what drives the loss, is inconclusive"
            statement = f"{both}: {few.reason}.{enough}"
        remedy = f"Audit the model on {f'about {needed:,}' if needed else 'more'} new observations."
        numbers, threshold = (gate.gap, gate.lower, gate.upper), self.margin
        if by_coverage:
            numbers, threshold = (gate.missed.excess, gate.missed.lower, gate.missed.upper), self.pass_margin
        return _finding(rule, rule.severity, statement, numbers, remedy=remedy, threshold=threshold), needed

    def _open(self, gate: GateInputs, size: SampleSize | None) -> str:
        """Say what keeps the gap from passing, and how many rows would let it pass."""
        reasons = {omission.measure: omission.reason for omission in gate.view.omissions}
        if isnan(gate.gap):
            uncompared = "the stated uncertainty could not be compared with the outcomes"
            return f"{reasons.get(outcomes.CONFIDENCE_GAP, uncompared)}."
        if isnan(gate.lower):
            return "one observation or cluster gives no interval."
        if isnan(gate.gain.estimate):
            return f"{reasons.get(outcomes.SHAPE_GAIN, 'what recalibration gains is not known')}."
        enough = "" if size is None else f" {size.sentence}"
        return f"{gate.words}, and the tolerance is ±{self.margin:g} nats.{enough}"

    def _passed(self, gate: GateInputs) -> str:
        known = not isnan(gate.missed.excess)
        if known and isnan(gate.gap):
            return f"The stated coverage is kept: {gate.missed.words}."
        held = f" Of its label sets, {gate.missed.words}." if known else ""
        within = f"{gate.words}, within ±{self.margin:g} nats; no test rejects"
        return f"The predictive uncertainty is calibrated on average: {within}.{held}"


def _level_words(line: ComparisonLine) -> str:
    """Say that the probabilities of a class are too high or too low on average."""
    side = "high" if line.estimate > 0 else "low"
    mean = f"the mean probability of {short(line.of)} is {share_words(line.value)}"
    return f"Predictions are too {side} on average: {mean}, its share {share_words(line.reference)}"


def _remedy(run: Run, features: Sequence[str] = ()) -> str:
    """Return what to do about the spread, which may be one that was assumed, or to depend on features."""
    assumption = SubjectFacts.of(run).assumption
    if assumption is None:
        spread = f"Let the spread depend on {listed(map(short, features))}, and audit the model again."
        return spread if features else "Recalibrate the model on held-out observations and audit it again."
    modelled = "Let the assumed spread vary by observation, residuals=uq.Residuals(scale='modelled')"
    other = "Assume another distribution of the residuals, such as form='empirical'"
    return f"{modelled if assumption.scale == 'constant' else other}, and audit it again."


def _finding(
    rule: Rule, severity: Severity, statement: str, numbers: tuple[float, float, float], **parts: Any
) -> Finding:
    interval = span(*numbers) | ({"observed": None} if isnan(numbers[0]) else {})
    return rule.finding(severity, statement, (ids.CALIBRATION,), measures=MEASURES, **interval, **parts)
