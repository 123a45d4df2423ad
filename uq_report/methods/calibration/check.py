"""The calibration gate: whether a model's uncertainty may be explained as if it were right."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, inf, isnan, nan
from typing import Any, ClassVar, NamedTuple

from ...checks.reading import absent
from ...checks.rule import Rule
from ...core.statistics.interval_reliability import LEAST_EVENTS, Distrust, few_events
from ...core.support.errors import check_options
from ...core.support.numbers import share_words, value_words
from ...core.support.text import count
from ...evidence import ids
from ...evidence.finding import Finding, Outcome, Severity, Symptom
from ...evidence.outcomes import CONFIDENCE_GAP, CalibrationView, ScoreLine, rows_within
from ...evidence.run import Run
from ...evidence.subject import SubjectFacts
from ..shared.checks import class_counts, events, positive, shares, span

MEASURES = (
    "nll", "entropy", "width", "set_size", "variance", "aleatoric", "epistemic", "aleatoric_variance",
    "epistemic_variance",
)  # fmt: skip
RESTS_ON = "E_q[−log q(Y)] = H(q): loss and entropy agree on average when y follows the model (confidence gap)"
GAP, GAIN, COVERAGE_GAP, MISCOVERAGE = CONFIDENCE_GAP, "recalibration_gain", "coverage_gap", "miscoverage"
_OFF = ("estimate", "null_mean", "p_adjusted")  # what `Off` reads of a score


class Undercoverage(NamedTuple):
    """By how much more rows than `stated` lie outside, with its 90 % interval; NaN without intervals or sets."""

    stated: float = nan
    excess: float = nan
    lower: float = nan
    upper: float = nan
    p_adjusted: float = nan

    @classmethod
    def of(cls, line: ScoreLine | None) -> Undercoverage:
        """Return what a line of the calibration result says; nothing is known without one."""
        if line is None:
            return cls()
        may = line.null_mean
        return cls(may, line.estimate - may, line.lower_90 - may, line.upper_90 - may, line.p_adjusted)

    @property
    def known(self) -> bool:
        """Whether the model promises to hold outcomes at all."""
        return not isnan(self.excess)

    @property
    def words(self) -> str:
        """What is missed, and what may be."""
        share, lower, upper = (self.stated + part for part in (self.excess, self.lower, self.upper))
        return (
            f"{share_words(share, lower, upper, confidence=0.9)} of the outcomes lie outside what should hold all but "
            f"{share_words(self.stated)}"
        )


class CoverageError(NamedTuple):
    """By how much the coverage of a central interval is off beyond chance, NaN where a gap or a gain can be judged."""

    share: float = nan
    chance: float = nan
    p_adjusted: float = nan

    @property
    def excess(self) -> float:
        """What is more than in outcomes drawn from the model."""
        return self.share - self.chance

    @property
    def words(self) -> str:
        """How far off it is, and what chance does."""
        return (
            f"the share of outcomes in one of them is off by {share_words(self.share)}, where outcomes drawn from the "
            f"model would give {share_words(self.chance)}"
        )


class GateInputs(NamedTuple):
    """What the gate reads from a result: the gap and what recalibration saves at 90 %, NaN where it is not known."""

    gap: float
    lower: float
    upper: float
    gain: float
    gain_lower: float
    gain_upper: float
    p_adjusted: float
    missed: Undercoverage
    off: CoverageError
    view: CalibrationView

    @property
    def reach(self) -> float:
        """How far from 0 the gap may be: infinitely without an interval, NaN of intervals, which have no gap."""
        if isnan(self.gap) and self.missed.known:
            return nan
        return inf if isnan(self.lower) else max(-self.lower, self.upper)

    @property
    def observed(self) -> dict[str, float]:
        """What the rule on failing judges: what recalibration would save; where that is not known, the size of G."""
        saved, surely = self.gain, self.gain_lower
        if isnan(saved):
            saved, surely = abs(self.gap), max(self.lower, -self.upper)
        tests = {"infinite": self.view.infinite_nll, "p_adjusted": self.p_adjusted}
        missed = {"missed": self.missed.excess, "missed_surely": self.missed.lower, "missed_p": self.missed.p_adjusted}
        missed |= {"off": self.off.excess, "off_p": self.off.p_adjusted}
        return {**tests, **missed, "gap": abs(self.gap), "saved": saved, "surely": surely}


@dataclass(frozen=True)
class CalibrationGate:
    """Fails, passes, or cannot be judged at this n; the last two are never merged.

    Fails (UQ101) when a Holm-adjusted calibration test rejects **and** the effect matters: the
    confidence gap G or the recalibration gain is at least `effect` nats; or when the nll is infinite
    somewhere. It is graded by the gain: a gap that no recalibration closes is an observation. Passes
    when the 90 % interval of G lies within ±`margin` nats and nothing fails. Anything else cannot be
    judged (UQ102), and neither can a sample with few rows of the rarer class.

    Prediction intervals and label sets promise to hold at least their stated share of the outcomes: the gate
    fails when an exact test rejects that and `missed` of the rows more than stated lie outside, and passes when
    the 90 % interval of that excess ends below `room`. Where there is no density, that alone is judged; and of a
    distribution without one, which has a coverage but no gap, the gate fails when the test of the coverage rejects and
    that of one central interval is off by `missed` more than chance does.

    Parameters
    ----------
    level : float
        Level of the tests, Holm-adjusted.
    effect, medium, high : float
        In nats: from which gap or gain it is raised, and from which gain it is low, medium or high.
    margin : float
        In nats: within which the gap must lie for the gate to pass.
    missed, room : float
        Shares of rows: from which excess outside intervals or sets the gate fails, and below which it may pass.
    """

    level: float = 0.05
    effect: float = 0.02
    medium: float = 0.05
    high: float = 0.1
    margin: float = 0.05
    missed: float = 0.02
    room: float = 0.05

    name: ClassVar[str] = ids.CALIBRATION
    title: ClassVar[str] = "CalibrationView"
    api_version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        """Refuse thresholds that cannot be used."""
        limits = (*shares(self, "level", "missed", "room"), *positive(self, "effect", "medium", "high", "margin"))
        check_options(self.name, self, limits)

    @property
    def rules(self) -> tuple[Rule, Rule]:
        """The two rules, with this gate's thresholds."""
        graded = ("level", "effect", "medium", "high", "missed")
        return (
            Rule(
                code="UQ101",
                title="The stated uncertainty does not match the outcomes",
                thresholds={**{name: getattr(self, name) for name in graded}, "some": 0.05, "many": 0.1},
                when="A calibration test rejects (level {level}, Holm-adjusted) and the confidence gap or the "
                "recalibration gain is at least {effect} nats, or the negative log-likelihood is infinite. High where "
                "it is infinite or the gain is at least {high} nats, medium from {medium}, low from {effect}, each "
                "with an interval above 0, else an observation. Where the gain is not known the gap's size counts. "
                "Likewise where {missed:pct} of the rows more than stated lie outside prediction intervals or label "
                "sets, or, without a density, the coverage of a central interval is off by so much beyond chance: "
                "medium from {some:pct}, high from {many:pct}.",
                raised=(
                    "missed_p <= level and missed >= missed",
                    "off_p <= level and off >= missed",
                    "infinite > 0",
                    "p_adjusted <= level and saved >= effect",
                    "p_adjusted <= level and gap >= effect",
                ),
                grades=(
                    "high if infinite > 0",
                    "high if saved >= high and surely > 0",
                    "high if missed >= many and missed_surely > 0",
                    "high if off >= many",
                    "medium if missed >= some and missed_surely > 0",
                    "medium if off >= some",
                    "medium if saved >= medium and surely > 0",
                    "low if saved >= effect and surely > 0",
                    "low if missed >= missed and missed_surely > 0",
                    "low if off >= missed",
                    "observation",
                ),
                rests_on=RESTS_ON,
            ),
            Rule(
                code="UQ102",
                title="Too few rows to judge the stated uncertainty",
                thresholds={"margin": self.margin, "events": LEAST_EVENTS, "room": self.room},
                when="UQ101 does not hold, and the 90 % interval of the gap is not within ±{margin} nats; or fewer "
                "than {events} rows are outside the most frequent class; or {room:pct} of the rows more than stated "
                "may lie outside prediction intervals or label sets, by a 90 % interval.",
                # a gap without an interval reaches infinitely far
                raised=("reach >= margin", "events < events", "missed >= room"),
                rests_on=RESTS_ON,
            ),
        )

    def check(self, run: Run) -> Outcome:
        """Judge the run's calibration result."""
        view = CalibrationView.find(run)
        if view is None:
            return Outcome(check=self.name, state="not_applicable", reason=absent(run, ids.CALIBRATION))
        gap, counts = _read(view), class_counts(run)
        fails, unjudged = self.rules
        few = few_events(int(events(counts)), sum(counts)) if counts else Distrust()
        severity = fails.judge(**gap.observed)
        if severity and (view.infinite_nll or not few.reason):
            return Outcome(check=self.name, state="found", findings=(self._failed(fails, gap, severity, _remedy(run)),))
        if unjudged.judge(reach=gap.reach, events=events(counts), missed=gap.missed.upper):
            return Outcome(check=self.name, state="found", findings=(self._unjudged(unjudged, gap, few),))
        return Outcome(check=self.name, state="passed", reason=self._passed(gap))

    def _failed(self, rule: Rule, gap: GateInputs, severity: Severity, remedy: str) -> Finding:
        parts: dict[str, Any] = {"severity": severity, "remedy": remedy, "explains": (Symptom(code="UQ003"),)}
        missed = gap.missed
        if missed.p_adjusted <= self.level and missed.excess >= self.missed and not gap.view.infinite_nll:
            what = "prediction intervals" if isnan(gap.gap) else "label sets"
            words = f"Its {what} do not hold what they state: {missed.words}."
            return _finding(rule, words, missed.excess, missed, threshold=self.missed, **parts)
        if not isnan(gap.off.excess):
            words = f"Its central intervals do not hold what they state: {gap.off.words}."
            return _finding(rule, words, gap.off.excess, Undercoverage(), threshold=self.missed, **parts)
        observed = nan if gap.view.infinite_nll else gap.observed["saved"]
        return _finding(rule, _wrong_words(gap), observed, gap, threshold=self.effect, **parts)

    def _unjudged(self, rule: Rule, gap: GateInputs, few: Distrust) -> Finding:
        """Return what would decide: more rows of the rarer class, which the importances for the loss need too."""
        needed = rows_within(gap.gap, gap.lower, gap.upper, self.margin, gap.view.n)
        statement = self._doubt(gap, needed)
        if few.reason:
            needed = None if isnan(few.rows) else ceil(few.rows)
            enough = f" About {needed} rows would do if their share stays as it is." if needed else ""
            both = "Neither the stated uncertainty nor what drives the loss can be judged"
            statement = f"{both}: {few.reason}.{enough}"
        remedy = f"Audit the model on {f'about {needed}' if needed else 'more'} unseen rows."
        if not gap.reach >= self.margin and gap.missed.upper >= self.room:
            return _finding(rule, statement, gap.missed.excess, gap.missed, remedy=remedy, threshold=self.room)
        return _finding(rule, statement, gap.gap, gap, remedy=remedy, threshold=self.margin)

    def _doubt(self, gap: GateInputs, needed: int | None) -> str:
        """Say what keeps the gate from passing, and how many rows would let it pass."""
        start = f"{count(gap.view.n, 'row')} cannot tell whether the stated uncertainty is right"
        if not gap.reach >= self.margin and gap.missed.upper >= self.room:
            return f"{start}: {gap.missed.words}."
        if isnan(gap.gap):
            reasons = {omission.measure: omission.reason for omission in gap.view.omissions}
            return f"{start}: {reasons.get(GAP, 'how sure the model is could not be held against the outcomes')}."
        if isnan(gap.lower):
            return f"{start}: one row or cluster gives no interval."
        enough = f" About {needed} would, if gap and spread stay as they are." if needed else ""
        rejected = ". A calibration test rejects, with a small effect" if gap.p_adjusted <= self.level else ""
        return f"{start}: {_gap_words(gap)}, and the limit is ±{self.margin:g} nats{rejected}.{enough}"

    def _passed(self, gap: GateInputs) -> str:
        if gap.missed.known and isnan(gap.gap):
            return f"The stated coverage is kept: {gap.missed.words}."
        tests = "a test rejects, with a small effect" if gap.p_adjusted <= self.level else "no test rejects"
        held = f" Of its label sets, {gap.missed.words}." if gap.missed.known else ""
        words = f"The stated uncertainty is right on average: {_gap_words(gap)}, within ±{self.margin:g} nats; {tests}."
        return words + held


