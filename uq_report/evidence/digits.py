"""Numbers of results have ten significant digits: far more than their intervals allow, at 60 % of the bytes of all."""

from __future__ import annotations

from typing import Any

import numpy as np
from pydantic_core import to_json

from ..core.support.arrays import AnyArray

_DIGITS = 10
# A whole number of ten digits over one of these, all exact, is the nearest double to that decimal (Clinger 1990).
_TENS = np.array([float(10**power) for power in range(23)])
_PLAIN = (1e-4, 1e16)  # between these, numbers are written without an exponent, of whose form there are several
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


def number_text(values: AnyArray) -> bytes:
    """Return the JSON of numbers or truth values, with the digits that Python's have; null for missing ones.

    Parameters
    ----------
    values : array of shape (n,)
        Finite, or missing.

    Examples
    --------
    >>> number_text(np.array([1 / 3, 1e-5, np.nan, -2.0])), number_text(np.array([True, False]))
    (b'[0.3333333333333333,1e-05,null,-2.0]', b'[true,false]')
    """
    text = to_json(values.tolist(), inf_nan_mode="null")
    if values.dtype.kind != "f":
        return text
    size = np.abs(values)
    places = np.flatnonzero((size > 0) & (size < _PLAIN[0]) | (size >= _PLAIN[1])).tolist()
    if not places:
        return text
    numbers = text[1:-1].split(b",")
    for place in places:
        numbers[place] = repr(float(values[place])).encode()
    return b"[%b]" % b",".join(numbers)
