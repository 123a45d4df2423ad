"""Options of plugins are the fields of their dataclasses: what each may be, in words, as a type and as JSON Schema."""

import inspect
import json
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import MISSING, fields, is_dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

import numpy as np
import pandas as pd
from pydantic import TypeAdapter

from ..core.support.errors import nearest
from ..core.support.text import clean

# A single one, and several of them.
_NOUNS: Mapping[Any, tuple[str, str]] = {
    Any: ("any value", "any values"),
    bool: ("true or false", "true or false"),
    int: ("an integer", "integers"),
    float: ("a number", "numbers"),
    str: ("a text", "texts"),
    NoneType: ("None", "None"),
}
_SCALARS = (np.bool_, np.integer, np.floating, np.str_)
_ARRAYS = (list, tuple, range, np.ndarray, pd.Index, pd.Series)
_LARGEST = 2**31 - 1  # of an integer
_SECTION = re.compile(r"^Parameters\n-+\n(.*?)(?=^\S[^\n]*\n-{3,}|\Z)", re.MULTILINE | re.DOTALL)
_ENTRY = re.compile(r"^(\w+(?:, \w+)*) ?:?[^\n]*\n((?:[ ]+[^\n]*\n|\n)*)", re.MULTILINE)


class Option(NamedTuple):
    """One option of a plugin; `default` is `dataclasses.MISSING` where it must be given."""

    name: str
    annotation: Any
    default: Any
    about: str

    @property
    def allowed(self) -> str:
        """What it may be, in words: ``"an integer"``."""
        return in_words(self.annotation)

    @property
    def default_text(self) -> str:
        """The default as a file would spell it; empty where there is none."""
        if self.default is MISSING:
            return ""
        return "None" if self.default is None else json.dumps(self.default, ensure_ascii=False, default=str)

    def read(self, value: Any) -> Any:
        """Return a value as the option's type; a type that cannot be checked takes every value.

        Text is no number, True is no integer, and neither is 3.0. What a file can only spell as a text or a list (a
        path, a date, a set) becomes what it stands for. Where a list is asked for, one of its items will do.

        Raises
        ------
        ValueError
            If the value is of another type.
        """
        plain, adapter = _plain(value), _adapter(self.annotation)
        if adapter is None:
            return plain
        try:
            return adapter.validate_python(plain, strict=True)
        except Exception as error:  # validators of strangers raise what they like
            with suppress(Exception):
                return adapter.validate_python((plain,), strict=True)
            if not _is_json(plain):
                raise ValueError(str(error)) from error
        try:
            return adapter.validate_json(json.dumps(plain), strict=True)
        except Exception as error:
            raise ValueError(str(error)) from error

    def schema(self) -> dict[str, Any]:
        """Return the option as JSON Schema: type, default and description; without what cannot be said in it."""
        schema = _or_one(_json_type(self.annotation)) | ({"description": self.about} if self.about else {})
        if self.default is MISSING or self.default is None:
            return schema
        return schema | {"default": json.loads(self.default_text)}


def options_of(cls: Any) -> dict[str, Option]:
    """Return the options of a plugin by name; none unless it is a dataclass.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Plugin:
    ...     '''A plugin.
    ...
    ...     Parameters
    ...     ----------
    ...     top : int
    ...         How many are listed.
    ...     '''
    ...
    ...     top: int = 3
    >>> option = options_of(Plugin)["top"]
    >>> option.allowed, option.default_text, option.about
    ('an integer', '3', 'How many are listed.')
    """
    if not is_dataclass(cls):
        return {}
    types, texts = _types(cls), descriptions(_doc(cls))
    options = {}
    for field in fields(cls):
        if field.init:
            default = field.default if field.default_factory is MISSING else field.default_factory()
            options[field.name] = Option(field.name, types.get(field.name, Any), default, texts.get(field.name, ""))
    return options


def read_options(
    options: Mapping[str, Option], values: Mapping[str, Any], key: str, settings: Iterable[str]
) -> tuple[dict[str, Any], list[str]]:
    """Return the values that can be used, and the mistakes in the others; `settings` belong to the run."""
    usable, mistakes = {}, []
    for name, value in values.items():
        if name not in options:
            mistakes.append(f"{key}.{name} must be a known option; got {name!r}. {_hint(name, options, key, settings)}")
            continue
        if isinstance(value, int) and abs(value) > _LARGEST:
            mistakes.append(f"{key}.{name} must be at most {_LARGEST}; got one of {value.bit_length()} bits.")
            continue
        try:
            usable[name] = options[name].read(value)
        except ValueError:
            default = options[name].default_text
            remedy = f" The default is {default}." if default else ""
            mistakes.append(f"{key}.{name} must be {options[name].allowed}; got {clean(repr(value), 200)}.{remedy}")
    return usable, mistakes


