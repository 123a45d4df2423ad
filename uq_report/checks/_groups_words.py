"""Groups, classes and contrasts in words."""

from __future__ import annotations

from ..core.text import clean, short
from ..evidence.outcomes import GroupLine
from ..rules.reading import amount

POINTS = ("probability", "share of")  # how units begin that are told in percentage points
TOLD = ("points", "nats", "units of y")  # units that are read in a sentence


def contrast(line: GroupLine, *, size: bool = False) -> str:
    """Return a difference with its interval, probabilities and shares in points; without its sign if `size`."""
    sign = -1 if size and line.estimate < 0 else 1
    points = line.unit.startswith(POINTS)
    ends = sorted(sign * end for end in (line.lower, line.upper))
    value, low, high = ((100 if points else 1) * one for one in (sign * line.estimate, *ends))
    unit = "points" if points else line.unit
    words = amount(value, low, high, line.confidence, unit if unit in TOLD else "")
    return words.replace("  ", " ").strip()


def group_words(line: GroupLine) -> str:
    """Name a group by its attribute."""
    return f"{short(line.feature)} = {clean(line.item)}"


def of_class(measure: str) -> str:
    """Say which class a measure is about; empty where there is one."""
    label = measure.partition("[")[2].removesuffix("]")
    return f" of {short(label)}" if label else ""
