"""ALE against PDP: two lines per measure on the same axes, shifted to the same mean so that their shapes compare."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ..core.results import Result
from ..evidence import columns as col
from . import style
from .frames import has_interval, interval_words
from .importance import wrapped
from .words import axis_label

BAND: dict[str, Any] = {"color": style.INK, "alpha": 0.16, "linewidth": 0.0}
ALE: dict[str, Any] = {"color": style.INK, "linewidth": 1.8}
PDP: dict[str, Any] = {"color": style.ROLE["loss"], "linewidth": 1.6, "linestyle": style.LINES[1]}
LEVEL = 14
CROWDED = 30  # characters of level texts that fit under a panel


def curve(result: Result | None, measure: str, feature: str) -> pd.DataFrame:
    """Return the estimates of one curve along x; empty where the result has none or says no place."""
    table = pd.DataFrame() if result is None else result.estimates
    if not {col.X, col.LEVEL} <= set(table.columns):
        return pd.DataFrame()
    part = table[(table[col.MEASURE] == measure) & (table[col.FEATURE] == feature) & table[col.ESTIMATE].notna()]
    return part.sort_values(col.X, kind="stable")


def draw(ale: Result, pdp: Result | None, feature: str, measures: Sequence[str]) -> Figure:
    """Draw one feature's ALE with its interval, and its PDP where there is one, a panel per measure."""
    with style.context():
        crowded = _crowded(curve(ale, measures[0], feature))
        figure = style.new_figure(2.35 + 0.35 * crowded)
        panels = figure.subplots(1, len(measures), squeeze=False)[0]
        has_pdp = False
        for axes, measure in zip(panels, measures, strict=True):
            accumulated, partial = (curve(result, measure, feature) for result in (ale, pdp))
            has_pdp = _panel(style.plain(axes, "y"), accumulated, partial) or has_pdp
            label = axis_label(measure, ale.measures)
            axes.set_title(wrapped(label) if len(measures) > 1 else label, fontsize=style.SMALL + 0.5)
            axes.set_xlabel(style.name(feature, 28 if len(measures) < 3 else 20))
            _levels(axes, accumulated, crowded=crowded)
        style.key(figure, _legend(curve(ale, measures[0], feature), has_pdp), columns=3)
    return figure


def _panel(axes: Axes, ale: pd.DataFrame, pdp: pd.DataFrame) -> bool:
    """Draw both curves; say whether there is a PDP."""
    axes.axhline(0, color=style.MUTED, linewidth=0.6)
    numeric = not ale[col.LEVEL].astype(bool).any()
    x, y = (ale[column].to_numpy(dtype=float) for column in (col.X, col.ESTIMATE))
    if numeric:
        if has_interval(ale).any():
            axes.fill_between(x, ale[col.LOWER], ale[col.UPPER], **BAND)
        axes.plot(x, y, **ALE)
    else:
        axes.plot(*style.segments(x - 0.34, x + 0.34, y), **ALE)
        across, ends = style.segments(ale[col.LOWER], ale[col.UPPER], x)
        axes.plot(ends, across, color=style.INK, linewidth=5.0, alpha=0.3)
    if pdp.empty:
        return False
    at, value = beside(ale, pdp)
    if numeric:
        axes.plot(at, value, **PDP)
    else:
        axes.plot(at, value, linestyle="", marker="D", markersize=4.5, color=PDP["color"])
    return True


def beside(ale: pd.DataFrame, pdp: pd.DataFrame) -> tuple[Any, Any]:
    """Return the places and values of a PDP, moved to have the mean of the ALE over the points of the ALE.

    The points of an ALE are quantiles of the data (or levels, which are matched by their text).
    """
    if ale[col.LEVEL].astype(bool).any():
        place = dict(zip(ale[col.LEVEL], ale[col.X], strict=True))
        matched = pdp[pdp[col.LEVEL].isin(place)]
        at = matched[col.LEVEL].map(place).to_numpy(dtype=float)
        value = matched[col.ESTIMATE].to_numpy(dtype=float)
        common = ale[ale[col.LEVEL].isin(matched[col.LEVEL])][col.ESTIMATE]
        return at, value - value.mean() + float(common.mean()) if len(at) else value
    at, value = (pdp[column].to_numpy(dtype=float) for column in (col.X, col.ESTIMATE))
    x = ale[col.X].to_numpy(dtype=float)
    inside = (x >= at.min()) & (x <= at.max())
    if not inside.any():
        return at, value - value.mean()
    shift = np.interp(x[inside], at, value).mean() - ale[col.ESTIMATE].to_numpy(dtype=float)[inside].mean()
    return at, value - shift


def _levels(axes: Axes, ale: pd.DataFrame, *, crowded: bool) -> None:
    if not ale[col.LEVEL].astype(bool).any():
        return
    axes.set_xticks(ale[col.X], [style.name(level, LEVEL) for level in ale[col.LEVEL]])
    for text in axes.get_xticklabels() if crowded else ():
        text.set(rotation=30, ha="right", rotation_mode="anchor", fontsize=style.SMALL - 1)


def _crowded(ale: pd.DataFrame) -> bool:
    return sum(min(len(str(level)), LEVEL) + 2 for level in ale[col.LEVEL] if level) > CROWDED


def _legend(ale: pd.DataFrame, partial: bool) -> list[Any]:
    handles: list[Any] = [Line2D([], [], label="ALE", **ALE)]
    if has_interval(ale).any():
        handles.append(Patch(label=f"pointwise {interval_words(ale)}", **BAND))
    numeric = not ale[col.LEVEL].astype(bool).any()
    look = PDP if numeric else {"linestyle": "", "marker": "D", "markersize": 4.5, "color": PDP["color"]}
    return [*handles, Line2D([], [], label="PDP, shifted", **look)] if partial else handles
