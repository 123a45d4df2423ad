"""What sections read of a run: results by id, facts, words of measures, the calibration verdict, findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from math import inf
from typing import Any, ClassVar, NoReturn, Protocol, runtime_checkable

from ..core.model.results import MeasureFacts, Result
from ..core.statistics.inference import CONFIDENCE
from ..core.support.errors import UnsupportedError
from ..document.document import Badge, Cell, Section, Tone
from ..document.plots import style
from ..document.plots.frames import words
from ..document.text import ABSENT, clean, items, joined, name, sentence
from ..evidence import columns as col, ids
from ..evidence.codec import dumps
from ..evidence.finding import SEVERITIES, Finding, Outcome, Waived
from ..evidence.importance import directed
from ..evidence.outcomes import CalibrationView, ScoreLine
from ..evidence.run import MethodRecord, Run
from ..evidence.subject import SubjectFacts

GATE = ids.CALIBRATION
FAILED, UNJUDGED = "UQ101", "UQ102"
NLL = "nll"
# Of measures of one role, the first of these represents it.
PREFERRED = ("prediction", "log_odds", NLL, "entropy", "variance")
OPEN = Badge("to be completed", "unknown")
SEVERITY_TONES: Mapping[str, Tone] = {
    "critical": "bad",
    "high": "bad",
    "medium": "warning",
    "low": "neutral",
    "observation": "neutral",
}


@dataclass(frozen=True)
class Gate:
    """The verdict on the calibration: in a word and a tone, and why."""

    word: str
    tone: Tone
    reason: str


def _no_figures(result: Result, **_: Any) -> NoReturn:
    raise UnsupportedError(f"RunReader.draw must be given to draw {result.id}; got a reading of a run without figures.")


@dataclass(frozen=True)
class RunReader:
    """A run as sections read it; `draw` draws any result by the figure of its kind, or of its own if in `figures`."""

    run: Run
    draw: Callable[..., style.Figure] = _no_figures
    figures: Collection[str] = ()

    def find(self, key: str) -> Result | None:
        """Return the result with this id, or None."""
        return self.run.find(key)

    @property
    def results(self) -> tuple[Result, ...]:
        """The run's results."""
        return self.run.results

    @cached_property
    def methods(self) -> Mapping[str, MethodRecord]:
        """The explainers that ran, by name."""
        return {method.name: method for method in self.run.methods}

    @property
    def methods_in_use(self) -> tuple[MethodRecord, ...]:
        """The explainers with results and a definition in this run, in their order."""
        used = {result.explainer for result in self.results}
        return tuple(m for m in self.run.methods if m.name in used and m.card.definition)

    @cached_property
    def subject(self) -> SubjectFacts:
        """The recorded facts on model and data."""
        return SubjectFacts.of(self.run)

    def about(self, key: str) -> str:
        """Return a stated text on the model or the audit; empty where none was given."""
        texts = self.run.settings.get("about")
        return clean(texts.get(key) or "") if isinstance(texts, Mapping) else ""

    def about_cell(self, key: str) -> Cell:
        """Return a stated text as a cell: open where none was given."""
        return self.about(key) or OPEN

    def facts(self, rows: Iterable[tuple[str, str]]) -> tuple[tuple[str, Cell], ...]:
        """Return recorded facts by their labels.

        A fact is named as an attribute of the subject (``"n"``), an entry of one (``"hashes.X"``), or a text that
        people wrote (``"about.owner"``).
        """
        return tuple((label, self._fact(*key.rpartition(".")[::2])) for label, key in rows)

    def _fact(self, place: str, key: str) -> Cell:
        if place == "about":
            return self.about_cell(key)
        return as_cell(getattr(self.subject, place).get(key) if place else getattr(self.subject, key))

    @property
    def group_words(self) -> str:
        """Return the groups of features that are permuted together; empty without any."""
        blocks = self.subject.groups.items()
        words = joined([f"{name(block)} ({joined(items(members))})" for block, members in blocks])
        return f"Features permuted together: {words}." if words else ""

    def words(self, measure: str, result: Result | None = None) -> MeasureFacts:
        """Return the title, unit, role and direction of a measure; in a ranking, the direction there."""
        facts = words(measure, self._measures)
        return facts if result is None else directed(result, facts)

    def measure_of(self, role: str, measures: Iterable[Any]) -> str:
        """Return the measure that represents a role among `measures`, without a role the first; empty if there is none.

        `measures` names each as often as it has numbers: one that lacks features (a log score that is infinite
        for them) does not represent a role that another has more features for.
        """
        counts = Counter(map(str, measures))
        if not role:
            return next(iter(counts), "")
        order = [m for m in dict.fromkeys([*PREFERRED, *counts]) if m in counts and self.words(m).role == role]
        return max(order, key=lambda measure: counts[measure], default="")

    def ranked(self, key: str, role: str = "") -> tuple[Result, str] | None:
        """Return a result that ranks features, and its measure of a role; None without one."""
        result = self.find(key)
        measure = "" if result is None else self.measure_of(role, result.estimates[col.MEASURE])
        return (result, measure) if result is not None and measure else None

    @cached_property
    def _measures(self) -> dict[str, MeasureFacts]:
        return {name: facts for result in self.results for name, facts in result.measures.items()}

    def is_uncertainty(self, measure: str) -> bool:
        """Say whether a measure concerns the uncertainty: by its role, or as the log score, which judges it."""
        return measure == NLL or self.words(measure).role == "uncertainty"

    @property
    def confidence(self) -> float:
        """The level of the intervals of the run."""
        return float(self.run.settings.get("confidence", CONFIDENCE))

    @cached_property
    def gate(self) -> Gate:
        """The verdict on the calibration."""
        return gate_of(self.run.outcomes)

    @property
    def log_score(self) -> str:
        """What readers call the negative log-likelihood: of classes the log loss."""
        return "log loss" if self.subject.classes is not None else "negative log-likelihood"

    @property
    def gap_margin(self) -> float:
        """The tolerance of the calibration gap in the rule of the check; infinite without one."""
        rules = (rule for outcome in self.run.outcomes if outcome.check == GATE for rule in outcome.rules)
        return next((r.thresholds["margin"] for r in rules if r.code == UNJUDGED and "margin" in r.thresholds), inf)

    @cached_property
    def content(self) -> bytes:
        """The canonical bytes of the run, those of its run.json."""
        return dumps(self.run)

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of these bytes."""
        return sha256(self.content).hexdigest()

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """All findings, worst first, each under the one that explains it."""
        return self.run.findings

    @cached_property
    def waived(self) -> tuple[Waived, ...]:
        """All waived findings, worst first."""
        waived = (each for outcome in self.run.outcomes for each in outcome.waived)
        return tuple(sorted(waived, key=lambda each: SEVERITIES.index(each.finding.severity)))

    def listed(self, key: str) -> tuple[Mapping[str, Any], ...]:
        """Return recorded settings of a kind (``"actions"``, ``"waivers"``), each a mapping."""
        entries = self.run.settings.get(key)
        return tuple(e for e in entries if isinstance(e, Mapping)) if isinstance(entries, list | tuple) else ()

    def action(self, finding: Finding) -> tuple[Cell, Cell]:
        """Return the owner and the due date of a finding; open where nobody was named.

        An action for the finding's feature comes before one for its code.
        """
        action = self._action(finding)
        return (as_cell(action.get("owner")), as_cell(action.get("due"))) if action else (OPEN, OPEN)

    def response(self, finding: Finding) -> str:
        """Return the management response to a finding; empty where none was given."""
        return clean(self._action(finding).get("response") or "")

    def _action(self, finding: Finding) -> Mapping[str, Any]:
        actions = [action for action in self.listed("actions") if action.get("code") == finding.code]
        fitting = [a for a in actions if not a.get("feature") or a["feature"] in finding.features]
        return min(fitting, key=lambda action: not action.get("feature"), default={})

    def since(self, finding: Finding) -> str:
        """Return the change of a finding since the previous run."""
        changes = self.run.changes
        if changes is None:
            return "no previous run"
        key = (finding.code, sorted(finding.features))
        return next((c.change for c in changes.findings if (c.code, sorted(c.features)) == key), "not compared")

    def ended(self, check: str) -> Outcome | None:
        """Return the outcome of a check; None where it was not run."""
        return next((outcome for outcome in self.run.outcomes if outcome.check == check), None)

    def score(self, item: str) -> ScoreLine | None:
        """Return a score on the test sample; None where it is not there or has no number."""
        view = CalibrationView.find(self.run)
        return None if view is None else view.of(item)

    def why_missing(self, explainer: str) -> str:
        """Say why an explainer has no results."""
        reason = next((entry.reason for entry in self.run.not_run if entry.name == explainer), "")
        return sentence(reason) if reason else f"The explainer {explainer} was not part of this run."


@runtime_checkable
class SectionPlugin(Protocol):
    """Show results of a run in a place of the report; it reads the evidence of the run only, never a model.

    Class variables
    ---------------
    name : the entry-point name
    slot : where it stands (`document.slots`)
    shows : ids of the results it shows; other results of the same explainers follow by their kind
    """

    name: ClassVar[str]
    slot: ClassVar[str]
    shows: ClassVar[tuple[str, ...]]
    api_version: ClassVar[int]

    def section(self, evidence: RunReader) -> Section | None:
        """Return the section, or None where the run has nothing for it."""


def as_cell(value: Any) -> Cell:
    """Return a recorded JSON value as a cell; None and the empty string are not recorded.

    Examples
    --------
    >>> as_cell(None), as_cell(True), as_cell([1, 2]), as_cell(0.5)
    ('not recorded', 'yes', '1, 2', 0.5)
    """
    if value is None or value == "":
        return ABSENT
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return value
    if isinstance(value, Mapping):
        return clean("; ".join(f"{key}: {as_cell(item)}" for key, item in sorted(value.items())) or "none")
    if isinstance(value, list | tuple):
        return clean(", ".join(str(as_cell(item)) for item in value) or "none")
    return clean(value)


def version(environment: Mapping[str, Any], package: str) -> str:
    """Return a package's recorded version, or the empty string."""
    return str(environment.get(package) or environment.get(package.replace("_", "-")) or "")


