"""Data of SVG paths from coordinates in points, rounded to a tenth: lines with gaps, closed shapes, marks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ....core.arrays import FloatArray
from ..pathdata import joined, short

_DIGITS, _UNIT = 1, 10


def lines(x: Any, y: Any) -> str:
    """Return lines through points, broken where one is not finite; points on the way straight on are left out.

    Examples
    --------
    >>> lines([0, 5, 10, 10, float("nan"), 1, 2], [0, 0, 0, 4.04, 0, 1, 2])
    'm0 0h10v4m-9-3l1 1'
    """
    return _relative([run for run in _runs(x, y) if len(run) > 1], close=False)


def closed(shapes: Iterable[Any]) -> str:
    """Return closed shapes, each given by its corners, shape (n, 2).

    Examples
    --------
    >>> closed([[(0, 0), (2, 0), (2, 3), (0, 3)]])
    'm0 0h2v3h-2z'
    """
    return _relative([_tenths(np.asarray(shape, dtype=float)) for shape in shapes], close=True)


def boxes(corners: FloatArray) -> str:
    """Return rectangles (x0, y0, x1, y1), shape (n, 4)."""
    return closed([((a, b), (c, b), (c, d), (a, d)) for a, b, c, d in corners.tolist()])


def circles(x: FloatArray, y: FloatArray, radius: float) -> str:
    """Return circles, each of two arcs."""
    r, d = (short(value, 2) for value in (radius, 2 * radius))
    arcs = f"a{r} {r} 0 1 0 {d} 0a{r} {r} 0 1 0-{d} 0z"
    return "".join(f"M{short(a - radius, 1)} {short(b, 1)}{arcs}" for a, b in zip(x, y, strict=True))


def marks(marker: str, x: FloatArray, y: FloatArray, size: float) -> str:
    """Return one mark at each point, shapes and sizes as matplotlib has them."""
    if marker == "o":
        return circles(x, y, size / 2)
    if marker in _STROKES:
        xs, ys = (
            np.column_stack([at[:, None] + size * np.array(part)[None], np.full(len(at), np.nan)]).ravel()
            for at, part in ((x, _STROKES[marker][0]), (y, _STROKES[marker][1]))
        )
        return lines(xs, ys)
    shape = size * np.array(_SHAPES[marker])
    return closed([shape + point for point in np.column_stack([x, y])])


def _star() -> list[tuple[float, float]]:
    turns = [(math.pi * k / 5, 0.5 if k % 2 == 0 else 0.5 * 0.381966) for k in range(10)]
    return [(radius * math.sin(turn), -radius * math.cos(turn)) for turn, radius in turns]


# of size 1, around the origin, y down
_SHAPES: dict[str, Sequence[tuple[float, float]]] = {
    "^": ((0, -0.5), (-0.5, 0.5), (0.5, 0.5)),
    "v": ((0, 0.5), (-0.5, -0.5), (0.5, -0.5)),
    "s": ((-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)),
    "D": ((0, math.sqrt(0.5)), (math.sqrt(0.5), 0), (0, -math.sqrt(0.5)), (-math.sqrt(0.5), 0)),
    "P": tuple(
        (a / 6, b / 6)
        for a, b in (
            (-1, -3), (1, -3), (1, -1), (3, -1), (3, 1), (1, 1), (1, 3), (-1, 3), (-1, 1), (-3, 1), (-3, -1), (-1, -1),
        )
    ),
    "X": tuple(
        (a / 4, b / 4)
        for a, b in (
            (-1, -2), (0, -1), (1, -2), (2, -1), (1, 0), (2, 1), (1, 2), (0, 1), (-1, 2), (-2, 1), (-1, 0), (-2, -1),
        )
    ),
    "*": tuple(_star()),
}  # fmt: skip
_STROKES = {
    "|": ((0.0, 0.0), (-0.5, 0.5)),
    "_": ((-0.5, 0.5), (0.0, 0.0)),
    "x": ((-0.5, 0.5, math.nan, -0.5, 0.5), (-0.5, 0.5, math.nan, 0.5, -0.5)),
}
STROKED = frozenset(_STROKES)
KNOWN = frozenset({"o", *_SHAPES, *_STROKES})


def _tenths(points: FloatArray) -> list[tuple[int, int]]:
    return [(int(a), int(b)) for a, b in np.rint(points * _UNIT)]


def _runs(x: Any, y: Any) -> list[list[tuple[int, int]]]:
    """Return the finite stretches of a line in tenths."""
    points = np.column_stack([np.asarray(x, dtype=float), np.asarray(y, dtype=float)])
    finite = np.isfinite(points).all(axis=1)
    cuts = np.flatnonzero(~finite)
    parts = np.split(points, cuts)
    return [_tenths(part[np.isfinite(part).all(axis=1)]) for part in parts if len(part)]


def _relative(runs: Sequence[list[tuple[int, int]]], *, close: bool) -> str:
    """Return runs of points as one relative path; rounding is done before, so errors do not add up."""
    out: list[str] = []
    here = (0, 0)
    for run in runs:
        if not run:
            continue
        out.append("m" + _pair(run[0][0] - here[0], run[0][1] - here[1]))
        start = here = run[0]
        last = ""
        for point in _straightened(run):
            dx, dy = point[0] - here[0], point[1] - here[1]
            letter = "h" if dy == 0 else "v" if dx == 0 else "l"
            body = _one(dx) if dy == 0 else _one(dy) if dx == 0 else _pair(dx, dy)
            separator = "" if last != letter or body.startswith("-") else " "
            out.append((letter if last != letter else "") + separator + body)
            here, last = point, letter
        if close:
            out.append("z")
            here = start
    return "".join(out)


def _straightened(run: Sequence[tuple[int, int]]) -> Iterable[tuple[int, int]]:
    """Yield the points after the first where a line turns, and its end."""
    before, here = run[0], None
    for point in run[1:]:
        if here is None:
            here = point if point != before else None
            continue
        a, b = (here[0] - before[0], here[1] - before[1]), (point[0] - here[0], point[1] - here[1])
        if a[0] * b[1] == a[1] * b[0] and a[0] * b[0] + a[1] * b[1] >= 0:
            here = point
            continue
        yield here
        before, here = here, point
    if here is not None:
        yield here
    elif len(run) > 1:
        yield run[-1]


def _pair(dx: int, dy: int) -> str:
    return joined([_one(dx), _one(dy)])


def _one(tenths: int) -> str:
    return short(tenths / _UNIT, _DIGITS)
