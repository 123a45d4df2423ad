"""Numbers of results have ten significant digits: far more than their intervals allow, at 60 % of the bytes of all."""

from __future__ import annotations

from typing import Any

import numpy as np

_DIGITS = 10
# A whole number of ten digits over one of these, all exact, is the nearest double to that decimal (Clinger 1990).
_TENS = np.array([float(10**power) for power in range(23)])
_TIE = 1e-4  # so near to a half, the rounding of a product may hide on which side of it a number lies


def rounded(values: Any) -> Any:
    """Return numbers with ten significant digits, exactly as text of them would be read.

    Parameters
    ----------
    values : float array of shape (n,)
        Finite, or missing.

    References
    ----------
    Clinger, W. D. (1990). How to read floating point numbers accurately. PLDI.

    Examples
    --------
    >>> rounded(np.array([1 / 3, 1e-30 / 3, np.nan])).tolist()
    [0.3333333333, 3.333333333e-31, nan]
    """
    power, safe = _power(values)
    scaled = values * _TENS[power]
    whole, size = np.rint(scaled), np.abs(scaled)
    sure = np.abs(np.abs(scaled - whole) - 0.5) > _TIE
    exact = safe & sure & (size >= _TENS[_DIGITS - 1]) & (size < _TENS[_DIGITS])
    numbers = np.where(exact, whole / _TENS[power], values)
    others = ~exact & (values != 0) & ~np.isnan(values)
    numbers[others] = [float(format(value, f".{_DIGITS}g")) for value in values[others].tolist()]
    return numbers


def _power(values: Any) -> tuple[Any, Any]:
    """Return the powers of ten that leave ten digits before the point, and whether they are exact."""
    with np.errstate(divide="ignore"):
        power = _DIGITS - 1 - np.floor(np.log10(np.abs(values)))
    safe = (power >= 0) & (power < len(_TENS))
    return np.where(safe, power, 0).astype(int), safe
