"""Groups, classes and contrasts in words."""

from __future__ import annotations

from ...core.numbers import value_words
from ...core.text import clean, short
from ...evidence.outcomes import GroupLine

POINTS = ("probability", "share of")  # how units begin that are told in percentage points


def contrast(line: GroupLine, *, size: bool = False) -> str:
    """Return a difference with its interval, probabilities and shares in points; without its sign if `size`."""
    sign = -1 if size and line.estimate < 0 else 1
    points = line.unit.startswith(POINTS)
    ends = sorted(sign * end for end in (line.lower, line.upper))
    value, low, high = ((100 if points else 1) * one for one in (sign * line.estimate, *ends))
    return value_words(value, low, high, "points" if points else line.unit, confidence=line.confidence)


def group_words(line: GroupLine) -> str:
    """Name a group by its attribute."""
    return f"{short(line.feature)} = {clean(line.item)}"


def of_class(measure: str) -> str:
    """Say which class a measure is about; empty where there is one."""
    label = measure.partition("[")[2].removesuffix("]")
    return f" of {short(label)}" if label else ""
