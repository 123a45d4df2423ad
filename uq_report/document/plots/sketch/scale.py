"""One axis of a sketch, which panels may share: its range, its ticks and how they are written."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

STEPS = (1, 2, 2.5, 5, 10)
LEAST, MOST = -4, 5  # powers of ten written out


def round_numbers(most: int, steps: Sequence[float] | None = STEPS) -> Any:
    """Return the locator of at most so many round numbers, multiples of `steps`; matplotlib's own if None."""
    from matplotlib.ticker import MaxNLocator  # heavy, and most commands draw nothing

    return MaxNLocator(most, steps=steps)


class Scale:
    """Range, ticks and labels along x or y.

    Attributes
    ----------
    labels : list of str, optional
        Texts of the ticks; None for numbers.
    """

    def __init__(self) -> None:
        self.low = self.high = math.nan  # of the data
        self.margin = 0.05
        self.sticky: set[float] = set()
        self.fixed: list[float | None] = [None, None]
        self.locator: Any = round_numbers(8)
        self.places: list[float] | None = None
        self.labels: list[str] | None = None

    def hold(self, values: Any) -> None:
        """Let the range hold the finite ones of these values."""
        finite = np.asarray(values, dtype=float)
        finite = finite[np.isfinite(finite)]
        if finite.size:
            low, high = float(finite.min()), float(finite.max())
            self.low = low if math.isnan(self.low) else min(self.low, low)
            self.high = high if math.isnan(self.high) else max(self.high, high)

    @property
    def limits(self) -> tuple[float, float]:
        """Where the axis begins and ends: as set, else around the data."""
        low, high = (0.0, 1.0) if math.isnan(self.low) else (self.low, self.high)
        if low == high:  # as matplotlib widens a range of nothing
            wide = 0.05 * abs(low) or 0.05
            low, high = low - wide, high + wide
        room = self.margin * (high - low)
        ends = (low if low in self.sticky else low - room, high if high in self.sticky else high + room)
        first, last = (own if fixed is None else fixed for own, fixed in zip(ends, self.fixed, strict=True))
        return first, last

    def set_limits(self, low: Any = None, high: Any = None) -> None:
        """Fix one end or both."""
        if isinstance(low, tuple | list | np.ndarray):
            low, high = low
        self.fixed = [old if new is None else float(new) for old, new in zip(self.fixed, (low, high), strict=True)]

    def set_ticks(self, places: Any, labels: Sequence[Any] | None = None) -> None:
        """Put ticks at places, written as numbers or by these labels; the range grows to hold them."""
        self.places = [float(place) for place in places]
        self.labels = None if labels is None else [str(label) for label in labels]
        ends = sorted(self.limits)
        outside = [place for place in self.places if not ends[0] <= place <= ends[1]]
        if outside:
            low, high = min(*ends, *outside), max(*ends, *outside)
            self.fixed = [low, high] if self.limits[0] <= self.limits[1] else [high, low]

    def ticks(self) -> tuple[list[tuple[float, str]], str]:
        """Return the ticks in range with their texts, and the power of ten they are in, empty for none."""
        first, last = sorted(self.limits)
        places = list(self.locator.tick_values(first, last)) if self.places is None else self.places
        if self.labels is not None:
            texts, power = self.labels, ""
        else:
            texts, power = numerals([float(place) for place in places], (first, last))
        room = 1e-9 * (last - first)
        pairs = zip(places, texts, strict=False)
        return [(float(at), text) for at, text in pairs if first - room <= at <= last + room], power


def numerals(places: Sequence[float], ends: tuple[float, float]) -> tuple[list[str], str]:
    """Return numbers with as many decimals as they differ by, and a power of ten for very small and large ones.

    Examples
    --------
    >>> numerals([-0.5, 0.0, 0.5], (-0.6, 0.6))
    (['−0.5', '0.0', '0.5'], '')
    >>> numerals([0, 2e-6], (0, 2e-6))
    (['0', '2'], '1e−6')
    """
    inside = [abs(place) for place in places if ends[0] <= place <= ends[1]]
    largest = max(inside, default=0.0)
    power = math.floor(math.log10(largest)) if largest > 0 else 0
    power = power if power <= LEAST or power >= MOST else 0
    values = np.array(places, dtype=float) / 10.0**power
    between = values if len(values) > 1 else np.array([*values, *(end / 10.0**power for end in ends)])
    span = float(np.ptp(between)) or float(np.abs(between).max(initial=0.0)) or 1.0
    size = math.floor(math.log10(span))
    digits = next(
        (d for d in range(max(0, 3 - size)) if np.abs(values - values.round(d)).max(initial=0.0) < 10.0 ** (size - 3)),
        max(0, 3 - size),
    )
    texts = [f"{value:.{digits}f}".replace("-", "−") for value in values + 0.0]
    return texts, f"1e{power}".replace("-", "−") if power else ""