def severity_badge(severity: str) -> Badge:
    """Return a finding's severity with its tone."""
    return Badge(severity, SEVERITY_TONES.get(severity, "unknown"))


def not_acceptable(outcomes: Iterable[Outcome]) -> list[Finding]:
    """Return the findings that make the calibration not acceptable: those of low or above, waived ones included.

    A waiver changes no number, so it changes no verdict on the calibration.
    """
    every = (finding for outcome in outcomes for finding in _every(outcome))
    return [finding for finding in every if finding.code == FAILED and finding.severity != "observation"]


def _every(outcome: Outcome) -> list[Finding]:
    return [*outcome.findings, *(waived.finding for waived in outcome.waived)]


def gate_of(outcomes: Iterable[Outcome]) -> Gate:
    """Return the verdict on the calibration; absent evidence is never a pass.

    A test that rejects is acceptable only where the gain from recalibration is shown to be below its threshold.

    Examples
    --------
    >>> gate_of([Outcome(check="calibration", state="passed")]).word, gate_of([]).word
    ('acceptable', 'not tested')
    """
    ended = tuple(outcomes)
    outcome = next((o for o in ended if o.check == GATE), None)
    failed, waived = not_acceptable(ended), [w.finding for o in ended for w in o.waived]
    if failed:
        return _decided("not acceptable", "bad", failed, waived)
    if outcome is None:
        return Gate("not tested", "unknown", f"The {GATE} check was not run.")
    findings = _every(outcome)
    # an interval below the threshold shows that what was observed is small
    small = [f for f in findings if f.upper is not None and f.threshold is not None and f.upper < f.threshold]
    undecided = [finding for finding in findings if finding.code == UNJUDGED or finding not in small]
    if undecided:
        return _decided("inconclusive", "warning", undecided, waived)
    if findings:
        return _decided("acceptable", "good", findings, waived)
    reason = sentence(outcome.reason)
    return Gate("acceptable", "good", reason) if outcome.state == "passed" else Gate("not tested", "unknown", reason)


def _decided(word: str, tone: Tone, findings: Sequence[Finding], waived: Sequence[Finding]) -> Gate:
    """Return a verdict that findings hold, and whether all of them are waived."""
    ends = ", waived" if tone != "good" and all(finding in waived for finding in findings) else ""
    return Gate(f"{word}{ends}", tone, " ".join(sentence(finding.statement) for finding in findings))
