"""Labels beside points that hide neither each other nor the points: greedy, deterministic, linear in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...document.plots import style

Point: TypeAlias = tuple[float, float]

CHARACTER = 0.62  # mean width of a DejaVu Sans character in units of its size, rounded up
REACH = (7.0, 13.0, 22.0, 34.0, 48.0)
DIRECTIONS = ((1, 1), (1, -1), (-1, 1), (-1, -1), (1, 0), (-1, 0), (0, 1), (0, -1))


class Box(NamedTuple):
    """A rectangle in points from the lower left corner of the axes."""

    left: float
    bottom: float
    right: float
    top: float

    def meets(self, other: Box) -> bool:
        """Say whether two boxes overlap."""
        apart = self.right <= other.left or other.right <= self.left
        return not apart and self.bottom < other.top and other.bottom < self.top

    def within(self, other: Box) -> bool:
        """Say whether this box lies inside another."""
        across = other.left <= self.left and self.right <= other.right
        return across and other.bottom <= self.bottom and self.top <= other.top


def place(
    figure: Figure, axes: Axes, points: Sequence[Point], texts: Sequence[str], busy: Sequence[tuple[Point, Point]] = ()
) -> list[int]:
    """Write `texts` beside `points` (data coordinates, the most important first); return those with no room.

    `busy` holds pairs of opposite corners that labels must not hide, such as error bars. Labels far
    from their point get a thin line. The layout of the figure is fixed by this.
    """
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    scale = 72.0 / figure.dpi
    frame = axes.get_window_extent()

    def position(point: Point) -> Point:
        x, y = axes.transData.transform(point)
        return (x - frame.x0) * scale, (y - frame.y0) * scale

    taken = [_around(*position(point), 3.5, 3.5) for point in points]
    for one, other in busy:
        (x0, y0), (x1, y1) = position(one), position(other)
        taken.append(Box(min(x0, x1) - 1.0, min(y0, y1) - 1.0, max(x0, x1) + 1.0, max(y0, y1) + 1.0))
    inside = Box(0.0, 0.0, frame.width * scale, frame.height * scale)
    left_out = []
    for k, (point, text) in enumerate(zip(points, texts, strict=True)):
        spot = _free(position(point), text, inside, taken)
        if spot is None:
            left_out.append(k)
            continue
        box, far = spot
        taken.append(box)
        _write(axes, point, text, (box, position(point)), far)
    return left_out


def _around(x: float, y: float, width: float, height: float) -> Box:
    return Box(x - width, y - height, x + width, y + height)


def _free(at: Point, text: str, inside: Box, taken: Sequence[Box]) -> tuple[Box, bool] | None:
    """Return the nearest free box for a text, and whether it is so far away that it needs a line."""
    wide, high = CHARACTER * style.SMALL * len(text) / 2, 0.62 * style.SMALL
    for reach in REACH:
        for dx, dy in DIRECTIONS:
            x = at[0] + dx * (reach * (0.75 if dy else 1.0) + wide)
            y = at[1] + dy * (reach * 0.75 + high * 0.6)
            box = _around(x, y, wide, high)
            if box.within(inside) and not any(box.meets(other) for other in taken):
                return box, reach > REACH[1]
    return None


def _write(axes: Axes, point: Point, text: str, where: tuple[Box, Point], far: bool) -> None:
    box, (x, y) = where
    offset = ((box.left + box.right) / 2 - x, (box.bottom + box.top) / 2 - y)
    line = {"arrowstyle": "-", "color": style.MUTED, "linewidth": 0.6, "shrinkA": 0, "shrinkB": 3} if far else None
    axes.annotate(
        text, point, offset, textcoords="offset points", ha="center", va="center", fontsize=style.SMALL, arrowprops=line
    )
