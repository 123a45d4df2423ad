"""What checks return: findings with codes, and exactly one state per registered check."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Literal, get_args

from ..core.support.errors import SITE, InputError, check_choice
from .frozen import Frozen

State = Literal["found", "passed", "not_applicable", "skipped", "ignored"]
Severity = Literal["critical", "high", "medium", "low", "observation"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)


class RuleRecord(Frozen):
    """A rule of a check as the run keeps it; printed in the report beside the findings.

    Parameters
    ----------
    code : str
        ``UQ101`` ...; stable, documented, used by waivers and gates.
    title : str
    severity : {"critical", "high", "medium", "low", "observation"}
        The worst a finding of this code can be.
    when : str
        When it is raised and how severe it then is, in words, thresholds included.
    rests_on : str
        ``work:place`` of `core.references`, or plain words.
    thresholds : mapping of str to float
        The numbers of `when`, by name.
    """

    code: str
    title: str
    severity: Severity
    when: str
    rests_on: str
    thresholds: Mapping[str, float] = field(default_factory=dict)


class Symptom(Frozen):
    """A finding that another one explains; every finding of the code where no feature is named.

    It is only `possible` where the other one is too small to be claimed as the cause.
    """

    code: str
    feature: str = ""
    possible: bool = False


class Waiver(Frozen):
    """A finding that somebody answers for until a day: it stays in the report, and is not open.

    Parameters
    ----------
    code : str
    owner, reason : str
    expires : str
        ``YYYY-MM-DD``, the last day it holds, against the report's `as_of`.
    feature : str
        Only findings about this feature; all of the code if empty.
    """

    code: str
    owner: str
    reason: str
    expires: str
    feature: str = ""


class Finding(Frozen):
    """One statement a validator can act on, tied to the evidence it rests on.

    Parameters
    ----------
    code : str
        ``UQ101`` ...; stable, documented, used by waivers and gates.
    title, statement, remedy : str
        Plain words. The statement never claims more than the interval allows.
    severity : {"critical", "high", "medium", "low", "observation"}
    evidence : tuple of str
        Ids of the results it was read from.
    rests_on : str
        The proposition, equation or source behind the rule: ``work:place`` of `core.references`, or plain words.
    measures, features : tuple of str
        What it is about; the report repeats it beside those results. Empty means all.
    threshold, observed, lower, upper : float, optional
        The rule's threshold, the observed value and the interval it was judged by.
    affected : str
        Who or what is affected, in plain words (``"17 of 250 rows"``); empty where that is all of them.
    size : float, optional
        How large it is, as a share of the model's skill (the baseline's nll less the model's).
    explains : tuple of Symptom
        Findings that this one is the cause of.
    """

    code: str
    title: str
    severity: Severity
    statement: str
    evidence: tuple[str, ...]
    rests_on: str
    remedy: str = ""
    measures: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    threshold: float | None = None
    observed: float | None = None
    lower: float | None = None
    upper: float | None = None
    affected: str = ""
    size: float | None = None
    explains: tuple[Symptom, ...] = ()

    @property
    def docs(self) -> str:
        """Return the address of the page of the code; empty for a code of another package."""
        return f"{SITE}/findings/{self.code}.html" if re.fullmatch(r"UQ\d{3}", self.code) else ""

    def is_explained_by(self, cause: Finding) -> bool:
        """Say whether `cause` names this finding among those it explains."""
        return any(not symptom.possible for symptom in self._symptoms_in(cause))

    def may_be_explained_by(self, cause: Finding) -> bool:
        """Say whether `cause` names this finding as possibly related."""
        return any(symptom.possible for symptom in self._symptoms_in(cause))

    def _symptoms_in(self, cause: Finding) -> list[Symptom]:
        own = [] if cause is self else [symptom for symptom in cause.explains if symptom.code == self.code]
        return [symptom for symptom in own if not symptom.feature or symptom.feature in self.features]

    def __post_init__(self) -> None:
        """Refuse an unknown severity or a finding without evidence."""
        check_choice(f"{self.code}.severity", self.severity, SEVERITIES)
        if not self.evidence:
            raise InputError(f"{self.code}.evidence must name at least one result; got none.")


def by_cause(findings: Sequence[Finding]) -> list[tuple[Finding, Finding | None]]:
    """Return every finding once, worst first but under the first that explains it, and that cause.

    A cause stands where the worst of what it explains would stand. Of findings that explain each other the first that
    names features leads, and has no cause.

    Examples
    --------
    >>> symptom = Finding(code="UQ2", title="", severity="high", statement="", evidence=("a",), rests_on="")
    >>> cause = Finding(code="UQ1", title="", severity="low", statement="", evidence=("a",), rests_on="",
    ...                 explains=(Symptom(code="UQ2"),))
    >>> [finding.code for finding, _ in by_cause([symptom, cause])]
    ['UQ1', 'UQ2']
    """
    ordered = sorted(findings, key=lambda finding: SEVERITIES.index(finding.severity))
    causes = [_cause(finding, ordered) for finding in ordered]
    groups: dict[int, list[int]] = {}
    for k in range(len(ordered)):
        groups.setdefault(_root(k, causes, ordered), []).append(k)
    # the groups stand by their worst; within one, the root leads
    arranged = [(k, root) for root, group in groups.items() for k in sorted(group, key=lambda k: (k != root, k))]
    return [(ordered[k], None if k == root or (cause := causes[k]) is None else ordered[cause]) for k, root in arranged]


def _cause(finding: Finding, ordered: Sequence[Finding]) -> int | None:
    """Return the position of the first finding that explains this one, of one that this one explains only at last."""
    explain = [k for k, other in enumerate(ordered) if finding.is_explained_by(other)]
    return min(explain, key=lambda k: (ordered[k].is_explained_by(finding), k), default=None)


def _root(k: int, causes: Sequence[int | None], ordered: Sequence[Finding]) -> int:
    """Follow causes to the one without a cause, or around a circle to the first that names features."""
    path: list[int] = []
    while k not in path:
        path.append(k)
        cause = causes[k]
        if cause is None:
            return k
        k = cause
    return min(path[path.index(k) :], key=lambda k: (not ordered[k].features, k))


class Waived(Frozen):
    """A finding with the waiver that holds for it."""

    finding: Finding
    waiver: Waiver


class Outcome(Frozen):
    """How one check ended.

    The state is ``found`` if and only if there are open `findings`, and ``ignored`` if all that was found is
    `waived`; every other state but ``passed`` comes with a `reason`. Of the rules of a check some of which were judged,
    `undecided` has the codes that stay open, and `n_needed` is the largest sample size advised for one of them, None
    where none is. `missing` has the explainers whose results it looked for and that gave none. Checks leave `waived`,
    `title`, `rules` and `missing` empty: the runner fills them in.
    """

    check: str
    state: State
    reason: str = ""
    findings: tuple[Finding, ...] = ()
    waived: tuple[Waived, ...] = ()
    title: str = ""
    rules: tuple[RuleRecord, ...] = ()
    undecided: tuple[str, ...] = ()
    n_needed: int | None = None
    missing: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse a state that its findings contradict."""
        check_choice(f"{self.check}.state", self.state, get_args(State))
        if (self.state == "found") != bool(self.findings):
            raise InputError(f"{self.check}: state {self.state!r} contradicts {len(self.findings)} findings.")
        if self.waived and self.state not in ("found", "ignored"):
            raise InputError(f"{self.check}: state {self.state!r} contradicts {len(self.waived)} waived findings.")
        if self.state not in ("found", "passed") and not self.reason:
            raise InputError(f"{self.check}: state {self.state!r} must come with a reason.")
