"""How well the other features tell each feature, without and with the target: two dots and a line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from ...core.model.results import Result
from ...document.plots import style
from ...document.plots.frames import has_interval, interval_words
from ...document.plots.registered import figure_plugin
from ...evidence import columns as col
from ...evidence import ids
from ...evidence.information import WITH_TARGET, WITHOUT_TARGET

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LOOKS: dict[str, dict[str, Any]] = {
    WITHOUT_TARGET: {"color": style.ROLE["prediction"], "marker": "o", "markerfacecolor": style.ROLE["prediction"]},
    WITH_TARGET: {"color": style.ROLE["loss"], "marker": "D", "markerfacecolor": "white"},
}
SIZE: dict[str, Any] = {"linestyle": "", "markersize": 5.5, "markeredgewidth": 1.2}
OFFSETS = {WITHOUT_TARGET: -0.12, WITH_TARGET: 0.12}


def draw(result: Result, top: int = 20) -> Figure:
    """Draw R² of each feature from the others, without and with the target, largest without first.

    Parameters
    ----------
    result : Diagnostic
        Its estimates have a column ``item`` with the keys of `LOOKS`.
    """
    table = result.estimates
    first = table[table[col.ITEM] == WITHOUT_TARGET]
    features = [str(f) for f in first.sort_values(col.ESTIMATE, ascending=False, kind="stable")[col.FEATURE].head(top)]
    parts = {item: table[table[col.ITEM] == item].set_index(col.FEATURE).reindex(features) for item in LOOKS}
    with style.drawing(0.29 * len(features) + 1.1) as figure:
        axes = style.plain(figure.subplots(), "x")
        axes.axvline(0, color=style.INK, linewidth=0.8)
        starts, ends = (part[col.ESTIMATE] for part in parts.values())
        axes.plot(*style.segments(starts, ends, range(len(features))), color=style.BAND, linewidth=5.0)
        for item, part in parts.items():
            _dots(axes, part, item)
        axes.set_yticks(range(len(features)), [style.name(feature) for feature in features])
        axes.set_ylim(len(features) - 0.4, -0.6)
        axes.set_xlabel("R² (skill, for levels) of predicting the feature from all others")
        style.key(figure, _legend(pd.concat(parts.values())))
    return figure


def _dots(axes: Any, part: pd.DataFrame, item: str) -> None:
    offset = OFFSETS[item] if has_interval(part).any() else 0
    at = [k + offset for k in range(len(part))]
    if offset:
        axes.plot(*style.segments(part[col.LOWER], part[col.UPPER], at), color=LOOKS[item]["color"], linewidth=1.0)
    axes.plot(part[col.ESTIMATE], at, **SIZE, **LOOKS[item])


def _legend(table: pd.DataFrame) -> list[Any]:
    handles: list[Any] = [style.line(label=item, **SIZE, **look) for item, look in LOOKS.items()]
    if has_interval(table).any():
        handles.append(style.line(color=style.INK, linewidth=1.0, label=interval_words(table)))
    return handles


RedundancyFigure = figure_plugin(ids.REDUNDANCY, draw)
