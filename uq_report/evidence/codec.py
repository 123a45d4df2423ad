"""A Run as canonical JSON and back: sorted keys, no NaN, ten significant digits in the numbers of results.

How tables are stored is said in `tables`, the published schema is ``run.schema.json`` beside this file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import is_dataclass
from typing import Any

import pandas as pd

from ..core.model.results import KINDS, Result, RowValues
from ..core.support.errors import words_of
from ..core.support.safe_loading import json_of
from . import tables
from .caching import once
from .canonical import canonical
from .finding import Outcome
from .json_values import plain
from .records import BROKEN, Frame, broken, current, decoded, decoded_fields, fields_of, part_of
from .run import FORMAT, Run
from .sizes import check_result


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
    """Return the run of JSON that `records.current` let pass."""
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
    again: Result = _fields_as_saved(KINDS[result.kind], result, result.id)
    return again


def outcome_as_saved(outcome: Outcome) -> Outcome:
    """Return an outcome exactly as `loads` will give it back; refuse one that cannot be saved."""
    again: Outcome = _as_saved(Outcome, outcome, f"outcome of {outcome.check}")
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


def _encode_result(result: Result, _: str) -> dict[str, Any]:
    return {"kind": result.kind, **_encoded_fields(type(result), result, result.id)}


def _decode_result(content: Mapping[str, Any]) -> Result:
    check_result(content)
    result: Result = decoded_fields(KINDS[content["kind"]], content, _READERS)
    return result


def _fields_as_saved(cls: Any, value: Any, where: str) -> Any:
    hints = fields_of(cls).items()
    return cls(**{name: _as_saved(hint, getattr(value, name), f"{where}.{name}") for name, hint in hints})


def _as_saved(hint: Any, value: Any, where: str) -> Any:
    """Return a part of a result as it will be read."""
    if isinstance(value, pd.DataFrame):
        return tables.frame_as_saved(value, where)
    if isinstance(value, RowValues):
        return tables.rows_as_saved(value, where)
    return decoded(hint, _encoded(hint, value, where), _READERS)


# What writes and what reads the types whose JSON is not that of their fields alone.
_WRITERS: Mapping[Any, Callable[[Any, str], Any]] = {
    Result: _encode_result,
    RowValues: tables.encode_rows,
    Frame: tables.encode_frame,
}
_READERS: Mapping[Any, Callable[[Any], Any]] = {
    Result: _decode_result,
    RowValues: tables.decode_rows,
    Frame: tables.decode_frame,
}
