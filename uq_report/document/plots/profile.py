"""Profiles of one feature: the average with its band, the curve of each observation, the distribution."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ...core.model.results import Result
from ...evidence import columns as col
from ...evidence.profiles import PdpDistribution, PdpOwn
from . import style
from .frames import RowLabels, axis_label, choose, has_interval, interval_words, several
from .importance import wrapped
from .matrix import draw_surface

PANELS = 3
CURVES = ("both", "average", "individual")
BAND: dict[str, Any] = {"color": style.INK, "alpha": 0.16, "linewidth": 0.0}
RIM: dict[str, Any] = {"markeredgecolor": "white", "markeredgewidth": 0.3}
TICKS = 8  # levels with a text of their own on an axis, half of them
LEVEL = 16  # characters of a level's text


class CurveAxis:
    """The horizontal axis: the feature's name, and the level texts at their places (empty if numeric).

    Of the levels every `step`-th has room for a text, aslant where they are `crowded`; points of numbers are joined.
    """

    def __init__(self, frame: pd.DataFrame, feature: str) -> None:
        points = frame[[col.X, col.LEVEL]].drop_duplicates().sort_values(col.X, kind="stable")
        levels = [str(level) for level in points[col.LEVEL]]
        self.feature, self.numeric = feature, not any(levels)
        self.step = -(-len(levels) // (2 * TICKS)) or 1
        self.places = [float(x) for x in points[col.X]][:: self.step]
        self.levels = [] if self.numeric else levels[:: self.step]
        self.crowded = sum(min(len(level), LEVEL) + 2 for level in self.levels) > 34


class CurveRows(NamedTuple):
    """The single observations, with their own values and their classes where these are recorded."""

    own: pd.DataFrame | None
    classes: Mapping[int, str]
    order: tuple[str, ...] = ()
    what: str = "class"

    @classmethod
    def of(cls, own: Result | None, labels: RowLabels | None = None) -> CurveRows:
        """Read the result of the own values; `labels` stand in the place of classes."""
        frame = None if own is None else own.frame
        if labels is not None:
            return cls(frame, labels.of_row, labels.order, labels.name)
        if own is None:
            return cls(None, {})
        return cls(frame, {int(row): str(label) for row, label in PdpOwn.from_result(own).row_class.items()})

    @property
    def labels(self) -> list[str]:
        """The classes in the order of their colours."""
        return list(self.order) or sorted(set(self.classes.values()))

    def words(self, label: str) -> str:
        """Return the label as the key of a figure has it."""
        if self.what == "class":
            return f"observations of class {style.name(label, 20)}"
        return f"{style.name(self.what, 20)}: {style.name(label, 24)}"

    def by_class(self, table: pd.DataFrame, row: str) -> Iterator[tuple[int, pd.DataFrame]]:
        """Yield the part of each class, or all without classes; `row` is the column that names the row."""
        labels = table[row].map(lambda cell: self.classes.get(int(cell), ""))
        for position, label in enumerate(self.labels or [""]):
            yield position, table[labels == label]

    def color(self, position: int, alone: str) -> str:
        """Return the colour of a class, `alone` without classes."""
        return str(style.class_style(position)["color"]) if self.classes else alone


def draw(  # noqa: PLR0913 - what a caller of the figure may choose, by keyword
    result: Result,
    feature: str | None = None,
    measure: Sequence[str] | str | None = None,
    own: Result | None = None,
    distribution: Result | None = None,
    *,
    pair: tuple[str, str] | None = None,
    colour_by: RowLabels | None = None,
    by: RowLabels | None = None,
    curves: str = "both",
) -> style.Figure:
    """Draw the profiles of one feature, a panel per measure, and the feature's distribution last; or a surface.

    Parameters
    ----------
    result : Profile
    feature : str, optional
        The first one by default.
    measure : str or sequence of str, optional
        The first three that hold the feature by default.
    own, distribution : Diagnostic, optional
        The profile's results ``.own`` and ``.distribution``: own values and classes of the rows with a
        curve, and counts.
    pair : (str, str), optional
        Of a result that has pairs; see `draw_surface`.
    colour_by : RowLabels, optional
        Colour the single rows by these in place of their classes.
    by : RowLabels, optional
        Draw the average of the rows of each label in place of that of all, over the rows that have a curve.
    curves : {"both", "average", "individual"}
        Of a number: the average with its band, the curve of each observation, or both.
    """
    if (result.frame[col.FEATURE_2].astype(str) != "").any():
        return draw_surface(result, measure if isinstance(measure, str | None) else next(iter(measure), None), pair)
    labels, grouped = by or colour_by, by is not None
    chosen = choose(result, "feature", feature, result.frame[col.FEATURE])
    frame = result.frame[result.frame[col.FEATURE] == chosen]
    names = several(result, "measure", measure, frame[col.MEASURE])[: None if measure else PANELS]
    axis, rows = CurveAxis(frame, str(chosen)), CurveRows.of(own, labels)
    choose(result, "curves", curves, CURVES)
    if axis.numeric and not grouped and curves != "both":
        frame = frame[(frame[col.CURVE] < 0) == (curves == "average")]
        rows = CurveRows(None, {}) if curves == "average" else rows
        choose(result, "curves", None, frame[col.CURVE])
    view = None if distribution is None else PdpDistribution.from_result(distribution)
    counted = view is not None and (view.result.frame[col.FEATURE] == chosen).any()
    cells = len(names) + bool(counted)
    across = 3 if cells == 3 else min(cells, 2)
    rows_of_panels = -(-cells // across)
    with style.drawing(0.6 + 1.45 * rows_of_panels + 0.4 * axis.crowded + 0.15 * (across > 2)) as figure:
        panels: list[style.Axes] = figure.subplots(rows_of_panels, across, squeeze=False, sharex=True).ravel().tolist()
        for axes, name in zip(panels, names, strict=False):
            part = frame[frame[col.MEASURE] == name]
            if axis.numeric:
                _curves(axes, part[part[col.CURVE] >= 0], rows)
            if grouped:
                _averages(axes, part[part[col.CURVE] >= 0], rows, axis)
            elif (part[col.CURVE] < 0).any():
                _average(axes, part[part[col.CURVE] < 0], _estimates(result, str(chosen), name), axis)
            if axis.numeric and not grouped:
                _own(axes, rows, str(chosen), name)
            label = axis_label(name, result.measures)
            axes.set_title(wrapped(label) if across > 2 else label)
        if view is not None and counted:
            counts = view.result.frame[view.result.frame[col.FEATURE] == chosen]
            _counts(panels[len(names)], counts, view.edges.get(chosen), [] if labels else rows.labels)
            panels[len(names)].set_title("observations")
        for k, axes in enumerate(panels):
            _dress(axes, axis, bottom=k + across >= cells)
            axes.set_visible(k < cells)
        style.key(figure, _legend(result, frame, rows, grouped), columns=3)
    return figure


def _estimates(result: Result, feature: str, measure: str) -> pd.DataFrame:
    """Return one profile's estimates along x; none where the explainer does not say where they are."""
    table = result.estimates
    if col.X not in table.columns:
        return table.head(0)
    return table[(table[col.FEATURE] == feature) & (table[col.MEASURE] == measure)].sort_values(col.X, kind="stable")


