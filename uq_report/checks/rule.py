"""A rule as data: the numbers it is printed with are the numbers that decide; and the contract of checks."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from math import nan
from operator import ge, gt, le, lt
from typing import Any, ClassVar, NamedTuple, Protocol, get_args, runtime_checkable

from ..core.support.errors import InputError
from ..evidence.finding import SEVERITIES, Finding, Outcome, RuleRecord, Severity
from ..evidence.run import Run

SIDES: Mapping[str, Callable[[float, float], bool]] = {">": gt, ">=": ge, "<": lt, "<=": le}
_LIMIT = re.compile(r"(\w+) (>=|>|<=|<) (\d+|\w+)")
_OPTION = re.compile(r"(?:(\w+)=)?(\w+)(?:/(\d+))?")


class ThresholdLimit(NamedTuple):
    """What an observed number must be: on a side of the rule's threshold of that name, or of a fixed number.

    Examples
    --------
    >>> limits("share >= most")
    (ThresholdLimit(observed='share', side='>=', threshold='most'),)
    """

    observed: str
    side: str
    threshold: str | float

    def holds(self, observed: Mapping[str, float], thresholds: Mapping[str, float]) -> bool:
        """Return whether the limit holds; it never does for NaN, the value of a number that was not observed."""
        bound = thresholds[self.threshold] if isinstance(self.threshold, str) else self.threshold
        return SIDES[self.side](observed.get(self.observed, nan), bound)


class Grade(NamedTuple):
    """A severity, and the limits that must hold for it in addition to those that raise the rule."""

    severity: Severity
    limits: tuple[ThresholdLimit, ...]


@cache
def limits(condition: str) -> tuple[ThresholdLimit, ...]:
    """Parse ``"share >= most and rows > 0"``; refuse any other form."""
    matches = [(part, _LIMIT.fullmatch(part)) for part in condition.split(" and ")]
    wrong = [part for part, match in matches if match is None]
    if wrong:
        raise InputError(f"A limit of a rule must be 'OBSERVED >=|>|<=|< THRESHOLD'; got {wrong[0]!r}.")
    parsed = (match.groups() for _, match in matches if match is not None)
    return tuple(ThresholdLimit(name, side, float(bound) if bound.isdigit() else bound) for name, side, bound in parsed)


@cache
def grade(text: str) -> Grade:
    """Parse ``"high if share >= most"`` or ``"low"``; refuse an unknown severity."""
    severity, _, condition = text.partition(" if ")
    if severity not in get_args(Severity):
        raise InputError(f"A grade must begin with one of {SEVERITIES}; got {text!r}.")
    return Grade(SEVERITIES[SEVERITIES.index(severity)], limits(condition) if condition else ())


class _Number(float):
    """A threshold in a printed rule: ``{share:pct}`` is ``25%``, ``{share:points}`` ``25``, ``{share}`` ``0.25``."""

    def __format__(self, spec: str) -> str:
        shares = {"pct": f"{100 * self:g}%", "points": f"{100 * self:g}"}
        return shares[spec] if spec in shares else format(float(self), spec or "g")


def verbatim(text: str) -> str:
    """Return words from outside for `Rule.when`, where braces name thresholds.

    Examples
    --------
    >>> verbatim("{x}").format()
    '{x}'
    """
    return text.replace("{", "{{").replace("}", "}}")


@dataclass(frozen=True, kw_only=True)
class Rule:
    """What a check looks for under one code.

    Parameters
    ----------
    code : str
        ``UQ101`` ...; stable, documented, used by waivers and gates.
    title : str
    thresholds : mapping of str to float
        Every number of the rule, by name.
    options : sequence of str
        Thresholds that `of` takes from options of the check: ``"level"``, ``"level/2"``, ``"share=overlap"``.
    when : str
        When it is raised and how severe it then is, in words; names of thresholds in braces, ``{share:pct}``.
    raised : sequence of str
        When the rule is raised, for example ``"p_adjusted <= level and share > margin"``: observed numbers against
        thresholds. One of the conditions is enough.
    grades : sequence of str
        Severities, each with its condition (``"high if share >= much"``); the first that holds counts, and the last
        has no condition. An observation by default.
    rests_on : str
        ``work:place`` of `core.references`, or plain words.

    Examples
    --------
    >>> rule = Rule(
    ...     code="UQ1", title="Rows are outside", thresholds={"share": 0.1, "high": 0.25}, rests_on="simulation",
    ...     when="More than {share:pct} of the rows are outside. High from {high:pct}, else low.",
    ...     raised=("outside > share",), grades=("high if outside >= high", "low"),
    ... )
    >>> rule.text
    'More than 10% of the rows are outside. High from 25%, else low.'
    >>> rule.judge(outside=0.3), rule.judge(outside=0.2), rule.judge(outside=0.1)
    ('high', 'low', None)
    >>> from types import SimpleNamespace
    >>> half = Rule(code="UQ2", title="Some", when="At {level}.", rests_on="simulation", options=["level/2"])
    >>> half.of(SimpleNamespace(level=0.05)).text
    'At 0.025.'
    """

    code: str
    title: str
    when: str
    rests_on: str
    grades: Sequence[str] = ("observation",)
    raised: Sequence[str] = ()
    options: Sequence[str] = ()
    thresholds: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def stated(cls, code: str, **shared: float) -> Rule:
        """Return the rule that ``findings.toml`` states under a code; `shared` are thresholds of other code, too.

        Examples
        --------
        >>> Rule.stated("UQ401").title
        'Realised importance falls short of model-implied importance'
        """
        parts = {key: value for key, value in stated()[code].items() if key in cls.__dataclass_fields__}
        return cls(**parts | {"code": code, "thresholds": parts.get("thresholds", {}) | shared})

    def __post_init__(self) -> None:
        """Refuse a rule that may be raised without a severity, or that names a threshold it has not."""
        if not self.grades or self.graded[-1].limits:
            raise InputError(f"{self.code}.grades must end with a grade without limits; got {list(self.grades)}.")
        named = {limit.threshold for part in self.conditions for limit in part if isinstance(limit.threshold, str)}
        if missing := sorted(named - set(self.thresholds) - {name for name, _, _ in self._options}):
            raise InputError(f"{self.code}.thresholds must hold what its limits name; missing {missing}.")

    @property
    def _options(self) -> tuple[tuple[str, str, str], ...]:
        """Threshold, option and divisor of each option."""
        matches = (_OPTION.fullmatch(text) for text in self.options)
        return tuple((match[1] or match[2], match[2], match[3] or "") for match in matches if match is not None)

    def of(self, check: object) -> Rule:
        """Return the rule with the thresholds that are options of `check`."""
        values = ((name, getattr(check, option), part) for name, option, part in self._options)
        options = {name: value / int(part) if part else value for name, value, part in values}
        return replace(self, options=(), thresholds={**options, **self.thresholds})

    @property
    def graded(self) -> tuple[Grade, ...]:
        """The grades, parsed."""
        return tuple(grade(text) for text in self.grades)

    @property
    def conditions(self) -> tuple[tuple[ThresholdLimit, ...], ...]:
        """The limits of every condition that raises the rule, then of every grade."""
        return (*(limits(text) for text in self.raised), *(grade.limits for grade in self.graded))

    @property
    def severity(self) -> Severity:
        """The worst a finding of this rule can be."""
        return min((grade.severity for grade in self.graded), key=SEVERITIES.index)

    @property
    def text(self) -> str:
        """When it is raised, with its numbers."""
        return self.when.format(**{name: _Number(value) for name, value in self.thresholds.items()})

    @property
    def record(self) -> RuleRecord:
        """The rule as a run keeps it."""
        return RuleRecord(
            code=self.code,
            title=self.title,
            severity=self.severity,
            when=self.text,
            rests_on=self.rests_on,
            thresholds=dict(self.thresholds),
        )

    def judge(self, **observed: float) -> Severity | None:
        """Return the severity of what was observed, or None where that raises nothing; a missing number is NaN."""
        if not any(self._hold(limits(text), observed) for text in self.raised):
            return None
        return next(grade.severity for grade in self.graded if self._hold(grade.limits, observed))

    def _hold(self, condition: Sequence[ThresholdLimit], observed: Mapping[str, float]) -> bool:
        return all(limit.holds(observed, self.thresholds) for limit in condition)

    def finding(self, severity: Severity, statement: str, evidence: Sequence[str], **parts: Any) -> Finding:
        """Return a finding of this rule; `parts` are further fields of `Finding`."""
        sources, same = tuple(dict.fromkeys(evidence)), {"code": self.code, "title": self.title}
        parts = {**same, "rests_on": self.rests_on, "severity": severity, **parts}
        return Finding(statement=statement, evidence=sources, **parts)


@runtime_checkable
class Check(Protocol):
    """Reads a run's results and ends in one `Outcome`; checks never read each other.

    Checks register under the entry-point group ``uq_report.checks``. A check is a frozen dataclass: its fields are its
    options (``options={"checks.my_check": {...}}``).
    """

    name: ClassVar[str]
    title: ClassVar[str]
    api_version: ClassVar[int]

    @property
    def rules(self) -> Sequence[Rule]:
        """One rule per code, with this object's thresholds."""

    def check(self, run: Run) -> Outcome:
        """Judge the run."""


