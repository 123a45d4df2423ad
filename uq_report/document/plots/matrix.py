"""Figures of ranks with their intervals, and of surfaces along two features.

Cells of one colour are one path, so that a figure stays small and needs no raster image.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ...core.model.results import Result
from ...evidence import columns as col
from . import style
from .frames import axis_label, choose, number, numbers
from .importance import wrapped
from .style import Axes, Axis, Figure

Rectangle = tuple[float, float, float, float]


def rectangles(axes: Axes, boxes: Iterable[Rectangle], color: str, edge: str = "none", linewidth: float = 0.0) -> None:
    """Fill rectangles (left, right, bottom, top), in data coordinates, with one colour as one path."""
    corners = [[(x0, y0), (x1, y0), (x1, y1), (x0, y1), (x0, y0)] for x0, x1, y0, y1 in boxes]
    if corners:
        from matplotlib.patches import PathPatch  # heavy, and most commands draw nothing
        from matplotlib.path import Path

        codes = [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY]
        path = Path(np.concatenate([np.array(c, dtype=float) for c in corners]), codes * len(corners))
        axes.add_patch(PathPatch(path, facecolor=color, edgecolor=edge, linewidth=linewidth))


def levels(values: Any, bounds: Any) -> Any:
    """Return which of the levels between `bounds` each value is in."""
    return np.clip(np.searchsorted(bounds, values, side="right") - 1, 0, max(len(bounds) - 2, 0))


def draw_scale(axes: Axes, bounds: Any, shades: Sequence[int], label: str, *, every: int = 2, digits: int = 3) -> None:
    """Draw the scale of a map, a shade per level, by hand: a colour bar would put a raster image into the SVG."""
    for k, shade in enumerate(shades):
        rectangles(axes, [(0.0, 1.0, float(k), float(k + 1))], style.LEVELS[shade], style.LEVELS[shade], 0.3)
    axes.set_xlim(0, 1)
    axes.set_ylim(0, len(shades))
    axes.set_xticks([])
    axes.yaxis.tick_right()
    axes.yaxis.set_label_position("right")
    axes.set_yticks(range(0, len(bounds), every), [number(float(bound), digits) for bound in bounds[::every]])
    axes.set_ylabel(label)


class DrawnRanks(NamedTuple):
    """One method's ranks: its two headings, and a table indexed by feature with ``estimate``, ``lower``, ``upper``.

    `role` is that of its measure, which colours it.
    """

    method: str
    measure: str
    table: pd.DataFrame
    role: str = ""


def draw_ranks(rankings: Sequence[DrawnRanks], features: Sequence[str]) -> Figure:
    """Draw the ranks of `features`, a panel per ranking: a dot with its interval, hollow where it has none."""
    last = max(float(np.nanmax(ranking.table[[col.ESTIMATE, col.UPPER]])) for ranking in rankings)
    with style.drawing(0.19 * len(features) + 1.0) as figure:
        row = figure.subplots(1, len(rankings), sharey=True, squeeze=False)[0]
        for axes, ranking in zip(row, rankings, strict=True):
            _rank_panel(style.plain(axes, "x"), ranking, features)
            axes.set_xlim(0.4, last + 0.6)
            axes.xaxis.set_major_locator(style.round_numbers(2, (1, 2, 5, 10)))
        style.name_rows(row, [style.name(feature, 22) for feature in features])
        figure.supxlabel("rank (1: largest)", fontsize=style.SMALL)
    return figure


def _rank_panel(axes: Axes, ranking: DrawnRanks, features: Sequence[str]) -> None:
    table = ranking.table.reindex(list(features))
    rank, lower = (numbers(table, name) for name in (col.ESTIMATE, col.LOWER))
    at, color = np.arange(len(features), dtype=float), style.ROLE.get(ranking.role, style.INK)
    style.intervals(axes, table, at, color=color, linewidth=1.8)
    for rows, face in ((np.isfinite(lower), color), (~np.isfinite(lower), "white")):
        axes.plot(rank[rows], at[rows], linestyle="", marker="o", markersize=4.5, color=color, markerfacecolor=face)
    head = (wrapped(style.name(ranking.method, 24)), style.name(ranking.measure, 16))
    axes.set_title("\n".join(filter(None, head)), fontsize=style.SMALL - 1, color=color)


def draw_surface(result: Result, measure: str | None = None, pair: tuple[str, str] | None = None) -> Figure:
    """Draw the average of one measure over the grid of two features, in ten levels; extrapolated cells are crossed out.

    Parameters
    ----------
    result : Profile
        With ``feature_2``, ``x_2`` and ``level_2`` filled.
    pair : (str, str), optional
        The first one by default.
    """
    chosen = choose(result, "measure", measure, result.frame[col.MEASURE])
    frame = result.frame[(result.frame[col.MEASURE] == chosen) & (result.frame[col.CURVE] < 0)]
    first, second = choose(result, "pair", pair, zip(frame[col.FEATURE], frame[col.FEATURE_2], strict=True))
    frame = frame[(frame[col.FEATURE] == first) & (frame[col.FEATURE_2] == second)]
    table = frame.set_index([col.X_2, col.X])[col.VALUE].unstack()  # noqa: PD010 - one value per cell, nothing to aggregate
    with style.drawing(3.9) as figure:
        axes, scale = figure.subplots(1, 2, width_ratios=(14, 1))
        bounds = _level_bounds(table)
        _surface_cells(axes, table, bounds)
        _cross_out(axes, result.estimates, (chosen, first, second))
        style.plain(axes)
        _ticks(axes.xaxis, frame, col.X, col.LEVEL)
        _ticks(axes.yaxis, frame, col.X_2, col.LEVEL_2)
        axes.set_xlabel(style.name(first, 40))
        axes.set_ylabel(style.name(second, 40))
        draw_scale(scale, bounds, range(max(len(bounds) - 1, 1)), axis_label(chosen, result.measures))
    return figure


def edges(centres: Any) -> Any:
    """Return cell edges half-way between sorted centres.

    Examples
    --------
    >>> edges([0.0, 1.0, 3.0])
    array([-0.5,  0.5,  2. ,  4. ])
    """
    at = np.asarray(centres, dtype=float)
    if len(at) == 1:
        return np.array([at[0] - 0.5, at[0] + 0.5])
    middle = (at[1:] + at[:-1]) / 2
    return np.concatenate([[2 * at[0] - middle[0]], middle, [2 * at[-1] - middle[-1]]])


def _level_bounds(table: pd.DataFrame) -> Any:
    """Return the limits of the levels; a constant surface is one level."""
    values = table.to_numpy(dtype=float)
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    return np.linspace(low, high, len(style.LEVELS) + 1) if high > low else np.array([low, low])


def _surface_cells(axes: Axes, table: pd.DataFrame, bounds: Any) -> None:
    across, up = edges(table.columns), edges(table.index)
    values = table.to_numpy(dtype=float)
    level = levels(values, bounds)
    for k, color in enumerate(style.LEVELS):
        cells = np.argwhere((level == k) & np.isfinite(values))
        rectangles(axes, ((across[c], across[c + 1], up[r], up[r + 1]) for r, c in cells), color, color, 0.3)
    axes.set_xlim(across[0], across[-1])
    axes.set_ylim(up[0], up[-1])


def _cross_out(axes: Axes, estimates: pd.DataFrame, curve: tuple[str, str, str]) -> None:
    """Cross out the cells of points that the result marks as extrapolated."""
    if col.EXTRAPOLATED not in estimates.columns:
        return
    part = estimates[(estimates[[col.MEASURE, col.FEATURE, col.FEATURE_2]] == curve).all(axis=1)]
    marked = part[part[col.EXTRAPOLATED].astype(bool)]
    ends = []
    for place in (col.X, col.X_2):
        points = np.unique(part[place].to_numpy(dtype=float))
        at, bounds = np.searchsorted(points, marked[place].to_numpy(dtype=float)), edges(points)
        ends.append(np.column_stack([bounds[at], bounds[at + 1], np.full(len(at), np.nan)]))
    for across in (ends[0], ends[0][:, [1, 0, 2]]):
        axes.plot(across.ravel(), ends[1].ravel(), color="white", linewidth=0.8)


def _ticks(axis: Axis, frame: pd.DataFrame, place: str, level: str) -> None:
    points = frame[[place, level]].drop_duplicates().sort_values(place, kind="stable")
    texts = [str(text) for text in points[level]]
    if any(texts):
        axis.set_ticks(list(points[place]), [style.name(text, 12) for text in texts])
