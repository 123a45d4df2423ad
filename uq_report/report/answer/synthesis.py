"""The answer, made once from the evidence."""

from __future__ import annotations

from ...document.evidence import Evidence
from ...document.text import clean, first_sentence
from ...evidence.finding import SEVERITIES, Finding
from ..rating import rating, rests_on
from ..unjudged import unjudged
from .actions import actions
from .affected import affected
from .belief import NO, YES, belief, believed, clause
from .data import Answer
from .drivers import drivers
from .foot import foot
from .skill import good, performance


def answer_of(e: Evidence) -> Answer:
    """Return what the evidence of a run supports."""
    groups = affected(e)
    return Answer(
        recommendation=rating(e.run.outcomes),
        because=because(e),
        rule=rests_on(e.run.outcomes),
        unjudged=unjudged(e),
        cards=(performance(e), belief(e), *((groups,) if groups is not None else ())),
        drives=drivers(e),
        actions=actions(e),
        foot=foot(e),
    )


def because(e: Evidence) -> str:
    """Return what is good and what limits it: skill, whether the doubt can be believed, and the worst finding."""
    told, side = good(e)
    alike = (side > 0) == (believed(e) == YES)
    worst = min(e.findings, key=lambda f: SEVERITIES.index(f.severity), default=None)
    doubt = "" if believed(e) == NO and worst is not None and _says_so(worst) else clause(e)
    if doubt:
        told = f"{told}, {'and' if alike else 'but'} {doubt}"
    if worst is None or worst.severity == "observation":
        return f"{told}."
    return f"{told}. Worst open finding: {_title(worst)} ({clean(worst.code, 20)}, {worst.severity})."


def _says_so(finding: Finding) -> bool:
    """Say whether a finding is the one that refutes the doubt."""
    return finding.code == "UQ101"


def _title(finding: Finding) -> str:
    """Return a finding's title inside a sentence."""
    title = first_sentence(finding.title).rstrip(".") or "see the findings"
    return f"{title[0].lower()}{title[1:]}" if title[1:2].islower() else title
