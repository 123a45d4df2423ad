"""Accumulated local effects beside the PDP of the same features, with a sentence where the two part."""

from __future__ import annotations

import pandas as pd

from ...core.parting import parting
from ...core.results import Result
from ...plots import local_effects as figures
from ..blocks import intervals_caption, left_out, make_figure
from ..document import Block, Paragraph, Section
from ..evidence import Evidence
from ..tables import ends_table
from ..telling import range_words
from ..text import clean, items, joined, name, plain, value_words
from .extras import extras
from .profiles import PREFERRED, leading

TITLE = "Local effects (ALE)"
MOST = 4
KNOWN = ("ale",)
LEAD = (
    "An accumulated local effect moves each row only to the edges of the bin it is in, and adds up the mean changes; "
    "it stays near the data where a PDP asks the model about rows that may not occur. Where features depend on each "
    "other and the two curves part, the PDP is the one to doubt. Both are shifted to the same mean: shapes compare, "
    "levels do not."
)


def local_effects(e: Evidence) -> Section:
    """Return ALE against PDP for the leading features, or why there is none."""
    result = e.find("ale")
    if result is None or not len(result.estimates):
        text = e.why_missing("ale") if result is None else "No feature has a local effect."
        return Section(id="local-effects", title=TITLE, blocks=(Paragraph(text=text), *left_out(result)))
    held = [str(f) for f in dict.fromkeys(result.estimates["feature"])]
    chosen = leading(e, held, MOST)
    rest = [feature for feature in held if feature not in chosen]
    measures = _measures(result)
    blocks: list[Block] = [Paragraph(text=LEAD), *e.warning(measures), *left_out(result)]
    if rest:
        blocks.append(Paragraph(text=f"Shown are the leading features. In the evidence: {joined(items(rest), 40)}."))
    blocks += [Paragraph(text=_notes(result))] if result.notes else []
    blocks += ends_table(e, result, chosen, measures, "local-effects-table")
    sections = [_feature(e, result, feature, k) for k, feature in enumerate(chosen, 1)]
    return Section(
        id="local-effects", title=TITLE, blocks=tuple(blocks), sections=(*sections, *extras(e, "ale", KNOWN))
    )


def _notes(result: Result) -> str:
    """Return the notes, one that several features share said once."""
    shared: dict[str, list[str]] = {}
    for note in dict.fromkeys(result.notes):
        about, _, text = note.partition(": ")
        shared.setdefault(text or note, []).extend([about] if text else [])
    return " ".join(clean(f"{joined(items(who), 6)}: {text}" if who else text) for text, who in shared.items())


def _measures(result: Result) -> list[str]:
    held = [str(m) for m in dict.fromkeys(result.estimates["measure"])]
    return [m for m in PREFERRED if m in held] or held[: len(PREFERRED)]


def _feature(e: Evidence, result: Result, feature: str, number_of: int) -> Section:
    pdp = e.find("pdp")
    if pdp is not None and pdp.options.get("mode", "plain") != "plain":
        pdp = None
    measures = [m for m in _measures(result) if not figures.curve(result, m, feature).empty]
    curves = {m: (figures.curve(result, m, feature), figures.curve(pdp, m, feature)) for m in measures}
    ranges = [range_words(ale, e.words(m)).replace("Average ", "ALE of ", 1) for m, (ale, _) in curves.items()]
    said = [*ranges, *_parting(e, curves)]
    table = result.estimates[result.estimates["feature"] == feature]
    against = "ALE against PDP" if any(len(pdp) for _, pdp in curves.values()) else "ALE"
    figure = make_figure(
        f"local-effects-{number_of}-figure",
        f"{name(feature)}: {against}. ALE bands are pointwise. {intervals_caption(table)}",
        f"{against} of {name(feature)}. {' '.join(said)}",
        lambda: figures.draw(result, pdp, feature, measures),
        result.id,
    )
    blocks = (Paragraph(text=" ".join(said)), figure)
    return Section(id=f"local-effects-{number_of}", title=name(feature), blocks=blocks)


def _parting(e: Evidence, curves: dict[str, tuple[pd.DataFrame, pd.DataFrame]]) -> list[str]:
    """Say for which measures ALE and PDP differ beyond their intervals, and for which that is not shown."""
    told, alike = [], []
    for measure, (ale, pdp) in curves.items():
        if not _comparable(ale, pdp):
            continue
        level = float(ale["confidence"].dropna().max())
        where = parting(ale, pdp, level)
        if where is None:
            alike.append(e.words(measure).title)
            continue
        place, start, accumulated, partial = where
        told.append(
            f"ALE and PDP of {e.words(measure).title} differ beyond their intervals, most at {plain(place)}: from "
            f"{plain(start)} to there ALE changes by {value_words(accumulated)}, the PDP by {value_words(partial)}."
        )
    if alike:
        told.append(f"For {joined(alike)} ALE and PDP are not shown to differ.")
    return told


def _comparable(ale: pd.DataFrame, pdp: pd.DataFrame) -> bool:
    if pdp.empty or "std_error_change" not in ale or ale["level"].astype(bool).any() or pdp["level"].astype(bool).any():
        return False
    return bool(
        ale["std_error_change"].notna().all() and pdp["std_error"].notna().all() and ale["confidence"].notna().any()
    )
