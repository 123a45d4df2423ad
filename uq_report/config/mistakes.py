"""Every mistake of a configuration at once, by key, with the nearest valid name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from ..core.errors import InputError, nearest
from .settings import Settings

P = TypeVar("P", bound=BaseModel)


def make_settings(given: Mapping[str, Any], who: str = "settings") -> Settings:
    """Return validated settings; list every mistake at once, by key.

    Raises
    ------
    InputError
        One line per mistake, with the nearest valid name for an unknown key.
    """
    return validated(Settings, {key: value for key, value in given.items() if value is not None}, who)


def validated(model: type[P], given: Mapping[str, Any], who: str) -> P:
    """Return an object of a part of the configuration; `who` opens each line of the error."""
    try:
        return model.model_validate(dict(given))
    except ValidationError as error:
        raise InputError("\n".join(_mistake(model, who, detail) for detail in error.errors())) from error


def _mistake(model: type[BaseModel], who: str, detail: ErrorDetails) -> str:
    """Return one mistake in the grammar of errors."""
    place = tuple(map(str, detail["loc"]))
    key = ".".join((who, *place)) if who else ".".join(place)
    if detail["type"] == "extra_forbidden":
        return f"{key} must be a known setting; got {place[-1]!r}. {nearest(place[-1], _names(model, place[:-1]))}"
    if detail["type"] == "missing":
        return f"{key} must be given; it is missing."
    needed = detail["msg"].removeprefix("Input should be ").removeprefix("Value error, ")
    return f"{key} must be {needed}; got {detail['input']!r}."


def _names(model: type[BaseModel], place: Iterable[str]) -> tuple[str, ...]:
    """Return the keys that are known at a place inside a model."""
    for step in place:
        if step in model.model_fields:
            inner = _models(model.model_fields[step].annotation)
            if not inner:
                return ()
            model = inner[0]
    return tuple(field.alias or name for name, field in model.model_fields.items())


def _models(annotation: Any) -> list[type[BaseModel]]:
    """Return the models inside an annotation such as ``tuple[Waiver, ...]`` or ``Hooks | None``."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in get_args(annotation) for model in _models(part)]
