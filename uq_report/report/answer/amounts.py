"""Numbers of the answer in words: a unit on each, probabilities and shares in points."""

from __future__ import annotations

from ...core.numbers import spoken
from ...document.text import value_words

POINTS = ("probability", "share")


def amount(estimate: float, lower: float, upper: float, unit: str, sign: int = 1) -> str:
    """Return `sign` times an estimate with its unit and interval.

    Examples
    --------
    >>> amount(0.058, 0.05, 0.066, "probability of bad"), amount(20.4, 18.8, 22.0, "units of y")
    ('5.8 points (5.0 to 6.6)', '20.4 units of the outcome (18.8 to 22.0)')
    """
    points = unit.startswith(POINTS)
    scale = sign * (100 if points else 1)
    low, high = sorted((scale * lower, scale * upper))
    words = value_words(scale * estimate, low, high)
    number, bracket, around = words.partition(" (")
    return f"{number} {'points' if points else spoken(unit)}".strip() + bracket + around


def percent(estimate: float, lower: float, upper: float, sign: int = 1) -> str:
    """Return `sign` times a share in percent.

    Examples
    --------
    >>> percent(0.15, 0.08, 0.21), percent(-0.92, -1.09, -0.75, -1)
    ('15 % (8 to 21)', '92 % (75 to 109)')
    """
    low, high = sorted((sign * 100 * lower, sign * 100 * upper))
    return value_words(sign * 100 * estimate, low, high, "%")


def apart(words: str) -> tuple[str, str]:
    """Return a number, and the interval that stands in brackets behind it.

    Examples
    --------
    >>> apart("0.76 (0.70 to 0.83)"), apart("0.76")
    (('0.76', ' (0.70 to 0.83)'), ('0.76', ''))
    """
    number, bracket, around = words.partition(" (")
    return number, bracket + around
