"""Words and works: the terms this report uses, and the sources it cites, in full."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ...core.references import WORKS
from ...document.document import Block, Facts, Section
from ...document.reading import texts
from ...evidence.glossary import TERMS
from ..optional import bullets, paragraphs


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
