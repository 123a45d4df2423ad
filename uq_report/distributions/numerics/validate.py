"""How parameters, levels and targets from outside become arrays, or are refused with a reason."""

from copy import copy
from typing import Any, ClassVar, Self

import numpy as np

from ...core.predictive import Distribution
from ...core.support.arrays import AnyArray, BoolArray, FloatArray
from ...core.support.errors import InputError
from ...core.support.numbers import show_value
from ...core.validation.cell_validation import LARGEST, WHOLE, refuse_cells


def numbers(who: str, values: Any) -> FloatArray:
    """Return `values` as floats; refuse what is no number, and what is another one as a float."""
    if np.ma.is_masked(values):
        raise InputError(f"{who} must have no masked values; got a masked array. Give every row a number.")
    try:
        plain = np.asarray(values)
        floats = None if plain.dtype.kind in "cMmSU" else np.asarray(plain, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(f"{who} must be numbers; got {type(values).__name__} that holds others ({error}).") from error
    if floats is None or (plain.dtype == object and any(isinstance(cell, str | bytes) for cell in plain.flat)):
        kind = "text" if plain.dtype.kind in "OSU" else plain.dtype
        raise InputError(f"{who} must be numbers; got {kind}. Convert them before.")
    if plain.dtype.kind in "iu" and plain.size and max(-int(plain.min()), int(plain.max())) > WHOLE:
        rounded = [int(number) != whole for number, whole in zip(floats.flat, plain.flat, strict=True)]
        refuse_cells(
            f"{who} must be whole numbers that floats hold, as those up to 2^53",
            plain.ravel(),
            np.array(rounded),
            "Subtract one number from all of them.",
        )
    return floats


def vector(who: str, values: Any) -> FloatArray:
    """Return `values`, one a row or one number for one row, as an array of finite floats, shape (n,)."""
    floats = np.atleast_1d(numbers(who, values))
    if floats.ndim != 1:
        raise InputError(f"{who} must be one-dimensional, one value per row; got shape {floats.shape}.")
    look = "Look at these rows' inputs and at the model's fit."
    refuse(who, "finite", floats, ~np.isfinite(floats), look)
    refuse(who, f"at most {LARGEST:g} in size", floats, np.abs(floats) > LARGEST, look)
    return floats


def same_length(who: str, values: Any, n: int) -> FloatArray:
    """Return `values`, one number or one per row, as n finite floats."""
    floats = vector(who, np.full(n, numbers(who, values)) if np.ndim(values) == 0 else values)
    if len(floats) != n:
        raise InputError(f"{who} must have one value per row, {n}; got {len(floats)}.")
    return floats


def refuse(who: str, allowed: str, values: FloatArray, bad: BoolArray, remedy: str) -> None:
    """Raise, naming how many rows are bad and the first of them, if there are any."""
    if bad.any():
        first = int(np.argmax(bad))
        raise InputError(
            f"{who} must be {allowed}; got {show_value(values[first])} in row {first} "
            f"({int(bad.sum())} of {len(bad)} rows). {remedy}",
            row=first,
        )


def refuse_rows(must: str, bad: BoolArray, remedy: str) -> None:
    """Raise, naming how many rows are bad and the first of them, if there are any."""
    if bad.any():
        first = int(np.argmax(bad))
        raise InputError(f"{must} in {int(bad.sum())} of {len(bad)} rows, first in row {first}. {remedy}", row=first)


def positive(who: str, values: FloatArray, remedy: str) -> None:
    """Refuse values that are not greater than 0, or so small that the squares of what they divide are infinite."""
    refuse(who, "greater than 0", values, values <= 0, remedy)
    refuse(who, f"at least {1 / LARGEST:g}", values, values < 1 / LARGEST, remedy)


def levels(who: str, p: Any) -> FloatArray:
    """Return probability levels, shape (L,), strictly between 0 and 1."""
    floats = np.atleast_1d(numbers(who, p))
    if floats.ndim != 1 or not ((floats > 0) & (floats < 1)).all():
        raise InputError(f"{who} must be levels strictly between 0 and 1, shape (L,); got {p}.")
    return floats


def shares(who: str, weights: Any, m: int) -> FloatArray:
    """Return m relative weights as shares that sum to 1; equal ones for None."""
    if weights is None:
        return np.full(m, 1.0 / m)
    floats = numbers(who, weights)
    if floats.shape != (m,):
        raise InputError(f"{who} must have one weight per member, {m}; got shape {floats.shape}.")
    if not (np.isfinite(floats).all() and (floats >= 0).all() and floats.sum() > 0):
        raise InputError(f"{who} must be finite, not negative and not all zero; got {floats.tolist()}.")
    return np.asarray(floats / floats.sum())


_FEW = 32


def who(dist: Distribution) -> str:
    """Return how errors name distributions: their family as a name of Python."""
    return dist.family.lower().replace(" ", "_").replace("-", "_")


class Rowwise(Distribution):
    """n distributions held as arrays of one entry a row, the attributes that `by_row` names."""

    by_row: ClassVar[tuple[str, ...]]

    def __len__(self) -> int:
        return len(getattr(self, self.by_row[0]))

    def take(self, index: AnyArray) -> Self:
        """Return the distributions at positions `index`."""
        other = copy(self)
        for name in self.by_row:
            setattr(other, name, getattr(self, name)[index])
        return other

    def encode(self, y: Any) -> Any:
        """Return y as floats; refuse what is no number."""
        return numbers(f"{who(self)}.y", y)


def row_sum(values: FloatArray, weights: FloatArray | None = None) -> FloatArray:
    """Return sum_c weights_c values[..., c].

    A matrix product would be as fast, but rounds a row by its place among the others. Few columns are
    added one by one, which beats numpy's sum of short rows by far; many by numpy's sum.

    Examples
    --------
    >>> row_sum(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([0.5, 0.25]))
    array([1. , 2.5])
    """
    columns = values.shape[-1]
    if columns > _FEW:
        return np.asarray(np.ascontiguousarray(values if weights is None else values * weights).sum(axis=-1))
    total = np.zeros(values.shape[:-1])
    for c in range(columns):
        total += values[..., c] if weights is None else weights[c] * values[..., c]
    return total
