"""Whether what the model says of its own doubt can be believed."""

from __future__ import annotations

from math import isfinite

from ...core.text import count
from ...document.amounts import scaled
from ...document.document import Card
from ...document.evidence import Evidence
from ...document.text import clean, sentence
from ...evidence.finding import Finding
from ...evidence.outcomes import CONFIDENCE_GAP, Calibration, ScoreLine, rows_within
from ..unjudged import confirmed

TITLE = "Can its doubt be believed?"
YES, PARTLY, NO, OPEN, UNTESTED = "Yes", "In part", "No", "Cannot be told", "Not tested"
# findings that limit a doubt which is right over all rows: outside the support, claims, groups
LIMITS = ("UQ301", "UQ401", "UQ802")
_HEADLINES = {"bad": NO, "warning": OPEN, "unknown": UNTESTED}


def believed(e: Evidence) -> str:
    """Return the answer in a word or two; never yes without a calibration that was tested and passed."""
    if e.gate.tone != "good":
        return _HEADLINES[e.gate.tone]
    return PARTLY if _limit(e) is not None else YES


def clause(e: Evidence) -> str:
    """Return the answer as a clause.

    Empty where the doubt is refuted: that is a finding of its own.
    """
    rows = "these rows" if e.subject.n is None else count(e.subject.n, "row")
    return {
        YES: "what it says of its own doubt holds on them",
        PARTLY: "what it says of its own doubt holds in part",
        OPEN: f"{rows} cannot tell whether its own doubt can be believed",
        UNTESTED: "whether its own doubt can be believed was not tested",
        NO: "what it says of its own doubt does not hold",
    }[believed(e)]


def belief(e: Evidence) -> Card:
    """Return the card: the answer, what it rests on, and what unseen rows confirm of the model's claims."""
    headline, n = believed(e), e.subject.n
    aside = f"on {count(n, 'row')}" if headline == OPEN and n is not None else ""
    told = (_reason(e, headline), confirmed(e))
    return Card(title=TITLE, headline=headline, aside=aside, texts=tuple(filter(None, told)))


def _limit(e: Evidence) -> Finding | None:
    """Return the worst open finding that limits the doubt."""
    return next((f for f in e.findings if f.code in LIMITS and f.severity != "observation"), None)


def _reason(e: Evidence, headline: str) -> str:
    """Say what the answer rests on."""
    view = Calibration.find(e.run)
    gap = None if view is None else view.of(CONFIDENCE_GAP)
    if view is None or gap is None or headline == UNTESTED:
        return sentence(e.gate.reason)
    if headline == NO:
        return _wrong(view, gap)
    margin = e.gap_margin
    differ = f"Stated and real uncertainty differ by {_words(gap)}"
    if headline == OPEN:
        return _open(view, gap, differ, margin)
    agree = f"{differ}, within ±{margin:g}." if isfinite(margin) else f"{differ}."
    limit = _limit(e)
    return agree if limit is None else f"{agree} But: {sentence(limit.title)} ({clean(limit.code, 20)})"


def _wrong(view: Calibration, gap: ScoreLine) -> str:
    """Say in which direction the doubt is wrong, as far as its interval tells."""
    if view.infinite_nll:
        return f"In {count(view.infinite_nll, 'row')} it gave what happened a probability of 0."
    if gap.lower_90 > 0:
        return f"It is too sure: a row costs {_words(gap)} more than it states."
    if gap.upper_90 < 0:
        return f"It is not sure enough: a row costs {_words(gap, -1)} less than it states."
    return f"Outcomes do not follow its stated probabilities; the gap of {_words(gap)} has no clear direction."


def _open(view: Calibration, gap: ScoreLine, differ: str, margin: float) -> str:
    """Say what keeps the answer open, and how many rows would do where these are too few."""
    if not isfinite(margin) or max(-gap.lower_90, gap.upper_90) < margin:
        return f"{differ}."
    needed = rows_within(gap.estimate, gap.lower_90, gap.upper_90, margin, view.n)
    return f"{differ}; ±{margin:g} would do.{f' About {needed} rows would tell.' if needed else ''}"


def _words(gap: ScoreLine, sign: int = 1) -> str:
    """Return the gap with its 90 % interval."""
    return scaled(gap.estimate, gap.lower_90, gap.upper_90, gap.unit, sign=sign)
