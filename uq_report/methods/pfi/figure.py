"""Realised against model-implied importance."""

import numpy as np

from ...core.model.results import Result
from ...document.plots import style
from ...document.plots.frames import words
from ...document.plots.registered import figure_plugin
from ...evidence import ids
from ...evidence.importance import ALL_FEATURES, CLAIMED, DELIVERED, Claims
from ...evidence.view import by_feature, largest_first

LABELLED = 8


def draw_claims(result: Result, top: int = LABELLED) -> style.Figure:
    """Draw a dot per feature, model-implied importance along x, realised along y with its interval, and the diagonal.

    Parameters
    ----------
    result : Diagnostic
        ``pfi.claims``; without outcomes a dot per feature with its interval.
    top : int
        Features with a name: the largest, with at least a fifth of the largest model-implied importance.
    """
    view = Claims.from_result(result)
    if view.lines and not view.part(DELIVERED):
        return _draw_claimed(view, result, top)
    claimed, delivered = (by_feature(view.part(item)) for item in (CLAIMED, DELIVERED))
    names = sorted((name for name in claimed if name != ALL_FEATURES), key=lambda name: -claimed[name].estimate)
    rows = [(claimed[n].estimate, delivered[n].estimate, delivered[n].lower, delivered[n].upper) for n in names]
    x, y, low, high = np.array(rows, dtype=float).reshape(-1, 4).T
    unit = words(view.measures[0], result.measures).unit if view.measures else ""
    with style.panel(3.4) as (figure, axes):
        ends = np.array([min(0.0, *x, *y), max(1e-12, *x, *y)]) if len(x) else np.array([0.0, 1.0])
        axes.plot(ends, ends, color=style.INK, linewidth=0.8, linestyle=style.LINES[1])
        axes.vlines(x, low, high, color=style.ROLE["loss"], linewidth=1.4)
        axes.plot(x, y, linestyle="", marker="o", markersize=4.5, color=style.ROLE["loss"])
        for name, at, height in list(zip(names, x, y, strict=True))[:top]:
            if at >= 0.2 * x[0]:  # names of small values would overlap
                axes.annotate(style.name(name), (at, height), (5, 3), textcoords="offset points", fontsize=style.SMALL)
        axes.set_xlabel(f"model-implied importance ({unit})")
        axes.set_ylabel(f"realised importance ({unit})")
    return figure


def _draw_claimed(view: Claims, result: Result, top: int) -> style.Figure:
    """Draw the model-implied importance of the leading features, largest on top, where there are no outcomes."""
    lines = [line for line in largest_first(view.part(CLAIMED)) if line.feature != ALL_FEATURES][:top]
    places = np.arange(len(lines))[::-1]
    with style.panel(1.0 + 0.25 * len(lines), grid="x") as (figure, axes):
        axes.hlines(places, [x.lower for x in lines], [x.upper for x in lines], color=style.ROLE["loss"], linewidth=1.4)
        axes.plot([x.estimate for x in lines], places, linestyle="", marker="o", color=style.ROLE["loss"])
        axes.set_yticks(places, [style.name(line.feature) for line in lines])
        axes.set_xlabel(f"model-implied importance ({words(view.measures[0], result.measures).unit})")
    return figure


ClaimsFigure = figure_plugin(ids.PFI_CLAIMS, draw_claims)
