"""The grammar of policy rules, and what each asks of a run."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isnan, nan
from types import MappingProxyType
from typing import Literal, NamedTuple

import pandas as pd

from ..core.errors import InputError, nearest
from ..core.results import Result
from ..core.run import Run
from ..core.text import short
from ._reading import absent, lacking, lines, listed

# What a rule may limit: its name in the rule -> the result and its item.
QUANTITIES = MappingProxyType({
    "off-support share": ("support", "outside"),
    **{
        name: ("calibration", item)
        for name, item in (
            *(("nll", "log_score"), ("brier", "brier"), ("crps", "crps"), ("squared_error", "squared_error")),
            *(("confidence_gap", "confidence_gap"), ("recalibration_gain", "recalibration_gain")),
            *(("mean_error", "mean_error"), ("accuracy", "accuracy"), ("roc_auc", "roc_auc")),
            *(("nll_skill", "log_score_skill"), ("brier_skill", "brier_skill"), ("crps_skill", "crps_skill")),
            *(("ece", "ece"), ("pit_distance", "pit_distance"), ("coverage_gap", "coverage_gap")),
        )
    },
})  # fmt: skip
COVERAGE = ("calibration.coverage", "coverage")
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
    wanted: bool

    def judge(self, run: Run) -> Ruling:
        """Judge by the simultaneous rank interval."""
        agreement = run.find("agreement")
        if agreement is None:
            return self._open(absent(run, "agreement"))
        measure = _LOSS.get(str(run.subject.get("task")), "squared_error") if self.measure == "loss" else self.measure
        table = lines(agreement, item=self.method, measure=measure)
        if table.empty:
            return self._open(f"{self.method} has no ranking of {measure}. {self._hint(agreement)}")
        own = table[table["feature"] == self.feature]
        if own.empty:
            return self._open(f"the ranking has no such feature. {nearest(self.feature, map(str, table['feature']))}")
        line = own.iloc[0]
        if pd.isna(line["lower"]):
            return self._open(f"the ranks by {self.method} have no interval")
        return self._ruled(line, measure, (agreement.id, self.method))

    def _ruled(self, line: pd.Series, measure: str, evidence: tuple[str, ...]) -> Ruling:
        rank, lower, upper = (int(line[name]) for name in ("estimate", "lower", "upper"))
        inside, outside = upper <= self.top, lower > self.top
        state: State = "undetermined" if not (inside or outside) else "holds" if inside == self.wanted else "broken"
        held = f"interval {lower} to {upper}" if lower < upper else "for sure"
        return Ruling(
            rule=self.text,
            state=state,
            words=f"{short(self.feature)} has rank {rank} of {measure} by {self.method}, {held}",
            evidence=evidence,
            features=(self.feature,),
            measures=(measure,),
            threshold=float(self.top),
            observed=float(rank),
            lower=float(lower),
            upper=float(upper),
        )

    def _open(self, reason: str) -> Ruling:
        return Ruling(self.text, "undetermined", reason, ("agreement",), (self.feature,), threshold=float(self.top))

    def _hint(self, agreement: Result) -> str:
        known = agreement.estimates[["item", "measure"]].drop_duplicates()
        return f"Rankings: {listed([f'{measure} by {item}' for item, measure in known.to_numpy()], len(known))}."


@dataclass(frozen=True)
class LimitRule:
    """A quantity that must be at most, or at least, a value."""

    text: str
    quantity: str
    level: float | None
    at_least: bool
    value: float

    def judge(self, run: Run) -> Ruling:
        """Judge by the quantity's interval."""
        needed, item = COVERAGE if self.level is not None else QUANTITIES[self.quantity]
        result = run.find(needed)
        if result is None:
            return Ruling(self.text, "undetermined", absent(run, needed), (needed,), threshold=self.value)
        found = lines(result, item=item)
        if self.level is not None:
            found = found[(found["x"] - self.level / 100).abs() < 1e-9]
        if found.empty:
            return Ruling(self.text, "undetermined", self._missing(result, item), (needed,), threshold=self.value)
        return self._ruled(found.iloc[0], needed)

    def _ruled(self, line: pd.Series, evidence: str) -> Ruling:
        estimate, lower, upper = (float(line[name]) for name in ("estimate", "lower", "upper"))
        known = not (isnan(lower) or isnan(upper))
        sign = 1.0 if self.at_least else -1.0  # sign * quantity must be at least sign * value
        least, most = sorted((sign * lower, sign * upper)) if known else (nan, nan)
        state: State = "undetermined"
        if known and not least < sign * self.value <= most:
            state = "holds" if least >= sign * self.value else "broken"
        held = f"interval {lower:.4g} to {upper:.4g}" if known else "without an interval"
        return Ruling(
            rule=self.text,
            state=state,
            words=f"{self._name} is {estimate:.4g}, {held}",
            evidence=(evidence,),
            threshold=self.value,
            observed=estimate,
            lower=lower if known else None,
            upper=upper if known else None,
        )

    @property
    def _name(self) -> str:
        return self.quantity if self.level is None else f"{self.quantity} of {self.level:g} % intervals"

    def _missing(self, result: Result, item: str) -> str:
        if self.level is None:
            return lacking(result, item)
        return f"coverage was computed at {listed([f'{100 * x:g} %' for x in result.estimates['x']])} only"


PolicyRule = RankRule | LimitRule


def parse(texts: Sequence[str]) -> tuple[PolicyRule, ...]:
    """Return the rules of these texts; refuse the first that does not follow the grammar.

    Examples
    --------
    >>> parse(["coverage 90 >= 0.88"])[0].value
    0.88
    >>> parse(["crsp <= 1"])
    Traceback (most recent call last):
    uq_report.core.errors.InputError: policy.require[0] must limit a known quantity; got 'crsp <= 1'. Did you mean ...
    """
    return tuple(_parsed(place, text) for place, text in enumerate(texts))


def _parsed(place: int, text: str) -> PolicyRule:
    for form, make in _MAKERS:
        found = form.fullmatch(text.strip()) if isinstance(text, str) else None
        if found is not None:
            return make(place, text, found)
    raise InputError(f"policy.require[{place}] must be {FORMS}; got {text!r}.")


def _rank(place: int, text: str, found: re.Match[str]) -> RankRule:
    top = int(found["top"])
    if top < 1:
        raise InputError(f"policy.require[{place}] must name a K of at least 1; got {text!r}.")
    feature = found["quoted"] or found["plain"]
    return RankRule(text, feature, top, found["measure"], found["method"] or "pfi", wanted=not found["no"])


def _limit(place: int, text: str, found: re.Match[str]) -> LimitRule:
    name, level = found["quantity"], found["level"]
    if name not in (*QUANTITIES, "coverage"):
        hint = nearest(name, (*QUANTITIES, "coverage"))
        raise InputError(f"policy.require[{place}] must limit a known quantity; got {text!r}. {hint}")
    if (name == "coverage") != (level is not None) or (level is not None and not 0 < float(level) < 100):
        wanted = "a level between 0 and 100, as in 'coverage 90 >= 0.88'" if name == "coverage" else f"{name} alone"
        raise InputError(f"policy.require[{place}] must name {wanted}; got {text!r}.")
    return LimitRule(text, name, None if level is None else float(level), found["side"] == ">=", float(found["value"]))


_MAKERS: tuple[tuple[re.Pattern[str], Callable[[int, str, re.Match[str]], PolicyRule]], ...] = (
    (_RANK, _rank),
    (_LIMIT, _limit),
)
