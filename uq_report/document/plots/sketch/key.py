"""The key of a sketch: what its signs mean, below the panels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import metrics
from . import shapes
from .axes import drawn
from .ink import Ink, Text, filled

HANDLE, HANDLE_PAD, APART, ROW, BORDER = 1.8, 0.8, 1.4, 1.5, 0.5  # in units of the size of its text


class Sample(NamedTuple):
    """An entry of a key: its words, and the look of a line with marks or of a patch."""

    label: str
    look: dict[str, Any]
    patch: bool


class Key(NamedTuple):
    """Samples in at most so many columns, with the size and the colour of their words."""

    samples: Sequence[Sample]
    columns: int
    size: float
    ink: str

    def rows(self, room: float) -> list[list[Sample]]:
        """Return the samples column by column, in as many columns as a width has room for."""
        for count in range(min(self.columns, len(self.samples)), 0, -1):
            parts = np.array_split(np.arange(len(self.samples)), count)
            chosen = [[self.samples[k] for k in part] for part in parts]
            if count == 1 or sum(map(self._width, chosen)) <= room:
                return chosen
        return []

    def height(self, room: float) -> float:
        """Return the height of the key in a figure of so many points."""
        most = max(map(len, self.rows(room)), default=0)
        return self.size * (most * ROW + 2 * BORDER) if most else 0.0

    def drawn(self, room: float, bottom: float) -> Iterator[Ink | Text]:
        """Yield the key above the bottom of a figure."""
        size, x = self.size, BORDER * self.size
        top = bottom - self.height(room) + BORDER * size
        for column in self.rows(room):
            for row, sample in enumerate(column):
                yield from self._drawn(sample, x, top + (row + 0.5) * ROW * size)
            x += self._width(column)

    def _drawn(self, sample: Sample, x: float, middle: float) -> Iterator[Ink | Text]:
        size, end = self.size, x + HANDLE * self.size
        if sample.patch:
            corners = np.array([[x, middle - 0.35 * size, end, middle + 0.35 * size]])
            yield filled(shapes.boxes(corners), sample.look["color"], alpha=sample.look.get("alpha", 1.0))
        else:
            look = {name: value for name, value in sample.look.items() if name != "zorder"}
            yield from drawn(np.array([x, end]), np.full(2, middle), self.ink, **{**look, "marker": ""})
            yield from drawn(np.array([(x + end) / 2]), np.full(1, middle), self.ink, **{**look, "linestyle": ""})
        words = sample.label.replace(r"\$", "$")
        yield Text(words, end + HANDLE_PAD * size, middle, size, self.ink, up="center")

    def _width(self, column: Sequence[Sample]) -> float:
        words = max(metrics.width(sample.label, self.size) for sample in column)
        return self.size * (HANDLE + HANDLE_PAD + APART) + words
