"""Values that never change: their classes, and what is made once of each."""

from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, field
from functools import cache, wraps
from typing import Any, ClassVar, TypeVar, cast, dataclass_transform, get_type_hints
from weakref import finalize


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(field,))
class Frozen:
    """Makes a frozen dataclass, with fields by keyword, of every class below it: write no decorator."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    def __init_subclass__(cls) -> None:
        """Take fields by keyword."""
        super().__init_subclass__()
        dataclass(frozen=True, kw_only=True)(cls)


# types are hashable; that mypy does not see it of classes with fields is why this is no decorator
hints_of: Callable[[Any], Mapping[str, Any]] = cache(get_type_hints)

F = TypeVar("F", bound=Callable[..., Any])


def once(make: F) -> F:
    """Let a function make what it returns of its first argument, and of the names after it, once.

    Values are distinguished by identity, so that a run or a result, which have no hash, can be the first. What is
    returned must not hold that value itself, or neither would ever be let go.

    Examples
    --------
    >>> from uq_report.evidence.run import Run
    >>> run = Run(as_of="2026-11-21", subject={}, settings={}, environment={})
    >>> words = once(lambda run, word: [run.as_of, word])
    >>> words(run, "a") is words(run, "a"), words(run, "a") is words(run, "b")
    (True, False)
    """
    known: dict[int, dict[tuple[Any, ...], Any]] = {}

    @wraps(make)
    def made(value: Any, *names: Any) -> Any:
        key = id(value)
        if key not in known:
            known[key] = {}
            finalize(value, known.pop, key, None).atexit = False
        of_value = known[key]
        if names not in of_value:
            of_value[names] = make(value, *names)
        return of_value[names]

    return cast("F", made)
