"""A rule as data: the numbers it is printed with are the numbers that decide."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import nan
from operator import ge, gt, le, lt
from typing import Any, Literal, NamedTuple

from ..core.errors import InputError
from ..evidence.finding import SEVERITIES, Finding, RuleRecord, Severity

Side = Literal["above", "at least", "below", "at most"]
SIDES: Mapping[Side, Callable[[float, float], bool]] = {"above": gt, "at least": ge, "below": lt, "at most": le}


class Limit(NamedTuple):
    """What an observed number must be: `side` of the rule's threshold of that name, or of a number that is no option.

    Examples
    --------
    >>> Limit("at least", "share").holds(0.2, {"share": 0.2}), Limit("above", 0).holds(float("nan"), {})
    (True, False)
    """

    side: Side
    threshold: str | float

    def holds(self, observed: float, thresholds: Mapping[str, float]) -> bool:
        """Say whether `observed` is there; NaN, which was not observed, never is."""
        bound = thresholds[self.threshold] if isinstance(self.threshold, str) else self.threshold
        return SIDES[self.side](observed, bound)


Limits = Mapping[str, Limit]


class Grade(NamedTuple):
    """A severity, and what must hold for it beside what raises the rule; the first grade that holds counts."""

    severity: Severity
    limits: Limits = {}  # noqa: RUF012 - never written


class _Number(float):
    """A threshold in a printed rule: ``{share:pct}`` is ``25 %``, ``{share:points}`` ``25``, ``{share}`` ``0.25``."""

    def __format__(self, spec: str) -> str:
        shares = {"pct": f"{100 * self:g} %", "points": f"{100 * self:g}"}
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
    when : str
        When it is raised and how severe it then is, in words; names of thresholds in braces, ``{share:pct}``.
    raised : sequence of mappings of str to Limit
        By observed number, what must hold; any one of the mappings is enough.
    grades : sequence of Grade
        Worst first; the last one holds whenever the rule is raised. An observation by default.
    rests_on : str
        ``work:place`` of `core.references`, or plain words.

    Examples
    --------
    >>> rule = Rule(
    ...     code="UQ1", title="Rows are outside", thresholds={"share": 0.1, "high": 0.25}, rests_on="simulation",
    ...     when="More than {share:pct} of the rows are outside. High from {high:pct}, else low.",
    ...     raised=({"outside": Limit("above", "share")},),
    ...     grades=(Grade("high", {"outside": Limit("at least", "high")}), Grade("low")),
    ... )
    >>> rule.text
    'More than 10 % of the rows are outside. High from 25 %, else low.'
    >>> rule.judge(outside=0.3), rule.judge(outside=0.2), rule.judge(outside=0.1)
    ('high', 'low', None)
    """

    code: str
    title: str
    when: str
    rests_on: str
    grades: Sequence[Grade] = (Grade("observation"),)
    raised: Sequence[Limits] = ()
    thresholds: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse a rule that may be raised without a severity, or that names a threshold it has not."""
        if not self.grades or self.grades[-1].limits:
            raise InputError(f"{self.code}.grades must end with a grade without limits; got {list(self.grades)}.")
        limits = (limit for part in (*self.raised, *(g.limits for g in self.grades)) for limit in part.values())
        missing = sorted({x.threshold for x in limits if isinstance(x.threshold, str)} - set(self.thresholds))
        if missing:
            raise InputError(f"{self.code}.thresholds must hold what its limits name; missing {missing}.")

    @property
    def severity(self) -> Severity:
        """The worst a finding of this rule can be."""
        return min((grade.severity for grade in self.grades), key=SEVERITIES.index)

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
        if not any(self._hold(limits, observed) for limits in self.raised):
            return None
        return next(grade.severity for grade in self.grades if self._hold(grade.limits, observed))

    def _hold(self, limits: Limits, observed: Mapping[str, float]) -> bool:
        return all(limit.holds(observed.get(name, nan), self.thresholds) for name, limit in limits.items())

    def finding(self, severity: Severity, statement: str, evidence: Sequence[str], **parts: Any) -> Finding:
        """Return a finding of this rule; `parts` are further fields of `Finding`."""
        sources, parts = tuple(dict.fromkeys(evidence)), {"rests_on": self.rests_on, **parts}
        return Finding(
            code=self.code, title=self.title, severity=severity, statement=statement, evidence=sources, **parts
        )
