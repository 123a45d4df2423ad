"""Permutation importance, measure by measure: of the prediction and its loss, and of the uncertainty."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from ...document import slots
from ...document.blocks import TOP, intervals_caption, left_out, make_figure
from ...document.document import Block, Paragraph, Section
from ...document.plots import importance
from ...evidence.importance import Pfi, PfiDelta
from ...evidence.view import of_measure, table_of
from ...reading.run_reader import RunReader
from ...reading.sentences import importance_alt, largest_words, margin_words, verdict_words
from ...reading.tables import importance_table, parts_of, split_table
from ..shared.wording import ResultSection


class ImportanceSection(ResultSection[Pfi]):
    """Importance for the prediction and its loss: a part per measure, or why there is none."""

    name: ClassVar[str] = "importance"
    slot: ClassVar[str] = slots.IMPORTANCE
    shows: ClassVar[tuple[str, ...]] = (Pfi.id, PfiDelta.id)  # the changes of single rows stay in the evidence
    of_uncertainty: ClassVar[bool] = False
    of = Pfi
    key = "importance"
    title = "Permutation importance"

    def blocks(self, e: RunReader, view: Pfi) -> Iterable[Block]:
        """Return what is left out, once for both sides."""
        return () if self.of_uncertainty else left_out(view.result)

    def parts(self, e: RunReader, view: Pfi) -> Iterable[Section]:
        """Return a part per measure on this side."""
        together = parts_of(view.measures)[1:]
        for measure in view.measures:
            if e.is_uncertainty(measure) == self.of_uncertainty and measure not in together:
                yield _measure(e, view, measure)
        if self.of_uncertainty and together:
            yield _split(e, view)


class UnsureImportanceSection(ImportanceSection):
    """Importance for the negative log-likelihood and the uncertainty: a part per measure, or why there is none."""

    name: ClassVar[str] = "importance_uncertainty"
    slot: ClassVar[str] = slots.UNSURE_IMPORTANCE
    key = "importance-uncertainty"
    of_uncertainty: ClassVar[bool] = True


def _split(e: RunReader, view: Pfi) -> Section:
    """Return the importance for both parts of the uncertainty, side by side."""
    blocks = split_table(e, view.result, "drivers-split-table")
    return Section(id="drivers-split", title="The uncertainty in its two parts", blocks=blocks)


def _measure(e: RunReader, view: Pfi, measure: str) -> Section:
    """Return one measure's permutation importance."""
    facts, table = e.words(measure, view.result), table_of(of_measure(view.lines, measure))
    text = " ".join(filter(None, (largest_words(table, facts), verdict_words(table), margin_words(table, facts.unit))))
    capped = f", the {TOP} largest of {len(table)}" if len(table) > TOP else ""
    spread = f" Thin lines: {view.spread}, which is no interval." if view.spread else ""
    figure = make_figure(
        f"drivers-{measure}-figure",
        f"Permutation importance for {facts.title}{capped}. {intervals_caption(table)}{spread}",
        importance_alt(table, facts, TOP),
        lambda: importance.draw(view.result, measure, top=TOP),
        view.id,
    )
    values = importance_table(e, view.result, measure, f"drivers-{measure}-table")
    blocks = (Paragraph(text=text), figure, values)
    return Section(id=f"drivers-{measure}", title=f"Importance for {facts.title}", blocks=blocks)
