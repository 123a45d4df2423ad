"""What a sketch is made of: paths and texts with their looks, written as SVG with as few elements as show the same."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import NamedTuple
from xml.sax.saxutils import escape, quoteattr

from .. import metrics
from ..pathdata import short

_SHORT = re.compile(r"#(.)\1(.)\2(.)\3")
Look = tuple[tuple[str, str], ...]
ACROSS = {"left": 0.0, "center": 0.5, "right": 1.0}


class Ink(NamedTuple):
    """One element: a path or a text, its look, and what only it has; `joins` for paths that may become one."""

    tag: str
    look: Look
    own: str
    content: str = ""
    joins: bool = False


class Box(NamedTuple):
    """A rectangle in points, y down."""

    left: float
    top: float
    right: float
    bottom: float


def color(name: str) -> str:
    """Return a colour as short as it can be written."""
    return "#fff" if name == "white" else _SHORT.sub(r"#\1\2\3", name)


def look(**values: str | float | None) -> Look:
    """Return the attributes of a look; None for what is so anyway."""
    kept = ((name.replace("_", "-"), value) for name, value in values.items() if value is not None)
    return tuple((name, value if isinstance(value, str) else short(value, 2)) for name, value in kept)


def stroke(d: str, paint: str, width: float, dashes: object = "-", alpha: float = 1.0, **more: str) -> Ink:
    """Return a line."""
    pattern = None
    if not isinstance(dashes, str):
        pattern = ",".join(short(width * length, 2) for length in dashes[1])  # type: ignore[index]
    style = look(
        fill="none",
        stroke=color(paint),
        stroke_width=width,
        stroke_dasharray=pattern,
        stroke_opacity=None if alpha == 1 else alpha,
        **more,
    )
    return Ink("path", style, d, joins=alpha == 1 and pattern is None)


def filled(d: str, paint: str, edge: str = "none", width: float = 0.0, alpha: float = 1.0, **more: str) -> Ink:
    """Return a filled shape with an edge."""
    edged = edge != "none" and width > 0
    style = look(
        fill=color(paint),
        stroke=color(edge) if edged else None,
        stroke_width=width if edged else None,
        opacity=None if alpha == 1 else alpha,
        **more,
    )
    return Ink("path", style, d)


class Text(NamedTuple):
    """Lines of text at an anchor in points, y down; `angle` in degrees, counter-clockwise, around the anchor."""

    text: str
    x: float
    y: float
    size: float
    paint: str
    across: str = "left"
    up: str = "baseline"
    angle: float = 0.0
    bold: bool = False

    @property
    def first(self) -> float:
        """How far below the anchor the base line of the first line is, before turning."""
        further = metrics.LINE * self.text.count("\n")
        below = {
            "baseline": 0.0,
            "bottom": -metrics.DESCENT - further,
            "top": metrics.ASCENT,
            "center": (metrics.ASCENT - metrics.DESCENT - further) / 2,
            "center_baseline": (metrics.ASCENT - further) / 2,
        }
        return self.size * below[self.up]

    @property
    def box(self) -> Box:
        """The smallest upright rectangle around the text."""
        wide = max(metrics.width(line, self.size, self.bold) for line in self.text.split("\n"))
        left, top = -ACROSS[self.across] * wide, self.first - metrics.ASCENT * self.size
        bottom = top + metrics.height(self.text.count("\n") + 1, self.size)
        corners = [self._turned(x, y) for x in (left, left + wide) for y in (top, bottom)]
        return Box(*(f(c[k] for c in corners) for f, k in ((min, 0), (min, 1), (max, 0), (max, 1))))

    def inks(self) -> Iterator[Ink]:
        """Yield an element per line, which says where it starts; one that is centred says how long it is."""
        style = look(
            fill=color(self.paint), font_size=f"{short(self.size, 2)}px", font_weight="700" if self.bold else None
        )
        for k, line in enumerate(self.text.split("\n")):
            if not line.strip():
                continue
            length = metrics.width(line, self.size, self.bold)
            x, y = self._turned(-ACROSS[self.across] * length, self.first + k * metrics.LINE * self.size)
            place = f'x="{short(x, 1)}" y="{short(y, 1)}"'
            if self.angle:
                place = f'transform="translate({short(x, 1)} {short(y, 1)}) rotate({short(-self.angle, 1)})"'
            elif self.across != "left":
                place += f' textLength="{short(length, 1)}"'
            yield Ink("text", style, place, line)

    def _turned(self, x: float, y: float) -> tuple[float, float]:
        sine, cosine = math.sin(math.radians(self.angle)), math.cos(math.radians(self.angle))
        return self.x + x * cosine + y * sine, self.y - x * sine + y * cosine


def svg(inks: Iterable[Ink], size: tuple[float, float], attributes: Mapping[str, str], defs: str = "") -> bytes:
    """Return elements as one SVG: strokes that look alike and follow one another are one path, texts share a group."""
    width, height = (short(side, 2) for side in size)
    head = "".join(f" {name}={quoteattr(value)}" for name, value in attributes.items())
    start = f'<svg width="{width}pt" height="{height}pt" viewBox="0 0 {width} {height}" version="1.1"{head}'
    return f'{start} xmlns="http://www.w3.org/2000/svg">{defs}{"".join(_written(inks))}</svg>'.encode()


def _written(inks: Iterable[Ink]) -> Iterator[str]:
    for (tag, style, joins), group in groupby(inks, lambda ink: (ink.tag, ink.look, ink.joins)):
        run, shown = list(group), "".join(f" {name}={quoteattr(value)}" for name, value in style)
        if tag == "path":
            parts = ["".join(absolute(ink.own) for ink in run)] if joins else [ink.own for ink in run]
            yield from (f'<path{shown} d="{part}"/>' for part in parts)
        elif len(run) == 1:
            yield f"<text {run[0].own}{shown}>{escape(run[0].content)}</text>"
        else:
            yield f"<g{shown}>{''.join(f'<text {ink.own}>{escape(ink.content)}</text>' for ink in run)}</g>"


def absolute(d: str) -> str:
    """Return a path that starts with a relative move such that it can follow another one."""
    return f"M{d[1:]}" if d.startswith("m") else d
