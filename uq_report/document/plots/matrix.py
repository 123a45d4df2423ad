"""A square matrix of pairs: few levels of one hue scale, numbers in the cells, and the scale beside it."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from . import style
from .shapes import draw_scale, rectangles
from .words import number

NUMBERS = 12  # features up to which cells have room for their number
ASLANT = 6  # columns above which headings stand aslant
DARK = 5  # level from which text in a cell is white


class Scale(NamedTuple):
    """What the cells measure, and its limits; those of the values where there are none."""

    label: str
    low: float | None = None
    high: float | None = None


def draw(
    table: pd.DataFrame, scale: Scale, marked: Collection[tuple[str, str]] = (), *, diagonal: bool = False
) -> Figure:
    """Draw a square table; cells without a value stay empty.

    Parameters
    ----------
    table : pandas.DataFrame
        Same names along both sides.
    scale : Scale
    marked : collection of (str, str)
        Cells whose number must not be compared: white, with the number in brackets.
    diagonal : bool
        Whether the diagonal is drawn.
    """
    values = table.to_numpy(dtype=float, copy=True)
    if not diagonal:
        np.fill_diagonal(values, np.nan)
    names = [str(label) for label in table.index]
    hollow = {(r, c) for r, one in enumerate(names) for c, two in enumerate(names) if _held(marked, one, two)}
    bounds = _bounds(np.array([v for (r, c), v in np.ndenumerate(values) if (r, c) not in hollow]), scale)
    with style.context():
        d = len(names)
        figure = style.new_figure(0.9 + 0.34 * d if d <= NUMBERS else 1.2 + 0.2 * d)
        axes, side = figure.subplots(1, 2, width_ratios=(16, 1))
        _cells(axes, values, bounds, hollow)
        _sides(axes, names)
        draw_scale(side, bounds, _shades(bounds), scale.label, every=2 if len(bounds) > 4 else 1, digits=2)
    return figure


def _held(marked: Collection[tuple[str, str]], first: str, two: str) -> bool:
    return (first, two) in marked or (two, first) in marked


def _bounds(values: Any, scale: Scale) -> Any:
    """Return round limits of at most as many levels as there are shades."""
    finite = values[np.isfinite(values)]
    low = scale.low if scale.low is not None else float(finite.min()) if finite.size else 0.0
    high = scale.high if scale.high is not None else float(finite.max()) if finite.size else 0.0
    return MaxNLocator(len(style.LEVELS), steps=[1, 2, 2.5, 5, 10]).tick_values(low, high if high > low else low + 1.0)


def _shades(bounds: Any) -> list[int]:
    """Return the position of each level's shade."""
    return [round(k) for k in np.linspace(0, len(style.LEVELS) - 1, len(bounds) - 1)]


def _cells(axes: Axes, values: Any, bounds: Any, hollow: Collection[tuple[int, int]]) -> None:
    shades = np.array(_shades(bounds))
    level = shades[np.clip(np.searchsorted(bounds, values, side="right") - 1, 0, len(shades) - 1)]
    filled = [(int(r), int(c)) for r, c in np.argwhere(np.isfinite(values))]
    for k, color in enumerate(style.LEVELS):
        cells = [(r, c) for r, c in filled if level[r, c] == k and (r, c) not in hollow]
        rectangles(axes, (_box(r, c) for r, c in cells), color)
    rectangles(axes, (_box(r, c) for r, c in filled if (r, c) in hollow), "white", style.MUTED, 0.7)
    if len(values) > NUMBERS:
        return
    for r, c in filled:
        text = number(float(values[r, c]), 2)
        bare = (r, c) in hollow
        color = "white" if level[r, c] >= DARK and not bare else style.INK
        axes.text(
            c, r, f"({text})" if bare else text, ha="center", va="center_baseline", fontsize=style.SMALL, color=color
        )


def _box(r: int, c: int) -> tuple[float, float, float, float]:
    return (c - 0.48, c + 0.48, r - 0.46, r + 0.46)


def _sides(axes: Axes, names: list[str]) -> None:
    d = len(names)
    axes.set_xlim(-0.5, max(d, 2) - 0.5)
    axes.set_ylim(d - 0.5, -0.5)
    aslant = d > ASLANT or max(len(label) for label in names) * d > 50
    axes.set_yticks(range(d), [style.name(label) for label in names])
    axes.set_xticks(range(d), [style.name(label, 20) for label in names])
    for text in axes.get_xticklabels() if aslant else ():
        text.set(rotation=35, ha="right", rotation_mode="anchor")
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
