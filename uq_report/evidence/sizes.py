"""Whether the tables of a result can be made of its JSON: sizes, positions, numbers and columns that fit.

What the schema cannot say is looked at here, before anything is allocated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from ..core.model.results import KINDS

TEXTS = ("object", "str", "string")  # dtypes of columns of text
_LARGEST = {"float16": 65504.0, "float32": 2.0**128 * (1 - 2.0**-24)}


def check_result(content: Mapping[str, Any]) -> None:
    """Refuse the JSON of a result whose tables cannot be made.

    Raises
    ------
    ValueError
        A size, a position or a number does not fit.
    InputError
        A column is missing.
    """
    for name in ("frame", "estimates"):
        _check_frame(content[name])
    if content["rows"] is not None:
        _check_rows(content["rows"])
    frame, estimates = ([column["name"] for column in content[name]["columns"]] for name in ("frame", "estimates"))
    KINDS[content["kind"]].check_columns(content["id"], frame, estimates)


def _check_frame(content: Mapping[str, Any]) -> None:
    _refuse_size("columns", len({column["name"] for column in content["columns"]}), len(content["columns"]))
    for column in content["columns"]:
        if (column["dtype"] in TEXTS) != ("levels" in column):
            raise ValueError(f"column {column['name']!r} must have values of its dtype; got {column['dtype']}")
        _refuse_size("rows", content["rows"], len(column["codes"] if "levels" in column else column["values"]))
        if "levels" in column:
            _check_codes(column["codes"], len(column["levels"]))
        else:
            _check_numbers(column["values"], column["dtype"])


def _check_codes(codes: Sequence[int], levels: int) -> None:
    if codes and max(codes) >= levels:
        raise ValueError(f"codes must be positions among {levels} levels; got {max(codes)}")


def _check_numbers(values: Sequence[Any], dtype: str) -> None:
    """Refuse numbers that their dtype cannot hold."""
    if dtype.startswith("float"):
        largest = _LARGEST.get(dtype)
        fits = largest is None or all(value is None or abs(value) <= largest for value in values)
    elif dtype == "bool":
        fits = {*map(type, values)} <= {bool}
    else:
        bits, signed = int(dtype.lstrip("uint")), not dtype.startswith("u")
        least, most = (-(2 ** (bits - 1)), 2 ** (bits - 1)) if signed else (0, 2**bits)
        fits = {*map(type, values)} <= {int} and (not values or (least <= min(values) and max(values) < most))
    if not fits:
        raise ValueError(f"values must be of dtype {dtype}; got others")


def _check_rows(content: Mapping[str, Any]) -> None:
    shape, drawn = content["shape"], content.get("sample")
    _refuse_size("shape", shape[:2], [len(content["measures"]), len(content["features"])])
    _refuse_size("shape", prod(shape), len(content["values"]))
    if drawn is not None:
        _refuse_size("sample.means", prod(shape[:2]), len(drawn["means"]))
        if not _are_positions(drawn["positions"], shape[2], drawn["of"]):
            raise ValueError(f"sample.positions must be {shape[2]} ascending positions below {drawn['of']}")


def _are_positions(positions: Sequence[int], number: int, of: int) -> bool:
    """Say whether these are so many ascending positions among `of`."""
    return len(positions) == number and [*positions] == sorted(set(positions)) and [*positions[-1:]] < [of]


def _refuse_size(name: str, recorded: Any, actual: Any) -> None:
    """Refuse a size that is not that of what is there, before anything of it is allocated."""
    if recorded != actual:
        raise ValueError(f"{name} must be the size of what follows, {actual}; got {recorded}")