def _remedy(run: Run) -> str:
    """Say what to do; a constant spread that was assumed is modelled before anything is recalibrated."""
    assumption = SubjectFacts.of(run).assumption
    if assumption is not None and assumption.scale == "constant":
        return "Let the assumed spread depend on the row, residuals=uq.Residuals(scale='modelled'), and audit it again."
    if assumption is not None:
        return "Assume another distribution of the residuals, such as form='empirical', and audit it again."
    return "Recalibrate the model on held-out rows and audit it again."


def _read(view: CalibrationView) -> GateInputs:
    lines = {line.item: line for line in view.lines}
    gap, lower, upper, gain, gain_lower, gain_upper = (
        getattr(lines.get(item), name, nan) for item in (GAP, GAIN) for name in ("estimate", "lower_90", "upper_90")
    )
    tests = (line.p_adjusted for line in view.lines if line.item != MISCOVERAGE and not isnan(line.p_adjusted))
    coverage, missed = lines.get(COVERAGE_GAP), Undercoverage.of(lines.get(MISCOVERAGE))
    bare = isnan(gap) and isnan(gain) and not view.infinite_nll
    off = (
        CoverageError(*(getattr(coverage, name) for name in _OFF)) if bare and coverage is not None else CoverageError()
    )
    p = min(tests, default=nan)
    return GateInputs(gap, lower, upper, gain, gain_lower, gain_upper, p, missed, off, view)


