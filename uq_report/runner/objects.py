"""Measures, explainers and checks passed as objects: what names them, and what registers them for one call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple

from ..core.model.measures import Measure
from ..core.support.errors import InputError
from . import plugins


class PassedObjects(NamedTuple):
    """The names and options of a call in which objects were passed, and these with their groups."""

    names: tuple[str, ...] | None
    options: dict[str, dict[str, Any]]
    objects: list[tuple[str, Any]]


def passed(group: str, given: Any) -> PassedObjects:
    """Return the names of explainers or checks given as names, classes or objects, one or several.

    Parameters
    ----------
    group : str
        ``plugins.EXPLAINERS`` or ``plugins.CHECKS``.
    given : str, class, object or sequence of these, optional

    Examples
    --------
    >>> passed(plugins.EXPLAINERS, "pfi").names
    ('pfi',)
    """
    if given is None:
        return PassedObjects(None, {}, [])
    several = given if isinstance(given, Iterable) and not isinstance(given, str) else [given]
    prefix = "" if group == plugins.EXPLAINERS else f"{group.removeprefix('uq_report.')}."
    chosen, options, objects = [], {}, []
    for each in several:
        if isinstance(each, str):
            chosen.append(each)
            continue
        cls = each if isinstance(each, type) else type(each)
        wrong = plugins.breaches(group, cls)
        if wrong:
            what = group.removeprefix("uq_report.")
            raise InputError(
                f"{what} must be names or objects of the contract; got {cls.__name__}: {'; '.join(wrong)}."
            )
        chosen.append(cls.name)  # type: ignore[attr-defined]  # the contract has it
        objects.append((group, cls))
        if is_dataclass(each) and not isinstance(each, type):
            options[prefix + chosen[-1]] = {f.name: getattr(each, f.name) for f in fields(each) if f.init}
    return PassedObjects(tuple(chosen), options, objects)


def measures_in(value: Any, objects: list[tuple[str, Any]]) -> Any:
    """Return options with every measure replaced by its name; the measures are added to `objects`.

    Examples
    --------
    >>> from uq_report.core.model.measures import NLL
    >>> found = []
    >>> measures_in({"pfi": {"measures": [NLL, "entropy"]}}, found), len(found)
    ({'pfi': {'measures': ['nll', 'entropy']}}, 1)
    """
    if isinstance(value, Measure):
        objects.append((plugins.MEASURES, value))
        return value.name
    if isinstance(value, Mapping):
        return {name: measures_in(inner, objects) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        several = [measures_in(inner, objects) for inner in value]
        return tuple(several) if isinstance(value, tuple) else several
    return value
