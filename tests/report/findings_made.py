"""Runs whose checks ended in a stated way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from uq_report.evidence import ids
from uq_report.evidence.finding import Finding, Outcome, RuleRecord, Severity, Waived, Waiver
from uq_report.evidence.run import PluginRecord, Run

from .cases import Case
from .synthetic import make_run


def finding(code: str, severity: Severity = "medium", feature: str = "", **more: Any) -> Finding:
    """A finding about one feature, or about the model."""
    given: dict[str, Any] = {
        "title": f"Title of {code}",
        "statement": f"statement of {code}",
        "evidence": (ids.PFI,),
        "rests_on": "wood:section 3.5",
        "features": (feature,) if feature else (),
        **more,
    }
    return Finding(code=code, severity=severity, **given)


def rule(code: str, severity: Severity = "high") -> RuleRecord:
    """A rule with a threshold in words."""
    return RuleRecord(
        code=code, title=f"Title of {code}", severity=severity, when="above 0.25", rests_on="wood:section 3.5"
    )


def waived(one: Finding, expires: str = "2026-12-31", feature: str = "") -> Waived:
    """A finding under a waiver that holds."""
    waiver = Waiver(code=one.code, owner="A. Person", reason="it is known", expires=expires, feature=feature)
    return Waived(finding=one, waiver=waiver)


PASSED = Outcome(check=ids.CALIBRATION, state="passed", title="Calibration", rules=(rule("UQ101"), rule("UQ102")))


def run_with(*outcomes: Outcome, settings: Mapping[str, Sequence[Mapping[str, str]]] | None = None) -> Run:
    """A run that ended in these outcomes, each of a registered check."""
    run = make_run(Case())
    plugins = tuple(PluginRecord("checks", outcome.check, "uq_report", "0.1", 1) for outcome in outcomes)
    return replace(run, outcomes=outcomes, plugins=plugins, not_run=(), settings={**run.settings, **(settings or {})})
