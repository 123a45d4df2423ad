"""Method cards: what each number is, what it assumes, how it fails, and where it comes from; then words and works."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ...core.support.references import WORKS, cite
from ...document.blocks import bullets, paragraphs
from ...document.document import Block, Facts, Section, texts
from ...document.text import clean, joined, name, spaced
from ...evidence.glossary import TERMS
from ...evidence.run import MethodRecord
from ...reading.run_reader import RunReader

TITLE = "Methods"
LEAD = "All logarithms are natural; entropy and the negative log-likelihood are in nats."
_END = re.compile(r"\.\s(?=[A-Z])|;\s")  # of a sentence or a half of one, not of an abbreviation


def methods(e: RunReader, *, whole: bool = True) -> Section:
    """Return the methods that have results in this run: a paragraph on each, or their cards in full."""
    rows = tuple((clean(method.card.title, 120), in_short(method)) for method in e.methods_in_use)
    blocks = (*paragraphs(LEAD), *((Facts(rows=rows),) if not whole else ()))
    if not rows:
        did = "What the methods of this run do was not recorded." if e.results else "No method has results in this run."
        blocks = paragraphs(did)
    sections = tuple(map(_card, e.methods_in_use)) if whole else ()
    return Section(id="methods", title=TITLE, blocks=blocks, sections=sections)


def in_short(method: MethodRecord) -> str:
    """Return what a method estimates, what it assumes first, how it fails first, and its source, as one paragraph."""
    card = method.card
    parts = (
        clean(card.definition),
        _labelled("Assumes", card.assumes),
        _labelled("Fails", card.fails),
        f"Source: {cite(card.references).rstrip('.')}." if card.references else "",
    )
    return spaced(*parts)


def _labelled(label: str, text: str) -> str:
    first = _END.split(clean(text), maxsplit=1)[0].rstrip(".")
    return f"{label}: {first}." if first else ""


def _card(method: MethodRecord) -> Section:
    card = method.card
    options = [(key, value) for key, value in sorted(method.options.items()) if value is not None]
    rows = (
        ("What it is", clean(card.definition)),
        ("Assumes", clean(card.assumes)),
        ("Fails when", clean(card.fails)),
        ("Intervals", clean(card.interval)),
        ("Options", joined([f"{name(key)}: {clean(value, 60)}" for key, value in options], 20)),
        ("Rests on", f"{cite(card.references).rstrip('.')}." if card.references else ""),
    )
    facts = Facts(rows=tuple((label, text) for label, text in rows if text))
    return Section(id=f"method-{method.name}", title=clean(card.title, 120), blocks=(facts,))


def references(sections: Iterable[Section]) -> Section:
    """Return the glossary of the terms, and the list of the works, that stand in `sections`."""
    text = "\n".join(texts(sections))
    terms = tuple(pair for pair in TERMS.items() if re.search(rf"\b{re.escape(pair[0])}\b", text, re.IGNORECASE))
    works = bullets(f"{work.short.rstrip('.')}. {work.full}" for work in WORKS.values() if work.short in text)
    explained: tuple[Block, ...] = (Facts(rows=terms),) if terms else paragraphs("No term needs words.")
    parts = (
        Section(id="works", title="Works cited in this report", blocks=works or paragraphs("No work is cited.")),
        Section(id="glossary", title="Terms used in this report", blocks=explained),
    )
    return Section(id="references", title="References and glossary", sections=parts, appendix=True)
