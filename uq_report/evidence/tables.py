"""Frames and values row by row as JSON and back, with ten significant digits in their numbers.

Frames are stored by column with their dtype. Text columns hold each distinct value once
(``levels``) and a code per row, since measures and features repeat thousands of times.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from pydantic_core import to_json

from ..core.model.results import RowSample, RowValues
from ..core.support.arrays import AnyArray, FloatArray
from ..core.support.errors import InputError
from .canonical import Block, plain
from .schema import TEXTS

_DIGITS = 10
# A whole number of ten digits over one of these, all exact, is the nearest double to that decimal (Clinger 1990).
_TENS = np.array([float(10**power) for power in range(23)])
_PLAIN = (1e-4, 1e16)  # between these, numbers are written without an exponent, of whose form there are several
_TIE = 1e-4  # so near to a half, the rounding of a product may hide on which side of it a number lies


def rounded(values: Any) -> Any:
    """Return numbers with ten significant digits, exactly as text of them would be read.

    Parameters
    ----------
    values : float array of shape (n,)
        Finite, or missing.

    References
    ----------
    Clinger, W. D. (1990). How to read floating point numbers accurately. PLDI.

    Examples
    --------
    >>> rounded(np.array([1 / 3, 1e-30 / 3, np.nan])).tolist()
    [0.3333333333, 3.333333333e-31, nan]
    """
    power, safe = _power(values)
    scaled = values * _TENS[power]
    whole, size = np.rint(scaled), np.abs(scaled)
    sure = np.abs(np.abs(scaled - whole) - 0.5) > _TIE
    exact = safe & sure & (size >= _TENS[_DIGITS - 1]) & (size < _TENS[_DIGITS])
    numbers = np.where(exact, whole / _TENS[power], values)
    others = ~exact & (values != 0) & ~np.isnan(values)
    numbers[others] = [float(format(value, f".{_DIGITS}g")) for value in values[others].tolist()]
    return numbers


def _power(values: Any) -> tuple[Any, Any]:
    """Return the powers of ten that leave ten digits before the point, and whether they are exact."""
    with np.errstate(divide="ignore"):
        power = _DIGITS - 1 - np.floor(np.log10(np.abs(values)))
    safe = (power >= 0) & (power < len(_TENS))
    return np.where(safe, power, 0).astype(int), safe


def number_text(values: AnyArray) -> bytes:
    """Return the JSON of numbers or truth values, with the digits that Python's have; null for missing ones.

    Parameters
    ----------
    values : array of shape (n,)
        Finite, or missing.

    Examples
    --------
    >>> number_text(np.array([1 / 3, 1e-5, np.nan, -2.0])), number_text(np.array([True, False]))
    (b'[0.3333333333333333,1e-05,null,-2.0]', b'[true,false]')
    """
    text = to_json(values.tolist(), inf_nan_mode="null")
    if values.dtype.kind != "f":
        return text
    size = np.abs(values)
    places = np.flatnonzero((size > 0) & (size < _PLAIN[0]) | (size >= _PLAIN[1])).tolist()
    if not places:
        return text
    numbers = text[1:-1].split(b",")
    for place in places:
        numbers[place] = repr(float(values[place])).encode()
    return b"[%b]" % b",".join(numbers)


_AT_ONCE = 2**16  # numbers of an array that are Python's at once


def encode_rows(rows: RowValues, where: str) -> dict[str, Any]:
    """Return row values as what `canonical` writes."""
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


def decode_rows(content: Mapping[str, Any]) -> RowValues:
    """Return the row values of JSON that `sizes` let pass."""
    array, drawn = np.array(content["values"], dtype=float).reshape(content["shape"]), content.get("sample")
    sample = None
    if drawn is not None:
        means = np.array(drawn["means"], dtype=float).reshape(array.shape[:2])
        sample = RowSample(drawn["of"], np.array(drawn["positions"], dtype=np.int64), means)
    return RowValues(tuple(content["measures"]), tuple(content["features"]), array, sample)


def rows_as_saved(rows: RowValues, where: str) -> RowValues:
    """Return row values as they will be read, without holding all of them as Python's numbers."""
    values = np.array(rows.values, dtype=float).ravel()
    for start in range(0, len(values), _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        values[part] = _saved(values[part], where)
    return replace(rows, values=values.reshape(rows.values.shape))


def encode_frame(frame: pd.DataFrame, where: str) -> dict[str, Any]:
    """Return a frame as what `canonical` writes."""
    columns = [_encode_column(str(name), frame[name], f"{where}[{name!r}]") for name in frame.columns]
    return {"rows": len(frame), "columns": columns}


def decode_frame(content: Mapping[str, Any]) -> pd.DataFrame:
    """Return the frame of JSON that `sizes` let pass."""
    index = pd.RangeIndex(content["rows"])
    return pd.DataFrame({column["name"]: _decode_column(column) for column in content["columns"]}, index=index)


def frame_as_saved(frame: pd.DataFrame, where: str) -> pd.DataFrame:
    """Return a frame as it will be read, without holding its cells as Python's numbers."""
    columns = {str(name): _column_as_saved(frame[name], f"{where}[{name!r}]") for name in frame.columns}
    return pd.DataFrame(columns, index=pd.RangeIndex(len(frame)))


def _encode_column(name: str, values: pd.Series[Any], where: str) -> dict[str, Any]:
    dtype = str(values.dtype)
    if _is_number(values):
        return {"name": name, "dtype": dtype, "values": _numbers(values.to_numpy(), where)}
    levels, codes = _coded(values, where)
    return {"name": name, "dtype": dtype, "levels": levels, "codes": Block(to_json(codes))}


def _decode_column(content: Mapping[str, Any]) -> AnyArray | pd.Series[Any]:
    if "values" in content:
        return np.array(content["values"], dtype=content["dtype"])
    return _texts(content["levels"], content["codes"], content["dtype"])


def _column_as_saved(values: pd.Series[Any], where: str) -> AnyArray | pd.Series[Any]:
    cells = values.to_numpy()
    if not _is_number(values):
        if values.dtype == object and {*map(type, cells.tolist())} <= {str}:  # nothing but texts is read as it stands
            return _typed(cells.copy(), "object")
        return _texts(*_coded(values, where), str(values.dtype))
    saved = _saved(cells.astype(float), where) if cells.dtype.kind == "f" else cells
    return np.array(saved, dtype=cells.dtype)


def _is_number(values: pd.Series[Any]) -> bool:
    return isinstance(values.dtype, np.dtype) and values.dtype.kind in "fiub"


def _coded(values: pd.Series[Any], where: str) -> tuple[list[Any], list[int]]:
    """Return the distinct cells of a text column as JSON values, in the order they come, and which of them each is."""
    if str(values.dtype) not in TEXTS:
        raise InputError(f"{where} must hold numbers, booleans or text; got dtype {values.dtype}. Convert the column.")
    cells = values.tolist()
    texts = {text: place for place, text in enumerate(dict.fromkeys(cells))}
    if {*map(type, texts)} <= {str}:
        return [*texts], [*map(texts.__getitem__, cells)]
    levels: dict[tuple[type, Any], int] = {}
    cells = [None if value is None or value != value else value for value in cells]  # noqa: PLR0124 - NaN is itself not
    codes = [levels.setdefault((type(cell), cell), len(levels)) for cell in cells]
    return [plain(cell, where) for _, cell in levels], codes


def _texts(levels: Sequence[Any], codes: Sequence[int], dtype: str) -> AnyArray | pd.Series[Any]:
    """Return a text column of its distinct cells, and which of them each is."""
    known = np.array([np.nan if level is None else level for level in levels], dtype=object)
    return _typed(known[np.array(codes, dtype=np.intp)], dtype)


def _typed(cells: AnyArray, dtype: str) -> AnyArray | pd.Series[Any]:
    """Return cells so that a frame gives them this dtype: since pandas 3 it would take texts for its own type."""
    own_text_type = int(pd.__version__.partition(".")[0]) >= 3
    return pd.Series(cells, dtype=dtype) if own_text_type else cells


def _numbers(values: AnyArray, where: str) -> Block:
    return Block(number_text(_saved(values.astype(float), where) if values.dtype.kind == "f" else values))


def _saved(values: FloatArray, where: str) -> FloatArray:
    """Return numbers as they will be read."""
    if np.isinf(values).any():
        raise InputError(f"{where} must be finite to be saved; got infinite values. List them as omissions.")
    numbers: FloatArray = rounded(values)
    return numbers
