"""Accumulated local effects, and where they differ from the averages of partial dependence."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import ClassVar

from ...document import slots
from ...document.blocks import bullets, paragraphs
from ...document.document import Block, Section
from ...document.text import mention, plain, value_words
from ...evidence.profiles import Ale
from ...reading.default_sections import part
from ...reading.effects import comparable, curve, parts, profile_measures
from ...reading.feature_index import Ledger
from ...reading.run_reader import RunReader

LEAD = (
    "An accumulated local effect (ALE) changes each observation only to the edges of its own bin and adds up the mean "
    "changes; it stays near the data, whereas a PDP may extrapolate. Where the two curves of correlated features "
    "differ, the PDP is unreliable."
)


class LocalEffectsSection:
    """The curves as of any method, and the features for which they differ from partial dependence."""

    name: ClassVar[str] = "local_effects"
    slot: ClassVar[str] = slots.LOCAL_EFFECTS
    shows: ClassVar[tuple[str, ...]] = (Ale.id,)
    api_version: ClassVar[int] = 1

    def section(self, evidence: RunReader) -> Section | None:
        """Return the result by its kind, and where the curves differ; None without it."""
        view = Ale.find(evidence.run)
        if view is None:
            return None
        section, measures = part(evidence, view.result), profile_measures(evidence, view.measures)
        blocks = (*paragraphs(LEAD), *_parting(Ledger(evidence), view, measures), *section.blocks)
        return replace(section, id="local-effects", blocks=blocks)


def _parting(ledger: Ledger, view: Ale, measures: Sequence[str]) -> tuple[Block, ...]:
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
    other = "other " if different else ""
    rest = f"No {other}local effect is shown to differ from the partial dependence." if able else ""
    return (*bullets(different), *paragraphs(rest))
