"""Estimates in words: probabilities and shares in percent or points, others in their unit; and parts of such words."""

from __future__ import annotations

from ..document.text import value_words
from ..evidence.information import ItemLine
from ..evidence.outcomes import GroupLine, ScoreLine
from .sentences import mark

SHARES = ("probability", "share")


def is_share(unit: str) -> bool:
    """Say whether a unit is that of a probability or a share.

    Examples
    --------
    >>> is_share("share of rows"), is_share("squared probability")
    (True, False)
    """
    return unit.startswith(SHARES)


def scaled(estimate: float, lower: float, upper: float, unit: str, of_share: str = "points", sign: int = 1) -> str:
    """Return `sign` times an estimate with its unit and interval; of a share a hundred times that, in `of_share`.

    Examples
    --------
    >>> scaled(0.058, 0.05, 0.066, "probability of bad"), scaled(20.4, 18.8, 22.0, "units of y")
    ('5.8 points (5.0 to 6.6)', '20.4 units of the outcome (18.8 to 22.0)')
    """
    scale = sign * (100 if is_share(unit) else 1)
    low, high = sorted((scale * lower, scale * upper))
    return value_words(scale * estimate, low, high, of_share if is_share(unit) else unit)


def percent(estimate: float, lower: float, upper: float, sign: int = 1) -> str:
    """Return `sign` times a share in percent.

    Examples
    --------
    >>> percent(0.15, 0.08, 0.21), percent(-0.92, -1.09, -0.75, -1)
    ('15 % (8 to 21)', '92 % (75 to 109)')
    """
    return scaled(estimate, lower, upper, "share", "%", sign)


def amount(line: ScoreLine | GroupLine, of_share: str = "%") -> str:
    """Return an estimate with its interval: shares in percent, or in `of_share`."""
    return scaled(line.estimate, line.lower, line.upper, line.unit, of_share) + mark(line)


def points(line: GroupLine) -> str:
    """Return a difference with its interval, of probabilities and shares in points."""
    return amount(line, "points")


def share(line: ItemLine) -> str:
    """Return a share between 0 and 1 with its interval in percent."""
    return percent(line.estimate, line.lower, line.upper)


def apart(words: str) -> tuple[str, str]:
    """Return a number, and the interval that stands in brackets behind it.

    Examples
    --------
    >>> apart("0.76 (0.70 to 0.83)"), apart("0.76")
    (('0.76', ' (0.70 to 0.83)'), ('0.76', ''))
    """
    number, bracket, around = words.partition(" (")
    return number, bracket + around


def unbracketed(words: str) -> str:
    """Return a number with its interval behind a comma, for words that stand in brackets themselves.

    Examples
    --------
    >>> unbracketed("0.76 (0.70 to 0.83)"), unbracketed("0.76")
    ('0.76, 0.70 to 0.83', '0.76')
    """
    return words.replace(" (", ", ").rstrip(")")