def _finding(
    rule: Rule,
    statement: str,
    observed: float,
    limits: GateInputs | Undercoverage,
    severity: Severity | None = None,
    **parts: Any,
) -> Finding:
    numbers = span(observed, limits.lower, limits.upper) | ({"observed": None} if isnan(observed) else {})
    about = {"measures": MEASURES, **numbers, **parts}
    return rule.finding(severity or rule.severity, statement, (ids.CALIBRATION,), **about)


def _wrong_words(gap: GateInputs) -> str:
    """Say how the stated uncertainty is wrong."""
    if gap.view.infinite_nll:
        rows = count(gap.view.infinite_nll, "row")
        return f"In {rows} the model gave what happened a probability of 0. Its stated uncertainty is wrong there."
    words = "; ".join(filter(None, (_gap_words(gap), gap.view.events_words)))
    return f"The outcomes do not follow the stated probabilities: {words}.{_saved(gap)}"


def _saved(gap: GateInputs) -> str:
    """Say what recalibration would save, and where that is not shown to be above 0, its interval."""
    if isnan(gap.gain):
        return ""
    if gap.gain_lower > 0:
        return f" Recalibration would save {value_words(gap.gain, unit='nats')} a row."
    words = value_words(gap.gain, gap.gain_lower, gap.gain_upper, "nats", confidence=0.9)
    return f" Recalibration is not shown to lower the loss: by {words} a row."


def _gap_words(gap: GateInputs) -> str:
    if isnan(gap.gap):
        return "the confidence gap is not known"
    if not (gap.lower > 0 or gap.upper < 0):
        return f"the confidence gap is {value_words(gap.gap, gap.lower, gap.upper, 'nats', confidence=0.9)}"
    low, high = sorted((abs(gap.lower), abs(gap.upper)))
    size = value_words(abs(gap.gap), low, high, "nats", confidence=0.9)
    return f"the model is {'over' if gap.gap > 0 else 'under'}-confident by {size}"
