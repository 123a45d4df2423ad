"""Where the average profiles end, and the single rows of the features that have a sheet: PDP and ICE."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from ...document import slots
from ...document.blocks import left_out, make_figure, notes_of, paragraphs
from ...document.document import Block
from ...document.plots import profile
from ...document.text import name
from ...evidence import columns as col
from ...evidence.profiles import Pdp, PdpDistribution, PdpOwn
from ...reading.effects import curve, has_levels, profile_measures
from ...reading.feature_index import Ledger, leaders
from ...reading.run_reader import RunReader
from ...reading.sentences import range_words
from ...reading.tables import ends_table, split_ends
from ..shared.wording import ResultSection

LEAD = (
    "Each thin curve is the measure of one observation as the feature alone is changed (ICE); its mark is the observed "
    "value. The thick line is the mean over all observations (PDP). Far from its mark a curve extrapolates to "
    "combinations that may not occur."
)


class ProfilesSection(ResultSection[Pdp]):
    """The ends of all profiles, and the ICE curves of the leading features; or why there are none."""

    name: ClassVar[str] = "profiles"
    slot: ClassVar[str] = slots.PROFILES
    shows: ClassVar[tuple[str, ...]] = (Pdp.id, PdpOwn.id, PdpDistribution.id)
    of = Pdp
    title = "Profiles (PDP and ICE)"

    def blocks(self, e: RunReader, view: Pdp) -> Iterable[Block]:
        """Return the ends of the profiles in a table, and a figure per leading feature that is a number."""
        result = view.result
        features = list(dict.fromkeys(result.frame[col.FEATURE].astype(str)))
        measures = profile_measures(e, result.frame[col.MEASURE].astype(str))
        yield from paragraphs(LEAD, notes_of(result))
        yield from left_out(result)
        yield from ends_table(e, result, features, measures, "profiles-table")
        yield from split_ends(e, result, features, "profiles-split-table")
        figures = (_figure(e, view, feature, measures) for feature in leaders(Ledger(e)) if feature in features)
        yield from filter(None, figures)


def _figure(e: RunReader, view: Pdp, feature: str, measures: list[str]) -> Block | None:
    """Return one feature's single rows; None where it has levels, whose rows would hide one another."""
    curves = {measure: curve(view.result, measure, feature) for measure in measures}
    curves = {measure: points for measure, points in curves.items() if len(points)}
    if not curves or any(map(has_levels, curves.values())):
        return None
    text = " ".join(range_words(points, e.words(measure)) for measure, points in curves.items())
    own, distribution = e.find(PdpOwn.id), e.find(PdpDistribution.id)
    return make_figure(
        f"profiles-{feature}-figure",
        f"{name(feature)}: average and single observations.",
        f"Profiles of {name(feature)}. {text}",
        lambda: profile.draw(view.result, feature, list(curves), own, distribution),
        view.id,
    )
