"""Importance alone, corrected for cover, and R-sens: three columns that answer what a feature is worth."""

from __future__ import annotations

from dataclasses import dataclass

from ...core.results import MeasureFacts
from ...document.blocks import intervals_caption, make_table, notes_of
from ...document.document import Block, Column, Paragraph, Section, Table
from ...document.evidence import Evidence
from ...document.text import joined, name, value_words
from ...evidence.importance import CoverCorrected, CoverCorrectedLine, RSens
from ...evidence.view import by_feature, of_measure, table_of
from ..shared.wording import words_of

LEAD = (
    "Wrong values of one feature cost little where others can stand in for it. So beside the importance of a feature "
    "alone stands the one corrected for cover: what its wrong values cost once those of its partners, which the fitted "
    "joint distribution names, are wrong too. Both are prices of wrong values, not of values left out."
)


@dataclass(frozen=True)
class Corrected:
    """Cover-corrected importance of one measure: its words and its three columns."""

    view: CoverCorrected
    measure: str
    facts: MeasureFacts
    key: str

    @property
    def lines(self) -> list[CoverCorrectedLine]:
        """The lines, those that lead once corrected first."""
        return sorted(of_measure(self.view.lines, self.measure), key=lambda line: line.rank)

    def _partners(self, line: CoverCorrectedLine) -> str:
        return joined([name(one) for one in self.view.partners.get(line.feature, ())])

    def table(self, sensitivity: RSens | None = None, note: str = "") -> Table:
        """Return importance alone, corrected and R-sens where given, a row per feature, with the change of rank."""
        speeds = {} if sensitivity is None else by_feature(sensitivity.lines)
        columns = [Column("feature"), Column("alone", unit=self.facts.unit)]
        columns += [Column("corrected for cover", unit=self.facts.unit), Column("partners"), Column("rank")]
        columns += [Column("R-sens, rank")] if speeds else []
        rows = []
        for line in self.lines:
            speed = speeds.get(line.feature)
            beside = "not computed" if speed is None else f"{words_of(speed)}, {speed.rank}"
            rows.append((*self._cells(line), *((beside,) if speeds else ())))
        intervals = intervals_caption(table_of(self.lines))
        caption = f"Importance for {self.facts.title}: alone, and corrected for cover. {intervals}"
        return make_table(f"{self.key}-table", caption, columns, rows, evidence=self.view.id, note=note)

    def _cells(self, line: CoverCorrectedLine) -> tuple[str, ...]:
        moved = str(line.rank) if line.rank == line.plain_rank else f"{line.plain_rank} to {line.rank}"
        alone = value_words(line.plain, line.plain_lower, line.plain_upper)
        return name(line.feature), alone, words_of(line), self._partners(line) or "none", moved


def leading_blocks(e: Evidence, view: CoverCorrected) -> tuple[list[Block], list[Section]]:
    """Return the blocks of the likelihood, or the first measure, and a part for each other measure."""
    order = sorted(view.measures, key=lambda measure: measure != "nll")
    every = [Corrected(view, m, e.words(m, view.result), f"cover-{k}") for k, m in enumerate(order, 1)]
    first, others = every[0], every[1:]
    return [Paragraph(text=LEAD), first.table(RSens.find(e.run), notes_of(view.result))], [_other(o) for o in others]


def _other(one: Corrected) -> Section:
    return Section(id=one.key, title=f"Corrected importance for {one.facts.title}", blocks=(one.table(),))
