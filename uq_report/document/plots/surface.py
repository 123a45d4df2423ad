"""A measure along two features: few levels of one hue scale, each one path, and the scale beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ...core.model.results import Result
from ...evidence import columns as col
from . import style
from .frames import choose
from .shapes import draw_scale, levels, rectangles
from .words import axis_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure


def draw(result: Result, measure: str | None = None, pair: tuple[str, str] | None = None) -> Figure:
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
        bounds = _bounds(table)
        _cells(axes, table, bounds)
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


def _bounds(table: pd.DataFrame) -> Any:
    """Return the limits of the levels; a constant surface is one level."""
    values = table.to_numpy(dtype=float)
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    return np.linspace(low, high, len(style.LEVELS) + 1) if high > low else np.array([low, low])


def _cells(axes: Axes, table: pd.DataFrame, bounds: Any) -> None:
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
