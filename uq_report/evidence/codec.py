"""A Run as canonical JSON and back: sorted keys, no NaN, ten significant digits in the numbers of results.

Frames are stored by column with their dtype. Text columns hold each distinct value once
(``levels``) and a code per row, since measures and features repeat thousands of times.
The published schema is ``run.schema.json`` beside this file.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import cache
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np
import pandas as pd

from ..core.arrays import IntArray
from ..core.bounded import json_of
from ..core.errors import InputError, words_of
from ..core.results import KINDS, Result, RowSample, RowValues
from .canonical import canonical
from .digits import rounded
from .finding import Outcome
from .held import once
from .migrations import BROKEN, broken, migrated
from .run import FORMAT, Run
from .schema import fault

_TEXT_DTYPES = ("object", "str", "string")
_AT_ONCE = 2**16  # numbers of an array that are Python's at once


@once
def dumps(run: Run) -> bytes:
    """Return the canonical bytes of a run: equal runs give equal bytes. They are made once, as a run never changes.

    Raises
    ------
    InputError
        If a result holds something that is no JSON value; the message names the place.
    """
    return canonical(encode(run))


def loads(data: bytes, source: str = "run.json") -> Run:
    """Return the run that `dumps` wrote; refuse anything else, and formats this version does not know."""
    return read(json_of(data, source), source)


def read(content: Any, source: str = "run.json") -> Run:
    """Return the run of JSON values, see `loads`."""
    if not isinstance(content, dict) or not isinstance(content.get("format"), int):
        raise InputError(f"{source} must be a run that uq_report wrote; it has no format number. Name its run.json.")
    content = migrated(content, source)
    if reason := fault(content):
        raise broken(source, FORMAT, reason)
    try:
        return decode(content)
    except BROKEN as error:
        raise broken(source, FORMAT, words_of(error)) from error


def sha256(run: Run) -> str:
    """Return the SHA-256 of a run's canonical bytes, which is that of its run.json."""
    return hashlib.sha256(dumps(run)).hexdigest()


def as_saved(result: Result) -> Result:
    """Return a result exactly as `loads` will give it back; refuse one that cannot be saved."""
    again: Result = _fields_as_saved(KINDS[result.kind], result, result.id)
    return again


def outcome_as_saved(outcome: Outcome) -> Outcome:
    """Return an outcome exactly as `loads` will give it back; refuse one that cannot be saved."""
    again: Outcome = _decoded(Outcome, _encoded(Outcome, outcome, f"outcome of {outcome.check}"))
    return again


def encode(run: Run) -> dict[str, Any]:
    """Return a run as JSON values."""
    return _encoded_fields(Run, run, "run")


def decode(content: Mapping[str, Any]) -> Run:
    """Return the run of `encode`."""
    run: Run = _decoded(Run, content)
    return run


def plain(value: Any, where: str = "value") -> Any:
    """Return `value` as run.json gives it back: keys sorted, tuples and sets lists, numpy scalars Python's, NaN null.

    Examples
    --------
    >>> plain({"grid": (1, np.float64(2.5)), "missing": float("nan")})
    {'grid': [1, 2.5], 'missing': None}
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        if math.isinf(value):
            raise InputError(f"{where} must be finite to be saved; got {value}. Leave it out, with a note.")
        return None if math.isnan(value) else value
    if isinstance(value, Mapping):
        return {str(key): plain(value[key], f"{where}.{key}") for key in sorted(value, key=str)}
    if isinstance(value, np.ndarray):
        return plain(value.tolist(), where)
    if isinstance(value, set | frozenset):
        value = sorted(value, key=str)
    if isinstance(value, list | tuple):
        return [plain(item, f"{where}[{i}]") for i, item in enumerate(value)]
    raise InputError(f"{where} must be a JSON value to be saved; got a {type(value).__name__}. Use text or numbers.")


def _encoded(hint: Any, value: Any, where: str) -> Any:
    """Return a part of a run, which is of the type `hint`, as JSON values; `where` names its place."""
    if hint in _OWN:
        return _OWN[hint][0](value, where)
    if is_dataclass(hint):
        return _encoded_fields(hint, value, where)
    part = _part(hint)
    if part is None or value is None:
        return plain(value, where)
    if isinstance(value, Mapping):
        return {name: _encoded(part, item, f"{where}.{name}") for name, item in value.items()}
    if isinstance(value, tuple):
        return [_encoded(part, item, f"{where}[{i}]") for i, item in enumerate(value)]
    return _encoded(part, value, where)


def _encoded_fields(cls: Any, value: Any, where: str) -> dict[str, Any]:
    return {name: _encoded(hint, getattr(value, name), f"{where}.{name}") for name, hint in _fields(cls).items()}


def _decoded(hint: Any, content: Any) -> Any:
    """Return the part of a run, which is of the type `hint`, that `_encoded` took."""
    if hint in _OWN:
        return _OWN[hint][1](content)
    if is_dataclass(hint):
        return _decoded_fields(hint, content)
    part = _part(hint)
    if get_origin(hint) is tuple:
        return tuple(_decoded(part, item) for item in content)
    if part is None or content is None:
        return content
    if get_origin(hint) is Mapping:
        return {name: _decoded(part, item) for name, item in content.items()}
    return _decoded(part, content)


def _decoded_fields(cls: Any, content: Any) -> Any:
    return cls(**{name: _decoded(hint, content[name]) for name, hint in _fields(cls).items()})


@cache
def _fields(cls: Any) -> Mapping[str, Any]:
    """Return the types of a dataclass's fields by their names."""
    hints = get_type_hints(cls)
    return {field.name: hints[field.name] for field in fields(cls)}


