"""A figure as a page needs it: the part of matplotlib that our figures use, laid out by text widths, written as SVG.

Each figure is drawn by one function, for pages here and for `plot()` by matplotlib: both know the same words. A page
has some tens of figures, which cost matplotlib most of a report's time.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from ....core.arrays import FloatArray
from . import frame, shapes
from .axes import GRID, Axes
from .frame import Sizes
from .ink import Box, Ink, Text, filled, svg
from .key import Key, Sample
from .scale import Scale
from .sides import Place

PAD = 2.16  # points around each panel
PASSES = 3  # what stands out of a panel depends on its size, and the other way round


class Sketch:
    """A figure of so many inches."""

    dpi = 72.0

    def __init__(self, width: float, height: float, ink: str, sizes: Sizes) -> None:
        self.inches = (width, height)
        self.ink, self.sizes = ink, sizes
        self.axes: list[Axes] = []
        self._places: list[Place] = []
        self._grid: list[list[Axes]] = []
        self._ratios: Sequence[float] = ()
        self._boxes: dict[int, tuple[float, float, float, float]] = {}
        self._texts: list[Text] = []
        self._key = Key((), 1, sizes.tick, ink)

    # -- in matplotlib's words -------------------------------------------------------------------------------

    def subplots(
        self,
        nrows: int = 1,
        ncols: int = 1,
        *,
        squeeze: bool = True,
        sharex: bool = False,
        sharey: bool = False,
        width_ratios: Sequence[float] | None = None,
    ) -> Any:
        """Add panels in rows and columns."""
        x, y = Scale(), Scale()
        for row in range(nrows):
            self._grid.append([])
            for column in range(ncols):
                axes = Axes(self.ink, self.sizes.label, x if sharex else None, y if sharey else None)
                axes.xaxis.labelled = not sharex or row == nrows - 1
                axes.yaxis.labelled = not sharey or column == 0
                self._grid[-1].append(axes)
                self.axes.append(axes)
        self._ratios = width_ratios or [1.0] * ncols
        panels = np.empty((nrows, ncols), dtype=object)
        panels[:] = self._grid
        if not squeeze:
            return panels
        return panels[0, 0] if panels.size == 1 else panels.squeeze()

    def add_axes(self, box: tuple[float, float, float, float]) -> Axes:
        """Add a panel at a place: left, bottom, width and height as shares of the figure."""
        axes = Axes(self.ink, self.sizes.label)
        self._boxes[len(self.axes)] = box
        self.axes.append(axes)
        return axes

    def text(self, x: float, y: float, text: str, *, color: str, fontsize: float, fontweight: str = "normal") -> None:
        """Write at a place in shares of the figure."""
        width, height = self._size
        place = (x * width, (1 - y) * height)
        bold = fontweight == "bold"
        self._texts.append(Text(text.replace(r"\$", "$"), *place, fontsize, color, bold=bold))

    def key(self, samples: Sequence[Sample], columns: int) -> None:
        """Explain signs below the panels."""
        self._key = Key(samples, columns, self.sizes.tick, self.ink)

    def get_size_inches(self) -> FloatArray:
        """Return width and height."""
        return np.array(self.inches)

    def draw_without_rendering(self) -> None:
        """Find the place of every panel."""
        self._places = self._laid_out()
        for axes, place in zip(self.axes, self._places, strict=True):
            axes.transData = SimpleNamespace(transform=self._transform(place))  # type: ignore[attr-defined]
            extent = SimpleNamespace(
                x0=place.left, y0=self._size[1] - place.top - place.height, width=place.width, height=place.height
            )
            axes.get_window_extent = lambda extent=extent: extent  # type: ignore[attr-defined]

    def set_layout_engine(self, engine: str) -> None:
        """Accept ``"none"``: panels that have a place keep it."""

    def _transform(self, place: Place) -> Any:
        height = self._size[1]
        return lambda points: np.column_stack([place.across(points[:, 0]), height - place.down(points[:, 1])])

    # -- layout ----------------------------------------------------------------------------------------------

    @property
    def _size(self) -> tuple[float, float]:
        return 72 * self.inches[0], 72 * self.inches[1]

    def _laid_out(self) -> list[Place]:
        width, height = self._size
        if not self._grid:
            return [
                _placed(axes, (left * width, (1 - low - high) * height, wide * width, high * height))
                for axes, (left, low, wide, high) in zip(self.axes, self._boxes.values(), strict=True)
            ]
        margins = np.full((len(self.axes), 4), PAD)
        for _ in range(PASSES):
            places = self._from_margins(margins)
            margins = np.array([self._around(*pair) for pair in zip(self.axes, places, strict=True)])
        return self._from_margins(margins)

    def _from_margins(self, margins: FloatArray) -> list[Place]:
        """Return places of panels that leave these margins around them: left, top, right, bottom."""
        rows, columns = len(self._grid), len(self._grid[0])
        cells = margins.reshape(rows, columns, 4)
        left, right = cells[:, :, 0].max(axis=0), cells[:, :, 2].max(axis=0)
        top, bottom = cells[:, :, 1].max(axis=1), cells[:, :, 3].max(axis=1)
        width, height = self._size
        shares = np.array(self._ratios, dtype=float) / sum(self._ratios)
        wide = np.maximum((width - left.sum() - right.sum()) * shares, 1.0)
        high = max((height - self._key.height(width) - top.sum() - bottom.sum()) / rows, 1.0)
        x = np.cumsum(left + np.r_[0.0, (wide + right)[:-1]])
        y = np.cumsum(top + np.r_[0.0, (high + bottom)[:-1]])
        return [
            _placed(axes, (x[c], y[r], wide[c], high)) for r, row in enumerate(self._grid) for c, axes in enumerate(row)
        ]

    def _around(self, axes: Axes, place: Place) -> tuple[float, float, float, float]:
        """Return how far a panel's texts and ticks stand out of it."""
        if not axes.visible:
            return (0.0,) * 4
        right, bottom = place.left + place.width, place.top + place.height
        boxes = [text.box for text in frame.texts(axes, place, self.sizes)]
        boxes.append(Box(place.left, place.top, right, bottom))
        return (
            PAD + place.left - min(box.left for box in boxes),
            PAD + place.top - min(box.top for box in boxes),
            PAD + max(box.right for box in boxes) - right,
            PAD + max(box.bottom for box in boxes) - bottom,
        )

    # -- SVG -------------------------------------------------------------------------------------------------

    def svg(self, fonts: str) -> bytes:
        """Return the figure as SVG bytes, the same in every process."""
        if not self._places:
            self.draw_without_rendering()
        width, height = self._size
        inks: list[Ink] = [filled(shapes.boxes(np.array([[0.0, 0.0, width, height]])), "#fff")]
        words: list[Text] = list(self._texts)
        clips: list[str] = []
        for axes, place in zip(self.axes, self._places, strict=True):
            if axes.visible:
                inks += self._panel(axes, place, clips)
                words += frame.texts(axes, place, self.sizes)
        for entry in self._key.drawn(width, height):
            (words if isinstance(entry, Text) else inks).append(entry)  # type: ignore[arg-type]
        shown = sorted((ink for text in words for ink in text.inks()), key=lambda ink: ink.look)
        attributes = {"stroke-linejoin": "round", "font-family": fonts} | self._scales()
        defs = f"<defs>{''.join(clips)}</defs>" if clips else ""
        return svg([*inks, *shown], (width, height), attributes, defs)

    def _panel(self, axes: Axes, place: Place, clips: list[str]) -> Iterator[Ink]:
        """Yield a panel from its ground up, without its texts; what goes beyond it is cut off."""
        cut: tuple[tuple[str, str], ...] = ()
        if _goes_beyond(axes):
            corners = np.array([[place.left, place.top, place.left + place.width, place.top + place.height]])
            cut = (("clip-path", f"url(#i{len(clips)})"),)
            clips.append(f'<clipPath id="i{len(clips)}"><path d="{shapes.boxes(corners)}"/></clipPath>')
        marks = sorted(axes.marks, key=lambda mark: mark[0])
        below = sum(zorder < GRID for zorder, _ in marks)
        for k, (_, draw) in enumerate(marks):
            if k == below:
                yield from frame.under(axes, place)
            yield from (ink._replace(look=(*ink.look, *cut)) for ink in draw(place))
        if below == len(marks):
            yield from frame.under(axes, place)
        yield from frame.over(axes, place)
        yield from frame.behind_texts(axes, place)

    def _scales(self) -> dict[str, str]:
        """Return what a page needs to read values off under the pointer: the box of each panel, and its ranges."""
        frames = []
        for axes, place in zip(self.axes, self._places, strict=True):
            measured = {
                name: [side.label.replace(r"\$", "$"), *(float(f"{end:.5g}") for end in side.scale.limits)]
                for name, side in (("x", axes.xaxis), ("y", axes.yaxis))
                if side.scale.labels is None and axes.visible
            }
            if measured:
                box = (place.left, place.top, place.left + place.width, place.top + place.height)
                frames.append({"box": [round(float(edge), 1) for edge in box], **measured})
        return {"data-axes": json.dumps(frames, separators=(",", ":"))} if frames else {}


def _placed(axes: Axes, box: tuple[float, float, float, float]) -> Place:
    """Return a panel's place in a box; with one unit on both axes it is narrower or lower than the box."""
    left, top, width, height = map(float, box)
    x, y = axes.get_xlim(), axes.get_ylim()
    if axes.equal:
        unit = min(width / abs(x[1] - x[0]), height / abs(y[1] - y[0]))
        wide, high = unit * abs(x[1] - x[0]), unit * abs(y[1] - y[0])
        left, top, width, height = left + (width - wide) / 2, top + (height - high) / 2, wide, high
    return Place(left, top, width, height, x, y)


def _goes_beyond(axes: Axes) -> bool:
    for scale in (axes.xaxis.scale, axes.yaxis.scale):
        low, high = sorted(scale.limits)
        if scale.low < low or scale.high > high:
            return True
    return False
