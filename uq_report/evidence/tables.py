"""Frames and values row by row as JSON and back, with ten significant digits in their numbers.

Ten digits are far more than the intervals of numbers allow, at 60% of the bytes of all. Frames are stored by column
with their dtype. Text columns hold each distinct value once (``levels``) and a code per row, since measures and
features repeat thousands of times.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ..core.model.results import RowSample, RowValues
from ..core.support.arrays import AnyArray
from ..core.support.errors import InputError
from .canonical import plain
from .schema import TEXTS


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
    """Return the row values of JSON that `schema` let pass."""
    array, drawn = np.array(content["values"], dtype=float).reshape(content["shape"]), content.get("sample")
    sample = None
    if drawn is not None:
        means = np.array(drawn["means"], dtype=float).reshape(array.shape[:2])
        sample = RowSample(drawn["of"], np.array(drawn["positions"], dtype=np.int64), means)
    return RowValues(tuple(content["measures"]), tuple(content["features"]), array, sample)


def encode_frame(frame: pd.DataFrame, where: str) -> dict[str, Any]:
    """Return a frame as what `canonical` writes.

    Examples
    --------
    >>> encode_frame(pd.DataFrame({"x": [1 / 3, np.nan]}), "frame")["columns"]
    [{'name': 'x', 'dtype': 'float64', 'values': [0.3333333333, None]}]
    """
    columns = [_encode_column(str(name), frame[name], f"{where}[{name!r}]") for name in frame.columns]
    return {"rows": len(frame), "columns": columns}


def decode_frame(content: Mapping[str, Any]) -> pd.DataFrame:
    """Return the frame of JSON that `schema` let pass."""
    index = pd.RangeIndex(content["rows"])
    return pd.DataFrame({column["name"]: _decode_column(column) for column in content["columns"]}, index=index)


def _encode_column(name: str, values: pd.Series[Any], where: str) -> dict[str, Any]:
    dtype = str(values.dtype)
    if isinstance(values.dtype, np.dtype) and values.dtype.kind in "fiub":
        return {"name": name, "dtype": dtype, "values": _numbers(values.to_numpy(), where)}
    levels, codes = _coded(values, where)
    return {"name": name, "dtype": dtype, "levels": levels, "codes": codes}


def _decode_column(content: Mapping[str, Any]) -> AnyArray | pd.Series[Any]:
    if "values" in content:
        return np.array(content["values"], dtype=content["dtype"])
    return _texts(content["levels"], content["codes"], content["dtype"])


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
    cells = known[np.array(codes, dtype=np.intp)]
    # since pandas 3 a frame would take texts for its own type
    return pd.Series(cells, dtype=dtype) if int(pd.__version__.partition(".")[0]) >= 3 else cells


def _numbers(values: AnyArray, where: str) -> list[Any]:
    """Return numbers as JSON values; missing ones are None."""
    if values.dtype.kind != "f":
        return list(values.tolist())
    if np.isinf(values).any():
        raise InputError(f"{where} must be finite to be saved; got infinite values. List them as omissions.")
    return [None if math.isnan(value) else float(f"{value:.10g}") for value in values.astype(float).tolist()]
