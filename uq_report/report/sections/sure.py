"""How good the model is, and whether what it says of its uncertainty can be believed: scores, reliability, groups."""

from __future__ import annotations

from ...document.document import Paragraph, Section
from ...document.evidence import Evidence
from ...document.plots.frames import interval_words
from ...document.text import joined
from ...evidence import ids
from .affected import affected
from .claimed import claimed
from .outcomes import scores
from .uncertainty import believed

TITLE = "How good, how sure"


def sure(e: Evidence) -> Section:
    """Return scores and decisions, reliability, what claims are confirmed, and groups."""
    parts = (scores(e), believed(e), claimed(e), affected(e))
    return Section(id="sure", title=TITLE, blocks=_intervals(e), sections=tuple(filter(None, parts)))


def _intervals(e: Evidence) -> tuple[Paragraph, ...]:
    """Say once which intervals stand in brackets."""
    found = (e.find(key) for key in (ids.CALIBRATION, ids.CALIBRATION_DECISIONS, ids.PFI_CLAIMS, ids.GROUPS))
    words = dict.fromkeys(interval_words(result.estimates) for result in found if result is not None)
    kinds = [kind for kind in words if kind]
    return (Paragraph(text=f"In brackets stands the {joined(kinds)}."),) if kinds else ()
