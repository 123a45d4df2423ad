"""Any labelled table without a figure of its own: lines over x where x varies, else dots per item."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from ...core.model.results import Result
from ...evidence import columns as col
from . import style
from .frames import choose
from .words import axis_label

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LINES = 8
DOTS = 30


def draw(result: Result, measure: str | None = None) -> Figure:
    """Draw the values of one measure: a line per item over ``x``, or a dot per feature and item.

    Parameters
    ----------
    result : Diagnostic
    measure : str, optional
        The first one by default.
    """
    chosen = choose(result, "measure", measure, result.frame[col.MEASURE])
    part = result.frame[result.frame[col.MEASURE] == chosen]
    label = axis_label(str(chosen), result.measures) if chosen else "value"
    return _lines(part, label) if runs(part) else _dots(part, label)


def runs(part: pd.DataFrame) -> bool:
    """Say whether any item has several places along x."""
    return len(part) > 0 and bool(part.groupby([col.FEATURE, col.ITEM], sort=False)[col.X].nunique().max() > 2)


def _lines(part: pd.DataFrame, label: str) -> Figure:
    with style.drawing(3.2) as figure:
        axes = style.plain(figure.subplots(), "both")
        handles = []
        for position, ((feature, item), rows) in enumerate(part.groupby([col.FEATURE, col.ITEM], sort=False)):
            if position == LINES:
                break
            look: dict[str, Any] = {**style.class_style(position), **style.marker(position, 4), "linewidth": 1.1}
            ordered = rows.sort_values(col.X, kind="stable")
            axes.plot(ordered[col.X], ordered[col.VALUE], **look)
            handles.append(style.line(label=style.name(" ".join(filter(None, (str(feature), str(item)))), 30), **look))
        axes.set(xlabel="x", ylabel=label)
        style.key(figure, handles if len(handles) > 1 else [])
    return figure


def _dots(part: pd.DataFrame, label: str) -> Figure:
    part = part.head(DOTS)
    names = [" ".join(filter(None, (str(f), str(i)))) for f, i in zip(part[col.FEATURE], part[col.ITEM], strict=True)]
    with style.drawing(0.26 * len(part) + 0.7) as figure:
        axes = style.plain(figure.subplots(), "x")
        axes.axvline(0, color=style.INK, linewidth=0.8)
        axes.plot(part[col.VALUE], range(len(part)), "o", color=style.ROLE["prediction"], markersize=5)
        style.name_rows([axes], [style.name(name, 34) for name in names])
        axes.set_xlabel(label)
    return figure
