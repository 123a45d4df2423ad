"""Limits on options that several methods have, for `check_options`."""

from __future__ import annotations

from numbers import Integral

Limits = tuple[tuple[str, bool, str], ...]


def shares(options: object, *names: str) -> Limits:
    """Return the limits of options that are shares."""
    return tuple((name, 0 < getattr(options, name) < 1, "a number in (0, 1)") for name in names)


def positive(options: object, *names: str) -> Limits:
    """Return the limits of options that are sizes."""
    return tuple((name, getattr(options, name) > 0, "a number > 0") for name in names)


def at_least(options: object, **least: int) -> Limits:
    """Return the limits of options that are counts."""
    values = ((name, getattr(options, name), value) for name, value in least.items())
    return tuple(
        (name, isinstance(x, Integral) and int(x) >= value, f"an integer >= {value}") for name, x, value in values
    )
