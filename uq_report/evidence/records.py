"""Read the fields of a run from JSON by their types; tables are for `codec`, and no library of arrays is loaded.

A run of an earlier format is migrated first, step by step: `MIGRATIONS` maps format N to the function that turns its
JSON into that of N + 1. Add a format only if readers of the last one would misread the file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from types import SimpleNamespace
from typing import Any, TypeAlias, get_args, get_origin, get_type_hints

from ..core.model.results import Result
from ..core.support.errors import InputError, words_of
from .run import FORMAT, Run
from .schema import fault
from .sizes import check_result

Migrations: TypeAlias = Mapping[int, Callable[[dict[str, Any]], dict[str, Any]]]
MIGRATIONS: Migrations = {}
# what reading a file raises that does not follow its schema
BROKEN = (KeyError, TypeError, ValueError, AttributeError, IndexError, StopIteration, OverflowError)
Own: TypeAlias = Mapping[Any, Callable[[Any], Any]]  # what reads a type whose JSON is not that of its fields alone


class Frame:
    """Stands for a pandas.DataFrame among the types of fields."""


def current(content: Any, source: str = "run.json") -> dict[str, Any]:
    """Return the JSON of a run in the format of this version; refuse what does not follow its schema."""
    if not isinstance(content, dict) or not isinstance(content.get("format"), int):
        raise InputError(f"{source} must be a run that uq_report wrote; it has no format number. Name its run.json.")
    now = migrated(content, source)
    if reason := fault(now):
        raise broken(source, FORMAT, reason)
    return now


def readable(content: Any, source: str = "run.json") -> dict[str, Any]:
    """Return what `current` does of a run that `codec.read` can read too; its tables are looked at and not made."""
    now = current(content, source)
    try:
        decoded(Run, now, {Result: check_result})
    except BROKEN as error:
        raise broken(source, FORMAT, words_of(error)) from error
    return now


def broken(source: str, format: int, reason: str) -> InputError:
    """Return the refusal of a file that does not follow the schema of its format."""
    return InputError(
        f"{source} must follow the schema of format {format}; got a file that does not "
        f"({reason}). Restore it from a copy, or run the audit again."
    )


def migrated(
    content: Mapping[str, Any], source: str, migrations: Migrations = MIGRATIONS, target: int = FORMAT
) -> dict[str, Any]:
    """Return a run's JSON, and that of its challenger, in the format `target`.

    Raises
    ------
    InputError
        The format is newer, or no migrations lead from it to `target`.
    """
    now = dict(content)
    while (number := now["format"]) != target:
        if number > target or number not in migrations:
            remedy = "Upgrade uq_report to read it." if number > target else "Run the audit again."
            raise InputError(f"{source} must have format {target}; got format {number}. {remedy}")
        try:
            now = {**migrations[number](now), "format": number + 1}
        except BROKEN as error:
            raise broken(source, number, words_of(error)) from error
    inner = now.get("challenger")
    if isinstance(inner, dict) and "format" in inner:
        now["challenger"] = migrated(inner, source, migrations, target)
    return now


def decoded(hint: Any, content: Any, own: Own) -> Any:
    """Return the part of a run, which is of the type `hint`, that JSON holds."""
    if hint in own:
        return own[hint](content)
    if is_dataclass(hint):
        return decoded_fields(hint, content, own)
    part = part_of(hint)
    if get_origin(hint) is tuple:
        return tuple(content) if part is None else tuple(decoded(part, item, own) for item in content)
    if part is None or content is None:
        return content
    if get_origin(hint) is Mapping:
        return {name: decoded(part, item, own) for name, item in content.items()}
    return decoded(part, content, own)


def decoded_fields(cls: Any, content: Any, own: Own) -> Any:
    """Return the dataclass whose fields JSON holds."""
    return cls(**{name: decoded(hint, content[name], own) for name, hint in fields_of(cls).items()})


@cache
def fields_of(cls: Any) -> Mapping[str, Any]:
    """Return the types of a dataclass's fields by their names."""
    hints = get_type_hints(cls, localns={"pd": SimpleNamespace(DataFrame=Frame)})
    return {field.name: hints[field.name] for field in fields(cls)}


@cache
def part_of(hint: Any) -> Any:
    """Return the dataclass that a tuple, a mapping or an optional field holds; None where it holds JSON values."""
    return next(filter(is_dataclass, get_args(hint)), None)
