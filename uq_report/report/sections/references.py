"""Words and works: the terms this report uses, and the sources it cites, in full."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ...core.references import WORKS
from ...document.document import Block, Bullets, Facts, Paragraph, Section
from ...document.reading import texts
from ...evidence.glossary import TERMS


def references(sections: Iterable[Section | None]) -> Section:
    """Return the glossary of the terms, and the list of the works, that stand in `sections`."""
    text = "\n".join(texts(section for section in sections if section is not None))
    terms = tuple((term, words) for term, words in TERMS.items() if _uses(text, term))
    works = tuple(f"{work.short.rstrip('.')}. {work.full}" for work in WORKS.values() if work.short in text)
    cited: Block = Bullets(items=works) if works else Paragraph(text="No work is cited.")
    explained: Block = Facts(rows=terms) if terms else Paragraph(text="No term needs words.")
    return Section(
        id="references",
        title="References and glossary",
        sections=(
            Section(id="works", title="Works cited in this report", blocks=(cited,)),
            Section(id="glossary", title="Terms used in this report", blocks=(explained,)),
        ),
        appendix=True,
    )


def _uses(text: str, term: str) -> bool:
    return re.search(rf"\b{re.escape(term)}\b", text, re.IGNORECASE) is not None
