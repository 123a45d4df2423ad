"""Profiles of the leading features: PDP and ICE of prediction, nll and entropy, with the data beside."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from ..document import slots
from ..document.blocks import intervals_caption, left_out, make_figure, notes_of
from ..document.document import Block, Paragraph, Section
from ..document.evidence import Evidence
from ..document.tables import ends_table
from ..document.telling import range_words
from ..document.text import items, joined, name
from ..evidence import columns as col
from ..evidence.importance import Pfi
from ..evidence.profiles import Pdp, PdpDistribution, PdpOwn
from ..evidence.view import largest_first, of_feature, of_measure, table_of
from ..plots import profile
from ._wording import BuiltIn

TITLE = "Profiles (PDP and ICE)"
MOST = 6
PREFERRED = ("prediction", "nll", "entropy")
LEAD = (
    "Each thin curve is one row: its measure as the feature alone is changed (ICE); its mark is the row's own value. "
    "The thick line is the mean over all rows (PDP). Far from its mark a curve asks the model about rows that may "
    "not occur."
)


class ProfilesSection(BuiltIn):
    """The profiles of the leading features, or why there are none."""

    name: ClassVar[str] = "profiles"
    slot: ClassVar[str] = slots.PROFILES
    shows: ClassVar[tuple[str, ...]] = (Pdp.id, PdpOwn.id, PdpDistribution.id)

    def section(self, evidence: Evidence) -> Section:
        """Return the ends of the profiles in a table, and a part per leading feature."""
        view = Pdp.find(evidence.run)
        if view is None:
            return Section(id="profiles", title=TITLE, blocks=(Paragraph(text=evidence.why_missing(Pdp.id)),))
        features = list(dict.fromkeys(view.result.frame[col.FEATURE].astype(str)))
        chosen, measures = leading(evidence, features), preferred(view.result.frame[col.MEASURE].astype(str))
        rest = [feature for feature in features if feature not in chosen]
        blocks: list[Block] = [Paragraph(text=LEAD), *evidence.warning(measures), *left_out(view.result)]
        if rest:
            text = "Shown are the leading features by Likelihood- and Entropy-PFI. In the evidence:"
            blocks.append(Paragraph(text=f"{text} {joined(items(rest), 40)}."))
        blocks += [Paragraph(text=notes_of(view.result))] if view.result.notes else []
        blocks += ends_table(evidence, view.result, chosen, measures, "profiles-table")
        parts = tuple(_feature(evidence, view, feature, k) for k, feature in enumerate(chosen, 1))
        return Section(id="profiles", title=TITLE, blocks=tuple(blocks), sections=parts)


def leading(e: Evidence, features: Sequence[str], most: int = MOST) -> list[str]:
    """Return the features leading by nll and by entropy importance, in turn; without importances the first ones."""
    view = Pfi.find(e.run)
    lines = () if view is None else view.lines
    rankings = [
        [line.feature for line in largest_first(of_measure(lines, measure)) if line.feature in features]
        for measure in ("nll", "entropy")
    ]
    turns = [ranking[k] for k in range(len(features)) for ranking in rankings if k < len(ranking)]
    return list(dict.fromkeys([*turns, *features]))[:most]


def preferred(measures: Iterable[str]) -> list[str]:
    """Return those of `PREFERRED` that are there, else the first measures."""
    present = list(dict.fromkeys(measures))
    return [m for m in PREFERRED if m in present] or present[: len(PREFERRED)]


def _feature(e: Evidence, view: Pdp, feature: str, number: int) -> Section:
    """Return one feature's profiles."""
    lines, frame = of_feature(view.lines, feature), view.result.frame
    present = set(frame.loc[frame[col.FEATURE] == feature, col.MEASURE])
    measures = [m for m in preferred(frame[col.MEASURE].astype(str)) if m in present]
    ranges = (range_words(table_of(of_measure(lines, m)), e.words(m)) for m in measures)
    text = " ".join(filter(None, ranges))
    own, distribution = e.find(PdpOwn.id), e.find(PdpDistribution.id)
    figure = make_figure(
        f"profiles-{number}-figure",
        f"{name(feature)}: average and single rows. {intervals_caption(table_of(lines))} Bands are pointwise.",
        f"Profiles of {name(feature)}. {text}",
        lambda: profile.draw(view.result, feature, measures, own, distribution),
        view.id,
    )
    findings = e.findings_on([result.id for result in e.of(view.result.explainer)], feature)
    codes = [finding.code for finding in findings]
    about = [Paragraph(text=f"Findings on this profile: {joined(codes)}.")] if codes else []
    return Section(id=f"profiles-{number}", title=name(feature), blocks=(Paragraph(text=text), *about, figure))
