"""The overall rating: the worst open finding, so that no averaging hides one, and the sentence it rests on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..core.text import count
from ..document.document import Badge
from ..document.evidence import gate_of
from ..document.text import clean, items, joined
from ..evidence.finding import SEVERITIES, Finding, Outcome, by_cause

RED, AMBER, GREEN = Badge("Red", "bad"), Badge("Amber", "warning"), Badge("Green", "good")
NOT_ASSESSED = Badge("Not assessed", "unknown")
RULE = (
    "Red: a critical or high finding is open. Amber: a medium one. Green: none above low. Not assessed: none above "
    "low, and neither calibration nor skill could be judged."
)
NO_VERDICT = ("skipped", "not_applicable")
PERFORMANCE = "performance"


def rating(outcomes: Iterable[Outcome]) -> Badge:
    """Return the overall rating by `RULE`; where predictions were not judged by outcomes it is never green.

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
    return GREEN if _assessed(ended) else NOT_ASSESSED


def _assessed(outcomes: Sequence[Outcome]) -> bool:
    """Say whether outcomes judged the predictions: their calibration, or their skill."""
    skill = any(one.check == PERFORMANCE and one.state not in NO_VERDICT for one in outcomes)
    return skill or gate_of(outcomes).tone in ("good", "bad")


def rests_on(outcomes: Iterable[Outcome]) -> str:
    """Return what the rating rests on, in one sentence.

    Examples
    --------
    >>> rests_on([Outcome(check="calibration", state="passed")])
    'Green: nothing is open above an observation, by 1 check.'
    """
    ended = tuple(outcomes)
    findings = [finding for finding, _ in by_cause([one for outcome in ended for one in outcome.findings])]
    open_ = [finding for finding in findings if finding.severity != "observation"]
    judged = sum(outcome.state not in NO_VERDICT for outcome in ended)
    by = f"by {count(judged, 'check')}" + (f" of {len(ended)}" if judged < len(ended) else "")
    waived = sum(len(outcome.waived) for outcome in ended)
    aside = f"; {count(waived, 'finding')} waived" if waived else ""
    what = f"{counted(open_)} open, first {_named(open_[0])}" if open_ else "nothing is open above an observation"
    return f"{rating(ended).text}: {what}, {by}{aside}."


def counted(findings: Iterable[Finding]) -> str:
    """Count findings by severity, worst first: ``"1 high and 2 low"``."""
    severities = [finding.severity for finding in findings]
    numbers = [(severity, severities.count(severity)) for severity in SEVERITIES]
    return joined([f"{many} {severity}" for severity, many in numbers if many]) or "none"


def _named(finding: Finding) -> str:
    about = f" ({joined(items(finding.features), 3)})" if finding.features else ""
    return f"{clean(finding.code, 20)}{about}"
