"""Policy: thresholds that the owner of the model has set, judged with intervals; and the grammar of its rules."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isnan, nan
from types import MappingProxyType
from typing import Any, ClassVar, Literal, NamedTuple

from ..core.statistics.verdicts import SampleSize, beyond, largest
from ..core.support.errors import InputError, check_options, nearest
from ..core.support.numbers import number, value_words
from ..core.support.text import clean, short
from ..evidence import ids
from ..evidence.finding import SEVERITIES, Finding, Outcome, Severity
from ..evidence.information import AgreementView, ItemLine, RankLine
from ..evidence.outcomes import CONFIDENCE_GAP, LOG_SCORE, LOG_SCORE_SKILL, CalibrationView, Coverage
from ..evidence.rows import OUTSIDE, SupportView
from ..evidence.run import Run
from ..evidence.subject import SubjectFacts
from ..evidence.view import by_feature
from .reading import absent, lacking, listed, measure_words, method_words
from .rule import Rule, verbatim

COVERAGE = "coverage"
# What a rule may limit: its name in the rule -> the result and its item.
QUANTITIES: Mapping[str, tuple[type[CalibrationView] | type[SupportView], str]] = MappingProxyType({
    "off-support share": (SupportView, OUTSIDE),
    "nll": (CalibrationView, LOG_SCORE),
    "nll_skill": (CalibrationView, LOG_SCORE_SKILL),
    **{name: (CalibrationView, name) for name in (
        CONFIDENCE_GAP, "brier", "crps", "interval_score", "miscoverage", "squared_error", "recalibration_gain",
        "mean_error", "accuracy", "roc_auc", "r2", "brier_skill", "crps_skill", "ece", "pit_distance", "coverage_gap",
    )},
})  # fmt: skip
# The difference from a limit that a sample size is advised for; of other quantities `SHARE` of the limit.
DIFFERENCES: Mapping[str, float] = MappingProxyType({
    **dict.fromkeys(("roc_auc", "r2", "accuracy", "miscoverage", COVERAGE, "off-support share"), 0.03),
    **dict.fromkeys(("nll", "nll_skill", CONFIDENCE_GAP, "recalibration_gain"), 0.05),
})  # fmt: skip
SHARE = 0.1
FORMS = "'FEATURE [not] in top K of MEASURE [by METHOD]', 'coverage LEVEL >= VALUE' or 'QUANTITY <= VALUE'"
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_RANK = re.compile(
    r"(?:'(?P<quoted>[^']+)'|(?P<plain>.+?))\s+(?P<no>not\s+)?in\s+top\s+(?P<top>\d+)\s+of\s+(?P<measure>\w+)"
    r"(?:\s+by\s+(?P<method>[\w.]+))?",
    re.DOTALL,
)
_LIMIT = re.compile(
    rf"(?P<quantity>[a-zA-Z][\w -]*?)(?:\s+(?P<level>\d+(?:\.\d+)?))?\s*(?P<side><=|>=)\s*(?P<value>{_NUMBER})"
)
_LOSS = MappingProxyType({"classification": "brier", "survival": "nll"})
State = Literal["holds", "broken", "undetermined"]
# verdict and remedy of a broken rule, and of an open one
VERDICTS = (
    (
        "is broken",
        "Change the model or restrict its use, or obtain a waiver of the rule with an expiry date from the owner.",
    ),
    ("is inconclusive", "Increase the test sample, or run the method that the rule needs."),
)
UNDETERMINED = (
    "The confidence interval contains the limit of the rule, there is no interval, or the quantity was not computed."
)
RESTS_ON = "A rule of the model's owner, in the settings of this audit"


@dataclass(frozen=True)
class Policy:
    """Judges the rules of the model's owner; each by its own interval, and none passes while it is undetermined.

    A rule is one of::

        FEATURE [not] in top K of MEASURE [by METHOD]     'postcode not in top 3 of entropy'
        coverage LEVEL >= VALUE                           'coverage 90 >= 0.88'
        QUANTITY <= VALUE                                 'nll <= 0.6', 'off-support share <= 0.1'

    ``<=`` and ``>=`` both work. A feature may be in single quotes. METHOD is permutation importance by default,
    MEASURE one that it ranked, or ``loss``. LEVEL is in percent. QUANTITY is nll, brier, crps, interval_score,
    miscoverage, squared_error, confidence_gap, recalibration_gain, mean_error, accuracy, roc_auc, r2, nll_skill,
    brier_skill, crps_skill, off-support share (by construction 5% for observations drawn as the training sample), or
    one of ece, pit_distance and coverage_gap, which have no interval and so stay undetermined.

    A rule is broken if the interval excludes what it asks for (UQ951), holds if it excludes everything
    else, and is inconclusive otherwise (UQ952). Rules are not adjusted for their number: at a true value
    just at the threshold, each is called broken in at most 2.5% of samples (95% CI).

    Parameters
    ----------
    require : tuple of str
        The rules: ``options={"checks.policy": {"require": [...]}}``.
    severity : {"critical", "high", "medium", "low"}
        Of a broken rule; an inconclusive rule is one step lower, at least low.

    Examples
    --------
    >>> Policy(require=("postcode in the top 3",))
    Traceback (most recent call last):
    uq_report.core.support.errors.InputError: policy.require[0] must be 'FEATURE [not] in top K of MEASURE ...
    """

    require: tuple[str, ...] = ()
    severity: Severity = "high"

    name: ClassVar[str] = "policy"
    title: ClassVar[str] = "Policy of the model's owner"
    api_version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        """Refuse rules that do not follow the grammar."""
        require: Sequence[str] = self.require  # a text is a sequence of texts too
        if isinstance(require, str):
            raise InputError(f"policy.require must be a list of rules; got the text {require!r}.")
        object.__setattr__(self, "require", tuple(require))
        allowed = SEVERITIES[:-1]
        check_options(self.name, self, (("severity", self.severity in allowed, f"one of {allowed}"),))
        parse(self.require)

    @property
    def rules(self) -> tuple[Rule, Rule]:
        """The two ways a rule can fail, with the owner's rules; the second is one step less severe, at least low."""
        lower = SEVERITIES[min(SEVERITIES.index(self.severity) + 1, SEVERITIES.index("low"))]
        words = f"The owner's rules: {'; '.join(self.require)}." if self.require else "The owner has stated no rule."
        broken = f"The confidence interval excludes the limit that the rule sets. {verbatim(words)}"
        return (
            _rule("UQ951", "A policy rule is broken", broken, "broken", self.severity),
            _rule("UQ952", "A policy rule is inconclusive", UNDETERMINED, "undetermined", lower),
        )

    def check(self, run: Run) -> Outcome:
        """Judge every rule on its own."""
        if not self.require:
            return Outcome(check=self.name, state="not_applicable", reason="the owner has stated no rule")
        rulings = [rule.judge(run) for rule in parse(self.require)]
        findings = tuple(finding for ruling in rulings for finding in self._findings(ruling))
        if findings:
            size = largest(ruling.size for ruling in rulings)
            needed = size.rounded if size is not None and size.is_larger else None
            return Outcome(check=self.name, state="found", findings=findings, n_needed=needed)
        words = [f"'{clean(ruling.rule)}' holds: {ruling.words}." for ruling in rulings]
        return Outcome(check=self.name, state="passed", reason=" ".join(words))

    def _findings(self, ruling: Ruling) -> Iterator[Finding]:
        for rule, (verdict, remedy) in zip(self.rules, VERDICTS, strict=True):
            severity = rule.judge(**{ruling.state: 1.0})
            if severity is not None:
                end = "" if ruling.words[-1] in ".?" else "."
                size = f" {ruling.size.sentence}" if ruling.size else ""
                text = f"The rule '{clean(ruling.rule)}' {verdict}: {ruling.words}{end}{size}"
                yield rule.finding(severity, text, ruling.evidence, remedy=remedy, **ruling.about)