@cache
def _part(hint: Any) -> Any:
    """Return the dataclass that a tuple, a mapping or an optional field holds; None where it holds JSON values."""
    return next(filter(is_dataclass, get_args(hint)), None)


def _encode_result(result: Result, _: str) -> dict[str, Any]:
    return {"kind": result.kind, **_encoded_fields(type(result), result, result.id)}


def _decode_result(content: Mapping[str, Any]) -> Result:
    result: Result = _decoded_fields(KINDS[content["kind"]], content)
    return result


def _encode_rows(rows: RowValues, where: str) -> dict[str, Any]:
    array, sample = rows.values, rows.sample
    content = {
        "measures": list(rows.measures),
        "features": list(rows.features),
        "shape": list(array.shape),
        "values": _numbers(array.ravel(), where),
    }
    if sample is None:
        return content
    means = _numbers(sample.means.ravel(), where)
    return content | {"sample": {"of": sample.of, "positions": sample.positions.tolist(), "means": means}}


def _decode_rows(content: Mapping[str, Any]) -> RowValues:
    _refuse_size("shape", content["shape"][:2], [len(content["measures"]), len(content["features"])])
    array, drawn = np.array(content["values"], dtype=float).reshape(content["shape"]), content.get("sample")
    sample = None
    if drawn is not None:
        if not _are_positions(drawn["positions"], array.shape[2], drawn["of"]):
            raise ValueError(f"sample.positions must be {array.shape[2]} ascending positions below {drawn['of']}")
        means = np.array(drawn["means"], dtype=float).reshape(array.shape[:2])
        sample = RowSample(drawn["of"], np.array(drawn["positions"], dtype=np.int64), means)
    return RowValues(tuple(content["measures"]), tuple(content["features"]), array, sample)


