"""The grammar of policy rules, and what each asks of a run."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan, nan
from types import MappingProxyType
from typing import Literal, NamedTuple

from ..core.errors import InputError, nearest
from ..core.numbers import number, value_words
from ..core.text import short
from ..evidence import ids
from ..evidence.information import Agreement, ItemLine, RankLine
from ..evidence.outcomes import CONFIDENCE_GAP, LOG_SCORE, LOG_SCORE_SKILL, Calibration, Coverage
from ..evidence.rows import OUTSIDE, Support
from ..evidence.run import Run
from ..evidence.subject import SubjectFacts
from ..evidence.view import by_feature
from .reading import absent, lacking, listed, measure_words, method_words

COVERAGE = "coverage"
# What a rule may limit: its name in the rule -> the result and its item.
QUANTITIES: Mapping[str, tuple[type[Calibration] | type[Support], str]] = MappingProxyType({
    "off-support share": (Support, OUTSIDE),
    "nll": (Calibration, LOG_SCORE),
    "nll_skill": (Calibration, LOG_SCORE_SKILL),
    **{name: (Calibration, name) for name in (
        CONFIDENCE_GAP, "brier", "crps", "squared_error", "recalibration_gain", "mean_error", "accuracy", "roc_auc",
        "brier_skill", "crps_skill", "ece", "pit_distance", "coverage_gap",
    )},
})  # fmt: skip
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
_LOSS = MappingProxyType({"classification": "brier"})

State = Literal["holds", "broken", "undetermined"]


class Ruling(NamedTuple):
    """How one rule stands on a run, in words, with what it was read from."""

    rule: str
    state: State
    words: str
    evidence: tuple[str, ...]
    features: tuple[str, ...] = ()
    measures: tuple[str, ...] = ()
    threshold: float | None = None
    observed: float | None = None
    lower: float | None = None
    upper: float | None = None


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
        agreement = Agreement.find(run)
        if agreement is None:
            return self._open(absent(run, Agreement.id))
        measure = _LOSS.get(SubjectFacts.of(run).task, "squared_error") if self.measure == "loss" else self.measure
        ranking = by_feature(line for line in agreement.lines if (line.item, line.measure) == (self.method, measure))
        if not ranking:
            rankings = dict.fromkeys(f"{line.measure} by {line.item}" for line in agreement.lines)
            return self._open(
                f"{method_words(self.method)} has no ranking for {measure_words(measure)}. "
                f"There are rankings of {listed(rankings, len(rankings))}."
            )
        line = ranking.get(self.feature)
        if line is None:
            return self._open(f"the ranking has no such feature. {nearest(self.feature, ranking)}")
        if not line.has_interval:
            return self._open(f"the ranks by {method_words(self.method)} have no interval")
        return self._ruled(line)

    def _ruled(self, line: RankLine) -> Ruling:
        inside, outside = line.upper <= self.top, line.lower > self.top
        state: State = "undetermined" if not (inside or outside) else "holds" if inside == self.inside else "broken"
        reach = f"{line.lower:.0f} to {line.upper:.0f}" if line.lower < line.upper else "for sure"
        return Ruling(
            rule=self.text,
            state=state,
            words=f"{short(self.feature)} has rank {line.estimate:.0f} ({reach}) for {measure_words(line.measure)} by "
            f"{method_words(self.method)}",
            evidence=(ids.AGREEMENT, self.method),
            features=(self.feature,),
            measures=(line.measure,),
            threshold=float(self.top),
            observed=line.estimate,
            lower=line.lower,
            upper=line.upper,
        )

    def _open(self, reason: str) -> Ruling:
        return Ruling(self.text, "undetermined", reason, (ids.AGREEMENT,), (self.feature,), threshold=float(self.top))


@dataclass(frozen=True)
class LimitRule:
    """A quantity that must be at most, or at least, a value."""

    text: str
    quantity: str
    level: float | None
    at_least: bool
    threshold: float

    def judge(self, run: Run) -> Ruling:
        """Judge by the quantity's interval."""
        needed, item = QUANTITIES[self.quantity] if self.level is None else (Coverage, COVERAGE)
        view = needed.find(run)
        if view is None:  # the absence of its explainer's results is the evidence
            return self._open(absent(run, needed.id), ids.explainer_of(needed.id))
        if isinstance(view, Coverage):
            return self._judge_coverage(view)
        line = next((line for line in view.lines if line.item == item), None)
        return self._open(lacking(view, item), view.id) if line is None else self._ruled(line, view.id)

    def _judge_coverage(self, view: Coverage) -> Ruling:
        levels = {round(100 * line.x, 7): line for line in view.lines if line.item == COVERAGE}
        line = levels.get(round(self.level or nan, 7))
        if line is None:
            reason = f"coverage was computed at {listed([f'{level:g} %' for level in levels])} only"
            return self._open(reason, view.id)
        return self._ruled(line, view.id)

    def _open(self, reason: str, evidence: str) -> Ruling:
        return Ruling(self.text, "undetermined", reason, (evidence,), threshold=self.threshold)

    def _ruled(self, line: ItemLine, evidence: str) -> Ruling:
        bounded = not (isnan(line.lower) or isnan(line.upper))
        sign = 1.0 if self.at_least else -1.0  # sign * quantity must be at least sign * value
        least, most = sorted((sign * line.lower, sign * line.upper)) if bounded else (nan, nan)
        state: State = "undetermined"
        if bounded and not least < sign * self.threshold <= most:
            state = "holds" if least >= sign * self.threshold else "broken"
        name = self.quantity if self.level is None else f"{self.quantity} of {self.level:g} % intervals"
        value = value_words(line.estimate, line.lower, line.upper) if bounded else ""
        return Ruling(
            rule=self.text,
            state=state,
            words=f"{name} is {value or number(line.estimate) + ', without an interval'}",
            evidence=(evidence,),
            threshold=self.threshold,
            observed=line.estimate,
            lower=line.lower if bounded else None,
            upper=line.upper if bounded else None,
        )


PolicyRule = RankRule | LimitRule


def parse(texts: Sequence[str]) -> tuple[PolicyRule, ...]:
    """Return the rules of these texts; refuse the first that does not follow the grammar.

    Examples
    --------
    >>> parse(["coverage 90 >= 0.88"])[0].threshold
    0.88
    >>> parse(["crsp <= 1"])
    Traceback (most recent call last):
    uq_report.core.errors.InputError: policy.require[0] must limit a known quantity; got 'crsp <= 1'. Did you mean ...
    """
    return tuple(_parsed(place, text) for place, text in enumerate(texts))


def _parsed(place: int, text: str) -> PolicyRule:
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
