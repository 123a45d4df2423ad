"""Method cards: what each number is, what it assumes, how it fails, and where it comes from."""

from __future__ import annotations

from ...core.references import cite
from ...document.document import Cell, Facts, Paragraph, Section
from ...document.evidence import Evidence
from ...document.text import clean, joined, name
from ...evidence.run import MethodRecord

LEAD = (
    "All logarithms are natural; entropy and negative log-likelihood are in nats. No interval covers the fitting "
    "of the model: a model fitted to other rows would give other numbers."
)


def methods(e: Evidence) -> Section:
    """Return the cards of the methods that have results in this run."""
    cards = tuple(_card(method) for method in e.methods_in_use)
    return Section(id="methods", title="Method cards", blocks=(Paragraph(text=LEAD),), sections=cards)


def _card(method: MethodRecord) -> Section:
    card = method.card
    options = joined([f"{name(key)}: {clean(value, 60)}" for key, value in sorted(method.options.items())], 20)
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
