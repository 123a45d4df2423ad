"""The overall rating: the worst open finding, so that no averaging hides one."""

from __future__ import annotations

from collections.abc import Iterable

from ..document.document import Badge
from ..document.evidence import gate_of
from ..evidence.finding import Outcome

RED, AMBER, GREEN = Badge("Red", "bad"), Badge("Amber", "warning"), Badge("Green", "good")
NOT_ASSESSED = Badge("Not assessed", "unknown")
RULE = (
    "The overall rating is the worst open finding: red for critical or high, amber for medium. If nothing worse is "
    "open, it is not assessed where calibration was not judged or a check was skipped, and green otherwise. Waived "
    "findings are not open."
)


def rating(outcomes: Iterable[Outcome]) -> Badge:
    """Return the overall rating by `RULE`; what was not assessed is never green.

    Examples
    --------
    >>> rating([]).text, rating([Outcome(check="calibration", state="passed")]).text
    ('Not assessed', 'Green')
    """
    ended = tuple(outcomes)
    severities = {finding.severity for outcome in ended for finding in outcome.findings}
    if severities & {"critical", "high"}:
        return RED
    if "medium" in severities:
        return AMBER
    skipped = any(outcome.state == "skipped" for outcome in ended)
    return GREEN if calibration_judged(ended) and not skipped else NOT_ASSESSED


def calibration_judged(outcomes: Iterable[Outcome]) -> bool:
    """Say whether the calibration check came to a verdict; a waiver does not make one."""
    return gate_of(outcomes).tone in ("good", "bad")
