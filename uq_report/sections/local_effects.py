"""Accumulated local effects beside the PDP of the same features, with a sentence where the two part."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar

import pandas as pd

from ..core.parting import parting
from ..document import slots
from ..document.blocks import intervals_caption, left_out, make_figure
from ..document.document import Block, Paragraph, Section
from ..document.evidence import Evidence
from ..document.tables import ends_table
from ..document.telling import range_words
from ..document.text import clean, items, joined, name, plain, value_words
from ..evidence import columns as col
from ..evidence.profiles import Ale, Pdp
from ..evidence.view import of_feature, table_of
from ..plots import local_effects as figures
from ._wording import BuiltIn, absent
from .profiles import leading, preferred

TITLE = "Local effects (ALE)"
MOST = 4
LEAD = (
    "An accumulated local effect moves each row only to the edges of the bin it is in, and adds up the mean changes; "
    "it stays near the data where a PDP asks the model about rows that may not occur. Where features depend on each "
    "other and the two curves part, the PDP is the one to doubt. Both are shifted to the same mean: shapes compare, "
    "levels do not."
)


class LocalEffectsSection(BuiltIn):
    """ALE against PDP for the leading features, or why there is none."""

    name: ClassVar[str] = "local_effects"
    slot: ClassVar[str] = slots.LOCAL_EFFECTS
    shows: ClassVar[tuple[str, ...]] = (Ale.id,)

    def section(self, evidence: Evidence) -> Section:
        """Return the ends of the curves in a table, and a part per leading feature."""
        view, section = Ale.find(evidence.run), Section(id="local-effects", title=TITLE)
        if view is None or not view.lines:
            return absent(evidence, section, Ale.id, view, "No feature has a local effect.")
        chosen, measures = leading(evidence, view.features, MOST), preferred(view.measures)
        rest = [feature for feature in view.features if feature not in chosen]
        blocks: list[Block] = [Paragraph(text=LEAD), *evidence.warning(measures), *left_out(view.result)]
        if rest:
            text = f"Shown are the leading features. In the evidence: {joined(items(rest), 40)}."
            blocks.append(Paragraph(text=text))
        blocks += [Paragraph(text=_notes(view.result.notes))] if view.result.notes else []
        blocks += ends_table(evidence, view.result, chosen, measures, "local-effects-table")
        parts = tuple(_feature(evidence, view, feature, k) for k, feature in enumerate(chosen, 1))
        return Section(id="local-effects", title=TITLE, blocks=tuple(blocks), sections=parts)


def _notes(notes: Iterable[str]) -> str:
    """Return the notes, one that several features share said once."""
    shared: dict[str, list[str]] = {}
    for note in dict.fromkeys(notes):
        about, _, text = note.partition(": ")
        shared.setdefault(text or note, []).extend([about] if text else [])
    return " ".join(clean(f"{joined(items(who), 6)}: {text}" if who else text) for text, who in shared.items())


def _feature(e: Evidence, view: Ale, feature: str, number_of: int) -> Section:
    ale, pdp = view.result, e.find(Pdp.id)
    if pdp is not None and pdp.options.get("mode", "plain") != "plain":
        pdp = None
    measures = [m for m in preferred(view.measures) if not figures.curve(ale, m, feature).empty]
    curves = {m: (figures.curve(ale, m, feature), figures.curve(pdp, m, feature)) for m in measures}
    ranges = [range_words(curve, e.words(m)).replace("Average ", "ALE of ", 1) for m, (curve, _) in curves.items()]
    text = " ".join([*ranges, *_parting(e, curves)])
    against = "ALE against PDP" if any(len(partial) for _, partial in curves.values()) else "ALE"
    intervals = intervals_caption(table_of(of_feature(view.lines, feature)))
    figure = make_figure(
        f"local-effects-{number_of}-figure",
        f"{name(feature)}: {against}. ALE bands are pointwise. {intervals}",
        f"{against} of {name(feature)}. {text}",
        lambda: figures.draw(ale, pdp, feature, measures),
        ale.id,
    )
    return Section(id=f"local-effects-{number_of}", title=name(feature), blocks=(Paragraph(text=text), figure))


def _parting(e: Evidence, curves: Mapping[str, tuple[pd.DataFrame, pd.DataFrame]]) -> list[str]:
    """Say for which measures ALE and PDP differ beyond their intervals, and for which that is not shown."""
    sentences, alike = [], []
    for measure, (ale, pdp) in curves.items():
        if not _comparable(ale, pdp):
            continue
        title, where = e.words(measure).title, parting(ale, pdp, float(ale[col.CONFIDENCE].dropna().max()))
        if where is None:
            alike.append(title)
            continue
        sentences.append(
            f"ALE and PDP of {title} differ beyond their intervals, most at {plain(where.x)}: from "
            f"{plain(where.start)} to there ALE changes by {value_words(where.ale)}, the PDP by "
            f"{value_words(where.pdp)}."
        )
    return [*sentences, *([f"For {joined(alike)} ALE and PDP are not shown to differ."] if alike else [])]


def _comparable(ale: pd.DataFrame, pdp: pd.DataFrame) -> bool:
    if pdp.empty or any(curve[col.LEVEL].astype(bool).any() for curve in (ale, pdp)):
        return False
    errors = (ale.get(col.STD_ERROR_CHANGE), pdp[col.STD_ERROR])
    complete = all(error is not None and error.notna().all() for error in errors)
    return complete and bool(ale[col.CONFIDENCE].notna().any())
