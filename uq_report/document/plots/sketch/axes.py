"""A panel of a sketch: what is drawn on it, in the words of matplotlib's axes, kept until its place is known."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from typing import Any

import numpy as np

from ....core.arrays import FloatArray
from . import shapes
from .ink import Ink, filled, stroke
from .scale import Scale
from .sides import Place, Side, Sides, Spines, Transform

GRID, _PATCH, _LINE = 0.5, 1.0, 2.0  # from the ground up
_WRITTEN = frozenset({"offset", "fontsize", "color", "ha", "va", "fontweight", "bbox", "arrowprops"})
_FILLED = frozenset({"color", "facecolor", "edgecolor", "linewidth", "alpha", "zorder"})
_MARK = {"marker": "", "markersize": 6.0, "markerfacecolor": None, "markeredgecolor": None, "markeredgewidth": 1.0}
_DRAWN = frozenset({"color", "linewidth", "linestyle", "alpha", *_MARK})


class Axes:
    """A panel; methods are those of `matplotlib.axes.Axes` that our figures use, others are missing."""

    transAxes = Transform(x=False, y=False)  # noqa: N815 - matplotlib's name

    def __init__(self, ink: str, size: float, x: Scale | None = None, y: Scale | None = None) -> None:
        self.ink, self.size = ink, size
        self.xaxis, self.yaxis = Side(x or Scale()), Side(y or Scale())
        self.spines = Spines()
        self.titles: dict[str, tuple[str, dict[str, Any]]] = {}
        self.grids: dict[str, tuple[str, float]] = {}
        self.visible, self.framed, self.equal = True, True, False
        self.patch = Sides({}, ())  # a background, which is that of the page
        self.marks: list[tuple[float, Callable[[Place], Iterator[Ink]]]] = []
        self.texts: list[tuple[Transform, dict[str, Any]]] = []

    # -- data ------------------------------------------------------------------------------------------------

    def plot(self, x: Any, y: Any, form: str = "", *, zorder: float = _LINE, label: str = "", **look: Any) -> None:
        """Draw a line, marks, or both."""
        line, marker = ("-" if form.startswith("-") else "" if form else "-"), form.lstrip("-")
        look = {"linestyle": line, "marker": marker} | look
        _refuse(look.keys() - _DRAWN)
        at = np.asarray(list(x) if isinstance(x, range) else x, dtype=float), np.asarray(list(y), dtype=float)
        self._hold(*at)
        self._add(zorder, lambda place: drawn(place.across(at[0]), place.down(at[1]), self.ink, **look))

    def axvline(self, x: float, **look: Any) -> None:
        """Draw a line from the bottom to the top."""
        self.xaxis.scale.hold([x])
        self._line(look, lambda p: (p.across([x, x]), p.down([0, 1], data=False)))

    def axhline(self, y: float, **look: Any) -> None:
        """Draw a line from the left to the right."""
        self.yaxis.scale.hold([y])
        self._line(look, lambda p: (p.across([0, 1], data=False), p.down([y, y])))

    def hlines(self, y: Any, xmin: Any, xmax: Any, **look: Any) -> None:
        """Draw horizontal segments."""
        x, at = _segments(xmin, xmax, y)
        self.plot(x, at, **look)

    def vlines(self, x: Any, ymin: Any, ymax: Any, **look: Any) -> None:
        """Draw vertical segments."""
        y, at = _segments(ymin, ymax, x)
        self.plot(at, y, **look)

    def axvspan(self, low: float, high: float, **look: Any) -> None:
        """Fill from the bottom to the top."""
        self.xaxis.scale.hold([low, high])
        self._fill(look, lambda p: _box(p.across([low, high]), p.down([0, 1], data=False)))

    def axhspan(self, low: float, high: float, **look: Any) -> None:
        """Fill from the left to the right."""
        self.yaxis.scale.hold([low, high])
        self._fill(look, lambda p: _box(p.across([0, 1], data=False), p.down([low, high])))

    def fill(self, x: Any, y: Any, **look: Any) -> None:
        """Fill a closed shape."""
        self._hold(x, y)
        self._fill(look, lambda p: shapes.closed([np.column_stack([p.across(x), p.down(y)])]))

    def fill_between(self, x: Any, low: Any, high: Any, **look: Any) -> None:
        """Fill between two curves, where both are finite."""
        at, below, above = (np.asarray(part, dtype=float) for part in (x, low, high))
        finite = np.isfinite(at) & np.isfinite(below) & np.isfinite(above)
        runs = [run[finite[run]] for run in np.split(np.arange(len(at)), np.flatnonzero(~finite))]
        bands = [(np.r_[at[run], at[run][::-1]], np.r_[below[run], above[run][::-1]]) for run in runs if len(run)]
        for xs, ys in bands:
            self.fill(xs, ys, **look)

    def rectangles(self, corners: Any, **look: Any) -> None:
        """Fill rectangles (left, right, bottom, top)."""
        bounds = np.array(list(corners), dtype=float).reshape(-1, 4)
        self._hold(bounds[:, :2], bounds[:, 2:])
        order = [0, 2, 1, 3]
        self._fill(
            look,
            lambda p: shapes.boxes(np.column_stack([p.across(bounds[:, :2]), p.down(bounds[:, 2:])])[:, order]),
        )

    def bar(self, x: Any, height: Any, width: float, **look: Any) -> None:
        """Draw bars from 0."""
        at, top = np.asarray(x, dtype=float), np.asarray(height, dtype=float)
        self.yaxis.scale.sticky.add(0.0)
        zero = np.zeros_like(top)
        self.rectangles(np.column_stack([at - width / 2, at + width / 2, zero, top]), **look)

    def stairs(self, values: Any, edges: Any, *, fill: bool = False, **look: Any) -> None:
        """Draw a histogram as its outline, or filled, from 0."""
        x = np.repeat(np.asarray(edges, dtype=float), 2)
        y = np.r_[0.0, np.repeat(np.asarray(values, dtype=float), 2), 0.0]
        self.yaxis.scale.sticky.add(0.0)
        if fill:
            self.fill(x, y, **look)
        else:
            self.plot(x, y, **look)

    # -- words -----------------------------------------------------------------------------------------------

    def text(self, x: float, y: float, text: str, *, transform: Transform | None = None, **look: Any) -> None:
        """Write at a place."""
        _refuse(look.keys() - _WRITTEN)
        self.texts.append((transform or Transform(x=True, y=True), {"text": text, "at": (x, y), **look}))

    def annotate(
        self, text: str, point: Sequence[float], offset: Sequence[float], *, textcoords: str, **look: Any
    ) -> None:
        """Write beside a point, so many points of the page away."""
        if textcoords != "offset points":
            raise NotImplementedError(f"a text placed by {textcoords}")
        self.text(point[0], point[1], text, offset=tuple(offset), **look)

    def set_title(self, text: str, *, loc: str = "left", **look: Any) -> None:
        """Write above the panel."""
        _refuse(look.keys() - _WRITTEN)
        self.titles[loc] = (text, look)

    def set_xlabel(self, text: str, **look: Any) -> None:
        """Name the axis along x."""
        _name(self.xaxis, text, **look)

    def set_ylabel(self, text: str, **look: Any) -> None:
        """Name the axis along y."""
        _name(self.yaxis, text, **look)

    # -- axes ------------------------------------------------------------------------------------------------

    def set_xlim(self, left: Any = None, right: Any = None) -> None:
        """Fix the ends of x."""
        self.xaxis.scale.set_limits(left, right)

    def set_ylim(self, bottom: Any = None, top: Any = None) -> None:
        """Fix the ends of y."""
        self.yaxis.scale.set_limits(bottom, top)

    def get_xlim(self) -> tuple[float, float]:
        """Return the ends of x."""
        return self.xaxis.scale.limits

    def get_ylim(self) -> tuple[float, float]:
        """Return the ends of y."""
        return self.yaxis.scale.limits

    def set_xticks(self, places: Any, labels: Sequence[Any] | None = None) -> None:
        """Put ticks along x."""
        self.xaxis.set_ticks(places, labels)

    def set_yticks(self, places: Any, labels: Sequence[Any] | None = None) -> None:
        """Put ticks along y."""
        self.yaxis.set_ticks(places, labels)

    def set(self, **values: Any) -> None:
        """Set limits, labels and ticks by name."""
        for name, value in values.items():
            getattr(self, f"set_{name}")(value)

    def margins(self, share: float) -> None:
        """Leave so much room around the data."""
        self.xaxis.scale.margin = self.yaxis.scale.margin = share

    def tick_params(self, axis: str = "both", **look: Any) -> None:
        """Say how ticks are shown."""
        for name, side in (("x", self.xaxis), ("y", self.yaxis)):
            if axis in {name, "both"}:
                side.length = look.get("length", side.length)
                side.color = look.get("labelcolor", side.color)
                own = ("bottom", "top") if name == "x" else ("left", "right")
                side.marked = look.get(own[side.far], side.marked)
                side.labelled = look.get(f"label{own[side.far]}", side.labelled)
        _refuse(look.keys() - {"length", "labelcolor", "bottom", "left", "top", "right", "labelbottom", "labelleft"})

    def grid(self, visible: bool, *, axis: str = "both", color: str, linewidth: float) -> None:
        """Draw a line at each tick."""
        for name in ("x", "y") if axis == "both" else (axis,):
            if visible:
                self.grids[name] = (color, linewidth)

    def get_xticklabels(self) -> list[Side]:
        """Return what turns the labels along x."""
        return [self.xaxis]

    def get_yaxis_transform(self) -> Transform:
        """Return places whose x is a share of the panel, and y is data."""
        return Transform(x=False, y=True)

    def set_visible(self, visible: bool) -> None:
        """Show or hide the panel."""
        self.visible = visible

    def set_axis_off(self) -> None:
        """Draw neither spines nor ticks nor labels."""
        self.framed = False

    def set_aspect(self, aspect: str) -> None:
        """Give both axes one unit of length."""
        self.equal = aspect == "equal"

    def _hold(self, x: Any, y: Any) -> None:
        self.xaxis.scale.hold(x)
        self.yaxis.scale.hold(y)

    def _add(self, zorder: float, draw: Callable[[Place], Iterator[Ink]]) -> None:
        self.marks.append((zorder, draw))

    def _line(self, look: dict[str, Any], ends: Callable[[Place], tuple[Any, Any]]) -> None:
        zorder = look.pop("zorder", _LINE)
        _refuse(look.keys() - _DRAWN)
        self._add(zorder, lambda place: drawn(*ends(place), self.ink, **look))

    def _fill(self, look: dict[str, Any], path: Callable[[Place], str]) -> None:
        _refuse(look.keys() - _FILLED)
        full: dict[str, Any] = {"zorder": _PATCH, "linewidth": 0.0, "edgecolor": "none", "alpha": 1.0} | look
        paint = full.get("facecolor") or full["color"]

        def draw(place: Place) -> Iterator[Ink]:
            d = path(place)
            if d:
                yield filled(d, paint, full["edgecolor"], full["linewidth"], full["alpha"])

        self._add(full["zorder"], draw)


def drawn(x: FloatArray, y: FloatArray, ink: str, **look: Any) -> Iterator[Ink]:
    """Yield a line and marks through points of the page."""
    full: dict[str, Any] = {"color": ink, "linewidth": 1.5, "linestyle": "-", "alpha": 1.0, **_MARK} | look
    if full["linestyle"]:
        d = shapes.lines(x, y)
        if d:
            yield stroke(d, full["color"], full["linewidth"], full["linestyle"], full["alpha"])
    marker, there = full["marker"], np.isfinite(x) & np.isfinite(y)
    if marker and there.any():
        if marker not in shapes.KNOWN:
            raise NotImplementedError(f"the marker {marker!r}")
        d = shapes.marks(marker, x[there], y[there], full["markersize"])
        edge, rim = full["markeredgecolor"] or full["color"], full["markeredgewidth"]
        if marker in shapes.STROKED:
            yield stroke(d, edge, rim, "-", full["alpha"])
        else:
            yield filled(d, full["markerfacecolor"] or full["color"], edge, rim, full["alpha"])


def _refuse(unknown: Set[str]) -> None:
    """Refuse what matplotlib draws and a sketch does not."""
    if unknown:
        raise NotImplementedError(f"a look with {sorted(unknown)}")


def _name(side: Side, text: str, *, fontsize: float = 0.0, labelpad: float = 4.0) -> None:
    side.label, side.label_size, side.label_pad = text, fontsize, labelpad


def _box(x: FloatArray, y: FloatArray) -> str:
    return shapes.boxes(np.array([[x[0], y[0], x[1], y[1]]]))


def _segments(starts: Any, ends: Any, at: Any) -> tuple[FloatArray, FloatArray]:
    first, last, place = np.broadcast_arrays(*(np.asarray(part, dtype=float) for part in (starts, ends, at)))
    gap = np.full(first.shape, np.nan)
    return np.stack([first, last, gap], axis=-1).ravel(), np.stack([place, place, gap], axis=-1).ravel()