def _rule(code: str, title: str, when: str, state: str, severity: Severity) -> Rule:
    raised = (f"{state} > 0",)
    return Rule(code=code, title=title, when=when, raised=raised, grades=(severity,), rests_on=RESTS_ON)


class Ruling(NamedTuple):
    """How one rule stands on a run, in words, with what it was read from; `about` holds fields of `Finding`."""

    rule: str
    state: State
    words: str
    evidence: tuple[str, ...]
    about: Mapping[str, Any]
    size: SampleSize | None = None


@dataclass(frozen=True)
class RankRule:
    """Whether a feature may, or must, be among the `top` of one ranking."""

    text: str
    feature: str
    top: int
    measure: str
    method: str
    inside: bool

    def judge(self, run: Run) -> Ruling:
        """Judge by the simultaneous rank interval."""
        about: dict[str, Any] = {"features": (self.feature,), "threshold": float(self.top)}
        line = self._line(run)
        if isinstance(line, str):
            return Ruling(self.text, "undetermined", line, (AgreementView.id,), about)
        inside, outside = line.upper <= self.top, line.lower > self.top
        state: State = "undetermined" if not (inside or outside) else "holds" if inside == self.inside else "broken"
        reach = f"{line.lower:.0f} to {line.upper:.0f}" if line.lower < line.upper else "without overlap"
        ranking = f"{measure_words(line.measure)} by {method_words(self.method)}"
        words = f"{short(self.feature)} has rank {line.estimate:.0f} ({reach}) for {ranking}"
        about |= {"measures": (line.measure,), "observed": line.estimate, "lower": line.lower, "upper": line.upper}
        return Ruling(self.text, state, words, (AgreementView.id, self.method), about)

    def _line(self, run: Run) -> RankLine | str:
        """Return the rank of the feature, or why there is none with an interval."""
        view = AgreementView.find(run)
        if view is None:
            return absent(run, AgreementView.id)
        measure = _LOSS.get(SubjectFacts.of(run).task, "squared_error") if self.measure == "loss" else self.measure
        ranking = by_feature(line for line in view.lines if (line.item, line.measure) == (self.method, measure))
        if not ranking:
            rankings = dict.fromkeys(f"{line.measure} by {line.item}" for line in view.lines)
            there_are = f"There are rankings of {listed(rankings, len(rankings))}."
            return f"{method_words(self.method)} has no ranking for {measure_words(measure)}. {there_are}"
        line = ranking.get(self.feature)
        if line is None:
            return f"the ranking has no such feature. {nearest(self.feature, ranking)}"
        return line if line.has_interval else f"the ranks by {method_words(self.method)} have no interval"


