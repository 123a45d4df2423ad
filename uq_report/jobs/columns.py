"""Names of columns in a description against the tables: every wrong one, by key; and what drifted between tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from ..core.errors import nearest
from ..core.text import clean, count, short
from .audit_file import AuditFile

_LEVELS = 5
_NAMED = ("features", "pairs")  # options of explainers that list features


def roles(audit: AuditFile) -> dict[str, str]:
    """Return the columns that are no features, by their key."""
    data = audit.data
    found = {f"data.{role}": getattr(data, role) for role in ("target", "weights", "clusters")}
    if data.predictions is not None:
        part = data.predictions
        singles = {f"data.predictions.{key}": getattr(part, key) for key in ("probability", "mean", "std")}
        many = {f"data.predictions.probabilities.{name}": column for name, column in part.probabilities.items()}
        found |= singles | many
    found |= {f"data.ignore[{number}]": name for number, name in enumerate(data.ignore)}
    return {key: name for key, name in found.items() if name is not None}


def features_of(audit: AuditFile, columns: Iterable[str]) -> list[str]:
    """Return the columns that have no other role."""
    taken = set(roles(audit).values())
    return [name for name in columns if name not in taken]


def column_mistakes(audit: AuditFile, columns: Sequence[str], where: str) -> list[str]:
    """Return one line for every name in the description that is no column, or no feature, of the data."""
    features = features_of(audit, columns)
    protected = audit.protected.attributes
    whole = {**roles(audit), **_numbered("protected.attributes", protected)}
    named = dict(_features_named(audit))
    about = {*features, *protected, *audit.data.groups}
    lines = [_wrong(key, name, "a column", where, columns) for key, name in whole.items() if name not in columns]
    lines += [_wrong(key, name, "a feature", where, features) for key, name in named.items() if name not in features]
    lines += [
        _wrong(key, name, "a feature or group", where, about)
        for key, name in _asked(audit)
        if name and name not in about
    ]
    return lines + _doubled(audit) + _unlisted(audit)


def train_mistakes(features: Sequence[str], train: Sequence[str], names: tuple[str, str]) -> list[str]:
    """Return the line that says which columns only one of the tables has, if there are any."""
    lacking = [name for name in features if name not in train]
    extra = [name for name in train if name not in features]
    if not lacking and not extra:
        return []
    data_name, train_name = names
    parts = [f"it lacks {_listed(lacking)}"] if lacking else []
    parts += [f"it also has {_listed(extra)}"] if extra else []
    got = f"got {train_name}: {' and '.join(parts)}"
    advice = "Correct the file, or list columns that are no features in data.ignore."
    return [f"data.train must have the feature columns of {data_name}; {got}. {advice}"]


def drift(data: pd.DataFrame, train: pd.DataFrame, categorical: Iterable[str]) -> Iterator[str]:
    """Say which columns have another type, or levels that the training rows have not."""
    for name in data.columns:
        now, before = data[name], train[name]
        if str(now.dtype) != str(before.dtype):
            yield f"{short(name)} is {now.dtype} here and {before.dtype} in the training rows"
        if name in categorical or not (_ordered(now) or _ordered(before)):
            new = now[~now.isin(before.unique()) & now.notna()]
            if len(new):
                yield f"{short(name)} has levels that the training rows have not: {_counted(new)}"


def schema(table: pd.DataFrame) -> str:
    """Return names and types of all columns.

    Examples
    --------
    >>> schema(pd.DataFrame({"a": [1.0], "b": [True]}))
    'a: float64, b: bool'
    """
    return ", ".join(f"{clean(name)}: {dtype}" for name, dtype in table.dtypes.items())


def _features_named(audit: AuditFile) -> Iterator[tuple[str, str]]:
    """Yield the keys that must name features."""
    yield from _numbered("data.categorical", audit.data.categorical).items()
    for group, members in audit.data.groups.items():
        yield from _numbered(f"data.groups.{group}", members).items()
    yield from ((f"expectations.{name}", name) for name in audit.expectations)
    if isinstance(audit.protected.used_by_model, tuple):
        yield from _numbered("protected.used_by_model", audit.protected.used_by_model).items()


def _asked(audit: AuditFile) -> Iterator[tuple[str, str]]:
    """Yield the keys that name a feature or a group."""
    for number, waiver in enumerate(audit.waivers):
        yield f"waivers[{number}].feature", waiver.feature
    for number, action in enumerate(audit.actions):
        yield f"actions[{number}].feature", action.feature
    for explainer, options in audit.explainers.items():
        for option in _NAMED:
            for number, name in enumerate(_flat(options.get(option))):
                yield f"explainers.{explainer}.{option}[{number}]", name


def _flat(value: Any) -> list[str]:
    """Return the names in a list of names or of pairs; anything else is for the explainer to refuse."""
    if isinstance(value, str):
        return [value]
    return [name for one in value for name in _flat(one)] if isinstance(value, list | tuple) else []


def _numbered(key: str, names: Iterable[str]) -> dict[str, str]:
    return {f"{key}[{number}]": name for number, name in enumerate(names)}


def _wrong(key: str, name: str, what: str, where: str, allowed: Iterable[str]) -> str:
    return f"{key} must be {what} of {where}; got {name!r}. {nearest(name, allowed)}"


def _doubled(audit: AuditFile) -> list[str]:
    """Return the columns with two roles; one that is ignored may have another."""
    first: dict[str, str] = {}
    lines = []
    for key, name in roles(audit).items():
        if key.startswith("data.ignore"):
            continue
        other = first.setdefault(name, key)
        if other != key:
            lines.append(f"{key} must be another column than {other}; got {name!r} for both. Correct one of them.")
    return lines


def _unlisted(audit: AuditFile) -> list[str]:
    """Return what is said of protected attributes that are not listed as such."""
    used, listed = audit.protected.used_by_model, audit.protected.attributes
    names = used if isinstance(used, tuple) else ()
    return [
        f"protected.used_by_model must list protected attributes; got {name!r}. {nearest(name, listed)}"
        for name in names
        if name not in listed
    ]


def _ordered(values: pd.Series[Any]) -> bool:
    kinds = pd.api.types
    return kinds.is_numeric_dtype(values.dtype) or kinds.is_datetime64_any_dtype(values.dtype)


def _counted(values: pd.Series[Any]) -> str:
    counts: Mapping[Any, int] = values.value_counts().to_dict()
    told = [f"{short(level)} ({count(number, 'row')})" for level, number in counts.items()]
    return _cut(told)


def _listed(names: Sequence[str]) -> str:
    return _cut([repr(name) for name in names])


def _cut(told: Sequence[str]) -> str:
    rest = f" and {len(told) - _LEVELS} more" if len(told) > _LEVELS else ""
    return ", ".join(told[:_LEVELS]) + rest
