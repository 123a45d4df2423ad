"""What sections share: sections of one result, the section of a missing result, and lines in words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import ClassVar, Generic, TypeVar, cast

from ...document.blocks import left_out
from ...document.document import Block, Paragraph, Section
from ...document.text import joined, name, value_words
from ...evidence import ids
from ...evidence.view import EstimateLine, View
from ...reading.default_sections import part
from ...reading.run_reader import RunReader
from ...reading.sentences import mark

V = TypeVar("V", bound=View)
# measures of sensitivities as short as columns need
SHORT = {"ead": "E|∂f|", "aed": "|E ∂f|", "apc": "APC", "var": "VAR", "pd": "PD spread"}


class BuiltInSection:
    """What the sections of this package have in common: the version of the contract they keep."""

    api_version: ClassVar[int] = 1


class ResultSection(BuiltInSection, Generic[V]):
    """A section on one result, described by class variables: its blocks and parts, or why there is no result.

    Class variables
    ---------------
    of : the view of the result
    key : the id of the section; by default its name with hyphens
    title : its heading
    empty : what it says of a result without lines; without this text such a result is shown like any other
    """

    of: ClassVar[type[View]]
    name: ClassVar[str]
    key: ClassVar[str] = ""
    title: ClassVar[str]
    empty: ClassVar[str] = ""

    def section(self, evidence: RunReader) -> Section:
        """Return the section."""
        key = self.key or self.name.replace("_", "-")
        view, section = self.of.find(evidence.run), Section(id=key, title=self.title)
        if view is None or (self.empty and not view.lines):
            return absent(evidence, section, self.of.id, view, self.empty)
        blocks, parts = self.blocks(evidence, cast("V", view)), self.parts(evidence, cast("V", view))
        return replace(section, blocks=tuple(blocks), sections=tuple(parts))

    def blocks(self, e: RunReader, view: V) -> Iterable[Block]:
        """Return what stands below the title."""
        return ()

    def parts(self, e: RunReader, view: V) -> Iterable[Section]:
        """Return the sub-sections."""
        return ()


def absent(e: RunReader, section: Section, result_id: str, view: View | None, empty: str) -> Section:
    """Return `section` with the reason why its result is not there, or with `empty` where it has no line."""
    text = e.why_missing(ids.explainer_of(result_id)) if view is None else empty
    return replace(section, blocks=(Paragraph(text=text), *left_out(None if view is None else view.result)))


def words_of(line: EstimateLine | None, missing: str = "none", unit: str = "") -> str:
    """Return an estimate with its interval; `missing` where there is no line."""
    return missing if line is None else value_words(line.estimate, line.lower, line.upper, unit) + mark(line)


def named(lines: Iterable[EstimateLine], unit: str = "") -> str:
    """Name the features of lines with their estimates: ``"age 0.16 (0.13 to 0.19) and amount ..."``."""
    return joined([f"{name(line.feature)} {words_of(line, unit=unit)}" for line in lines])


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
