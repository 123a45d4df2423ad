"""Groups, classes and contrasts in words."""

from __future__ import annotations

from collections.abc import Mapping

from ...core.numbers import value_words
from ...core.text import clean, short
from ...evidence.outcomes import DifferenceLine, GroupLine

POINTS = ("probability", "share of")  # how units begin that are told in percentage points
Place = tuple[str, str, str]  # a line's measure, attribute and group
Contrasts = Mapping[Place, DifferenceLine]


def place_of(line: GroupLine) -> Place:
    """Return what a line is about."""
    return line.measure, line.feature, line.item


def contrast(line: GroupLine, *, size: bool = False) -> str:
    """Return a difference with its interval, probabilities and shares in points; without its sign if `size`."""
    sign = -1 if size and line.estimate < 0 else 1
    points = line.unit.startswith(POINTS)
    low, high = sorted((sign * line.lower, sign * line.upper))
    value, low, high = ((100 if points else 1) * number for number in (sign * line.estimate, low, high))
    return value_words(value, low, high, "points" if points else line.unit, confidence=line.confidence)


def both_contrasts(line: GroupLine, contrasts: Contrasts) -> list[tuple[str, str]]:
    """Return how far predictions and outcomes of a group differ from the rest, of the same class as `line`."""
    label = line.measure[len(line.measure.partition("[")[0]) :]
    places = [(name, (f"{name}{label}", line.feature, line.item)) for name in ("prediction", "outcome")]
    return [(f"{name}s", contrast(contrasts[place])) for name, place in places if place in contrasts]


def group_words(line: GroupLine) -> str:
    """Name a group by its attribute."""
    return f"{short(line.feature)} = {clean(line.item)}"


def of_class(measure: str) -> str:
    """Say which class a measure is about; empty where there is one."""
    label = measure.partition("[")[2].removesuffix("]")
    return f" of {short(label)}" if label else ""