def _curves(axes: style.Axes, part: pd.DataFrame, rows: CurveRows) -> None:
    """Draw all ICE curves of one class as one path; along levels they would hide one another."""
    for position, table in rows.by_class(part, col.CURVE):
        curves = [c.sort_values(col.X, kind="stable") for _, c in table.groupby(col.CURVE, sort=False)]
        if curves:
            look = {**style.class_style(position), "color": rows.color(position, style.SPREAD)}
            x, y = style.bundle([c[col.X] for c in curves], [c[col.VALUE] for c in curves])
            axes.plot(x, y, linewidth=0.6, alpha=0.55, **look)


def _average(axes: style.Axes, part: pd.DataFrame, estimates: pd.DataFrame, axis: CurveAxis) -> None:
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
        style.intervals(axes, estimates, estimates[col.X], upright=True, color=style.INK, linewidth=1.4)


def _averages(axes: style.Axes, part: pd.DataFrame, rows: CurveRows, axis: CurveAxis) -> None:
    """Draw the average of the single curves of each label."""
    for position, table in rows.by_class(part, col.CURVE):
        means = table.groupby(col.X)[col.VALUE].mean()
        if axis.numeric:
            axes.plot(means.index, means, linewidth=1.9, **style.class_style(position))
        else:
            dot = {**style.marker(position, 4.0), "color": rows.color(position, style.INK)}
            axes.plot(means.index, means, linestyle="", **dot)


