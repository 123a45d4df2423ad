"""What decides the prediction, what it costs when wrong, and what the uncertainty follows: one row per feature."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from ...document.plots import style
from ...evidence import columns as col

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLES = {
    "prediction": "What decides\nthe prediction",
    "loss": "What it costs\nwhen wrong",
    "uncertainty": "What the doubt\nfollows",
}
ROW, FRAME = 0.165, 0.75  # inches
NAME = 22


class DriverPanel(NamedTuple):
    """One question: the role of its measure, the axis in words, its estimates, and what the model claims.

    What lies within `margin` counts as 0; NaN where nothing does.
    """

    role: str
    label: str
    table: pd.DataFrame
    claimed: Mapping[str, float]
    margin: float


def draw(panels: Sequence[DriverPanel], features: Sequence[str]) -> Figure:
    """Draw the panels side by side; a dot is an estimate, its line the interval."""
    with style.drawing(ROW * max(3, len(features)) + FRAME) as figure:
        row = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        for axes, panel in zip(row, panels, strict=True):
            _panel(axes, panel, features)
        row[0].set_yticks(range(len(features)), [style.name(feature, NAME) for feature in features])
        row[0].set_ylim(len(features) - 0.4, -0.6)
        for axes in row:
            axes.tick_params(left=False)
    return figure


def _panel(axes: Axes, panel: DriverPanel, features: Sequence[str]) -> None:
    """Draw one question; row k stands for feature k."""
    style.plain(axes, "x")
    axes.spines["left"].set_visible(False)
    if np.isfinite(panel.margin):
        axes.axvspan(-panel.margin, panel.margin, color=style.BAND, linewidth=0, zorder=0)
    axes.axvline(0, color=style.INK, linewidth=0.8)
    part = panel.table.set_index(col.FEATURE).reindex(list(features))
    estimate, lower, upper = (
        pd.to_numeric(part[name]).to_numpy(dtype=float) for name in (col.ESTIMATE, col.LOWER, col.UPPER)
    )
    at, color = np.arange(len(features), dtype=float), style.ROLE.get(panel.role, style.INK)
    axes.plot(*style.segments(lower, upper, at), color=color, linewidth=2.0)
    axes.plot(estimate, at, linestyle="", marker="o", markersize=4.5, color=color)
    claimed = np.array([panel.claimed.get(feature, np.nan) for feature in features], dtype=float)
    if np.isfinite(claimed).any():
        shape: dict[str, Any] = {"marker": "D", "markersize": 4.5, "markerfacecolor": "white", "markeredgewidth": 1.0}
        axes.plot(claimed, at, linestyle="", color=style.INK, **shape)
    axes.set_title(TITLES[panel.role], fontsize=style.SMALL, color=color)
    axes.set_xlabel(panel.label, fontsize=style.SMALL)
    axes.xaxis.set_major_locator(style.round_numbers(3, None))
