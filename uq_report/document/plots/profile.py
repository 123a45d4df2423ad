"""Profiles of one feature: the average with its band, each row's curve and own value, the feature's distribution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ...core.results import Result
from ...evidence import columns as col
from ...evidence.profiles import PdpDistribution, PdpOwn
from . import style
from .frames import choose, has_interval, interval_words, several
from .histogram import draw_counts
from .importance import wrapped
from .words import axis_label

PANELS = 3
BAND: dict[str, Any] = {"color": style.INK, "alpha": 0.16, "linewidth": 0.0}
TICKS = 8  # levels with a text of their own on an axis, half of them
LEVEL = 16  # characters of a level's text


@dataclass(frozen=True)
class Axis:
    """The horizontal axis: the feature's name, and the level texts at their places (empty if numeric)."""

    feature: str
    places: tuple[float, ...]
    levels: tuple[str, ...]

    @property
    def numeric(self) -> bool:
        """Whether points may be joined."""
        return not self.levels

    @property
    def step(self) -> int:
        """Every how many levels there is room for a text."""
        return -(-len(self.levels) // (2 * TICKS))

    @property
    def crowded(self) -> bool:
        """Whether the level texts must stand aslant."""
        return sum(min(len(level), LEVEL) + 2 for level in self.levels[:: self.step or 1]) > 34


def draw(
    result: Result,
    feature: str | None = None,
    measure: Sequence[str] | str | None = None,
    own: Result | None = None,
    distribution: Result | None = None,
) -> Figure:
    """Draw the profiles of one feature, a panel per measure, and the feature's distribution last.

    Parameters
    ----------
    result : Profile
    feature : str, optional
        The first one by default.
    measure : str or sequence of str, optional
        The first three that hold the feature by default.
    own, distribution : Diagnostic, optional
        The results ``pdp.own`` and ``pdp.distribution``: own values and classes of the rows with a
        curve, and counts.
    """
    chosen = choose(result, "feature", feature, result.frame[col.FEATURE])
    frame = result.frame[result.frame[col.FEATURE] == chosen]
    names = several(result, "measure", measure, frame[col.MEASURE])[: None if measure else PANELS]
    axis = _axis(frame, str(chosen))
    classes = _classes(own)
    counts = result.frame.head(0) if distribution is None else distribution.frame
    counts = counts[counts[col.FEATURE] == chosen]
    counted = not counts.empty
    cells = len(names) + counted
    with style.context():
        figure, panels, across = _panels(cells, axis)
        for axes, one in zip(panels, names, strict=False):
            part = frame[frame[col.MEASURE] == one]
            _curves(axes, part[part[col.CURVE] >= 0], axis, classes)
            _average(axes, part[part[col.CURVE] < 0], _estimates(result, str(chosen), one), axis)
            if axis.numeric:
                _own(axes, own, str(chosen), one, classes)
            label = axis_label(one, result.measures)
            axes.set_title(wrapped(label) if across > 2 else label, fontsize=style.SMALL + 0.5)
        if counted:
            draw_counts(panels[len(names)], counts, _edges(distribution, chosen), _order(classes))
            panels[len(names)].set_title("rows", fontsize=style.SMALL + 0.5)
        for k, axes in enumerate(panels):
            _dress(axes, axis, bottom=k + across >= cells)
            axes.set_visible(k < cells)
        style.key(figure, _legend(result, frame, own, _order(classes)), columns=3)
    return figure


def _panels(cells: int, axis: Axis) -> tuple[Figure, Sequence[Axes], int]:
    """Return a figure, at least `cells` panels on a common axis, and how many stand side by side."""
    across = 3 if cells == 3 else min(cells, 2)
    rows = -(-cells // across)
    figure = style.new_figure(0.6 + 1.45 * rows + 0.4 * axis.crowded + 0.15 * (across > 2))
    return figure, figure.subplots(rows, across, squeeze=False, sharex=True).ravel().tolist(), across


def _axis(frame: pd.DataFrame, feature: str) -> Axis:
    points = frame[[col.X, col.LEVEL]].drop_duplicates().sort_values(col.X, kind="stable")
    levels = tuple(str(level) for level in points[col.LEVEL])
    return Axis(feature, tuple(float(x) for x in points[col.X]), levels if any(levels) else ())


def _classes(own: Result | None) -> dict[int, str]:
    """Return the class of each row with a curve, where the rows have classes."""
    labels = PdpOwn.from_result(own).row_class if own is not None else {}
    return {int(row): str(label) for row, label in labels.items()}


def _edges(distribution: Result | None, feature: str) -> Sequence[float] | None:
    return PdpDistribution.from_result(distribution).edges.get(feature) if distribution is not None else None


def _order(classes: Mapping[int, str]) -> list[str]:
    return sorted(set(classes.values()))


def _estimates(result: Result, feature: str, measure: str) -> pd.DataFrame:
    """Return one profile's estimates along x; none where the explainer does not say where they are."""
    table = result.estimates
    if col.X not in table.columns:
        return table.head(0)
    return table[(table[col.FEATURE] == feature) & (table[col.MEASURE] == measure)].sort_values(col.X, kind="stable")


def _curves(axes: Axes, part: pd.DataFrame, axis: Axis, classes: Mapping[int, str]) -> None:
    """Draw all ICE curves of one class as one path; along levels, where rows would hide one another, none."""
    order = _order(classes) if axis.numeric else ()
    for position, label in enumerate(order or [""] * axis.numeric):
        rows = [row for row in part[col.CURVE].unique() if classes.get(int(row), "") == label]
        curves = [part[part[col.CURVE] == row].sort_values(col.X, kind="stable") for row in rows]
        if not curves:
            continue
        color = style.class_style(position)["color"] if order else style.SPREAD
        x, y = style.bundle([c[col.X] for c in curves], [c[col.VALUE] for c in curves])
        axes.plot(x, y, color=color, linewidth=0.6, alpha=0.55, linestyle=style.class_style(position)["linestyle"])


def _average(axes: Axes, part: pd.DataFrame, estimates: pd.DataFrame, axis: Axis) -> None:
    part = part.sort_values(col.X, kind="stable")
    banded = has_interval(estimates).any()
    if axis.numeric:
        if banded:
            axes.fill_between(estimates[col.X], estimates[col.LOWER], estimates[col.UPPER], **BAND)
        axes.plot(part[col.X], part[col.VALUE], color="white", linewidth=3.4)
        axes.plot(part[col.X], part[col.VALUE], color=style.INK, linewidth=1.9)
        return
    axes.plot(part[col.X], part[col.VALUE], linestyle="", marker="o", markersize=4.0, color=style.INK)
    if banded:
        low, at = style.segments(estimates[col.LOWER], estimates[col.UPPER], estimates[col.X])
        axes.plot(at, low, color=style.INK, linewidth=1.4)


def _own(axes: Axes, own: Result | None, feature: str, measure: str, classes: Mapping[int, str]) -> None:
    """Mark where each row itself stands."""
    if own is None:
        return
    part = own.frame[(own.frame[col.FEATURE] == feature) & (own.frame[col.MEASURE] == measure)]
    order = _order(classes)
    for position, label in enumerate(order or [""]):
        rows = part[part[col.ITEM].map(lambda item: classes.get(int(item), "")) == label]
        look = _dot(position, bool(order))
        axes.plot(rows[col.X], rows[col.VALUE], linestyle="", **look)


def _dot(position: int, by_class: bool) -> dict[str, Any]:
    color = style.class_style(position)["color"] if by_class else style.ROLE["prediction"]
    marker = style.MARKERS[position % len(style.MARKERS)]
    return {"marker": marker, "markersize": 3.0, "color": color, "markeredgecolor": "white", "markeredgewidth": 0.3}


def _dress(axes: Axes, axis: Axis, bottom: bool) -> None:
    style.plain(axes, "y")
    if axis.levels:
        axes.set_xticks(axis.places[:: axis.step], [style.name(level, LEVEL) for level in axis.levels[:: axis.step]])
    axes.tick_params(axis="x", labelbottom=bottom)
    if axis.crowded:
        for text in axes.get_xticklabels():
            text.set(rotation=30, ha="right", rotation_mode="anchor")
    if bottom:
        axes.set_xlabel(style.name(axis.feature, 36))


def _legend(result: Result, frame: pd.DataFrame, own: Result | None, order: Sequence[str]) -> list[Any]:
    table = result.estimates[result.estimates[col.FEATURE] == frame[col.FEATURE].iloc[0]]
    numeric = not frame[col.LEVEL].astype(bool).any()
    look = {"linewidth": 1.9} if numeric else {"linestyle": "", "marker": "o", "markersize": 4.0}
    handles: list[Any] = [Line2D([], [], color=style.INK, label="average", **look)]
    if has_interval(table).any():
        label = f"pointwise {interval_words(table)}"
        handles.append(Patch(label=label, **BAND) if numeric else Line2D([], [], color=style.INK, label=label))
    if not numeric:
        return handles
    if (frame[col.CURVE] >= 0).any():
        for position, label in enumerate(order):
            look = {**style.class_style(position), **_mark(position)}
            handles.append(Line2D([], [], linewidth=0.9, label=f"rows of class {style.name(label, 20)}", **look))
        if not order:
            handles.append(Line2D([], [], linewidth=0.9, color=style.SPREAD, label="single rows"))
    if own is not None and not order:
        handles.append(Line2D([], [], linestyle="", label="a row's own value", **_dot(0, False)))
    return handles


def _mark(position: int) -> dict[str, Any]:
    return {"marker": style.MARKERS[position % len(style.MARKERS)], "markersize": 3.5}
