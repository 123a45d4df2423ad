"""A square matrix of pairs: few levels of one hue scale, numbers in the cells, and the scale beside it."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from . import style
from .shapes import cells, draw_scale, levels, name_sides, write
from .words import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NUMBERS = 12  # features up to which cells have room for their number
ASLANT = 6  # columns above which headings stand aslant
DARK = 5  # level from which text in a cell is white


class ColourScale(NamedTuple):
    """What the cells measure, and its limits; those of the values where there are none."""

    label: str
    low: float | None = None
    high: float | None = None


def draw(
    table: pd.DataFrame, scale: ColourScale, marked: Collection[tuple[str, str]] = (), *, diagonal: bool = False
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
    pairs = {frozenset(pair) for pair in marked}
    hollow = {(r, c) for r, a in enumerate(names) for c, b in enumerate(names) if frozenset((a, b)) in pairs}
    bounds = _bounds(np.array([v for (r, c), v in np.ndenumerate(values) if (r, c) not in hollow]), scale)
    d = len(names)
    with style.drawing(0.9 + 0.34 * d if d <= NUMBERS else 1.2 + 0.2 * d) as figure:
        axes, side = figure.subplots(1, 2, width_ratios=(16, 1))
        _cells(axes, values, bounds, hollow)
        name_sides(axes, names, [style.name(label, 20) for label in names], 2)
        if d > ASLANT or max(len(label) for label in names) * d > 50:
            style.aslant(axes)
        draw_scale(side, bounds, _shades(bounds), scale.label, every=2 if len(bounds) > 4 else 1, digits=2)
    return figure


def _bounds(values: Any, scale: ColourScale) -> Any:
    """Return round limits of at most as many levels as there are shades."""
    finite = values[np.isfinite(values)]
    low = scale.low if scale.low is not None else float(finite.min()) if finite.size else 0.0
    high = scale.high if scale.high is not None else float(finite.max()) if finite.size else 0.0
    return style.round_numbers(len(style.LEVELS)).tick_values(low, high if high > low else low + 1.0)


def _shades(bounds: Any) -> list[int]:
    """Return the position of each level's shade."""
    return [round(k) for k in np.linspace(0, len(style.LEVELS) - 1, len(bounds) - 1)]


def _cells(axes: Axes, values: Any, bounds: Any, hollow: Collection[tuple[int, int]]) -> None:
    level = np.array(_shades(bounds))[levels(values, bounds)]
    filled = [(int(r), int(c)) for r, c in np.argwhere(np.isfinite(values))]
    for k, color in enumerate(style.LEVELS):
        cells(axes, [place for place in filled if level[place] == k and place not in hollow], color)
    cells(axes, [place for place in filled if place in hollow], "white", style.MUTED)
    for place in filled if len(values) <= NUMBERS else ():
        text, bare = number(float(values[place]), 2), place in hollow
        write(axes, place, f"({text})" if bare else text, dark=level[place] >= DARK and not bare)
