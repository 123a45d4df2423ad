"""Many rectangles as one path, so that a matrix of cells stays small and needs no raster image."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import PathPatch
from matplotlib.path import Path

from . import style
from .words import number

Rectangle = tuple[float, float, float, float]
_CODES = (Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY)


def rectangles(axes: Axes, boxes: Iterable[Rectangle], color: str, edge: str = "none", linewidth: float = 0.0) -> None:
    """Fill rectangles (left, right, bottom, top), in data coordinates, with one colour as one path."""
    corners = [[(x0, y0), (x1, y0), (x1, y1), (x0, y1), (x0, y0)] for x0, x1, y0, y1 in boxes]
    if corners:
        path = Path(np.concatenate([np.array(c, dtype=float) for c in corners]), list(_CODES) * len(corners))
        axes.add_patch(PathPatch(path, facecolor=color, edgecolor=edge, linewidth=linewidth))


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
