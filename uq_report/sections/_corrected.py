"""Importance alone, corrected for cover, and R-sens: three columns that answer what a feature is worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..core.results import MeasureFacts
from ..document.blocks import TOP, intervals_caption, make_figure, make_table, notes_of
from ..document.document import Block, Column, Paragraph, Section, Table
from ..document.evidence import Evidence
from ..document.text import joined, name, value_words
from ..evidence.importance import CoverCorrected, CoverCorrectedLine, RSens
from ..evidence.view import by_feature, of_measure, table_of
from ..plots import covered
from ._wording import words_of

LEADING = 3
LEAD = (
    "Wrong values of one feature cost little where others can stand in for it. So beside the importance of a feature "
    "alone stands the one corrected for cover: what its wrong values cost once those of its partners, which the fitted "
    "joint distribution names, are wrong too. Both are prices of wrong values, not of values left out."
)


@dataclass(frozen=True)
class Corrected:
    """Cover-corrected importance of one measure: its words, its figure and its three columns."""

    view: CoverCorrected
    measure: str
    facts: MeasureFacts
    key: str

    @property
    def lines(self) -> list[CoverCorrectedLine]:
        """The lines, those that lead once corrected first."""
        return sorted(of_measure(self.view.lines, self.measure), key=lambda line: line.rank)

    def words(self) -> str:
        """Say which features their partners hide, and whether other features lead."""
        hidden = [line for line in self.lines if is_hidden(line)]
        names = joined([f"{name(line.feature)} (by {self._partners(line)})" for line in hidden])
        shown = f"Hidden by partners: {names}." if hidden else "No feature is shown to be hidden by partners."
        return f"{shown} {self._lead()}"

    def _lead(self) -> str:
        alone = [line.feature for line in sorted(self.lines, key=lambda line: line.plain_rank)][:LEADING]
        together = [line.feature for line in self.lines][:LEADING]
        if alone == together:
            return f"Alone and corrected, {joined([name(f) for f in together])} lead in this order."
        first, then = (joined([name(feature) for feature in order]) for order in (alone, together))
        return f"Alone, {first} lead; corrected, {then}."

    def _partners(self, line: CoverCorrectedLine) -> str:
        return joined([name(one) for one in self.view.partners.get(line.feature, ())])

    def figure(self) -> Block:
        """Draw both importances with their partners' names."""
        capped = f", the {TOP} leading of {len(self.lines)}" if len(self.lines) > TOP else ""
        return make_figure(
            f"{self.key}-figure",
            f"Importance for {self.facts.title}, alone and corrected for cover{capped}. "
            f"{intervals_caption(table_of(self.lines))}",
            f"Two dots per feature with their intervals: alone, and with its partners lost too. {self.words()}",
            lambda: covered.draw_corrected(self.view.result, self.measure, TOP),
            self.view.id,
        )

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


def is_hidden(line: CoverCorrectedLine) -> bool:
    """Say whether the corrected importance lies above the plain one by more than the margin, interval included."""
    return not line.distrust and line.change_lower > line.margin


def leading_blocks(e: Evidence, view: CoverCorrected) -> tuple[list[Block], list[Section]]:
    """Return the blocks of the likelihood, or the first measure, and a part for each other measure."""
    order = sorted(view.measures, key=lambda measure: measure != "nll")
    every = [Corrected(view, m, e.words(m, view.result), f"cover-{k}") for k, m in enumerate(order, 1)]
    first, others = every[0], every[1:]
    blocks: list[Block] = [Paragraph(text=LEAD), *e.warning([first.measure]), Paragraph(text=first.words())]
    table = first.table(RSens.find(e.run), notes_of(view.result))
    return [*blocks, first.figure(), table], [_other(e, one) for one in others]


def _other(e: Evidence, one: Corrected) -> Section:
    blocks: list[Block] = [*e.warning([one.measure]), Paragraph(text=one.words()), one.table()]
    return Section(id=one.key, title=f"Corrected importance for {one.facts.title}", blocks=tuple(blocks))


def cover_words(line: CoverCorrectedLine, partners: Sequence[str], unit: str) -> str:
    """Say what partners hide of a feature; the empty string where nothing is shown to be hidden."""
    if not is_hidden(line):
        return ""
    change = value_words(line.change, line.change_lower, line.change_upper, unit)
    return f"With {joined([name(one) for one in partners])} wrong too, its wrong values cost more by {change}."
