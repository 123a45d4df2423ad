"""How much the features repeat each other, which is what misleads permutation importance."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from ...document import slots
from ...document.blocks import TOP, intervals_caption, left_out, make_figure, make_table, notes_of, paragraphs
from ...document.document import Block, Column
from ...document.text import joined, name
from ...evidence.information import (
    WITH_TARGET,
    WITHOUT_TARGET,
    RedundancyJoint,
    RedundancyLine,
    RedundancyPartner,
    RedundancyView,
)
from ...evidence.view import by_feature, largest_first
from ...reading.run_reader import RunReader
from ..shared.wording import ResultSection, named, words_of
from . import figure as redundancy
from . import joint_figure as joint

PAIRS = 4
LEAD = (
    "A feature that the others predict well shares its information with them: shuffling it alone breaks a tie that "
    "holds in the data, and asks the model about rows that may not occur. A feature predicted better "
    "once the target is known shares something with the target that the other features lack."
)


class DependenceSection(ResultSection[RedundancyView]):
    """The redundancy of each feature, its closest partner, and strong pairs before and after shuffling."""

    name: ClassVar[str] = "dependence"
    slot: ClassVar[str] = slots.DEPENDENCE
    shows: ClassVar[tuple[str, ...]] = (RedundancyView.id, RedundancyPartner.id, RedundancyJoint.id)
    of = RedundancyView
    key = "dependence"
    title = "Dependence between features"
    empty = "No feature could be predicted from the others."

    def blocks(self, e: RunReader, view: RedundancyView) -> Iterable[Block]:
        """Return a figure and a table of redundancy, and a figure of strong pairs."""
        alone = largest_first(line for line in view.lines if line.item == WITHOUT_TARGET)
        most = f"Most redundant by R² without the target: {named(alone[:3])}."
        capped = f", the {TOP} most redundant of {len(alone)}" if len(alone) > TOP else ""
        figure = make_figure(
            "dependence-figure",
            f"How well all others predict each feature, without and with the target{capped}. "
            f"{intervals_caption(view.result.estimates)}",
            f"R² per feature from the others, without and with the target. {most}",
            lambda: redundancy.draw(view.result, TOP),
            view.id,
        )
        return (*paragraphs(LEAD, most), figure, _table(e, view, alone), *left_out(view.result), *_pairs(e))


def _table(e: RunReader, view: RedundancyView, alone: Sequence[RedundancyLine]) -> Block:
    """Return both R² with their intervals, and the closest partner where one was sought."""
    with_target = by_feature(line for line in view.lines if line.item == WITH_TARGET)
    partners = RedundancyPartner.find(e.run)
    closest = {} if partners is None else by_feature(partners.lines)
    columns = [Column("feature"), Column("R² without target"), Column("R² with target")]
    columns += [Column("closest partner"), Column("association", "number")] if closest else []
    rows = []
    for line in alone:
        skills = (words_of(skill, "not computed") for skill in (line, with_target.get(line.feature)))
        partner = closest.get(line.feature)
        association = ("", None) if partner is None else (name(partner.item), partner.estimate)
        rows.append([name(line.feature), *skills, *(association if closest else ())])
    caption = f"Redundancy of each feature. {intervals_caption(view.result.estimates)}"
    note = notes_of(view.result, None if partners is None else partners.result)
    return make_table("dependence-table", caption, columns, rows, evidence=view.id, note=note)


def _pairs(e: RunReader) -> list[Block]:
    """Return the strongest pairs before and after the shuffle: what the model is asked about."""
    view = RedundancyJoint.find(e.run)
    if view is None or not view.pairs:
        return []
    pairs = view.pairs[:PAIRS]
    names = joined([f"{name(a)} with {name(b)}" for a, b in pairs])
    caption = (
        f"{names}: rows before and after shuffling the first of each pair. Points where none stood are extrapolation."
    )
    alt = f"Scatter of {names}, before and after the shuffle: shuffled rows fill places that hold no data."
    return [make_figure("dependence-joint", caption, alt, lambda: joint.draw(view.result, pairs), view.id)]
