"""Pairs of features before and after one of them is permuted: rows the model is asked about, and rows that exist."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ..core.results import Result
from . import style

PAIRS = 4
LOOKS: dict[str, dict[str, Any]] = {
    "after": {"marker": "x", "markersize": 3.0, "color": style.ROLE["loss"], "markeredgewidth": 0.6},
    "before": {"marker": "o", "markersize": 2.8, "color": style.ROLE["prediction"], "markeredgewidth": 0.0},
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
    held = list(dict.fromkeys(zip(frame["feature"].astype(str), frame["item"].astype(str), strict=True)))
    shown = list(pairs or held[:PAIRS])
    across = min(len(shown), 2)
    rows = -(-len(shown) // across)
    with style.context():
        figure = style.new_figure(2.3 * rows + 0.35)
        panels = figure.subplots(rows, across, squeeze=False).ravel()
        for axes, (feature, partner) in zip(panels, shown, strict=False):
            part = frame[(frame["feature"] == feature) & (frame["item"] == partner)]
            _panel(axes, part, feature, partner)
        for axes in panels[len(shown) :]:
            axes.set_visible(False)
        style.key(figure, [Line2D([], [], linestyle="", label=_WORDS[when], **LOOKS[when]) for when in reversed(LOOKS)])
    return figure


_WORDS = {"before": "rows of the data", "after": "rows after the shuffle"}


def _panel(axes: Axes, part: pd.DataFrame, feature: str, partner: str) -> None:
    style.plain(axes)
    for when, look in LOOKS.items():
        points = part[part["measure"] == when]
        axes.plot(points["x"], points["value"], linestyle="", **look)
    axes.set_xlabel(style.name(feature, 30))
    axes.set_ylabel(style.name(partner, 22))
