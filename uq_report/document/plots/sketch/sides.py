"""What stands around a panel of a sketch: spines, the two axes with ticks and labels; and its place on the page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ....core.arrays import FloatArray
from .scale import Scale


class Transform(NamedTuple):
    """Where points are given: each coordinate as data, or as a share of the panel."""

    x: bool
    y: bool


class Sides:
    """Some of a panel's spines."""

    def __init__(self, spines: dict[str, str], names: Sequence[str]) -> None:
        self._spines, self._names = spines, names

    def set_visible(self, visible: bool) -> None:
        """Show or hide them."""
        for name in self._names:
            if visible:
                self._spines.setdefault(name, "")
            else:
                self._spines.pop(name, None)

    def set_color(self, color: str) -> None:
        """Paint them."""
        self._spines.update({name: color for name in self._names if name in self._spines})


class Spines:
    """The four lines around a panel: side to colour, empty for that of the figure."""

    NAMES = ("left", "bottom", "top", "right")

    def __init__(self) -> None:
        self.shown = dict.fromkeys(self.NAMES, "")

    def __getitem__(self, names: Any) -> Sides:
        """Return one, several or all of them."""
        full = self.NAMES if isinstance(names, slice) else [names] if isinstance(names, str) else names
        return Sides(self.shown, list(full))


class Side:
    """One axis of one panel: its scale, its label, and how it is shown."""

    def __init__(self, scale: Scale) -> None:
        self.scale = scale
        self.label, self.label_size, self.label_pad = "", 0.0, 4.0
        self.marked, self.labelled, self.length = True, True, 3.0
        self.far = self.label_far = False  # at the top or at the right
        self.color = ""
        self.angle, self.across = 0.0, "center"

    def set_major_locator(self, locator: Any) -> None:
        """Choose ticks by a locator of matplotlib."""
        self.scale.locator = locator
        self.scale.places = self.scale.labels = None

    def set_ticks(self, places: Any, labels: Sequence[Any] | None = None) -> None:
        """Put ticks at places."""
        self.scale.set_ticks(places, labels)

    def tick_top(self) -> None:
        """Put ticks on the other side."""
        self.far = True

    tick_right = tick_top

    def set_label_position(self, side: str) -> None:
        """Put the label at a side."""
        self.label_far = side in {"top", "right"}

    def set(self, *, rotation: float, ha: str, rotation_mode: str) -> None:
        """Turn the labels of ticks."""
        self.angle, self.across = rotation, ha


class Place(NamedTuple):
    """Where data and shares of a panel are on the page: a box in points, y down, and the ends of both axes."""

    left: float
    top: float
    width: float
    height: float
    x: tuple[float, float]
    y: tuple[float, float]

    def across(self, values: Any, data: bool = True) -> FloatArray:
        """Return places along x in points."""
        low, high = self.x if data else (0.0, 1.0)
        shares = (np.asarray(values, dtype=float) - low) / (high - low)
        return np.asarray(self.left + self.width * shares, dtype=float)

    def down(self, values: Any, data: bool = True) -> FloatArray:
        """Return places along y in points from the top of the page."""
        low, high = self.y if data else (0.0, 1.0)
        shares = (np.asarray(values, dtype=float) - low) / (high - low)
        return np.asarray(self.top + self.height * (1 - shares), dtype=float)
