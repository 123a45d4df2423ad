"""Whether a run's JSON follows the published schema: the part of JSON Schema that ``run.schema.json`` uses.

It is checked whenever a run is loaded, so that every reader can rely on it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from functools import cache, cached_property
from importlib import resources
from itertools import chain, repeat
from math import prod
from reprlib import Repr
from typing import Any, NamedTuple

from ..core.model.results import KINDS

Schema = Mapping[str, Any]
_TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,), "array": (list,), "string": (str,), "integer": (int,), "number": (int, float),
    "boolean": (bool,), "null": (type(None),),
}  # fmt: skip
_LARGEST = 2**63  # what integers of frames can hold
_SHOWN = 60
_REPR = Repr()
_REPR.maxdict = _REPR.maxlist = _SHOWN // 3  # an item and its comma have three characters at least
_REPR.maxstring = _REPR.maxlong = _REPR.maxother = _LARGEST


@cache
def run_schema() -> Schema:
    """Return the schema of a run."""
    content: Schema = json.loads(resources.files("uq_report.evidence").joinpath("run.schema.json").read_bytes())
    return content


@cache
def _target(reference: str) -> _SchemaPart:
    """Return the part of the schema that a reference names."""
    target: Any = run_schema()
    for step in reference.split("/")[1:]:
        target = target[step]
    return _SchemaPart(target)


def fault(content: Any, schema: Schema | None = None) -> str:
    """Return where JSON first breaks a schema, that of a run if none is given, and how; empty if it does not.

    Examples
    --------
    >>> fault([]), fault({"format": 1})
    ('run: must be of type object; got []', "run: must have 'as_of'")
    """
    found = (_target("#") if schema is None else _SchemaPart(schema)).fault(content)
    return "" if found is None else found.inside("run").words


class _Fault(NamedTuple):
    """A place, what holds there by the schema, and the value that breaks it: its words are made where it is told."""

    where: str
    rule: str
    got: tuple[Any, ...] = ()

    def inside(self, step: str) -> _Fault:
        """Return the fault as it stands a step further out."""
        return self._replace(where=step + self.where)

    @property
    def words(self) -> str:
        shown = "".join(map(_REPR.repr, self.got))
        got = f"; got {shown if len(shown) <= _SHOWN else shown[:_SHOWN] + '...'}" if shown else ""
        return f"{self.where}: must {self.rule}{got}"


class _SchemaPart:
    """A part of the schema, read once for all values that are held against it."""

    def __init__(self, schema: Schema) -> None:
        others = schema.get("additionalProperties")
        self.reference = schema.get("$ref")
        names = schema.get("type", ())
        self.names = (names,) if isinstance(names, str) else tuple(names)
        self.allowed = {kind for name in self.names for kind in _TYPES[name]}  # a truth value is no number
        self.rules = [
            (_RULES[key][0](rule), _RULES[key][1].format(rule)) for key, rule in schema.items() if key in _RULES
        ]
        self.required = schema.get("required", ())
        self.others = (
            _SchemaPart(others) if others else None
        )  # a field that nobody knows is of a later version, and ignored
        self.known = {name: _SchemaPart(part) for name, part in schema.get("properties", {}).items()}
        self.first = [_SchemaPart(part) for part in schema.get("prefixItems", ())]
        self.items = schema.get("items", {})
        self.alternatives = [_SchemaPart(part) for part in schema.get("oneOf", ())]

    def fault(self, value: Any) -> _Fault | None:
        """Return what is first wrong with a value."""
        if self.reference and (found := _target(self.reference).fault(value)):
            return found
        if reason := self._own(value):
            return _Fault("", reason, (value,))
        if isinstance(value, dict):
            found = self._in_object(value)
        else:
            found = self._in_array(value) if isinstance(value, list) else None
        return found or (self._in_alternatives(value) if self.alternatives else None)

    def _own(self, value: Any) -> str:
        """Return what a value itself must be and is not."""
        if self.names and type(value) not in self.allowed:
            return f"be of type {' or '.join(self.names)}"
        if isinstance(value, float) and not math.isfinite(value):
            return "be finite"
        if isinstance(value, int) and not -_LARGEST <= value < _LARGEST:
            return "fit 64 bits"
        for holds, words in self.rules:
            if not holds(value):
                return words
        return ""

    def _in_object(self, value: dict[str, Any]) -> _Fault | None:
        for name in self.required:
            if name not in value:
                return _Fault("", f"have {name!r}")
        for name, item in value.items():
            part = self.known.get(name, self.others)
            if part and (found := part.fault(item)):
                return found.inside(f".{name}")
        return None

    def _in_array(self, value: list[Any]) -> _Fault | None:
        rest = repeat(self._item)
        for place, (item, part) in enumerate(zip(value, chain(self.first, rest), strict=False)):
            if found := part.fault(item):
                return found.inside(f"[{place}]")
        return None

    @cached_property
    def _item(self) -> _SchemaPart:
        return _SchemaPart(self.items)

    def _in_alternatives(self, value: Any) -> _Fault | None:
        faults = [part.fault(value) for part in self.alternatives]
        if faults.count(None) == 1:
            return None
        return faults[-1] or _Fault("", "follow one alternative only")


def _is_date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


# What each keyword asks of a value itself, as a test made of its rule, and in words.
_RULES: Mapping[str, tuple[Callable[[Any], Callable[[Any], object]], str]] = {
    "const": (lambda rule: lambda value: value == rule, "be {!r}"),
    "enum": (lambda rule: lambda value: value in rule, "be one of {!r}"),
    "minimum": (lambda rule: lambda value: not isinstance(value, int | float) or value >= rule, "be at least {!r}"),
    "minLength": (lambda rule: lambda value: len(value) >= rule, "have at least {!r} characters"),
    "minItems": (lambda rule: lambda value: len(value) >= rule, "have at least {!r} items"),
    "maxItems": (lambda rule: lambda value: len(value) <= rule, "have at most {!r} items"),
    "pattern": (lambda rule: re.compile(rule).search, "match {!r}"),
    "format": (lambda rule: lambda value: rule != "date" or _is_date(value), "be a {!r}"),
    "not": (lambda rule: _SchemaPart(rule).fault, "not be {!r}"),
}


TEXTS = ("object", "str", "string")  # dtypes of columns of text
_LARGEST_FLOATS = {"float16": 65504.0, "float32": 2.0**128 * (1 - 2.0**-24)}


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
        if "levels" not in column:
            _check_numbers(column["values"], column["dtype"])
        elif (largest := max(column["codes"], default=-1)) >= (levels := len(column["levels"])):
            raise ValueError(f"codes must be positions among {levels} levels; got {largest}")


def _check_numbers(values: Sequence[Any], dtype: str) -> None:
    """Refuse numbers that their dtype cannot hold."""
    if dtype.startswith("float"):
        largest = _LARGEST_FLOATS.get(dtype)
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
        at = drawn["positions"]
        if len(at) != shape[2] or at != sorted(set(at)) or (at and at[-1] >= drawn["of"]):
            raise ValueError(f"sample.positions must be {shape[2]} ascending positions below {drawn['of']}")


def _refuse_size(name: str, recorded: Any, actual: Any) -> None:
    """Refuse a size that is not that of what is there, before anything of it is allocated."""
    if recorded != actual:
        raise ValueError(f"{name} must be the size of what follows, {actual}; got {recorded}")
