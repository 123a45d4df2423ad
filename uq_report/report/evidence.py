"""What sections ask of a run: results by id, recorded facts, words of measures, the gate, findings by subject."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from ..core.finding import SEVERITIES, Finding, Outcome, Waived
from ..core.results import Result
from ..core.run import Run
from ..plots.words import MeasureWords, words
from .document import Badge, Callout, Cell, Tone
from .text import ABSENT, clean, items, joined, name, sentence

GATE = "calibration"
FAILED = "UQ101"
OPEN = Badge("open, to be completed", "unknown")
SEVERITY_TONES: Mapping[str, Tone] = {
    "critical": "bad",
    "high": "bad",
    "medium": "warning",
    "low": "neutral",
    "observation": "neutral",
}


@dataclass(frozen=True)
class Gate:
    """The calibration gate: its state in a word and a tone, and why."""

    word: str
    tone: Tone
    reason: str
    measures: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether uncertainty may be read without a warning."""
        return self.tone == "good"


@dataclass(frozen=True)
class Evidence:
    """A run as sections read it."""

    run: Run

    def find(self, key: str) -> Result | None:
        """Return the result with this id, or None."""
        return next((result for result in self.results if result.id == key), None)

    def of(self, explainer: str) -> tuple[Result, ...]:
        """Return the results of one explainer."""
        return tuple(result for result in self.results if result.explainer == explainer)

    @cached_property
    def results(self) -> tuple[Result, ...]:
        """The run's results; a prediction's unit is told in this model's own words."""
        unit = self._prediction_unit()
        told = ("importance", "profile", "attribution")
        results = self.run.results
        return tuple(_with_unit(r, "prediction", unit) if unit and r.kind in told else r for r in results)

    def _prediction_unit(self) -> str:
        """Say what a prediction of this model is."""
        task, positive = self.run.subject.get("task"), self.run.subject.get("positive_class")
        if task == "classification" and positive is not None:
            return f"probability of {name(positive)}"
        return {"regression": "units of y", "count": "expected count"}.get(str(task), "")

    def fact(self, key: str) -> Cell:
        """Return a recorded fact about the subject as a cell; say so where it was not recorded."""
        return as_cell(self.run.subject.get(key))

    def about(self, key: str) -> str:
        """Return what people said of the model or the audit; the empty string where they said nothing."""
        said = self.run.settings.get("about")
        return clean(said.get(key) or "") if isinstance(said, Mapping) else ""

    def said(self, key: str) -> Cell:
        """Return what people said as a cell: open where they said nothing, never made up."""
        return self.about(key) or OPEN

    def number(self, key: str) -> int | None:
        """Return a recorded whole number, or None."""
        value = self.run.subject.get(key)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    @cached_property
    def features(self) -> tuple[Mapping[str, Any], ...]:
        """The recorded facts of each feature."""
        listed = self.run.subject.get("features")
        return tuple(f for f in listed if isinstance(f, Mapping)) if isinstance(listed, list | tuple) else ()

    @property
    def groups(self) -> Mapping[str, Any]:
        """The named groups of features, with their members."""
        return self.mapping("groups")

    @property
    def group_words(self) -> str:
        """Name the groups of features, which are changed together; empty if there are none."""
        told = [f"{name(group)} stands for {joined(items(members))}" for group, members in self.groups.items()]
        return f"Groups, changed together: {joined(told)}." if told else ""

    def mapping(self, key: str) -> Mapping[str, Any]:
        """Return a recorded mapping in the order of its keys, which is that of a saved run; empty if there is none."""
        recorded = self.run.subject.get(key)
        return dict(sorted(recorded.items())) if isinstance(recorded, Mapping) else {}

    def words(self, measure: str) -> MeasureWords:
        """Return how a measure is called, its unit and its role, as recorded by any result."""
        return words(measure, {"measures": self._measures})

    @cached_property
    def _measures(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for result in self.results:
            said = result.meta.get("measures")
            found.update(said if isinstance(said, Mapping) else {})
        return found

    @cached_property
    def gate(self) -> Gate:
        """The state of the calibration gate; absent evidence is never a pass."""
        outcome = next((o for o in self.run.outcomes if o.check == GATE), None)
        return (
            Gate("not assessed", "unknown", "The calibration check was not run.") if outcome is None else _gate(outcome)
        )

    def warning(self, measures: Collection[str]) -> tuple[Callout, ...]:
        """Return the gate's warning for sections that show any of `measures`, none if the gate passes.

        A gate that names no measures (one that was not assessed) is about nll and all of uncertainty.
        """
        gate = self.gate
        shown = [m for m in measures if self._is_gated(m)]
        if gate.passed or not shown:
            return ()
        text = (
            "The uncertainty shown here is what the model says of itself; its calibration is judged in the section "
            "“Uncertainty quality”."
        )
        return (Callout(tone=gate.tone, title=f"Calibration gate: {gate.word}", text=text, evidence=(GATE,)),)

    def _is_gated(self, measure: str) -> bool:
        about = self.gate.measures
        return measure in about if about else measure == "nll" or self.words(measure).role == "uncertainty"

    def findings_on(self, ids: Collection[str], feature: str = "") -> tuple[Finding, ...]:
        """Return the findings that rest on any of these results, and are about `feature` if one is named."""
        return tuple(
            finding
            for finding in self.findings
            if set(ids) & set(finding.evidence) and (not feature or feature in finding.features)
        )

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """All findings, worst first."""
        return tuple(sorted(self.run.findings, key=lambda finding: SEVERITIES.index(finding.severity)))

    @cached_property
    def waived(self) -> tuple[Waived, ...]:
        """All waived findings, worst first."""
        held = [one for outcome in self.run.outcomes for one in outcome.waived]
        return tuple(sorted(held, key=lambda one: SEVERITIES.index(one.finding.severity)))

    def listed(self, key: str) -> tuple[Mapping[str, Any], ...]:
        """Return recorded settings of a kind (``"actions"``, ``"waivers"``), each a mapping."""
        held = self.run.settings.get(key)
        return tuple(one for one in held if isinstance(one, Mapping)) if isinstance(held, list | tuple) else ()

    def action(self, finding: Finding) -> tuple[Cell, Cell]:
        """Return who deals with a finding and until when; open where nobody was named.

        An action for the finding's feature comes before one for its code.
        """
        named = [one for one in self.listed("actions") if one.get("code") == finding.code]
        fitting = [one for one in named if one.get("feature") and one["feature"] in finding.features]
        for one in (*fitting, *(one for one in named if not one.get("feature"))):
            return as_cell(one.get("owner")), as_cell(one.get("due"))
        return OPEN, OPEN

    def since(self, finding: Finding) -> str:
        """Say how a finding stands against the previous run."""
        changes = self.run.changes
        if changes is None:
            return "no previous run"
        about = (finding.code, tuple(finding.features))
        return next(
            (one.change for one in changes.findings if (one.code, tuple(one.features)) == about), "not compared"
        )

    def why_missing(self, explainer: str) -> str:
        """Say why an explainer has no results."""
        reason = next((entry.reason for entry in self.run.not_run if entry.name == explainer), "")
        return sentence(reason) if reason else f"The explainer {explainer} was not part of this run."


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
    nested = environment.get("packages")
    known = {**environment, **(nested if isinstance(nested, Mapping) else {})}
    return str(known.get(package) or known.get(package.replace("_", "-")) or "")


def _with_unit(result: Result, measure: str, unit: str) -> Result:
    """Return a result whose meta calls the unit of one measure by other words."""
    recorded = result.meta.get("measures")
    known = recorded if isinstance(recorded, Mapping) else {}
    said = words(measure, result.meta)
    return replace(result, meta={**result.meta, "measures": {**known, measure: {**said._asdict(), "unit": unit}}})


def severity_badge(severity: str) -> Badge:
    """Return a finding's severity with its tone."""
    return Badge(severity, SEVERITY_TONES.get(severity, "unknown"))


def _gate(outcome: Outcome) -> Gate:
    """Return the state of the gate; a waiver changes no number, so it is told and the warning stays."""
    if outcome.state == "passed":
        return Gate("passes", "good", sentence(outcome.reason))
    found = [*outcome.findings, *(one.finding for one in outcome.waived)]
    if not found:
        return Gate("not assessed", "unknown", sentence(outcome.reason))
    failed = [finding for finding in found if finding.code == FAILED]
    told = failed or found
    measures = tuple(dict.fromkeys(m for finding in told for m in finding.measures))
    waived = outcome.state == "ignored"
    text = " ".join([*(sentence(one.statement) for one in told), *([sentence(outcome.reason)] if waived else [])])
    word = f"{'fails' if failed else 'cannot be judged'}{', waived' if waived else ''}"
    return Gate(word, "bad" if failed else "warning", text, measures)