@dataclass(frozen=True)
class LimitRule:
    """A quantity that must be at most, or at least, a value; a coverage has a `level`, in percent."""

    text: str
    quantity: str
    level: float | None
    at_least: bool
    threshold: float

    def judge(self, run: Run) -> Ruling:
        """Judge by the quantity's interval."""
        kind, item = QUANTITIES.get(self.quantity, (Coverage, COVERAGE))
        view, about = kind.find(run), dict[str, Any](threshold=self.threshold)
        if view is None:  # the absence of its explainer's results is the evidence
            evidence = (ids.explainer_of(kind.id),)
            return Ruling(self.text, "undetermined", absent(run, kind.id), evidence, about)
        line = self._line(view, item)
        if isinstance(line, str):
            return Ruling(self.text, "undetermined", line, (kind.id,), about)
        value = f"{number(line.estimate)}, without an interval"
        state: State = "undetermined"
        about["observed"] = line.estimate
        if not (isnan(line.lower) or isnan(line.upper)):
            value, state = value_words(line.estimate, line.lower, line.upper), self._state(line)
            about |= {"lower": line.lower, "upper": line.upper}
        name = self.quantity if self.level is None else f"{self.quantity} of {self.level:g}% prediction intervals"
        size = self._size(run, line, name) if state == "undetermined" else None
        return Ruling(self.text, state, f"{name} is {value}", (kind.id,), about, size)

    def _size(self, run: Run, line: ItemLine, name: str) -> SampleSize | None:
        """Return the sample size that decides where the quantity differs from the limit by a stated amount."""
        n, difference = SubjectFacts.of(run).n, DIFFERENCES.get(self.quantity, SHARE * abs(self.threshold))
        low, high = (number(self.threshold + side * difference) for side in (-1, 1))
        given = f"the true {name} is {high} or more, or {low} or less"
        return None if n is None else beyond(n, line.std_error, difference, given, confidence=line.confidence)

    def _line(self, view: CalibrationView | SupportView | Coverage, item: str) -> ItemLine | str:
        """Return the quantity, or why there is none."""
        if not isinstance(view, Coverage):
            return next((line for line in view.lines if line.item == item), lacking(view, item))
        levels = {round(100 * line.x, 7): line for line in view.lines if line.item == item}
        computed = listed([f"{level:g}%" for level in levels])
        return levels.get(round(self.level or nan, 7), f"coverage was computed at {computed} only")

    def _state(self, line: ItemLine) -> State:
        """Compare both ends of the interval with the threshold."""
        sign = 1.0 if self.at_least else -1.0  # sign * quantity must be at least sign * threshold
        least, most = sorted((sign * line.lower, sign * line.upper))
        if least >= sign * self.threshold:
            return "holds"
        return "broken" if most < sign * self.threshold else "undetermined"


