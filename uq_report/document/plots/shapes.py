"""Many rectangles as one path, so that a matrix of cells stays small and needs no raster image."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import style
from .words import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Rectangle = tuple[float, float, float, float]


def rectangles(axes: Axes, boxes: Iterable[Rectangle], color: str, edge: str = "none", linewidth: float = 0.0) -> None:
    """Fill rectangles (left, right, bottom, top), in data coordinates, with one colour as one path."""
    corners = [[(x0, y0), (x1, y0), (x1, y1), (x0, y1), (x0, y0)] for x0, x1, y0, y1 in boxes]
    if corners:
        from matplotlib.patches import PathPatch  # heavy, and most commands draw nothing
        from matplotlib.path import Path

        codes = [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY]
        path = Path(np.concatenate([np.array(c, dtype=float) for c in corners]), codes * len(corners))
        axes.add_patch(PathPatch(path, facecolor=color, edgecolor=edge, linewidth=linewidth))


def cells(axes: Axes, places: Iterable[tuple[int, int]], color: str, edge: str = "none") -> None:
    """Fill the cells of a matrix at these rows and columns."""
    rectangles(axes, ((c - 0.48, c + 0.48, r - 0.46, r + 0.46) for r, c in places), color, edge, 0.7)


def write(axes: Axes, place: tuple[int, int], text: str, dark: bool, size: float = style.SMALL) -> None:
    """Write into a cell, white where it is `dark`."""
    look: dict[str, Any] = {"ha": "center", "va": "center_baseline", "fontsize": size}
    axes.text(place[1], place[0], text, color="white" if dark else style.INK, **look)


def name_sides(axes: Axes, rows: Sequence[str], columns: Sequence[str], least: int) -> None:
    """Name the sides of a matrix, which is as wide as `least` columns."""
    axes.set_xlim(-0.5, max(len(columns), least) - 0.5)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_yticks(range(len(rows)), [style.name(row) for row in rows])
    axes.set_xticks(range(len(columns)), columns)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def levels(values: Any, bounds: Any) -> Any:
    """Return which of the levels between `bounds` each value is in."""
    return np.clip(np.searchsorted(bounds, values, side="right") - 1, 0, max(len(bounds) - 2, 0))


def draw_scale(axes: Axes, bounds: Any, shades: Sequence[int], label: str, *, every: int = 2, digits: int = 3) -> None:
    """Draw the scale of a map, a shade per level, by hand: a colour bar would put a raster image into the SVG."""
    for k, shade in enumerate(shades):
        rectangles(axes, [(0.0, 1.0, float(k), float(k + 1))], style.LEVELS[shade], style.LEVELS[shade], 0.3)
    axes.set_xlim(0, 1)
    axes.set_ylim(0, len(shades))
    axes.set_xticks([])
    axes.yaxis.tick_right()
    axes.yaxis.set_label_position("right")
    axes.set_yticks(range(0, len(bounds), every), [number(float(bound), digits) for bound in bounds[::every]])
    axes.set_ylabel(label)
