"""Options of explainers and checks: the default of each and what is allowed, stated once in the field."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import field, fields
from numbers import Integral
from typing import Any, ClassVar, TypeVar, cast

from .errors import check_options

T = TypeVar("T")
Limit = tuple[str, bool, str]  # an option, whether its value is allowed, and what is allowed


def option(default: T, allowed: str, holds: Callable[[Any], bool]) -> T:
    """Return a field of a dataclass whose value must satisfy `holds`; `allowed` says so in words."""
    return field(default=default, metadata={"allowed": allowed, "holds": holds})


def share(default: float) -> float:
    """Return a field for a number in (0, 1)."""
    return option(default, "a number in (0, 1)", lambda value: 0 < value < 1)


def positive(default: T) -> T:
    """Return a field for a number above 0."""
    return option(default, "a number > 0", lambda value: value > 0)


def not_negative(default: float) -> float:
    """Return a field for a number of 0 or more."""
    return option(default, "a number >= 0", lambda value: value >= 0)


def at_least(least: int, default: int) -> int:
    """Return a field for an integer of `least` or more."""
    return option(default, f"an integer >= {least}", lambda value: _is_whole(value) and value >= least)


def _is_whole(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def one_of(choices: Sequence[str], default: str) -> str:
    """Return a field for one of some names."""
    return option(default, f"one of {choices}", lambda value: value in choices)


class CheckedOptions:
    """A base of dataclasses that refuses options outside their limits, all of them in one error.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Demo(CheckedOptions):
    ...     name = "demo"
    ...     level: float = share(0.05)
    ...     top: int = at_least(1, 3)
    >>> Demo(level=2, top=0)
    Traceback (most recent call last):
    uq_report.core.support.errors.InputError: demo.level must be a number in (0, 1); got 2.
    demo.top must be an integer >= 1; got 0.
    """

    name: ClassVar[str]

    def __post_init__(self) -> None:
        """Refuse options that are not allowed."""
        stated = ((x.name, x.metadata) for x in fields(cast("Any", self)) if x.metadata)
        single = [(name, limit["holds"](getattr(self, name)), limit["allowed"]) for name, limit in stated]
        check_options(self.name, self, (*single, *self.limits()))

    def limits(self) -> Iterable[Limit]:
        """Return the limits of options that depend on each other."""
        return ()
