"""Many rectangles as one path, so that a matrix of cells stays small and needs no raster image."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import PathPatch
from matplotlib.path import Path

Rectangle = tuple[float, float, float, float]
_CODES = (Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY)


def rectangles(axes: Axes, boxes: Iterable[Rectangle], color: str, edge: str = "none", linewidth: float = 0.0) -> None:
    """Fill rectangles (left, right, bottom, top), in data coordinates, with one colour as one path."""
    corners = [[(x0, y0), (x1, y0), (x1, y1), (x0, y1), (x0, y0)] for x0, x1, y0, y1 in boxes]
    if corners:
        path = Path(np.concatenate([np.array(c, dtype=float) for c in corners]), list(_CODES) * len(corners))
        axes.add_patch(PathPatch(path, facecolor=color, edgecolor=edge, linewidth=linewidth))
