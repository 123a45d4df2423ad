"""The recommendation: by the worst open finding, so that no averaging hides one; people decide."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..core.support.text import count
from ..document.document import Badge
from ..document.text import joined
from ..evidence.finding import SEVERITIES, Finding, Outcome
from ..reading.run_reader import SEVERITY_TONES, gate_of

USE, LIMITS = Badge("Use", "good"), Badge("Use with limits", "warning")
NOT_YET, UNSAID = Badge("Do not use yet", "bad"), Badge("Cannot be said", "unknown")
WHY: Mapping[Badge, str] = {
    NOT_YET: "a critical or high finding is open",
    LIMITS: "a medium finding is open, none above it",
    USE: "no open finding is above low",
    UNSAID: "no open finding is above low, and neither calibration nor skill could be judged",
}
RULE = " ".join(f"{badge.text}: {why}." for badge, why in WHY.items())
DECIDES = "The decision stays with the approver"
WORDS: Mapping[str, Badge] = {badge.text: badge for badge in WHY}
NO_VERDICT = ("skipped", "not_applicable")
PERFORMANCE = "performance"


def rating(outcomes: Iterable[Outcome]) -> Badge:
    """Return the recommendation by `RULE`; where predictions were not judged by outcomes it is never to use.

    Examples
    --------
    >>> rating([]).text, rating([Outcome(check="calibration", state="passed")]).text
    ('Cannot be said', 'Use')
    """
    ended = tuple(outcomes)
    tones = {SEVERITY_TONES[finding.severity] for outcome in ended for finding in outcome.findings}
    if "bad" in tones:
        return NOT_YET
    if "warning" in tones:
        return LIMITS
    # outcomes can speak of the predictions by their skill, or by their calibration
    skill = any(outcome.check == PERFORMANCE and outcome.state not in NO_VERDICT for outcome in ended)
    return USE if skill or gate_of(ended).tone in ("good", "bad") else UNSAID


def rests_on(outcomes: Iterable[Outcome]) -> str:
    """Return by which line of the rule the recommendation is made, and who decides.

    Examples
    --------
    >>> rests_on([Outcome(check="calibration", state="passed")])
    'By rule: no open finding is above low. The decision stays with the approver.'
    """
    ended = tuple(outcomes)
    waived = sum(len(outcome.waived) for outcome in ended)
    aside = f" ({count(waived, 'finding')} waived)" if waived else ""
    return f"By rule: {WHY[rating(ended)]}{aside}. {DECIDES}."


def tally(outcomes: Iterable[Outcome], ends: Iterable[tuple[Sequence[str], str]]) -> str:
    """Count checks by how they ended; `ends` are states that count as one, and their words.

    Examples
    --------
    >>> tally([Outcome(check="a", state="passed")] * 2, [(("found",), "with findings"), (("passed",), "passed")])
    '2 passed'
    """
    states = [outcome.state for outcome in outcomes]
    numbers = ((sum(state in among for state in states), words) for among, words in ends)
    return joined([f"{number} {words}" for number, words in numbers if number])


def counted(findings: Iterable[Finding]) -> str:
    """Count findings by severity, worst first: ``"1 high and 2 low"``."""
    severities = [finding.severity for finding in findings]
    numbers = [(severity, severities.count(severity)) for severity in SEVERITIES]
    return joined([f"{many} {severity}" for severity, many in numbers if many]) or "none"
