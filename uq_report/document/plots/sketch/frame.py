"""What stands around a panel: grid, ticks and their labels, spines, titles, and the texts on it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from . import shapes
from .axes import Axes
from .ink import ACROSS, Box, Ink, Text, filled, stroke
from .sides import Place, Side

PAD, TITLE_PAD = 3.5, 5.0  # points between a tick and its label, a panel and its title
MUTED = "#5d6570"
Ticks = list[tuple[float, str]]


class Sizes(NamedTuple):
    """Sizes of text in points: of labels, of ticks, of titles."""

    label: float
    tick: float
    title: float


def under(axes: Axes, place: Place) -> Iterator[Ink]:
    """Yield the grid and the ticks, which are below what is drawn."""
    for name, (color, width) in axes.grids.items():
        yield from _grid(axes, place, name, color, width)
    if axes.framed:
        yield from _ticks(axes, place)


def _grid(axes: Axes, place: Place, name: str, color: str, width: float) -> Iterator[Ink]:
    scale = (axes.xaxis if name == "x" else axes.yaxis).scale
    at = np.repeat([tick for tick, _ in scale.ticks()[0]], 3)
    ends = np.tile([0.0, 1.0, np.nan], len(at) // 3)
    x, y = (at, ends) if name == "x" else (ends, at)
    d = shapes.lines(place.across(x, data=name == "x"), place.down(y, data=name == "y"))
    if d:
        yield stroke(d, color, width)


def _ticks(axes: Axes, place: Place) -> Iterator[Ink]:
    for side, across in ((axes.xaxis, True), (axes.yaxis, False)):
        at = np.repeat([tick for tick, _ in side.scale.ticks()[0]], 3)
        if not len(at) or not side.marked or not side.length:
            continue
        edge = _edge(place, across=across, far=side.far)
        away = side.length * (1 if across != side.far else -1)
        ends = np.tile([edge, edge + away, np.nan], len(at) // 3)
        x, y = (place.across(at), ends) if across else (ends, place.down(at))
        yield stroke(shapes.lines(x, y), MUTED, 0.8)


def over(axes: Axes, place: Place) -> Iterator[Ink]:
    """Yield the spines, which are above what is drawn."""
    right, bottom = place.left + place.width, place.top + place.height
    ends = {
        "left": ([place.left] * 2, [place.top, bottom]),
        "right": ([right] * 2, [place.top, bottom]),
        "top": ([place.left, right], [place.top] * 2),
        "bottom": ([place.left, right], [bottom] * 2),
    }
    for name, color in axes.spines.shown.items() if axes.framed else ():
        yield stroke(shapes.lines(*ends[name]), color or MUTED, 0.7, stroke_linecap="square")


def texts(axes: Axes, place: Place, sizes: Sizes) -> list[Text]:
    """Return titles, the labels of axes and of their ticks, and what is written on the panel."""
    out = [_title(axes, place, sizes, loc, *entry) for loc, entry in axes.titles.items()]
    if axes.framed:
        out += _axis(axes, place, sizes, axes.xaxis, across=True)
        out += _axis(axes, place, sizes, axes.yaxis, across=False)
    return [text for text in (*out, *(_own(axes, place, entry) for entry in axes.texts)) if text.text.strip()]


def _title(axes: Axes, place: Place, sizes: Sizes, loc: str, text: str, look: dict[str, Any]) -> Text:
    return Text(
        _plain(text),
        place.left + ACROSS[loc] * place.width,
        place.top - TITLE_PAD,
        look.get("fontsize", sizes.title),
        look.get("color", axes.ink),
        loc,
        "bottom" if "\n" in text else "baseline",
        bold=look.get("fontweight", "bold") == "bold",
    )._replace(y=place.top - TITLE_PAD - (0.0 if "\n" not in text else -0.236 * look.get("fontsize", sizes.title)))


def _axis(axes: Axes, place: Place, sizes: Sizes, side: Side, *, across: bool) -> list[Text]:
    """Return the labels of one axis: ticks, power of ten, and its own."""
    (ticks, power), edge = side.scale.ticks(), _edge(place, across=across, far=side.far)
    out = [_tick(axes, place, sizes, side, tick, across=across) for tick in ticks if side.labelled and tick[1]]
    beyond = _beyond([text.box for text in out], edge, across=across, far=side.far)
    right = place.left + place.width
    if power and side.labelled and across:
        out.append(Text(power, right, beyond + PAD, sizes.tick, axes.ink, "right", "top"))
    elif power and side.labelled:
        out.append(Text(power, place.left, place.top - PAD, sizes.tick, axes.ink, "left", "bottom"))
    if side.label:
        start = beyond if side.far == side.label_far else _edge(place, across=across, far=side.label_far)
        at = start + side.label_pad * (1 if across != side.label_far else -1)
        size, inside = side.label_size or sizes.label, "top" if across != side.label_far else "bottom"
        if across:
            where = (place.left + place.width / 2, at)
            out.append(Text(_plain(side.label), *where, size, axes.ink, "center", inside))
        else:
            where = (at, place.top + place.height / 2)
            up = "top" if side.label_far else "bottom"
            out.append(Text(_plain(side.label), *where, size, axes.ink, "center", up, 90.0))
    return out


def _tick(axes: Axes, place: Place, sizes: Sizes, side: Side, tick: tuple[float, str], *, across: bool) -> Text:
    away = side.length + PAD
    color, edge = side.color or axes.ink, _edge(place, across=across, far=side.far)
    if across:
        x, y = float(place.across(tick[0])), edge + (-away if side.far else away)
        up = "bottom" if side.far else "top"
        return Text(_plain(tick[1]), x, y, sizes.tick, color, side.across, up, side.angle)
    x, y = edge + (away if side.far else -away), float(place.down(tick[0]))
    return Text(_plain(tick[1]), x, y, sizes.tick, color, "left" if side.far else "right", "center_baseline")


def _edge(place: Place, *, across: bool, far: bool) -> float:
    """Return where an axis stands: its y if it goes across, else its x."""
    if across:
        return place.top if far else place.top + place.height
    return place.left + place.width if far else place.left


def _beyond(boxes: list[Box], edge: float, *, across: bool, far: bool) -> float:
    """Return how far labels reach away from the panel."""
    if across:
        return min([edge, *(box.top for box in boxes)]) if far else max([edge, *(box.bottom for box in boxes)])
    return max([edge, *(box.right for box in boxes)]) if far else min([edge, *(box.left for box in boxes)])


def _own(axes: Axes, place: Place, entry: tuple[Any, dict[str, Any]]) -> Text:
    """Return a text on the panel at its place."""
    transform, look = entry
    x, y = float(place.across(look["at"][0], transform.x)), float(place.down(look["at"][1], transform.y))
    dx, dy = look.get("offset", (0.0, 0.0))
    return Text(
        _plain(look["text"]),
        x + dx,
        y - dy,
        look.get("fontsize", axes.size),
        look.get("color", axes.ink),
        look.get("ha", "left"),
        look.get("va", "baseline"),
        bold=look.get("fontweight") == "bold",
    )


def behind_texts(axes: Axes, place: Place) -> Iterator[Ink]:
    """Yield the grounds of texts that hide what is below them, and lines from texts to their points."""
    for entry in axes.texts:
        look, text = entry[1], _own(axes, place, entry)
        box = text.box
        if look.get("bbox"):
            pad = look["bbox"]["pad"]
            corners = np.array([[box.left - pad, box.top - pad, box.right + pad, box.bottom + pad]])
            yield filled(shapes.boxes(corners), look["bbox"]["facecolor"])
        arrow = look.get("arrowprops")
        if arrow:
            point = np.array([float(place.across(look["at"][0])), float(place.down(look["at"][1]))])
            start = np.clip(point, (box.left, box.top), (box.right, box.bottom))
            away = float(np.hypot(*(start - point)))
            end = point + (start - point) * min(1.0, arrow["shrinkB"] / away) if away else point
            ends = np.stack([start, end]).T
            yield stroke(shapes.lines(*ends), arrow["color"], arrow["linewidth"])


def _plain(text: str) -> str:
    """Return text without the marks that keep matplotlib from reading mathematics."""
    return text.replace(r"\$", "$")
