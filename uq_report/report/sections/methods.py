"""Method cards: what each number is, what it assumes, how it fails, and where it comes from."""

from __future__ import annotations

import re

from ...core.references import cite
from ...document.document import Cell, Facts, Paragraph, Section
from ...document.evidence import Evidence
from ...document.text import clean, joined, name
from ...evidence.run import MethodRecord

TITLE = "Methods"
LEAD = "All logarithms are natural; entropy and the negative log-likelihood are in nats."
_END = re.compile(r"\.\s(?=[A-Z])|;\s")  # of a sentence or a half of one, not of an abbreviation


def methods(e: Evidence, *, whole: bool = True) -> Section:
    """Return the methods that have results in this run: a paragraph on each, or their cards in full."""
    lead = Paragraph(text=LEAD)
    if not e.methods_in_use:
        absent = (
            "What the methods of this run do was not recorded." if e.results else "No method has results in this run."
        )
        return Section(id="methods", title=TITLE, blocks=(Paragraph(text=absent),))
    if whole:
        return Section(id="methods", title=TITLE, blocks=(lead,), sections=tuple(map(_card, e.methods_in_use)))
    rows = tuple((clean(method.card.title, 120), in_short(method)) for method in e.methods_in_use)
    return Section(id="methods", title=TITLE, blocks=(lead, Facts(rows=rows)))


def in_short(method: MethodRecord) -> str:
    """Return what a method estimates, what it assumes first, how it fails first, and its source, as one paragraph."""
    card = method.card
    parts = (
        clean(card.definition),
        _labelled("Assumes", card.assumes),
        _labelled("Fails", card.fails),
        f"Source: {cite(card.references).rstrip('.')}." if card.references else "",
    )
    return " ".join(filter(None, parts))


def _labelled(label: str, text: str) -> str:
    first = _END.split(clean(text), maxsplit=1)[0].rstrip(".")
    return f"{label}: {first}." if first else ""


def _card(method: MethodRecord) -> Section:
    card = method.card
    given = [(key, value) for key, value in sorted(method.options.items()) if value is not None]
    options = joined([f"{name(key)}: {clean(value, 60)}" for key, value in given], 20)
    rows: tuple[tuple[str, Cell], ...] = (
        ("What it is", clean(card.definition)),
        ("Assumes", clean(card.assumes)),
        ("Fails when", clean(card.fails)),
        ("Intervals", clean(card.interval)),
        ("Options", options),
        ("Rests on", f"{cite(card.references).rstrip('.')}." if card.references else ""),
    )
    stated = tuple((label, cell) for label, cell in rows if cell)
    return Section(id=f"method-{method.name}", title=clean(card.title, 120), blocks=(Facts(rows=stated),))
