"""Which findings, and which recommendation, would change if one threshold of a check were half or twice as large.

Checks judge the saved evidence again; nothing is predicted. Thresholds without a half or a double, such as a share
above 1, are passed over.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

import pandas as pd

from ..checks.rule import Check
from ..core.model.results import ESTIMATE_COLUMNS, Diagnostic
from ..core.support.errors import FOREIGN
from ..evidence import ids
from ..evidence.finding import Finding, Outcome
from ..evidence.run import Run
from ..reading.rating import NO_VERDICT, rating
from .judge import outcome_of, waive
from .settings import WaiverSettings

FACTORS = (0.5, 2.0)
NONE = "none"
COLUMNS = ("item", "stated", "factor", "code", "about", "before", "after", "recommendation")


def sensitivity(checks: Mapping[str, Check], run: Run, waivers: Sequence[WaiverSettings]) -> tuple[Diagnostic, ...]:
    """Return a line for each finding that another threshold opens, closes or grades anew; nothing without verdicts.

    Checks that reached no verdict are not judged again.
    """
    lines: list[dict[str, Any]] = []
    judged = [checks[outcome.check] for outcome in run.outcomes if outcome.state not in NO_VERDICT]
    options = [(check, name) for check in judged for name in _thresholds(check)]
    if not options:
        return ()
    for check, name in options:
        stated = getattr(check, name)
        for factor in FACTORS:
            outcome = _again(check, {name: factor * stated}, run, waivers)
            if outcome is None:
                continue
            ended = tuple(outcome if each.check == check.name else each for each in run.outcomes)
            line = {"measure": "", "feature": "", "covers": "none", "estimate": factor * stated, "stated": stated}
            line |= {"item": f"{check.name}.{name}", "factor": factor, "recommendation": rating(ended).text}
            lines += [line | change for change in _changes(run.outcomes, outcome)]
    estimates = pd.DataFrame(lines, columns=[*ESTIMATE_COLUMNS, *COLUMNS])
    numbers = ["estimate", "std_error", "lower", "upper", "confidence", "stated", "factor"]
    estimates[numbers] = estimates[numbers].astype(float)
    frame = estimates.assign(x=estimates["factor"], value=estimates["estimate"])[list(Diagnostic.columns)]
    result = Diagnostic(
        id=ids.SENSITIVITY,
        explainer=ids.SENSITIVITY,
        title="Sensitivity of findings and recommendation to thresholds",
        frame=frame,
        estimates=estimates,
        notes=("One threshold at a time is halved and doubled, and the saved evidence is judged again.",),
        meta={"varied": len(options), "recommendation": rating(run.outcomes).text},
    )
    return (result,)


def _thresholds(check: Check) -> Iterator[str]:
    """Yield the options of a check that are numbers with a fraction, but not counts."""
    names: list[str] = [option.name for option in fields(check)] if is_dataclass(check) else []
    values = ((name, getattr(check, name)) for name in names)
    yield from (name for name, value in values if isinstance(value, float) and value > 0)


def _again(check: Check, options: Mapping[str, float], run: Run, waivers: Iterable[WaiverSettings]) -> Outcome | None:
    """Return the outcome of a check with other options; None where it refuses them, or fails."""
    try:
        return waive(outcome_of(replace(check, **options), run), waivers, run.as_of)  # type: ignore[type-var] # see above
    except FOREIGN:  # the check refuses the value; it ran with the stated one
        return None


def _changes(before: Iterable[Outcome], after: Outcome) -> Iterator[dict[str, str]]:
    """Yield the findings whose severity differs, and their severities."""
    old = next((_severities(outcome.findings) for outcome in before if outcome.check == after.check), {})
    new = _severities(after.findings)
    for code, about in dict.fromkeys((*old, *new)):
        severities = old.get((code, about), NONE), new.get((code, about), NONE)
        if severities[0] != severities[1]:
            yield {"code": code, "about": about, "before": severities[0], "after": severities[1]}


def _severities(findings: Iterable[Finding]) -> dict[tuple[str, str], str]:
    return {(finding.code, ", ".join(finding.features)): finding.severity for finding in findings}
