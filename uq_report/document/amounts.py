"""Estimates in words: probabilities and shares in percent, their differences in points, others in their unit."""

from __future__ import annotations

from ..evidence.information import ItemLine
from ..evidence.outcomes import GroupLine, ScoreLine
from .telling import mark
from .text import value_words

SHARES = ("probability", "share of")


def is_share(unit: str) -> bool:
    """Say whether a unit is that of a probability or a share.

    Examples
    --------
    >>> is_share("share of rows"), is_share("squared probability")
    (True, False)
    """
    return unit.startswith(SHARES)


def amount(line: ScoreLine | GroupLine, of_share: str = "%") -> str:
    """Return an estimate with its interval: shares in percent, or in `of_share`."""
    if not is_share(line.unit):
        return value_words(line.estimate, line.lower, line.upper, line.unit) + mark(line)
    return value_words(100 * line.estimate, 100 * line.lower, 100 * line.upper, of_share) + mark(line)


def points(line: GroupLine) -> str:
    """Return a difference with its interval, of probabilities and shares in points."""
    return amount(line, "points")


def share(line: ItemLine) -> str:
    """Return a share between 0 and 1 with its interval in percent."""
    return value_words(100 * line.estimate, 100 * line.lower, 100 * line.upper, "%")