def _rows_as_saved(rows: RowValues, where: str) -> RowValues:
    """Return row values as they will be read, without holding all of them as Python's numbers."""
    values = np.array(rows.values, dtype=float).ravel()
    for start in range(0, len(values), _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        values[part] = _saved(values[part], where)
    return replace(rows, values=values.reshape(rows.values.shape))


def _encode_frame(frame: pd.DataFrame, where: str) -> dict[str, Any]:
    columns = [_encode_column(str(name), frame[name], f"{where}[{name!r}]") for name in frame.columns]
    return {"rows": len(frame), "columns": columns}


def _encode_column(name: str, values: pd.Series[Any], where: str) -> dict[str, Any]:
    dtype = str(values.dtype)
    if _is_number(values):
        return {"name": name, "dtype": dtype, "values": _numbers(values.to_numpy(), where)}
    levels, codes = _coded(values, where)
    return {"name": name, "dtype": dtype, "levels": levels, "codes": codes.tolist()}


def _is_number(values: pd.Series[Any]) -> bool:
    return isinstance(values.dtype, np.dtype) and values.dtype.kind in "fiub"


def _coded(values: pd.Series[Any], where: str) -> tuple[list[Any], IntArray]:
    """Return the distinct cells of a text column as JSON values, in the order they come, and which of them each is."""
    if str(values.dtype) not in _TEXT_DTYPES:
        raise InputError(f"{where} must hold numbers, booleans or text; got dtype {values.dtype}. Convert the column.")
    numbers, texts = pd.factorize(values, use_na_sentinel=False)
    if pd.api.types.infer_dtype(texts, skipna=False) == "string":
        return plain([*texts], where), numbers
    levels: dict[tuple[type, Any], int] = {}
    cells = [None if value is None or value != value else value for value in values]  # noqa: PLR0124 - NaN is itself not
    codes = [levels.setdefault((type(cell), cell), len(levels)) for cell in cells]
    return [plain(cell, where) for _, cell in levels], np.array(codes, dtype=np.intp)


def _are_positions(positions: Sequence[int], number: int, of: int) -> bool:
    """Say whether these are so many ascending positions among `of`."""
    return len(positions) == number and [*positions] == sorted(set(positions)) and [*positions[-1:]] < [of]


def _refuse_size(name: str, recorded: Any, actual: Any) -> None:
    """Refuse a size that is not that of what is there, before anything of it is allocated."""
    if recorded != actual:
        raise ValueError(f"{name} must be the size of what follows, {actual}; got {recorded}")


def _decode_frame(content: Mapping[str, Any]) -> pd.DataFrame:
    names = [column["name"] for column in content["columns"]]
    _refuse_size("columns", len({*names}), len(names))
    for column in content["columns"]:
        _refuse_size("rows", content["rows"], len(column["values"] if "values" in column else column["codes"]))
    columns = {column["name"]: _decode_column(column) for column in content["columns"]}
    return pd.DataFrame(columns, index=pd.RangeIndex(content["rows"]))


def _decode_column(content: Mapping[str, Any]) -> pd.Series[Any]:
    if "values" in content:
        return pd.Series(np.array(content["values"], dtype=content["dtype"]))
    levels = len(content["levels"])
    if max(content["codes"], default=0) > max(levels - 1, 0):
        raise ValueError(f"codes must be positions among {levels} levels; got {max(content['codes'])}")
    return _texts(content["levels"], np.array(content["codes"], dtype=np.intp), content["dtype"])


def _texts(levels: Sequence[Any], codes: IntArray, dtype: str) -> pd.Series[Any]:
    """Return a text column of its distinct cells, and which of them each is."""
    own_text_type = int(pd.__version__.partition(".")[0]) >= 3
    cells = np.array([np.nan if level is None else level for level in levels], dtype=object)[codes]
    return pd.Series(cells, dtype=dtype if own_text_type else object)


def _frame_as_saved(frame: pd.DataFrame, where: str) -> pd.DataFrame:
    """Return a frame as it will be read, without holding its cells as Python's numbers."""
    columns = {str(name): _column_as_saved(frame[name], f"{where}[{name!r}]") for name in frame.columns}
    return pd.DataFrame(columns, index=pd.RangeIndex(len(frame)))


def _column_as_saved(values: pd.Series[Any], where: str) -> pd.Series[Any]:
    if not _is_number(values):
        return _texts(*_coded(values, where), str(values.dtype))
    numbers = values.to_numpy()
    return pd.Series(
        (_saved(numbers.astype(float), where) if numbers.dtype.kind == "f" else numbers).astype(numbers.dtype)
    )


def _numbers(values: Any, where: str) -> list[Any]:
    if values.dtype.kind != "f":
        return list(values.tolist())
    numbers = _saved(values.astype(float), where)
    missing = np.isnan(numbers)
    if missing.any():
        numbers = numbers.astype(object)
        numbers[missing] = None
    return list(numbers.tolist())


def _saved(values: Any, where: str) -> Any:
    """Return numbers as they will be read."""
    if np.isinf(values).any():
        raise InputError(f"{where} must be finite to be saved; got infinite values. List them as omissions.")
    return rounded(values)


def _fields_as_saved(cls: Any, value: Any, where: str) -> Any:
    hints = _fields(cls).items()
    return cls(**{name: _as_saved(hint, getattr(value, name), f"{where}.{name}") for name, hint in hints})


def _as_saved(hint: Any, value: Any, where: str) -> Any:
    """Return a part of a result as it will be read."""
    if isinstance(value, pd.DataFrame):
        return _frame_as_saved(value, where)
    if isinstance(value, RowValues):
        return _rows_as_saved(value, where)
    return _decoded(hint, _encoded(hint, value, where))


# The types whose JSON is not that of their fields alone: what writes it, and what reads it.
_OWN: Mapping[Any, tuple[Callable[[Any, str], Any], Callable[[Any], Any]]] = {
    Result: (_encode_result, _decode_result),
    RowValues: (_encode_rows, _decode_rows),
    pd.DataFrame: (_encode_frame, _decode_frame),
}
