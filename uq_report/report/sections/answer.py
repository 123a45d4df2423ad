"""Page 1: what the evidence supports and why, complete without turning the page."""

from __future__ import annotations

from ...document.document import Cards, Paragraph, Section, Step, Steps, Verdict
from ...document.evidence import Evidence
from ..answer import answer_of
from ..answer.picture import picture

TITLE = "The answer"


def answer(e: Evidence) -> Section:
    """Return page 1."""
    told = answer_of(e)
    unjudged = (Paragraph(text=told.unjudged),) if told.unjudged else ()
    drives = Section(
        id="answer-drives",
        title="What drives it",
        blocks=(Steps(steps=tuple(Step(lead="", text=text) for text in told.drives)), *picture(e)),
    )
    todo = Section(
        id="answer-actions", title="What to do", blocks=(Steps(steps=told.actions), Paragraph(text=told.foot))
    )
    verdict = Verdict(badge=told.recommendation, text=told.because, note=told.rule)
    return Section(
        id="answer", title=TITLE, blocks=(verdict, *unjudged, Cards(cards=told.cards)), sections=(drives, todo)
    )
