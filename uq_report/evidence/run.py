"""The saved audit: everything a report needs, and nothing that needs the model again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ..core.explainer import MethodCard
from ..core.model.results import Result
from ..core.support.errors import Cause, InputError, meant
from .finding import Finding, Outcome, by_cause
from .frozen import Frozen

FORMAT = 1  # of run.json
# facts of `Run.subject` that say which subject it is, beside its hashes, features and model parameters
SUBJECT_FACTS = (
    "label", "model_class", "adapter", "n", "n_train", "positive_class", "classes", "groups", "protected"
)  # fmt: skip


UNRELATED = "unrelated"  # the key of `Changes.previous` that says why two runs have nothing to compare


@dataclass(frozen=True)
class NotRun:
    """An explainer or check that did not run, or failed: why in words, and by which kind of cause."""

    name: str
    group: str
    reason: str
    cause: Cause


@dataclass(frozen=True)
class PluginRecord:
    """One plugin as it was found, and what it did: rows predicted and outcome."""

    group: str
    name: str
    distribution: str
    version: str
    api_version: int
    rows_predicted: int = 0
    outcome: str = "not used"


class MethodRecord(Frozen):
    """An explainer that ran: the slot of the report it stands in, its options as used, and its card."""

    name: str
    section: str
    options: Mapping[str, Any]
    card: MethodCard


class FindingChange(Frozen):
    """A finding now against the previous run.

    `before` and `now` are severities, ``"waived"`` while a waiver holds, empty where there was no finding. ``new``
    and ``closed`` are about open findings: one that a waiver sets aside is closed, and new when the waiver ends. A
    finding that is now about other features is worse or better by its severity, else ``moved``.
    """

    code: str
    title: str
    features: tuple[str, ...]
    change: Literal["new", "worse", "better", "moved", "closed", "unchanged"]
    before: str
    now: str


class ValueChange(Frozen):
    """An estimate now against the previous run, with the 95% CI of the difference and how it was made.

    ``changed`` only if the difference stays apart from 0 when its p-value is adjusted for all values compared (Holm):
    noise is no change. Ranks that moved stand among the values, ``result`` being ``"agreement"``; they are
    ``changed`` if the two runs' intervals, each for all ranks together, have no rank in common.
    """

    result: str
    measure: str
    feature: str
    before: float
    now: float
    difference: float
    lower: float | None
    upper: float | None
    interval: str
    changed: bool


class InputChange(Frozen):
    """A hash, version or setting that differs from the previous run; empty where it was missing."""

    what: str
    before: str
    now: str


class RunChanges(Frozen):
    """What changed since the previous run of the same audit.

    `previous` says which run that was: its `as_of`, label and the SHA-256 of its run.json. `not_compared` lists
    what could not be compared, with the reason.
    """

    previous: Mapping[str, str]
    findings: tuple[FindingChange, ...] = ()
    values: tuple[ValueChange, ...] = ()
    inputs: tuple[InputChange, ...] = ()
    not_compared: tuple[str, ...] = ()

    @property
    def unrelated(self) -> str:
        """Why the two runs have nothing to compare; empty if they have."""
        return self.previous.get(UNRELATED, "")


class Run(Frozen):
    """One audit.

    Parameters
    ----------
    as_of : str
        The logical date of the report, ``YYYY-MM-DD``.
    subject : mapping
        What was audited: label, model class and parameters, adapter, rows, features with kinds,
        ranges and missing counts, classes, hashes. JSON values only. Filled by `Subject.describe`.
    settings : mapping
        All settings as used, JSON values only.
    environment : mapping
        Package name -> version, python, platform.
    results : tuple of Result
    outcomes : tuple of Outcome
    not_run : tuple of NotRun
    plugins : tuple of PluginRecord
    methods : tuple of MethodRecord
    not_reproducible : str
        Why the same inputs may give another run (a limit of time cut it short); empty if they may not.
    changes : Changes, optional
        Against the previous run, where one was given.
    challenger : Run, optional
        The audit of a second model on the same rows; the differences are results ``compare.*`` of this run.
    """

    as_of: str
    subject: Mapping[str, Any]
    settings: Mapping[str, Any]
    environment: Mapping[str, Any]
    results: tuple[Result, ...] = ()
    outcomes: tuple[Outcome, ...] = ()
    not_run: tuple[NotRun, ...] = ()
    plugins: tuple[PluginRecord, ...] = ()
    methods: tuple[MethodRecord, ...] = ()
    not_reproducible: str = ""
    changes: RunChanges | None = None
    challenger: Run | None = None
    format: int = field(default=FORMAT)

    def result(self, id: str) -> Result:
        """Return the result with this id; say which ids exist if there is none."""
        result = self.find(id)
        if result is None:
            known = [r.id for r in self.results]
            ends = [key for key in known if key.endswith(f".{id}")]
            hint = f" Did you mean {ends[0]!r}?" if ends else meant(id, known)
            raise InputError(f"run.result must be one of {known}; got {id!r}.{hint}")
        return result

    def find(self, id: str) -> Result | None:
        """Return the result with this id, or None."""
        return next((result for result in self.results if result.id == id), None)

    @property
    def denied(self) -> tuple[str, ...]:
        """The plugins and distributions that its settings keep out, of its reports too."""
        words = self.settings.get("deny")
        return tuple(map(str, words)) if isinstance(words, list | tuple) else ()

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All findings in the order of the report: worst first, each under the one that explains it."""
        return tuple(finding for finding, _ in by_cause([f for outcome in self.outcomes for f in outcome.findings]))
