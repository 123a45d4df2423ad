"""Is the model sound in concept: its assumptions, the directions people expect, and the shape of its effects."""

from __future__ import annotations

from ...document.document import Badge, Block, Bullets, Facts, Paragraph, Section
from ...document.evidence import OPEN, Evidence
from ...document.text import clean, items, joined, name, sentence
from ...evidence.finding import Outcome
from ..placing import Placed
from .rules import STATES

TITLE = "Conceptual soundness"
LEAD = (
    "Whether design choices and assumptions hold is for people to argue; the curves below are evidence for that "
    "argument. They show what the model does, not what the world does."
)
DIRECTIONS = "UQ90"  # codes of checks that hold effects against what people expect


def soundness(e: Evidence, placed: Placed) -> Section:
    """Return assumptions, stated directions, profiles and local effects."""
    return Section(
        id="soundness",
        title=TITLE,
        blocks=(Paragraph(text=LEAD),),
        sections=(_assumptions(e), _directions(e), *placed.chapter("soundness")),
    )


def _assumptions(e: Evidence) -> Section:
    text = e.about("assumptions")
    block: Block = Paragraph(text=text) if text else Facts(rows=(("Assumptions and design choices", OPEN),))
    return Section(id="assumptions", title="Assumptions and design choices", blocks=(block,))


def _directions(e: Evidence) -> Section:
    """Return how the check of stated directions ended, whatever it is called."""
    outcomes = [o for o in e.run.outcomes if any(rule.code.startswith(DIRECTIONS) for rule in o.rules)]
    blocks = [block for outcome in outcomes for block in _ended(outcome)]
    if not blocks:
        blocks = [Paragraph(text="No check held the effects against a stated direction.")]
    return Section(id="directions", title="Stated directions of effects", blocks=tuple(blocks))


def _ended(outcome: Outcome) -> list[Block]:
    badge = Badge(outcome.state.replace("_", " "), STATES[outcome.state])
    rows = ((name(outcome.title or outcome.check), badge), ("Why", sentence(outcome.reason) or "see the findings"))
    findings = tuple(
        f"{f.code} ({f.severity}) {joined(items(f.features))}: {clean(f.statement)}"
        for f in outcome.findings
        if f.code.startswith(DIRECTIONS)
    )
    return [Facts(rows=rows), *([Bullets(items=findings)] if findings else [])]
