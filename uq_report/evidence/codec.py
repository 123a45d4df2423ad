"""A Run as canonical JSON and back: sorted keys, no NaN, ten significant digits in the numbers of results.

How tables are stored is said in `tables`, the published schema is ``run.schema.json`` beside this file.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, TypeAlias, get_args, get_origin, get_type_hints

import pandas as pd

from ..core.model.results import KINDS, Result, RowValues
from ..core.support.errors import InputError, words_of
from ..core.support.safe_loading import json_of
from . import tables
from .canonical import canonical, plain
from .finding import Outcome
from .frozen import once
from .run import FORMAT, Run
from .schema import check_result, fault

Migrations: TypeAlias = Mapping[int, Callable[[dict[str, Any]], dict[str, Any]]]
MIGRATIONS: Migrations = {}
# what reading a file raises that does not follow its schema
BROKEN = (KeyError, TypeError, ValueError, AttributeError, IndexError, StopIteration, OverflowError)
Own: TypeAlias = Mapping[Any, Callable[[Any], Any]]  # what reads a type whose JSON is not that of its fields alone


def current(content: Any, source: str = "run.json") -> dict[str, Any]:
    """Return the JSON of a run in the format of this version; refuse what does not follow its schema."""
    if not isinstance(content, dict) or not isinstance(content.get("format"), int):
        raise InputError(f"{source} must be a run that uq_report wrote; it has no format number. Name its run.json.")
    now = migrated(content, source)
    if reason := fault(now):
        raise broken(source, FORMAT, reason)
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
        newer = isinstance(number, int) and number > target
        if newer or not isinstance(number, int) or number not in migrations:
            remedy = "Upgrade uq_report to read it." if newer else "Run the audit again."
            raise InputError(f"{source} must have format {target}; got format {number!r}. {remedy}")
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
    hints = get_type_hints(cls, localns={"pd": pd})
    return {field.name: hints[field.name] for field in fields(cls)}


@cache
def part_of(hint: Any) -> Any:
    """Return the dataclass that a tuple, a mapping or an optional field holds; None where it holds JSON values."""
    return next(filter(is_dataclass, get_args(hint)), None)


@once
def dumps(run: Run) -> bytes:
    """Return the canonical bytes of a run: equal runs give equal bytes. They are made once, as a run never changes.

    Raises
    ------
    InputError
        If a result holds something that is no JSON value; the message names the place.
    """
    return canonical(_encoded_fields(Run, run, "run"))


def loads(data: bytes, source: str = "run.json") -> Run:
    """Return the run that `dumps` wrote; refuse anything else, and formats this version does not know."""
    return read(json_of(data, source), source)


def read(content: Any, source: str = "run.json") -> Run:
    """Return the run of JSON values, see `loads`."""
    now = current(content, source)
    try:
        return decode(now)
    except BROKEN as error:
        raise broken(source, FORMAT, words_of(error)) from error


def decode(content: Mapping[str, Any]) -> Run:
    """Return the run of JSON that `current` let pass."""
    run: Run = decoded(Run, content, _READERS)
    return run


def encode(run: Run) -> dict[str, Any]:
    """Return a run as JSON values."""
    content: dict[str, Any] = json_of(dumps(run), "run.json")
    return content


def sha256(run: Run) -> str:
    """Return the SHA-256 of a run's canonical bytes, which is that of its run.json."""
    return hashlib.sha256(dumps(run)).hexdigest()


def as_saved(result: Result) -> Result:
    """Return a result exactly as `loads` will give it back; refuse one that cannot be saved."""
    return _decode_result(_encode_result(result))


def outcome_as_saved(outcome: Outcome) -> Outcome:
    """Return an outcome exactly as `loads` will give it back; refuse one that cannot be saved."""
    again: Outcome = decoded(Outcome, _encoded(Outcome, outcome, f"outcome of {outcome.check}"), _READERS)
    return again


def _encoded(hint: Any, value: Any, where: str) -> Any:
    """Return a part of a run, which is of the type `hint`, as JSON values; `where` names its place."""
    if hint in _WRITERS:
        return _WRITERS[hint](value, where)
    if is_dataclass(hint):
        return _encoded_fields(hint, value, where)
    part = part_of(hint)
    if part is None or value is None:
        return plain(value, where)
    if isinstance(value, Mapping):
        return {name: _encoded(part, item, f"{where}.{name}") for name, item in value.items()}
    if isinstance(value, tuple):
        return [_encoded(part, item, f"{where}[{i}]") for i, item in enumerate(value)]
    return _encoded(part, value, where)


def _encoded_fields(cls: Any, value: Any, where: str) -> dict[str, Any]:
    return {name: _encoded(hint, getattr(value, name), f"{where}.{name}") for name, hint in fields_of(cls).items()}


def _encode_result(result: Result, _: str = "") -> dict[str, Any]:
    return {"kind": result.kind, **_encoded_fields(type(result), result, result.id)}


def _decode_result(content: Mapping[str, Any]) -> Result:
    check_result(content)
    result: Result = decoded_fields(KINDS[content["kind"]], content, _READERS)
    return result


# What writes and what reads the types whose JSON is not that of their fields alone.
_WRITERS: Mapping[Any, Callable[[Any, str], Any]] = {
    Result: _encode_result,
    RowValues: tables.encode_rows,
    pd.DataFrame: tables.encode_frame,
}
_READERS: Mapping[Any, Callable[[Any], Any]] = {
    Result: _decode_result,
    RowValues: tables.decode_rows,
    pd.DataFrame: tables.decode_frame,
}
