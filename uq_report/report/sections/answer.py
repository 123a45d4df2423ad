"""Page 1: what the evidence supports and why, complete without turning the page."""

from __future__ import annotations

from ...document.document import Figure, Section
from ...document.evidence import Evidence
from .summary import summary

TITLE = "The answer"


def answer(e: Evidence) -> Section:
    """Return page 1."""
    return Section(
        id="answer", title=TITLE, blocks=tuple(block for block in summary(e).blocks if not isinstance(block, Figure))
    )
