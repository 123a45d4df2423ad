"""One observation in a figure: its prediction, how usual it is, and the profiles of its leading features through it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ...core.model.results import MeasureFacts
from ...evidence import columns as col
from . import style
from .frames import axis_label, number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CLASSES = 6  # the most probable
LEVELS = 4  # of a feature
MEASURES, FEATURES = 2, 3
OWN: dict[str, Any] = {"marker": "o", "markersize": 6, "markeredgecolor": "white", "linestyle": ""}


def draw_case(
    distribution: pd.DataFrame,
    percentiles: pd.DataFrame,
    profiles: pd.DataFrame,
    features: Sequence[str],
    measures: Mapping[str, MeasureFacts],
) -> Figure:
    """Draw the distribution and the percentiles of the measures, and profiles of the first features.

    Parameters
    ----------
    distribution : DataFrame
        item and value: probabilities of classes, or quantiles.
    percentiles : DataFrame
        measure and percentile.
    profiles : DataFrame
        feature, x, level, measure, value, own; may be empty.
    features : sequence of str
        In their order; the first three are drawn.
    measures : mapping of str to MeasureFacts
        Those drawn, the first two.
    """
    names = [] if profiles.empty else [m for m in measures if (profiles[col.MEASURE] == m).any()][:MEASURES]
    drawn = list(features[:FEATURES]) if names else []
    with style.drawing(2.45) as figure:
        panels = figure.subplots(2, 1 + len(drawn), squeeze=False)
        _bars(panels[0, 0], distribution)
        _percentiles(panels[1, 0], percentiles)
        for c, feature in enumerate(drawn, 1):
            for r in range(2):
                panels[r, c].set_visible(r < len(names))
            for r, name in enumerate(names):
                part = profiles[(profiles[col.FEATURE] == feature) & (profiles[col.MEASURE] == name)]
                _profile(panels[r, c], part, style.ROLE.get(measures[name].role, style.INK))
                if c == 1:
                    panels[r, c].set_title(axis_label(name, measures), fontsize=style.SMALL)
                if r == len(names) - 1:
                    panels[r, c].set_xlabel(style.name(feature, 22))
    return figure


def _bars(axes: Axes, distribution: pd.DataFrame) -> None:
    table = distribution
    if len(table) > CLASSES:
        table = table.sort_values("value", ascending=False, kind="stable").head(CLASSES)
    style.plain(axes, "x").xaxis.set_major_locator(style.round_numbers(3))
    axes.barh(range(len(table)), table["value"], height=0.6, color=style.ROLE["prediction"])
    for k, value in enumerate(table["value"]):
        axes.annotate(
            number(float(value)), (value, k), (2, 0), textcoords="offset points", va="center", fontsize=style.SMALL
        )
    axes.margins(x=0.25)
    axes.set_yticks(range(len(table)), [style.name(item, 14) for item in table["item"]])
    axes.invert_yaxis()
    axes.set_title("prediction", fontsize=style.SMALL)


def _percentiles(axes: Axes, table: pd.DataFrame) -> None:
    style.plain(axes, "x")
    axes.plot(100 * table["percentile"], range(len(table)), color=style.INK, **OWN)
    axes.set_xlim(-6, 106)
    axes.set_xticks([0, 50, 100])
    axes.set_ylim(len(table) - 0.5, -0.5)
    axes.set_yticks(range(len(table)), [style.name(m, 14) for m in table["measure"]])
    axes.set_xlabel("percentile")


def _profile(axes: Axes, part: pd.DataFrame, color: str) -> None:
    """Draw one profile, with a ring where the observation is."""
    for axis in (style.plain(axes, "y").xaxis, axes.yaxis):
        axis.set_major_locator(style.round_numbers(3))
    own = part["own"].to_numpy(dtype=bool)
    if not part[col.LEVEL].astype(bool).any():
        axes.plot(part[col.X], part[col.VALUE], color=color, linewidth=1.4)
        axes.plot(part[col.X][own], part[col.VALUE][own], color=style.INK, **OWN)
        return
    keep = np.flatnonzero(own | (np.arange(len(part)) < LEVELS))
    part, own = part.iloc[keep], own[keep]
    places = np.arange(len(part))
    axes.plot(places, part[col.VALUE], linestyle="", marker="s", markersize=4, color=color)
    axes.plot(places[own], part[col.VALUE][own], color=style.INK, **OWN)
    axes.margins(x=0.25)
    axes.set_xticks(places, [style.name(level, 9) for level in part[col.LEVEL]])
    style.aslant(axes, 35)
