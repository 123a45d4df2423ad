"""Every mistake of a configuration at once, by key, with the nearest valid name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from ..core.support.errors import InputError, nearest
from .settings import Settings

P = TypeVar("P", bound=BaseModel)


def make_settings(content: Mapping[str, Any], who: str = "settings") -> Settings:
    """Return validated settings; list every mistake at once, by key.

    Raises
    ------
    InputError
        One line per mistake, with the nearest valid name for an unknown key.
    """
    return validated(Settings, {key: value for key, value in content.items() if value is not None}, who)


def validated(model: type[P], content: Mapping[str, Any], who: str) -> P:
    """Return an object of a part of the configuration; `who` opens each line of the error."""
    try:
        return model.model_validate(dict(content))
    except ValidationError as error:
        raise InputError("\n".join(_mistakes(model, content, who, error))) from error


def settled(model: type[P], content: Mapping[str, Any], who: str = "") -> tuple[P | None, list[str]]:
    """Return an object and all mistakes by key; with mistakes, what is left without the keys they are in.

    `who` opens each line. What is left serves to look for more mistakes, never to run: None, if nothing can be made of
    it.
    """
    rest = deepcopy(dict(content))
    mistakes: list[str] = []
    for _ in range(2):
        try:
            return model.model_validate(rest), mistakes
        except ValidationError as error:
            mistakes += [line for line in _mistakes(model, rest, who, error) if line not in mistakes]
            for detail in error.errors():
                _remove(rest, _place(rest, detail))
    return None, mistakes


def refuse(mistakes: Iterable[str], who: str = "") -> None:
    """Raise one error of all mistakes, if there are any; `who`, the name of a file, opens each line."""
    lines = [f"{who}: {line}" if who else line for line in dict.fromkeys(mistakes)]
    if lines:
        raise InputError("\n".join(lines))


def _mistakes(model: type[BaseModel], content: Any, who: str, error: ValidationError) -> list[str]:
    """Return one line per mistaken key; what a key may be instead is joined from all of its alternatives."""
    by_key: dict[tuple[str, ...], list[ErrorDetails]] = {}
    for detail in error.errors():
        by_key.setdefault(_place(content, detail), []).append(detail)
    return [_mistake(model, who, place, details) for place, details in by_key.items()]


def _mistake(model: type[BaseModel], who: str, place: tuple[str, ...], details: Sequence[ErrorDetails]) -> str:
    """Return one mistake in the grammar of errors."""
    key = ".".join(filter(None, (who, *place)))
    detail = details[0]
    if detail["type"] == "extra_forbidden":
        return f"{key} must be a known setting; got {place[-1]!r}. {nearest(place[-1], _names(model, place[:-1]))}"
    if detail["type"] == "missing":
        return f"{key} must be given; it is missing."
    needs = (each["msg"].removeprefix("Input should be ").removeprefix("Value error, ") for each in details)
    return f"{key} must be {' or '.join(dict.fromkeys(needs))}; got {detail['input']!r}.{_meant(detail)}"


def _meant(detail: ErrorDetails) -> str:
    """Return the choice that is meant, if one is close."""
    if detail["type"] not in ("literal_error", "enum") or not isinstance(detail["input"], str):
        return ""
    hint = nearest(detail["input"], re.findall(r"'([^']+)'", str(detail.get("ctx", {}).get("expected", ""))))
    return f" {hint}" if hint.startswith("Did you mean") else ""


def _place(content: Any, detail: ErrorDetails) -> tuple[str, ...]:
    """Return the key of a mistake: the steps that lead through the content, without the names of alternatives."""
    steps: list[str] = []
    for step in detail["loc"]:
        if isinstance(content, Mapping):
            content = content.get(step)
        elif isinstance(content, list | tuple) and isinstance(step, int):
            content = content[step]
        else:
            break
        steps.append(str(step))
    return tuple(steps)


def _remove(content: dict[str, Any], place: tuple[str, ...]) -> None:
    """Take the key of a mistake out of nested tables; a list goes as a whole, so that others keep their numbers."""
    *path, last = place or ("",)
    for step in path:
        inner = content.get(step)
        if not isinstance(inner, dict):
            last = step
            break
        content = inner
    content.pop(last, None)


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