def parse(texts: Sequence[str]) -> tuple[RankRule | LimitRule, ...]:
    """Return the rules of these texts; refuse the first that does not follow the grammar.

    Examples
    --------
    >>> parse(["coverage 90 >= 0.88"])[0].threshold
    0.88
    >>> parse(["crsp <= 1"])
    Traceback (most recent call last):
    uq_report.core.support.errors.InputError: policy.require[0] must limit a known quantity; got 'crsp <= 1'. ...
    """
    return tuple(_parsed(place, text) for place, text in enumerate(texts))


def _parsed(place: int, text: str) -> RankRule | LimitRule:
    for form, make in ((_RANK, _rank), (_LIMIT, _limit)):
        match = form.fullmatch(text.strip()) if isinstance(text, str) else None
        if match is not None:
            return make(place, text, match)
    raise InputError(f"policy.require[{place}] must be {FORMS}; got {text!r}.")


def _rank(place: int, text: str, match: re.Match[str]) -> RankRule:
    top = int(match["top"])
    if top < 1:
        raise InputError(f"policy.require[{place}] must name a K of at least 1; got {text!r}.")
    feature = match["quoted"] or match["plain"]
    return RankRule(text, feature, top, match["measure"], match["method"] or ids.PFI, inside=not match["no"])


def _limit(place: int, text: str, match: re.Match[str]) -> LimitRule:
    name, level = match["quantity"], match["level"]
    if name not in (*QUANTITIES, COVERAGE):
        hint = nearest(name, (*QUANTITIES, COVERAGE))
        raise InputError(f"policy.require[{place}] must limit a known quantity; got {text!r}. {hint}")
    if (name == COVERAGE) != (level is not None) or (level is not None and not 0 < float(level) < 100):
        expected = "a level between 0 and 100, as in 'coverage 90 >= 0.88'" if name == COVERAGE else f"{name} alone"
        raise InputError(f"policy.require[{place}] must name {expected}; got {text!r}.")
    return LimitRule(text, name, None if level is None else float(level), match["side"] == ">=", float(match["value"]))
