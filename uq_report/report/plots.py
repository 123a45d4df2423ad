"""Figures of the report itself: the drivers of page 1, the map of loss and uncertainty, and a feature's sheet.

Those of a method stand with the method. The axes of a sheet have fixed places: a layout that is searched for costs
more than all the drawing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ..core.model.results import Result
from ..core.support.arrays import FloatArray
from ..document.plots import style
from ..document.plots.frames import choose, has_interval, interval_words, optional, signed, words
from ..document.plots.matrix import rectangles
from ..document.plots.style import Axes, Axis, Figure
from ..document.text import legible
from ..evidence import columns as col

TITLES = {
    "prediction": "Drivers of\nthe prediction",
    "loss": "Drivers of\nthe loss",
    "uncertainty": "Drivers of\nthe uncertainty",
}
ROW, FRAME, NARROW = 0.15, 0.72, 3.4  # inches
NAME = 22


class DriverPanel(NamedTuple):
    """One panel: the role of its measure, the label of the axis, its estimates, and the model-implied importance.

    An estimate within `margin` counts as 0; NaN without a tolerance. `signalled` is the increase in the stated
    uncertainty where that is comparable with the estimates.
    """

    role: str
    label: str
    table: pd.DataFrame
    claimed: Mapping[str, float]
    margin: float
    signalled: Mapping[str, float]


def draw_drivers(panels: Sequence[DriverPanel], features: Sequence[str], *, narrow: bool = False) -> Figure:
    """Draw the panels side by side, or below each other where narrow; a dot is an estimate, its line the interval."""
    rows, width = (len(panels), NARROW) if narrow else (1, style.WIDTH)
    label = SECOND_LINE * any(len(panel.label) > LONG for panel in panels)
    with style.drawing(rows * (ROW * max(3, len(features)) + FRAME + label), width) as figure:
        row = figure.subplots(rows, len(panels) // rows, sharey=True, squeeze=False).ravel().tolist()
        for axes, panel in zip(row, panels, strict=True):
            _driver_panel(axes, panel, features)
        style.name_rows(row, [style.name(feature, NAME) for feature in features])
        row[0].tick_params(left=False)
    return figure


def _driver_panel(axes: Axes, panel: DriverPanel, features: Sequence[str]) -> None:
    """Draw one panel; row k is feature k."""
    style.plain(axes, "x")
    axes.spines["left"].set_visible(False)
    style.zero(axes, panel.margin)
    part = panel.table.set_index(col.FEATURE).reindex(list(features))
    at, color = np.arange(len(features), dtype=float), style.ROLE.get(panel.role, style.INK)
    style.estimates(axes, part, at, 2.0, marker="o", markersize=4.5, color=color)
    open_: dict[str, Any] = {"marker": "D", "markersize": 4.5, "markerfacecolor": "white", "markeredgewidth": 1.0}
    bar: dict[str, Any] = {"marker": "|", "markersize": 9.0, "markeredgewidth": 1.8}
    marks = ((panel.claimed, style.INK, open_), (panel.signalled, style.ROLE["uncertainty"], bar))
    for values, ink, shape in marks:
        places = np.array([values.get(feature, np.nan) for feature in features], dtype=float)
        if np.isfinite(places).any():
            axes.plot(places, at, linestyle="", color=ink, **shape)
    axes.set_title(TITLES[panel.role], fontsize=style.SMALL, color=color)
    long = len(panel.label) > LONG
    axes.set_xlabel(panel.label.replace(", ", ",\n", 1) if long else panel.label, fontsize=style.SMALL)
    axes.xaxis.set_major_locator(style.round_numbers(3, None))


LONG = 34  # characters of an axis label beside others
SECOND_LINE = 0.16  # of such a label, in inches
DWARFS = 8.0  # times the next features and the tolerance, from which an axis is logarithmic
MOST = 40  # features, by the larger of the two importances
LABELLED = 20  # features, those farthest out
QUIET: dict[str, Any] = {"fontsize": style.SMALL, "fontweight": "normal", "color": style.MUTED}
CHARACTER = 0.62  # mean width of a DejaVu Sans character in units of its size, rounded up
REACH = (7.0, 13.0, 22.0, 34.0, 48.0)
DIRECTIONS = ((1, 1), (1, -1), (-1, 1), (-1, -1), (1, 0), (-1, 0), (0, 1), (0, -1))


def draw_groups(labels: Sequence[str], prediction: pd.DataFrame, outcome: pd.DataFrame, label: str) -> Figure:
    """Draw mean prediction and mean outcome of each group with their intervals; row k is group k."""
    filled: dict[str, Any] = {"color": style.ROLE["prediction"], "marker": "o", "markersize": 4.5}
    open_ = {**filled, "color": style.INK, "marker": "D", "markerfacecolor": "white"}
    at = np.arange(len(labels), dtype=float)
    with style.panel(0.27 * len(labels) + 1.0, grid="x") as (figure, axes):
        style.estimates(axes, prediction, at - 0.14, 1.6, **filled, label="mean prediction")
        style.estimates(axes, outcome, at + 0.14, 1.6, **open_, label="mean outcome")
        style.name_rows([axes], list(labels))
        axes.set_xlabel(label)
        style.key(figure)
    return figure


def draw_map(result: Result) -> Figure:
    """Draw each feature at (Entropy-PFI, Likelihood-PFI) with both intervals and both margins of "about 0".

    Features inside both margins are not labelled; of the others the 20 farthest out are.
    """
    across, up = (_measure(result, measure) for measure in ("entropy", "nll"))
    both = across.index.intersection(up.index, sort=False)
    reach = np.maximum(across.loc[both, col.ESTIMATE].abs(), up.loc[both, col.ESTIMATE].abs())
    features = list(reach.sort_values(ascending=False, kind="stable").index[:MOST])
    across, up = across.loc[features], up.loc[features]
    with style.drawing(3.3, placed=True) as figure:
        axes = style.plain(figure.subplots())
        _margins(axes, across, up)
        style.intervals(axes, across, up[col.ESTIMATE], color=style.ROLE["uncertainty"], linewidth=1.1)
        style.intervals(axes, up, across[col.ESTIMATE], upright=True, color=style.ROLE["loss"], linewidth=1.1)
        axes.plot(across[col.ESTIMATE], up[col.ESTIMATE], "o", color=style.INK, markersize=4.5)
        units = [words(measure, result.measures).unit for measure in ("entropy", "nll")]
        axes.set_xlabel(f"increase in uncertainty (Entropy-PFI, {units[0]})")
        axes.set_ylabel(f"increase in loss\n(Likelihood-PFI, {units[1]})")
        _spread_out(axes.xaxis, axes.set_xscale, across)
        _spread_out(axes.yaxis, axes.set_yscale, up)
        axes.margins(0.08)
        axes.set_title(f"{_legend_words(across, up)}\n ", **QUIET, loc="left")
        _name_points(figure, axes, across, up)
    return figure


def _spread_out(axis: Axis, scale: Callable[..., None], part: pd.DataFrame) -> None:
    """Make an axis logarithmic beyond the tolerance where one feature dwarfs the others."""
    sizes = part[col.ESTIMATE].abs().sort_values(ascending=False).to_numpy(dtype=float)
    least = float(part[col.MARGIN].max()) if part[col.MARGIN].notna().any() else float(sizes[len(sizes) // 2])
    if len(sizes) > 2 and least > 0 and sizes[0] > DWARFS * max(sizes[1:3].mean(), least):
        scale("symlog", linthresh=least, linscale=0.7)
        axis.set_major_formatter(lambda value, _: signed(f"{value:g}"))


def _measure(result: Result, measure: str) -> pd.DataFrame:
    """Return the estimates of a measure by feature, with their margins."""
    choose(result, "measure", measure, result.estimates[col.MEASURE])
    table = result.estimates[result.estimates[col.MEASURE] == measure].set_index(col.FEATURE)
    return table.assign(**{col.MARGIN: pd.to_numeric(optional(table, col.MARGIN))})


def _margins(axes: Axes, across: pd.DataFrame, up: pd.DataFrame) -> None:
    for part, span, line in ((across, axes.axvspan, axes.axvline), (up, axes.axhspan, axes.axhline)):
        margin = part[col.MARGIN].max()
        if np.isfinite(margin):
            span(-margin, margin, color=style.BAND, linewidth=0, zorder=0)
        line(0, color=style.MUTED, linewidth=0.6)


def _legend_words(across: pd.DataFrame, up: pd.DataFrame) -> str:
    """Explain bars and bands, where there are some."""
    intervals = dict.fromkeys(filter(None, (interval_words(across), interval_words(up))))
    bars = f"bars: {' and '.join(intervals)}" if intervals else ""
    band = "grey: tolerance around 0" if across[col.MARGIN].notna().any() else ""
    return " · ".join(filter(None, (bars, band)))


def _name_points(figure: Figure, axes: Axes, across: pd.DataFrame, up: pd.DataFrame) -> None:
    """Name the features outside the margins, as far as there is room, and count the others."""
    x, y = across[col.ESTIMATE].to_numpy(dtype=float), up[col.ESTIMATE].to_numpy(dtype=float)
    hidden = np.all([part[col.ESTIMATE].abs() < part[col.MARGIN] for part in (across, up)], axis=0)
    named, points = np.flatnonzero(~hidden)[:LABELLED], np.column_stack([x, y])
    ends = [(np.column_stack([across[end], y]), np.column_stack([x, up[end]])) for end in (col.LOWER, col.UPPER)]
    bars = np.stack([np.concatenate(end) for end in ends], axis=1).astype(float)
    texts = [style.name(across.index[k], 22) for k in named]
    done = place(figure, axes, points[named], texts, bars[np.isfinite(bars).all(axis=(1, 2))])
    counts = ((int(hidden.sum()), "inside both margins"), (int((~hidden).sum()) - done, "for lack of room"))
    text = ", ".join(f"{count} {why}" for count, why in counts if count)
    if text:
        axes.set_title(f"{_legend_words(across, up)}\nnot labelled: {text}", **QUIET, loc="left")


def place(figure: Figure, axes: Axes, points: FloatArray, texts: Sequence[str], bars: FloatArray) -> int:
    """Write texts next to points (data coordinates, the most important first); return how many have room.

    They hide neither each other, nor points, nor bars, given by their two ends: greedy, deterministic, linear in words.
    Labels far from their point get a thin line. The figure is fitted before.
    """
    style.fit(figure)
    scale, frame = 72.0 / figure.dpi, axes.get_window_extent()
    origin = np.array([frame.x0, frame.y0])
    spots = (axes.transData.transform(points) - origin) * scale if len(points) else points
    ends = (axes.transData.transform(bars.reshape(-1, 2)).reshape(bars.shape) - origin) * scale
    # boxes as (left, bottom, right, top) in points from the lower left corner of the axes
    boxes = [*np.hstack([spots - 3.5, spots + 3.5]), *np.hstack([ends.min(axis=1) - 1.0, ends.max(axis=1) + 1.0])]
    corner, done = np.array([frame.width, frame.height]) * scale, 0
    for point, spot, text in zip(points, spots, texts, strict=True):
        box, far = _free(spot, text, corner, np.array(boxes))
        if box is not None:
            boxes.append(box)
            _write(axes, point, text, (box[:2] + box[2:]) / 2 - spot, far)
            done += 1
    return done


def _free(spot: FloatArray, text: str, corner: FloatArray, boxes: FloatArray) -> tuple[FloatArray | None, bool]:
    """Return the nearest free box for a text, and whether it is so far away that it needs a line."""
    half = np.array([CHARACTER * style.SMALL * len(text) / 2, 0.62 * style.SMALL])
    for reach in REACH:
        for dx, dy in DIRECTIONS:
            away = (dx * (reach * (0.75 if dy else 1.0) + half[0]), dy * (reach * 0.75 + half[1] * 0.6))
            low, high = spot + away - half, spot + away + half
            apart = (boxes[:, 2:] <= low) | (boxes[:, :2] >= high)  # on either axis is enough
            if (low >= 0).all() and (high <= corner).all() and apart.any(axis=1).all():
                return np.concatenate([low, high]), reach > REACH[1]
    return None, False


def _write(axes: Axes, point: FloatArray, text: str, offset: FloatArray, far: bool) -> None:
    line = {"arrowstyle": "-", "color": style.MUTED, "linewidth": 0.6, "shrinkA": 0, "shrinkB": 3} if far else None
    where: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": style.SMALL, "arrowprops": line}
    axes.annotate(text, (point[0], point[1]), (offset[0], offset[1]), textcoords="offset points", **where)


WIDTH = 3.2  # inches: half of a printed line
LEFT, RIGHT, TOP, BOTTOM = 0.42, 0.16, 0.04, 0.2  # inches around stacked panels
TITLE, PANEL, GAP, BARS = 0.17, 0.4, 0.05, 0.22  # heights, in inches
LETTER = 0.068  # the width of a letter
LEVEL_ROW, APART = 0.165, 0.2  # the height of a level's row, and the room between panels beside each other
UNITS, OVER = 0.14, 0.2  # the height of the units below; how far the first title reaches over the names
LEVELS = 12  # levels drawn, the most frequent ones
FEW = 6  # so many points of a number are drawn as points
LETTERS, LINE = 15, 38  # of a level's name, of a title
NAMES = {"prediction": "prediction", "loss": "loss", "uncertainty": "uncertainty"}
MARK: dict[str, Any] = {"marker": "o", "markersize": 3.2, "linestyle": ""}


class SheetPanel(NamedTuple):
    """One measure along the feature: its role, title and unit, the average and, where it differs, the local effect.

    Both are estimates by `x` or `level`.
    """

    role: str
    title: str
    unit: str
    average: pd.DataFrame
    local: pd.DataFrame


def draw_sheet(panels: Sequence[SheetPanel], counts: pd.DataFrame, edges: Sequence[float] | None = None) -> Figure:
    """Draw the panels of one feature, and the distribution of its values.

    Parameters
    ----------
    panels : sequence of Panel
        At least one; at most three have room.
    counts : DataFrame
        Columns ``x`` and ``value``: rows by bin (of `edges`) or by place of a level; empty for none.
    edges : sequence of float, optional
        Bounds of the bins of a number.
    """
    total = counts.groupby(col.X)[col.VALUE].sum()
    if panels[0].average[col.LEVEL].astype(bool).any():
        return _rows(panels, total)
    return _stack(panels, total, edges)


def most_frequent(average: pd.DataFrame, counts: pd.DataFrame) -> pd.DataFrame:
    """Return the points of the most frequent levels, as many as are drawn, highest first."""
    often = average[col.X].map(counts.groupby(col.X)[col.VALUE].sum()).fillna(0)
    first = average.loc[often.sort_values(ascending=False, kind="stable").index[:LEVELS]]
    return first.sort_values(col.ESTIMATE, ascending=False, kind="stable")


def _stack(panels: Sequence[SheetPanel], counts: pd.Series[float], edges: Sequence[float] | None) -> Figure:
    """Draw panels over one another along numbers, with bars of the rows below."""
    bars = BARS + GAP if len(counts) else 0.0
    height = TOP + len(panels) * (TITLE + PANEL) + bars + BOTTOM
    with style.drawing(height, WIDTH, placed=True) as figure:
        top = height - TOP
        x = panels[0].average[col.X]
        room = 0.02 * float(x.max() - x.min()) or max(0.5, 1e-6 * float(x.abs().max()))  # of one value: seen beside it
        ends = (float(x.min()) - room, float(x.max()) + room)
        for panel in panels:
            top -= TITLE + PANEL
            axes = _axes(figure, (LEFT, top, WIDTH - LEFT - RIGHT, PANEL))
            _curve(axes, panel)
            axes.set_xlim(ends)
            axes.tick_params(axis="x", length=0, labelbottom=False)
            text = f"{panel.title} ({panel.unit})" if panel.unit else panel.title
            _title(figure, style.name(text, LINE), panel.role, (LEFT, top + PANEL + 0.045))
        if len(counts):
            axes = _axes(figure, (LEFT, top - bars, WIDTH - LEFT - RIGHT, BARS))
            _row_bars(axes, counts, edges)
            axes.set_xlim(ends)
        axes.tick_params(axis="x", length=3, labelbottom=True)
        if len(x) > FEW:
            _ticks(axes, "x", ends, 5, WIDTH - LEFT - RIGHT)
        else:  # the values themselves
            axes.set_xticks(x.tolist(), [signed(f"{value:.4g}") for value in x])
    return figure


def _rows(panels: Sequence[SheetPanel], counts: pd.Series[float]) -> Figure:
    """Draw a row per level, panels side by side, and the numbers of rows as bars at the right."""
    order = most_frequent(panels[0].average, counts.rename_axis(col.X).rename(col.VALUE).reset_index())
    names = [style.name(legible(level), LETTERS) for level in order[col.LEVEL]]
    left = LETTER * max(map(len, names)) + 0.1
    width, body = (WIDTH - left - RIGHT) / (len(panels) + 0.5 * bool(len(counts))), LEVEL_ROW * len(order) + 0.08
    with style.drawing(TOP + TITLE + body + BOTTOM + UNITS, WIDTH, placed=True) as figure:
        place = {x: k for k, x in enumerate(reversed(order[col.X].tolist()))}
        for k, panel in enumerate(panels):
            head = (panel.role, NAMES.get(panel.role, ""), 0.0 if k else OVER)
            axes = _side_panel(figure, (left + k * width, width - APART, body), head, len(order))
            _intervals(axes, panel.average[panel.average[col.X].isin(place)], place, panel.role)
            _ticks(axes, "x", axes.get_xlim(), 3, width - APART)
            # a unit of several words is left to the caption
            unit = panel.unit if LETTER * len(panel.unit) <= width else ""
            axes.set_xlabel(unit, fontsize=style.SMALL, labelpad=1.0)
            if not k:
                axes.set_yticks([place[x] for x in order[col.X]], names)
        if len(counts):
            axes = _side_panel(
                figure, (WIDTH - RIGHT - 0.5 * width, 0.5 * width, body), ("", "n", -0.4 * width), len(order)
            )
            rectangles(
                axes, [(0.0, float(counts.get(x, 0.0)), k - 0.3, k + 0.3) for x, k in place.items()], style.SPREAD
            )
            axes.set_xlim(0, max(float(counts.max()), 1.0))
    return figure


def _side_panel(figure: Figure, box: tuple[float, float, float], head: tuple[str, str, float], rows: int) -> Axes:
    """Add a panel with a place for each of `rows` levels, and its title so far to the left."""
    (left, width, body), (role, title, over) = box, head
    axes = _axes(figure, (left, BOTTOM + UNITS, width, body))
    _title(figure, title, role, (left - over, BOTTOM + UNITS + body + 0.045))
    axes.set_ylim(-0.6, rows - 0.4)
    return axes


def _axes(figure: Figure, box: tuple[float, float, float, float]) -> Axes:
    """Add axes at a place in inches."""
    width, height = figure.get_size_inches()
    left, bottom, wide, high = box
    axes = figure.add_axes((left / width, bottom / height, wide / width, high / height))
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.spines["bottom"].set_color(style.GRID)
    axes.tick_params(length=0)
    axes.patch.set_visible(False)
    axes.set_xticks([])
    axes.set_yticks([])
    return axes


def _title(figure: Figure, text: str, role: str, at: tuple[float, float]) -> None:
    width, height = figure.get_size_inches()
    color = style.ROLE.get(role, style.MUTED)
    figure.text(at[0] / width, at[1] / height, text, color=color, fontsize=style.SMALL, fontweight="bold")


def _curve(axes: Axes, panel: SheetPanel) -> None:
    """Draw an average along a number: a line in its band, few points with their intervals, the local one dashed."""
    color, points = style.ROLE.get(panel.role, style.INK), panel.average
    x, y = points[col.X], points[col.ESTIMATE]
    banded = has_interval(points).all()
    if len(points) <= FEW:
        axes.plot(x, y, color=color, **MARK)
        if banded:
            style.intervals(axes, points, x, upright=True, color=color, linewidth=1.2)
    else:
        axes.plot(x, y, color=color, linewidth=1.5)
        if banded:
            there, back = points[[col.X, col.LOWER]], points[[col.X, col.UPPER]].iloc[::-1]
            axes.fill(*np.vstack([there, back]).T.astype(float), color=color, alpha=0.18, linewidth=0)
    if len(panel.local):
        _local(axes, panel)
    _ticks(axes, "y", axes.get_ylim(), 3)
    axes.grid(True, axis="y")


def _local(axes: Axes, panel: SheetPanel) -> None:
    """Draw the local effect at the height of the average, named at its end."""
    x, y = aligned(panel.average, panel.local)
    axes.plot(x, y, color=style.INK, linewidth=0.9, linestyle=style.LINES[1])
    over = y[-1] >= panel.average[col.ESTIMATE].iloc[-1]
    where: dict[str, Any] = {"ha": "right", "va": "bottom" if over else "top", "fontsize": style.SMALL}
    axes.annotate("local", (x[-1], y[-1]), (-2, 2 if over else -2), textcoords="offset points", **where)


def aligned(average: pd.DataFrame, local: pd.DataFrame) -> tuple[Any, Any]:
    """Return the places and values of a local curve, moved to have the mean of the average over its own points."""
    x, y = (local[c].to_numpy(dtype=float) for c in (col.X, col.ESTIMATE))
    at, level = (average[c].to_numpy(dtype=float) for c in (col.X, col.ESTIMATE))
    inside = (x >= at.min()) & (x <= at.max())
    x, y = x[inside], y[inside]
    return x, y - y.mean() + np.interp(x, at, level).mean() if len(x) else y


def _row_bars(axes: Axes, counts: pd.Series[float], edges: Sequence[float] | None) -> None:
    """Draw the rows by bin, or by value where there are no bins."""
    at, values = counts.index.to_numpy(dtype=float), counts.to_numpy(dtype=float)
    if edges is not None and len(edges) == len(at) + 1:
        lefts, rights = np.asarray(edges[:-1], dtype=float), np.asarray(edges[1:], dtype=float)
    else:
        half = 0.3 * (float(np.diff(at).min()) if len(at) > 1 else 1.0)
        lefts, rights = at - half, at + half
    boxes = [(float(a), float(b), 0.0, float(v)) for a, b, v in zip(lefts, rights, values, strict=True) if v]
    rectangles(axes, boxes, style.SPREAD, "white", 0.4)
    axes.set_ylim(0, max(float(values.max()), 1.0))
    axes.text(-0.02, 0.1, "n", transform=axes.transAxes, ha="right", color=style.MUTED, fontsize=style.SMALL)


def _intervals(axes: Axes, points: pd.DataFrame, place: dict[float, int], role: str) -> None:
    """Draw a point with its interval in the row of each level."""
    color, at = style.ROLE.get(role, style.INK), points[col.X].map(place)
    axes.plot(points[col.ESTIMATE], at, color=color, **MARK)
    if has_interval(points).all():
        style.intervals(axes, points, at, color=color, linewidth=1.3)
    axes.grid(True, axis="x")


def _ticks(axes: Axes, which: str, ends: tuple[float, float], most: int, room: float = WIDTH) -> None:
    """Write at most `most` round numbers on an axis that has `room`, with as many decimals as they differ by."""
    values, texts = _numbers(ends, most)
    inch = (ends[1] - ends[0]) / room  # neighbours must not touch each other
    while len(texts) > 1 and (values[1] - values[0]) / inch < LETTER * (max(map(len, texts)) + 0.7):
        every = max(2, len(texts) - 1) if len(texts) < 4 else 2
        values, texts = values[::every], texts[::every]
    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_ticks(values, texts)
    (axes.set_xlim if which == "x" else axes.set_ylim)(ends)


def _numbers(ends: tuple[float, float], most: int) -> tuple[list[float], list[str]]:
    """Return round numbers between two ends, and how they are written."""
    values = style.round_numbers(most).tick_values(*ends)
    inside = [float(v) for v in values if ends[0] <= v <= ends[1]]
    step = float(values[1] - values[0])
    places = next((p for p in range(6) if abs(round(step, p) - step) < 1e-9 * step), 6)
    return inside, [signed(f"{v:.{places}f}") for v in inside]
