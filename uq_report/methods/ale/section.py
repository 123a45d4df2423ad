"""Accumulated local effects: where their curves end, and where they part from the averages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from typing import ClassVar

from ...document import slots
from ...document.blocks import left_out, paragraphs
from ...document.document import Block, Bullets, Paragraph
from ...document.text import clean, items, joined, mention, plain, value_words
from ...evidence.profiles import Ale
from ...reading.effects import comparable, curve, parts, profile_measures
from ...reading.feature_index import Ledger
from ...reading.run_reader import RunReader
from ...reading.tables import ends_table, split_ends
from ..shared.wording import ResultSection

LEAD = (
    "An accumulated local effect changes each observation only to the edges of its own bin and adds up the mean "
    "changes; it stays near the data, whereas a PDP may extrapolate. Where the two curves of correlated features "
    "differ, the PDP is unreliable."
)


class LocalEffectsSection(ResultSection[Ale]):
    """The ends of the local effects, and where they differ from the averages; or why there are none."""

    name: ClassVar[str] = "local_effects"
    slot: ClassVar[str] = slots.LOCAL_EFFECTS
    shows: ClassVar[tuple[str, ...]] = (Ale.id,)
    of = Ale
    title = "Local effects (ALE)"
    empty = "No feature has a local effect."

    def blocks(self, e: RunReader, view: Ale) -> Iterable[Block]:
        """Return where the curves differ, and the ends of the curves in a table."""
        measures = profile_measures(e, view.measures)
        yield from paragraphs(LEAD, _notes(view.result.notes))
        yield from left_out(view.result)
        yield from _parting(Ledger(e), view, measures)
        yield from ends_table(e, view.result, view.features, measures, "local-effects-table")
        yield from split_ends(e, view.result, view.features, "local-effects-split-table")


def _notes(notes: Iterable[str]) -> str:
    """Return the notes, one that several features share said once."""
    shared: dict[str, list[str]] = {}
    for note in dict.fromkeys(notes):
        about, _, text = note.partition(": ")
        shared.setdefault(text or note, []).extend([about] if text else [])
    return " ".join(clean(f"{joined(items(who), 6)}: {text}" if who else text) for text, who in shared.items())


def _parting(ledger: Ledger, view: Ale, measures: Sequence[str]) -> list[Block]:
    """Say where a local effect and an average differ beyond their intervals, and for which features they do not."""
    able, different = False, []
    for feature, measure in product(view.features, measures):
        curves = [curve(result, measure, feature) for result in (view.result, ledger.average)]
        able = able or comparable(*curves)
        where = parts(*curves)
        if where is not None:
            different.append(
                f"{mention(feature)}, {ledger.e.words(measure).title}: from {plain(where.start)} to {plain(where.x)} "
                f"ALE changes by {value_words(where.accumulated)}, the PDP by {value_words(where.partial)}."
            )
    if not able:
        return []
    if not different:
        return [Paragraph(text="No local effect is shown to differ from the partial dependence.")]
    return [
        Bullets(items=tuple(different)),
        Paragraph(text="No other local effect is shown to differ from the partial dependence."),
    ]
