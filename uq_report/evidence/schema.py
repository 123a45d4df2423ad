"""Whether a run's JSON follows the published schema: the part of JSON Schema that ``run.schema.json`` uses.

It is checked whenever a run is loaded, so that every reader can rely on it; lists of plain numbers take no time.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from functools import cache
from importlib import resources
from reprlib import Repr
from typing import Any, NamedTuple

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
def _target(reference: str) -> Schema:
    """Return the part of the schema that a reference names."""
    target: Any = run_schema()
    for step in reference.split("/")[1:]:
        target = target[step]
    return target


def fault(content: Any) -> str:
    """Return where a run's JSON first breaks its schema, and how; empty if it does not.

    Examples
    --------
    >>> fault([]), fault({"format": 2})
    ('run: must be of type object; got []', "run: must have 'as_of'")
    """
    return next((found.words for found in _faults(content, run_schema(), "run")), "")


class _Fault(NamedTuple):
    """A place, what holds there by the schema, and the value that breaks it: its words are made where it is told."""

    where: str
    rule: str
    got: tuple[Any, ...] = ()

    @property
    def words(self) -> str:
        shown = "".join(map(_REPR.repr, self.got))
        got = f"; got {shown if len(shown) <= _SHOWN else shown[:_SHOWN] + '...'}" if shown else ""
        return f"{self.where}: must {self.rule}{got}"


def _faults(value: Any, schema: Schema, where: str) -> Iterator[_Fault]:
    """Yield what is wrong at a place."""
    if "$ref" in schema:
        yield from _faults(value, _target(schema["$ref"]), where)
    if reason := _own_fault(value, schema):
        yield _Fault(where, reason, (value,))
        return
    if isinstance(value, dict):
        yield from _in_object(value, schema, where)
    elif isinstance(value, list):
        yield from _in_array(value, schema, where)
    faults = [next(_faults(value, part, where), None) for part in schema.get("oneOf", ())]
    if faults and faults.count(None) != 1:
        yield faults[-1] or _Fault(where, "follow one alternative only")


def _own_fault(value: Any, schema: Schema) -> str:
    """Return what a value itself must be and is not."""
    names = _names(schema)
    if names and type(value) not in _allowed(names):
        return f"be of type {' or '.join(names)}"
    if isinstance(value, float) and not math.isfinite(value):
        return "be finite"
    if isinstance(value, int) and not -_LARGEST <= value < _LARGEST:
        return "fit 64 bits"
    return next(
        (
            _RULES[key][1].format(rule)
            for key, rule in schema.items()
            if key in _RULES and not _RULES[key][0](value, rule)
        ),
        "",
    )


def _in_object(value: dict[str, Any], schema: Schema, where: str) -> Iterator[_Fault]:
    known, others = schema.get("properties", {}), schema.get("additionalProperties", {})
    yield from (_Fault(where, f"have {name!r}") for name in schema.get("required", ()) if name not in value)
    for name, part in value.items():
        rules = known.get(name, others)
        if rules:  # a field that nobody knows is of a later version, and ignored
            yield from _faults(part, rules, f"{where}.{name}")


def _in_array(value: list[Any], schema: Schema, where: str) -> Iterator[_Fault]:
    first, items = schema.get("prefixItems", ()), schema.get("items", {})
    for place, (item, part) in enumerate(zip(value, first, strict=False)):
        yield from _faults(item, part, f"{where}[{place}]")
    if items.keys() <= {"type", "minimum"} and items and _are_plain(value, items):
        return
    for place, item in enumerate(value[len(first) :], len(first)):
        yield from _faults(item, items, f"{where}[{place}]")


def _are_plain(values: list[Any], items: Schema) -> bool:
    """Say whether all of a list are numbers, truth values or nothing, as `items` wants; no by one look is no fault."""
    types = {*map(type, values)}
    if not types <= {int, float, bool, type(None)} & _allowed(_names(items)):
        return False
    numbers = [value for value in values if value is not None] if type(None) in types else values
    least = max(items.get("minimum", -_LARGEST), -_LARGEST)
    return not numbers or (least <= min(numbers) and max(numbers) < _LARGEST)


def _names(schema: Schema) -> tuple[str, ...]:
    """Return the names of the types that a value may have; none where it may have any."""
    names = schema.get("type", ())
    return (names,) if isinstance(names, str) else tuple(names)


@cache
def _allowed(names: tuple[str, ...]) -> frozenset[type]:
    """Return the types that have one of these names; a truth value is no number."""
    return frozenset(kind for name in names for kind in _TYPES[name])


def _is_date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


# What each keyword asks of a value itself, and in words.
_RULES: Mapping[str, tuple[Callable[[Any, Any], object], str]] = {
    "const": (lambda value, rule: value == rule, "be {!r}"),
    "enum": (lambda value, rule: value in rule, "be one of {!r}"),
    "minimum": (lambda value, rule: not isinstance(value, int | float) or value >= rule, "be at least {!r}"),
    "minLength": (lambda value, rule: len(value) >= rule, "have at least {!r} characters"),
    "minItems": (lambda value, rule: len(value) >= rule, "have at least {!r} items"),
    "maxItems": (lambda value, rule: len(value) <= rule, "have at most {!r} items"),
    "pattern": (lambda value, rule: re.search(rule, value), "match {!r}"),
    "format": (lambda value, rule: rule != "date" or _is_date(value), "be a {!r}"),
    "not": (lambda value, rule: any(_faults(value, rule, "")), "not be {!r}"),
}