def _own(axes: style.Axes, rows: CurveRows, feature: str, measure: str) -> None:
    """Mark the value of each observation."""
    if rows.own is None:
        return
    part = rows.own[(rows.own[col.FEATURE] == feature) & (rows.own[col.MEASURE] == measure)]
    for position, table in rows.by_class(part, col.ITEM):
        color = rows.color(position, style.ROLE["prediction"])
        axes.plot(table[col.X], table[col.VALUE], linestyle="", color=color, **style.marker(position, 3.0), **RIM)


def _counts(axes: style.Axes, counts: pd.DataFrame, edges: Sequence[float] | None, order: Sequence[str]) -> None:
    """Draw counts per bin (`edges` given) or per level, one outline or row of bars per class, in greyscale apart.

    Classes are in the `order` that fixes their colours; items beyond it follow.
    """
    present = list(dict.fromkeys(counts[col.ITEM]))
    items = [*(item for item in order if item in present), *(item for item in present if item not in order)]
    single = len(items) == 1
    for position, item in enumerate(items):
        part = counts[counts[col.ITEM] == item].sort_values(col.X, kind="stable")
        look = style.class_style(position)
        color = style.SPREAD if single else look["color"]
        values = part[col.VALUE].to_numpy(dtype=float)
        if edges is not None and len(edges) == len(values) + 1:
            axes.stairs(values, np.asarray(edges), fill=True, color=color, alpha=0.22, linewidth=0)
            axes.stairs(values, np.asarray(edges), color=color, linewidth=1.1, linestyle=look["linestyle"])
            continue
        width = 0.76 / len(items)
        at = part[col.X].to_numpy(dtype=float) - 0.38 + width * (position + 0.5)
        axes.bar(at, values, 0.9 * width, color=color, alpha=0.8)
    axes.set_ylim(bottom=0)


def _dress(axes: style.Axes, axis: CurveAxis, bottom: bool) -> None:
    style.plain(axes, "y")
    low, high = axes.get_ylim()
    if high - low < 1e-6 * abs(low):  # the rounding error of a constant is no shape
        axes.set_ylim(low - 0.1 * abs(low), high + 0.1 * abs(high))
    if axis.levels:
        axes.set_xticks(axis.places, [style.name(level, LEVEL) for level in axis.levels])
    axes.tick_params(axis="x", labelbottom=bottom)
    if axis.crowded:
        style.aslant(axes, 30)
    if bottom:
        axes.set_xlabel(style.name(axis.feature, 36))


def _legend(result: Result, frame: pd.DataFrame, rows: CurveRows, grouped: bool) -> list[Any]:
    table = result.estimates[result.estimates[col.FEATURE] == frame[col.FEATURE].iloc[0]]
    numeric = not frame[col.LEVEL].astype(bool).any()
    look = {"linewidth": 1.9} if numeric else {"linestyle": "", "marker": "o", "markersize": 4.0}
    averaged = not grouped and (frame[col.CURVE] < 0).any()
    handles: list[Any] = [style.line(color=style.INK, label="average", **look)] if averaged else []
    if has_interval(table).any() and averaged:
        label = f"pointwise {interval_words(table)}"
        handles.append(style.patch(label=label, **BAND) if numeric else style.line(color=style.INK, label=label))
    if not numeric and not grouped:
        return handles
    if (frame[col.CURVE] >= 0).any():
        for position, label in enumerate(rows.labels):
            look = {**style.class_style(position), **style.marker(position, 3.5)}
            handles.append(style.line(linewidth=0.9, label=rows.words(label), **look))
        if not rows.classes:
            handles.append(style.line(linewidth=0.9, color=style.SPREAD, label="single observations"))
    if rows.own is not None and not rows.classes and not grouped:
        dot = {"color": style.ROLE["prediction"], **style.marker(0, 3.0), **RIM}
        handles.append(style.line(linestyle="", label="value of the observation", **dot))
    return handles
