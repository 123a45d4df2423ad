"""How much the features repeat each other, which is what misleads permutation importance."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import pandas as pd

from ...core.model.results import Result
from ...document import slots
from ...document.blocks import TOP, intervals_caption, left_out, make_figure, make_table, notes_of, paragraphs
from ...document.document import Block, Column
from ...document.plots import style
from ...document.plots.frames import has_interval, interval_words
from ...document.plots.registered import figure_plugin
from ...document.text import joined, name
from ...evidence import columns as col
from ...evidence import ids
from ...evidence import information as info
from ...evidence.view import by_feature, largest_first
from ...reading.run_reader import RunReader
from ..shared.wording import ResultSection, named, words_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BARS: dict[str, dict[str, Any]] = {
    info.WITHOUT_TARGET: {
        "color": style.ROLE["prediction"],
        "marker": "o",
        "markerfacecolor": style.ROLE["prediction"],
    },
    info.WITH_TARGET: {"color": style.ROLE["loss"], "marker": "D", "markerfacecolor": "white"},
}
SIZE: dict[str, Any] = {"linestyle": "", "markersize": 5.5, "markeredgewidth": 1.2}
OFFSETS = {info.WITHOUT_TARGET: -0.12, info.WITH_TARGET: 0.12}


def draw_redundancy(result: Result, top: int = 20) -> Figure:
    """Draw R² of each feature from the others, without and with the target, largest without first.

    Parameters
    ----------
    result : Diagnostic
        Its estimates have a column ``item`` with the keys of `BARS`.
    """
    table = result.estimates
    first = table[table[col.ITEM] == info.WITHOUT_TARGET]
    features = [str(f) for f in first.sort_values(col.ESTIMATE, ascending=False, kind="stable")[col.FEATURE].head(top)]
    parts = {item: table[table[col.ITEM] == item].set_index(col.FEATURE).reindex(features) for item in BARS}
    with style.drawing(0.29 * len(features) + 1.1) as figure:
        axes = style.plain(figure.subplots(), "x")
        axes.axvline(0, color=style.INK, linewidth=0.8)
        starts, ends = (part[col.ESTIMATE] for part in parts.values())
        axes.plot(*style.segments(starts, ends, range(len(features))), color=style.BAND, linewidth=5.0)
        for item, part in parts.items():
            _dots(axes, part, item)
        axes.set_yticks(range(len(features)), [style.name(feature) for feature in features])
        axes.set_ylim(len(features) - 0.4, -0.6)
        axes.set_xlabel("R² (skill, for levels) of predicting the feature from all others")
        style.key(figure, _legend(pd.concat(parts.values())))
    return figure


def _dots(axes: Any, part: pd.DataFrame, item: str) -> None:
    offset = OFFSETS[item] if has_interval(part).any() else 0
    at = [k + offset for k in range(len(part))]
    if offset:
        axes.plot(*style.segments(part[col.LOWER], part[col.UPPER], at), color=BARS[item]["color"], linewidth=1.0)
    axes.plot(part[col.ESTIMATE], at, **SIZE, **BARS[item])


def _legend(table: pd.DataFrame) -> list[Any]:
    handles: list[Any] = [style.line(label=item, **SIZE, **look) for item, look in BARS.items()]
    if has_interval(table).any():
        handles.append(style.line(color=style.INK, linewidth=1.0, label=interval_words(table)))
    return handles


RedundancyFigure = figure_plugin(ids.REDUNDANCY, draw_redundancy)


PAIRS = 4
POINTS: dict[str, dict[str, Any]] = {
    info.AFTER: {"marker": "x", "markersize": 3.0, "color": style.ROLE["loss"], "markeredgewidth": 0.6},
    info.BEFORE: {"marker": "o", "markersize": 2.8, "color": style.ROLE["prediction"], "markeredgewidth": 0.0},
}


def draw_joint(result: Result, pairs: Sequence[tuple[str, str]] | None = None) -> Figure:
    """Draw each pair's rows before and after the feature is permuted, side by side on the same axes.

    Parameters
    ----------
    result : Diagnostic
        Its frame: ``measure`` is ``before`` or ``after``, ``x`` the feature, ``value`` its partner ``item``.
    pairs : sequence of (str, str), optional
        The first four by default.
    """
    frame = result.frame
    available = list(dict.fromkeys(zip(frame[col.FEATURE].astype(str), frame[col.ITEM].astype(str), strict=True)))
    chosen = list(pairs or available[:PAIRS])
    across = min(len(chosen), 2)
    rows = -(-len(chosen) // across)
    with style.drawing(2.3 * rows + 0.35) as figure:
        panels = figure.subplots(rows, across, squeeze=False).ravel()
        for axes, (feature, partner) in zip(panels, chosen, strict=False):
            part = frame[(frame[col.FEATURE] == feature) & (frame[col.ITEM] == partner)]
            _panel(axes, part, feature, partner)
        for axes in panels[len(chosen) :]:
            axes.set_visible(False)
        style.key(figure, [style.line(linestyle="", label=_WORDS[when], **POINTS[when]) for when in reversed(POINTS)])
    return figure


_WORDS = {info.BEFORE: "observations", info.AFTER: "after the permutation"}


def _panel(axes: Axes, part: pd.DataFrame, feature: str, partner: str) -> None:
    style.plain(axes)
    for when, look in POINTS.items():
        points = part[part[col.MEASURE] == when]
        axes.plot(points[col.X], points[col.VALUE], linestyle="", **look)
    axes.set_xlabel(style.name(feature, 30))
    axes.set_ylabel(style.name(partner, 22))


JointFigure = figure_plugin(ids.REDUNDANCY_JOINT, draw_joint)


LEAD = (
    "A feature that the others predict well shares its information with them: permuting it alone forms combinations "
    "that may not occur. A feature that is predicted better with the target has information about the target that the "
    "other features lack."
)


class DependenceSection(ResultSection[info.RedundancyView]):
    """The redundancy of each feature, its closest partner, and strong pairs before and after shuffling."""

    name: ClassVar[str] = "dependence"
    slot: ClassVar[str] = slots.DEPENDENCE
    shows: ClassVar[tuple[str, ...]] = (info.RedundancyView.id, info.RedundancyPartner.id, info.RedundancyJoint.id)
    of = info.RedundancyView
    title = "Dependence between features"
    empty = "No feature could be predicted from the others."

    def blocks(self, e: RunReader, view: info.RedundancyView) -> Iterable[Block]:
        """Return a figure and a table of redundancy, and a figure of strong pairs."""
        alone = largest_first(line for line in view.lines if line.item == info.WITHOUT_TARGET)
        most = f"Most redundant by R² without the target: {named(alone[:3])}."
        capped = f", the {TOP} most redundant of {len(alone)}" if len(alone) > TOP else ""
        figure = make_figure(
            "dependence-figure",
            f"Predictability of each feature from all others, without and with the target{capped}. "
            f"{intervals_caption(view.result.estimates)}",
            f"R² per feature from the others, without and with the target. {most}",
            lambda: draw_redundancy(view.result, TOP),
            view.id,
        )
        return (*paragraphs(LEAD, most), figure, _table(e, view, alone), *left_out(view.result), *_pairs(e))


def _table(e: RunReader, view: info.RedundancyView, alone: Sequence[info.RedundancyLine]) -> Block:
    """Return both R² with their intervals, and the closest partner where one was sought."""
    with_target = by_feature(line for line in view.lines if line.item == info.WITH_TARGET)
    partners = info.RedundancyPartner.find(e.run)
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
    view = info.RedundancyJoint.find(e.run)
    if view is None or not view.pairs:
        return []
    pairs = view.pairs[:PAIRS]
    names = joined([f"{name(a)} with {name(b)}" for a, b in pairs])
    caption = (
        f"{names}: observations before and after permuting the first of each pair. Points where no observation lies "
        "are extrapolations."
    )
    alt = f"Scatter of {names}, before and after the permutation: permuted observations lie where there are no data."
    return [make_figure("dependence-joint", caption, alt, lambda: draw_joint(view.result, pairs), view.id)]
