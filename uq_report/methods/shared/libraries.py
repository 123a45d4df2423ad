"""Results of other libraries' methods, told by their kind."""

from __future__ import annotations

from typing import ClassVar

from ...document.document import Paragraph, Section
from ...reading.default_sections import part
from ...reading.run_reader import RunReader
from .wording import BuiltInSection


class LibrarySection(BuiltInSection):
    """A part per result, in the order of `shows`, or why there is none."""

    name: ClassVar[str]
    shows: ClassVar[tuple[str, ...]]
    title: ClassVar[str]
    lead: ClassVar[str]

    def section(self, evidence: RunReader) -> Section:
        """Return the lead and a part per result."""
        results = [result for key in self.shows if (result := evidence.find(key)) is not None]
        missing = () if results else (Paragraph(text=evidence.why_missing(self.name)),)
        blocks = (Paragraph(text=self.lead), *missing)
        parts = tuple(part(evidence, result) for result in results)
        return Section(id=f"explainer-{self.name}", title=self.title, blocks=blocks, sections=parts)
