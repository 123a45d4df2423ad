"""Whether a run's JSON follows the published schema: the part of JSON Schema that ``run.schema.json`` uses.

It is checked whenever a run is loaded, so that every reader can rely on it; lists of plain numbers take no time.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date
from functools import cache
from importlib import resources
from reprlib import Repr
from typing import Any

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
    return next(_faults(content, run_schema(), "run"), "")


def _faults(value: Any, schema: Schema, where: str) -> Iterator[str]:
    """Yield what is wrong at a place."""
    if "$ref" in schema:
        yield from _faults(value, _target(schema["$ref"]), where)
    if reason := _own_fault(value, schema):
        shown = _REPR.repr(value)
        yield f"{where}: must {reason}; got {shown if len(shown) <= _SHOWN else shown[:_SHOWN] + '...'}"
        return
    if isinstance(value, dict):
        yield from _in_object(value, schema, where)
    elif isinstance(value, list):
        yield from _in_array(value, schema, where)
    faults = [next(_faults(value, part, where), "") for part in schema.get("oneOf", ())]
    if faults and faults.count("") != 1:
        yield faults[-1] or f"{where}: must follow one alternative only"


def _own_fault(value: Any, schema: Schema) -> str:
    """Return what a value itself must be and is not."""
    types = schema.get("type", ())
    names = [types] if isinstance(types, str) else types
    if names and not _is_of({type(value)}, names):
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


def _in_object(value: dict[str, Any], schema: Schema, where: str) -> Iterator[str]:
    known, others = schema.get("properties", {}), schema.get("additionalProperties", {})
    yield from (f"{where}: must have {name!r}" for name in schema.get("required", ()) if name not in value)
    for name, part in value.items():
        rules = known.get(name, others)
        if rules:  # a field that nobody knows is of a later version, and ignored
            yield from _faults(part, rules, f"{where}.{name}")


def _in_array(value: list[Any], schema: Schema, where: str) -> Iterator[str]:
    first, items = schema.get("prefixItems", ()), schema.get("items", {})
    for place, (item, part) in enumerate(zip(value, first, strict=False)):
        yield from _faults(item, part, f"{where}[{place}]")
    if items.keys() <= {"type", "minimum"} and items and _are_plain(value, items):
        return
    for place, item in enumerate(value[len(first) :], len(first)):
        yield from _faults(item, items, f"{where}[{place}]")


def _are_plain(values: list[Any], items: Schema) -> bool:
    """Say whether all of a list are numbers, truth values or nothing, as `items` wants; no by one look is no fault."""
    types, names = {*map(type, values)}, items["type"]
    if not types <= {int, float, bool, type(None)} or not _is_of(types, [names] if isinstance(names, str) else names):
        return False
    numbers = [value for value in values if value is not None] if type(None) in types else values
    least = max(items.get("minimum", -_LARGEST), -_LARGEST)
    return not numbers or (least <= min(numbers) and max(numbers) < _LARGEST)


def _is_of(types: Iterable[type], names: Iterable[str]) -> bool:
    """Say whether all types are among those called `names`; a truth value is no number."""
    allowed = {kind for name in names for kind in _TYPES[name]}
    return all(kind in allowed for kind in types)


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
