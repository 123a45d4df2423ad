"""How parameters, levels and targets from outside become arrays, or are refused with a reason."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import BoolArray, FloatArray
from ..errors import InputError


def numbers(who: str, values: Any) -> FloatArray:
    """Return `values` as floats; refuse what is no number."""
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(f"{who} must be numbers; got {type(values).__name__} that holds others ({error}).") from error


def vector(who: str, values: Any) -> FloatArray:
    """Return `values` as a one-dimensional array of finite floats."""
    found = numbers(who, values)
    if found.ndim != 1:
        raise InputError(f"{who} must be one-dimensional, one value per row; got shape {found.shape}.")
    refuse(who, "finite", found, ~np.isfinite(found), "Look at these rows' inputs and at the model's fit.")
    return found


def same_length(who: str, values: Any, n: int) -> FloatArray:
    """Return `values`, one number or one per row, as n finite floats."""
    found = numbers(who, values)
    found = vector(who, np.full(n, found) if found.ndim == 0 else found)
    if len(found) != n:
        raise InputError(f"{who} must have one value per row, {n}; got {len(found)}.")
    return found


def refuse(who: str, allowed: str, values: FloatArray, bad: BoolArray, remedy: str) -> None:
    """Raise, naming how many rows are bad and the first of them, if there are any."""
    if bad.any():
        first = int(np.argmax(bad))
        raise InputError(
            f"{who} must be {allowed}; got {values[first]:g} in row {first} "
            f"({int(bad.sum())} of {len(bad)} rows). {remedy}"
        )


def levels(who: str, p: Any) -> FloatArray:
    """Return probability levels, shape (L,), strictly between 0 and 1."""
    found = np.atleast_1d(numbers(who, p))
    if found.ndim != 1 or not ((found > 0) & (found < 1)).all():
        raise InputError(f"{who} must be levels strictly between 0 and 1, shape (L,); got {p}.")
    return found


def shares(who: str, weights: Any, m: int) -> FloatArray:
    """Return m relative weights as shares that sum to 1; equal ones for None."""
    if weights is None:
        return np.full(m, 1.0 / m)
    found = numbers(who, weights)
    if found.shape != (m,):
        raise InputError(f"{who} must have one weight per member, {m}; got shape {found.shape}.")
    if not (np.isfinite(found).all() and (found >= 0).all() and found.sum() > 0):
        raise InputError(f"{who} must be finite, not negative and not all zero; got {found.tolist()}.")
    return np.asarray(found / found.sum())
