"""What checks return: findings with codes, and exactly one state per registered check."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol, get_args, runtime_checkable

from .errors import InputError

if TYPE_CHECKING:
    from .run import Run

State = Literal["found", "passed", "not_applicable", "skipped", "ignored"]
Severity = Literal["critical", "high", "medium", "low", "observation"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)


@dataclass(frozen=True, kw_only=True)
class Rule:
    """What a check looks for under one code; printed in the report beside the findings.

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
    """

    code: str
    title: str
    severity: Severity
    when: str
    rests_on: str


@dataclass(frozen=True, kw_only=True)
class Waiver:
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


@dataclass(frozen=True, kw_only=True)
class Finding:
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

    def __post_init__(self) -> None:
        """Refuse an unknown severity or a finding without evidence."""
        if self.severity not in SEVERITIES:
            raise InputError(f"{self.code}.severity must be one of {SEVERITIES}; got {self.severity!r}.")
        if not self.evidence:
            raise InputError(f"{self.code}.evidence must name at least one result; got none.")


@dataclass(frozen=True, kw_only=True)
class Waived:
    """A finding with the waiver that holds for it."""

    finding: Finding
    waiver: Waiver


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How one check ended.

    The state is ``found`` if and only if there are open `findings`, and ``ignored`` if all that was found is
    `waived`; every other state but ``passed`` comes with a `reason`. Checks leave `waived`, `title` and `rules`
    empty: the runner fills them in.
    """

    check: str
    state: State
    reason: str = ""
    findings: tuple[Finding, ...] = ()
    waived: tuple[Waived, ...] = ()
    title: str = ""
    rules: tuple[Rule, ...] = ()

    def __post_init__(self) -> None:
        """Refuse a state that its findings contradict."""
        if self.state not in get_args(State):
            raise InputError(f"{self.check}.state must be one of {get_args(State)}; got {self.state!r}.")
        if (self.state == "found") != bool(self.findings):
            raise InputError(f"{self.check}: state {self.state!r} contradicts {len(self.findings)} findings.")
        if self.waived and self.state not in ("found", "ignored"):
            raise InputError(f"{self.check}: state {self.state!r} contradicts {len(self.waived)} waived findings.")
        if self.state not in ("found", "passed") and not self.reason:
            raise InputError(f"{self.check}: state {self.state!r} must come with a reason.")


@runtime_checkable
class Check(Protocol):
    """Reads a run's results and ends in one `Outcome`; checks never read each other.

    A check is a frozen dataclass: its fields are its options (``options={"checks.calibration": {...}}``).
    """

    name: ClassVar[str]
    title: ClassVar[str]
    api_version: ClassVar[int]

    @property
    def rules(self) -> tuple[Rule, ...]:
        """One rule per code, with this object's thresholds."""

    def check(self, run: Run) -> Outcome:
        """Judge the run."""
