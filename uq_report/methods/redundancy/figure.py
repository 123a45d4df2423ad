"""How well the other features tell each feature, without and with the target: two dots and a line."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ...core.results import Result
from ...document.plots import style
from ...document.plots.contract import figure_plugin
from ...document.plots.frames import has_interval, interval_words
from ...evidence import columns as col
from ...evidence import ids
from ...evidence.information import WITH_TARGET, WITHOUT_TARGET

ITEMS = (WITHOUT_TARGET, WITH_TARGET)
OFFSETS = {WITHOUT_TARGET: -0.12, WITH_TARGET: 0.12}


def draw(result: Result, top: int = 20) -> Figure:
    """Draw R² of each feature from the others, without and with the target, largest without first.

    Parameters
    ----------
    result : Diagnostic
        Its estimates have a column ``item`` with the values of `ITEMS`.
    """
    table = result.estimates
    first = table[table[col.ITEM] == ITEMS[0]]
    features = [str(f) for f in first.sort_values(col.ESTIMATE, ascending=False, kind="stable")[col.FEATURE].head(top)]
    parts = {item: table[table[col.ITEM] == item].set_index(col.FEATURE).reindex(features) for item in ITEMS}
    with style.context():
        figure = style.new_figure(0.29 * len(features) + 1.1)
        axes = style.plain(figure.subplots(), "x")
        axes.axvline(0, color=style.INK, linewidth=0.8)
        first_ends, second_ends = (parts[item][col.ESTIMATE] for item in ITEMS)
        axes.plot(*style.segments(first_ends, second_ends, range(len(features))), color=style.BAND, linewidth=5.0)
        for item in ITEMS:
            _dots(axes, parts[item], item)
        axes.set_yticks(range(len(features)), [style.name(feature) for feature in features])
        axes.set_ylim(len(features) - 0.4, -0.6)
        axes.set_xlabel("R² (skill, for levels) of predicting the feature from all others")
        style.key(figure, _legend(pd.concat(parts.values())))
    return figure


def _look(item: str) -> dict[str, Any]:
    color = style.ROLE["prediction"] if item == ITEMS[0] else style.ROLE["loss"]
    marker, face = ("o", color) if item == ITEMS[0] else ("D", "white")
    return {"color": color, "marker": marker, "markerfacecolor": face, "markersize": 5.5, "markeredgewidth": 1.2}


def _dots(axes: Any, part: pd.DataFrame, item: str) -> None:
    at = [k + OFFSETS[item] for k in range(len(part))]
    if has_interval(part).any():
        axes.plot(*style.segments(part[col.LOWER], part[col.UPPER], at), color=_look(item)["color"], linewidth=1.0)
        axes.plot(part[col.ESTIMATE], at, linestyle="", **_look(item))
        return
    axes.plot(part[col.ESTIMATE], range(len(part)), linestyle="", **_look(item))


def _legend(table: pd.DataFrame) -> list[Any]:
    handles: list[Any] = [Line2D([], [], linestyle="", label=item, **_look(item)) for item in ITEMS]
    if has_interval(table).any():
        handles.append(Line2D([], [], color=style.INK, linewidth=1.0, label=interval_words(table)))
    return handles


RedundancyFigure = figure_plugin(ids.REDUNDANCY, draw)