def summary(cls: Any) -> str:
    """Return the first paragraph of a plugin's own docstring on one line; empty if it has none."""
    return " ".join(_doc(cls).split("\n\n")[0].split())


def in_words(annotation: Any, *, many: bool = False) -> str:
    """Return a type in words.

    Examples
    --------
    >>> in_words(int | None), in_words(tuple[str, ...]), in_words(Mapping[str, float])
    ('an integer or None', 'a list of texts', 'a table of numbers')
    """
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return in_words(parts[0], many=many)
    if origin in (Union, UnionType):
        return " or ".join(dict.fromkeys(in_words(part, many=many) for part in parts))
    if origin is Literal:
        return ", ".join(map(repr, parts[:-1])) + f"{' or ' if parts[1:] else ''}{parts[-1]!r}"
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return f"{'tables' if many else 'a table'} of {in_words(parts[-1], many=True)}"
    if isinstance(origin, type) and issubclass(origin, Iterable):
        return f"{'lists' if many else 'a list'} of {_items(origin, parts)}"
    nouns = next((words for type_, words in _NOUNS.items() if annotation is type_), None)
    return nouns[many] if nouns else str(getattr(annotation, "__name__", annotation))


def _items(origin: type, parts: tuple[Any, ...]) -> str:
    if origin is not tuple or Ellipsis in parts:
        return in_words(parts[0], many=True)
    if all(part == parts[0] for part in parts):
        return f"{len(parts)} {in_words(parts[0], many=True)}"
    return " and ".join(map(in_words, parts))


def _hint(name: str, options: Mapping[str, Option], key: str, settings: Iterable[str]) -> str:
    if name in settings:
        return f"{name} is a setting of the run, not of {key}."
    return nearest(name, options) if options else "It has no options."


def _types(cls: Any) -> dict[str, Any]:
    """Return the annotations of a class; none where a stranger's cannot be resolved."""
    with suppress(Exception):  # of a name that is there for type checkers only, and whatever else evaluating raises
        return get_type_hints(cls, include_extras=True)
    return {}


def _adapter(annotation: Any) -> TypeAdapter[Any] | None:
    """Return what checks a type, or None for one that pydantic does not know."""
    with suppress(Exception):  # a stranger's annotation may be anything
        return TypeAdapter(annotation)
    return None


def _json_type(annotation: Any) -> dict[str, Any]:
    """Return a type as JSON Schema; empty where it has none that stands by itself."""
    with suppress(Exception):  # as above
        schema = TypeAdapter(annotation).json_schema()
        return {} if "$defs" in schema else schema
    return {}


def _or_one(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a type that takes one item in place of a list of any length, as `Option.read` does."""
    choices = [choice for part in schema.get("anyOf", [schema]) for choice in (part, *_items_of(part))]
    return schema if len(choices) == 1 else {"anyOf": choices}


def _items_of(schema: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the type of the items of a list of any length."""
    return [schema["items"]] if schema.get("type") == "array" and "items" in schema else []


def _plain(value: Any) -> Any:
    """Return what a file or a call gives, with lists and arrays as tuples and NumPy's scalars as Python's."""
    if isinstance(value, _SCALARS):
        return value.item()
    if isinstance(value, Mapping):
        return {name: _plain(inner) for name, inner in value.items()}
    return tuple(map(_plain, value)) if isinstance(value, _ARRAYS) else value


def _is_json(value: Any) -> bool:
    """Say whether a plain value is what a file could hold."""
    if isinstance(value, Mapping):
        return all(isinstance(name, str) and _is_json(inner) for name, inner in value.items())
    return all(map(_is_json, value)) if isinstance(value, tuple) else isinstance(value, str | int | float | NoneType)


def _doc(cls: Any) -> str:
    """Return a class's own docstring without marks; dataclasses write a signature where there is none."""
    text = inspect.cleandoc(vars(cls).get("__doc__") or "").replace("`", "")
    return "" if text.startswith(f"{cls.__name__}(") else text


def descriptions(doc: str) -> dict[str, str]:
    r"""Return what the numpydoc section Parameters says of each name, on one line.

    Examples
    --------
    >>> descriptions("Parameters\n----------\na, b : int\n    How many.")
    {'a': 'How many.', 'b': 'How many.'}
    """
    section = _SECTION.search(doc + "\n")
    entries = _ENTRY.findall(section[1]) if section else []
    return {name: " ".join(body.split()) for names, body in entries for name in names.split(", ")}
