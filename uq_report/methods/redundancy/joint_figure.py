"""Pairs of features before and after one of them is permuted: rows the model is asked about, and rows that exist."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from ...core.model.results import Result
from ...document.plots import style
from ...document.plots.registered import figure_plugin
from ...evidence import columns as col
from ...evidence import ids
from ...evidence.information import AFTER, BEFORE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PAIRS = 4
LOOKS: dict[str, dict[str, Any]] = {
    AFTER: {"marker": "x", "markersize": 3.0, "color": style.ROLE["loss"], "markeredgewidth": 0.6},
    BEFORE: {"marker": "o", "markersize": 2.8, "color": style.ROLE["prediction"], "markeredgewidth": 0.0},
}


def draw(result: Result, pairs: Sequence[tuple[str, str]] | None = None) -> Figure:
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
        style.key(figure, [style.line(linestyle="", label=_WORDS[when], **LOOKS[when]) for when in reversed(LOOKS)])
    return figure


_WORDS = {BEFORE: "rows of the data", AFTER: "rows after the shuffle"}


def _panel(axes: Axes, part: pd.DataFrame, feature: str, partner: str) -> None:
    style.plain(axes)
    for when, look in LOOKS.items():
        points = part[part[col.MEASURE] == when]
        axes.plot(points[col.X], points[col.VALUE], linestyle="", **look)
    axes.set_xlabel(style.name(feature, 30))
    axes.set_ylabel(style.name(partner, 22))


JointFigure = figure_plugin(ids.REDUNDANCY_JOINT, draw)
