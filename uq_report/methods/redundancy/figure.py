"""The redundancy of each feature, and strong pairs of features before and after one is permuted."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from ...core.model.results import Result
from ...document.plots import style
from ...document.plots.frames import has_interval, interval_words
from ...document.plots.registered import figure_plugin
from ...evidence import columns as col, ids, information as info

BARS: dict[str, dict[str, Any]] = {
    info.WITHOUT_TARGET: {"color": style.ROLE["prediction"], "marker": "o"},
    info.WITH_TARGET: {"color": style.ROLE["loss"], "marker": "D", "markerfacecolor": "white"},
}
SIZE: dict[str, Any] = {"linestyle": "", "markersize": 5.5, "markeredgewidth": 1.2}
OFFSETS = {info.WITHOUT_TARGET: -0.12, info.WITH_TARGET: 0.12}


def draw_redundancy(result: Result, top: int = 20) -> style.Figure:
    """Draw R² of each feature from the others, without and with the target, largest without first.

    Parameters
    ----------
    result : Diagnostic
        Its estimates have a column ``item`` with the keys of `BARS`.
    """
    table = result.estimates
    first = table[table[col.ITEM] == info.WITHOUT_TARGET]
    features = [str(f) for f in first.sort_values(col.ESTIMATE, ascending=False, kind="stable")[col.FEATURE].head(top)]
    parts = {item: table[table[col.ITEM] == item].set_index(col.FEATURE).reindex(features) for item in BARS}
    label = "R² (skill, for levels) of predicting the feature from all others"
    with style.rows([style.name(feature) for feature in features], label, 0.29, 1.1) as (figure, axes):
        starts, ends = (part[col.ESTIMATE] for part in parts.values())
        style.segments(axes, starts, ends, range(len(features)), color=style.BAND, linewidth=5.0)
        for item, part in parts.items():
            offset = OFFSETS[item] if has_interval(part).any() else 0
            at = [k + offset for k in range(len(part))]
            style.estimates(axes, part, at, 1.0, **SIZE, **BARS[item], label=item)
        words = interval_words(pd.concat(parts.values()))
        style.key(figure, [style.line(color=style.INK, linewidth=1.0, label=words)])
    return figure


RedundancyFigure = figure_plugin(ids.REDUNDANCY, draw_redundancy)


PAIRS = 4
POINTS: dict[str, dict[str, Any]] = {
    info.AFTER: {"marker": "x", "markersize": 3.0, "color": style.ROLE["loss"], "markeredgewidth": 0.6},
    info.BEFORE: {"marker": "o", "markersize": 2.8, "color": style.ROLE["prediction"], "markeredgewidth": 0.0},
}


def draw_joint(result: Result, pairs: Sequence[tuple[str, str]] | None = None) -> style.Figure:
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
            for when, look in POINTS.items():
                at = part[part[col.MEASURE] == when]
                axes.plot(at[col.X], at[col.VALUE], linestyle="", **look)
            style.plain(axes).set(xlabel=style.name(feature, 30), ylabel=style.name(partner, 22))
        for axes in panels[len(chosen) :]:
            axes.set_visible(False)
        style.key(figure, [style.line(linestyle="", label=_WORDS[when], **POINTS[when]) for when in reversed(POINTS)])
    return figure


_WORDS = {info.BEFORE: "observations", info.AFTER: "after the permutation"}


JointFigure = figure_plugin(ids.REDUNDANCY_JOINT, draw_joint)
