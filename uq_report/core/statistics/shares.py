"""Intervals of the difference of two independent shares."""

from __future__ import annotations

from math import sqrt


def newcombe(first: float, n_first: float, second: float, n_second: float, z: float) -> tuple[float, float]:
    """Return the interval of ``first - second`` by the Wilson intervals of both (Newcombe 1998, method 10).

    Numbers of draws need not be whole; `z` is the normal quantile of a two-sided interval. It has a width also where
    both shares are 0 or 1.

    References
    ----------
    Newcombe (1998), doi:10.1002/(SICI)1097-0258(19980430)17:8<873::AID-SIM779>3.0.CO;2-I.

    Examples
    --------
    >>> low, high = newcombe(56 / 70, 70, 48 / 80, 80, 1.96)  # Newcombe's example (a)
    >>> round(low, 4), round(high, 4)
    (0.0524, 0.3339)
    >>> low, high = newcombe(0.0, 10, 0.0, 10, 1.96)  # (f)
    >>> round(low, 4), round(high, 4)
    (-0.2775, 0.2775)
    """
    (low, high), (other_low, other_high) = _wilson(first, n_first, z), _wilson(second, n_second, z)
    difference = first - second
    below = sqrt((first - low) ** 2 + (other_high - second) ** 2)
    above = sqrt((high - first) ** 2 + (second - other_low) ** 2)
    return difference - below, difference + above


def _wilson(share: float, n: float, z: float) -> tuple[float, float]:
    centre, scale = share + z * z / (2 * n), 1 + z * z / n
    reach = z * sqrt(max(share * (1 - share), 0.0) / n + z * z / (4 * n * n))
    return (centre - reach) / scale, (centre + reach) / scale