@cache
def stated() -> Mapping[str, Mapping[str, Any]]:
    """Return the rule of each code of this package, its meaning, an example, and the action that it asks for."""
    return tomllib.loads(resources.files(__package__).joinpath("findings.toml").read_text(encoding="utf-8"))


class Rate(NamedTuple):
    """In how many audits a rule claimed more than an observation: of the worst design, or of all if it never did."""

    claims: int
    audits: int
    design: str

    @property
    def words(self) -> str:
        """The rate in words.

        Examples
        --------
        >>> Rate(3, 60, "rare class").words, Rate(0, 60, "").words
        ('3 of 60 (rare class)', '0 of 60')
        """
        share = f"{self.claims} of {self.audits}"
        return f"{share} ({self.design})" if self.claims else share


@cache
def rates() -> Mapping[str, Rate]:
    """Return the worst rate of every judged code, from ``benchmarks/honest.py --write``; codes of others have none."""
    content = json.loads(resources.files(__package__).joinpath("rates.json").read_bytes())
    return {code: Rate(*numbers) for code, numbers in content.items()}


@cache
def powers() -> Mapping[str, Mapping[str, tuple[str, int, int]]]:
    """Return, by code and fault, its size, the audits that raise the code, and all: `faults.py --write`."""
    content: dict[str, dict[str, tuple[str, int, int]]]
    content = json.loads(resources.files(__package__).joinpath("power.json").read_bytes())
    return content
