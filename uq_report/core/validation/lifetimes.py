"""Outcomes that may be censored: how long each row was observed, and whether its event was seen.

They are a structured array of `LIFETIME`, which no arithmetic takes for numbers: whatever would read a censoring
time as the time of an event stops with an error.
"""

from typing import Any

import numpy as np
import pandas as pd

from ..support.arrays import AnyArray, BoolArray, FloatArray
from ..support.errors import InputError
from ..support.numbers import show_value

LIFETIME = np.dtype([("event", bool), ("time", float)])
_HOW = "Pass y=(times, events), where an event is True (or 1) if it was seen and False (or 0) if the row was censored."


def is_lifetimes(y: AnyArray | None) -> bool:
    """Say whether outcomes may be censored."""
    return y is not None and y.dtype == LIFETIME


def are_lifetimes(y: Any) -> bool:
    """Say whether outcomes as a user gives them are times with events."""
    return _parts(y) is not None


def lifetimes(y: Any, n: int, what: str) -> AnyArray | None:
    """Return outcomes given as times with events as an array of `LIFETIME`, shape (n,); None for any other y.

    They are a structured array of one boolean and one numeric field (scikit-survival's), a tuple
    ``(times, events)``, or a frame of two columns, times and then events (lifelines').

    Raises
    ------
    InputError
        If times are negative or no numbers, events other than 0 and 1, or no event was seen at all.

    Examples
    --------
    >>> lifetimes(([2.0, 3.0], [1, 0]), 2, "y")
    array([( True, 2.), (False, 3.)], dtype=[('event', '?'), ('time', '<f8')])
    """
    parts = _parts(y)
    if parts is None:
        return None
    who = f"subject.{what}"
    times, events = _times(who, parts[0]), _events(who, parts[1])
    if not len(times) == len(events) == n:
        raise InputError(
            f"{who} must have one time and one event per row, {n}; got {len(times)} and {len(events)}. Match the rows."
        )
    if not events.any():
        raise InputError(
            f"{who} must hold at least one event; got {n} censored rows. Check the sign of the flags: {_HOW}"
        )
    return recorded(times, events)


def recorded(times: FloatArray, events: BoolArray) -> AnyArray:
    """Return times and events as one array."""
    y = np.empty(len(times), LIFETIME)
    y["event"], y["time"] = events, times
    return y


def expected_lifetimes(family: str, y: Any) -> AnyArray:
    """Return `y` if its outcomes may be censored; refuse plain numbers, which do not say what was seen."""
    values = np.asarray(y)
    if values.dtype != LIFETIME:
        raise InputError(f"{family.replace(' ', '_')}.y must be times with events; got {values.dtype}. {_HOW}")
    return values


def _parts(y: Any) -> tuple[Any, Any] | None:
    """Return times and events of what may be lifetimes, or None."""
    if isinstance(y, tuple) and len(y) == 2 and np.ndim(y[0]) == 1:
        return y
    if isinstance(y, pd.DataFrame):
        flags = [_flags(np.asarray(column)) for _, column in y.items()]
        return (y.iloc[:, 0], y.iloc[:, 1]) if flags == [False, True] else None
    names = getattr(getattr(y, "dtype", None), "names", None)
    if names is None:
        return None
    flags = [name for name in names if y.dtype[name].kind == "b"]
    if len(names) != 2 or len(flags) != 1:
        raise InputError(
            f"y must have one boolean and one numeric field if it is a structured array; got {y.dtype}. {_HOW}"
        )
    return y[next(name for name in names if name != flags[0])], y[flags[0]]


def _flags(values: AnyArray) -> bool:
    return values.dtype.kind in "biuf" and bool(np.isin(values, (0, 1)).all())


def _times(who: str, values: Any) -> FloatArray:
    try:
        times = np.asarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(f"{who} must hold times that are numbers; got others ({error}). {_HOW}") from error
    bad = ~(np.isfinite(times) & (times >= 0))
    if bad.any():
        first = int(np.argmax(bad))
        raise InputError(
            f"{who} must hold finite times >= 0; got {show_value(times[first])} in row {first} "
            f"({int(bad.sum())} of {len(bad)} rows). Drop or correct those rows."
        )
    return times


def _events(who: str, values: Any) -> BoolArray:
    events = np.asarray(values)
    if not _flags(events):
        got = ", ".join(map(repr, pd.unique(pd.Series(events)).tolist()[:5]))
        raise InputError(f"{who} must hold events that are True or False, or 1 or 0; got {got}. {_HOW}")
    return events.astype(bool)
