"""Every mistake of a description, by its key: names of columns against the tables, options and names of plugins."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from .. import runner
from ..core.support.errors import nearest
from ..core.support.text import clean, count, short
from ..report import EXTENTS, NAMES
from ..runner import plugins
from ..runner.settings import Settings
from .audit_file import AuditFile

ROLES = ("event", "sample_weight", "clusters", "time")
_LEVELS = 5
_NAMED = ("features", "pairs")  # options of explainers that list features


def roles(audit: AuditFile) -> dict[str, str]:
    """Return the columns that are no features, by their key."""
    data, part = audit.data, audit.data.predictions
    columns: dict[str, str | None] = {}
    for number, name in enumerate(data.targets):
        columns["data.target" if len(data.targets) == 1 else f"data.target[{number}]"] = name
    columns |= {f"data.{role}": getattr(data, role) for role in ROLES}
    if part is not None:
        columns |= {f"data.predictions.{key}": getattr(part, key) for key in ("probability", "mean", "std")}
        columns |= {f"data.predictions.probabilities.{name}": column for name, column in part.probabilities.items()}
    columns |= _numbered("data.ignore", data.ignore)
    return {key: name for key, name in columns.items() if name is not None}


def features_of(audit: AuditFile, columns: Iterable[str]) -> list[str]:
    """Return the columns that have no other role."""
    taken = set(roles(audit).values())
    return [name for name in columns if name not in taken]


def column_mistakes(audit: AuditFile, columns: Sequence[str], where: str) -> list[str]:
    """Return one line for every name in the description that is no column, or no feature, of the data."""
    features, protected = features_of(audit, columns), audit.data.protected
    kinds = (
        ("a column", {**roles(audit), **_numbered("data.protected", protected)}, columns),
        ("a feature", dict(_features_named(audit)), features),
        ("a feature or group", dict(_targets_named(audit)), {*features, *protected, *audit.data.groups}),
    )
    lines = [
        f"{key} must be {what} of {where}; got {name!r}. {nearest(name, allowed)}"
        for what, names, allowed in kinds
        for key, name in names.items()
        if name not in allowed
    ]
    return lines + _doubled(audit) + _unlisted(audit)


def train_mistakes(features: Sequence[str], train: Sequence[str], names: tuple[str, str]) -> list[str]:
    """Return the line that says which columns only one of the tables has, if there are any."""
    data_name, train_name = names
    lacking = [repr(name) for name in features if name not in train]
    extra = [repr(name) for name in train if name not in features]
    parts = difference(_cut(lacking), _cut(extra))
    if not parts:
        return []
    advice = "Correct the file, or list columns that are no features in data.ignore."
    return [f"data.train must have the feature columns of {data_name}; got {train_name}: {parts}. {advice}"]


def difference(lacking: str, extra: str) -> str:
    """Say what columns a table lacks, and which ones it has beside those it must have; empty if neither.

    Examples
    --------
    >>> difference("'a'", "'b', 'c'")
    "it lacks 'a' and it also has 'b', 'c'"
    """
    parts = (lacking and f"it lacks {lacking}", extra and f"it also has {extra}")
    return " and ".join(filter(None, parts))


def drift(data: pd.DataFrame, train: pd.DataFrame, categorical: Iterable[str]) -> Iterator[str]:
    """Say which columns have another type, or levels that do not occur in the training sample."""
    for name in data.columns:
        now, before = data[name], train[name]
        if str(now.dtype) != str(before.dtype):
            yield f"{short(name)} is {now.dtype} here and {before.dtype} in the training sample"
        if name in categorical or not (_ordered(now) or _ordered(before)):
            new = now[~now.isin(before.unique()) & now.notna()]
            if len(new):
                yield f"{short(name)} has levels that do not occur in the training sample: {_counted(new)}"


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
    data = audit.data
    yield from _numbered("data.categorical", data.categorical).items()
    for group, members in data.groups.items():
        yield from _numbered(f"data.groups.{group}", members).items()
    yield from ((f"expectations.{name}", name) for name in audit.expectations)
    yield from _numbered("data.protected_features", data.protected_features or ()).items()


def _targets_named(audit: AuditFile) -> Iterator[tuple[str, str]]:
    """Yield the keys that name a feature or a group."""
    for section in ("waivers", "actions"):
        for number, entry in enumerate(getattr(audit, section)):
            if entry.feature:
                yield f"{section}[{number}].feature", entry.feature
    for explainer, options in audit.explainers.items():
        for option in _NAMED:
            yield from _numbered(f"explainers.{explainer}.{option}", _flat(options.get(option))).items()


def _flat(value: Any) -> list[str]:
    """Return the names in a list of names or of pairs; anything else is for the explainer to refuse."""
    if isinstance(value, str):
        return [value]
    return [name for item in value for name in _flat(item)] if isinstance(value, list | tuple) else []


def _numbered(key: str, names: Iterable[str]) -> dict[str, str]:
    return {f"{key}[{number}]": name for number, name in enumerate(names)}


def _doubled(audit: AuditFile) -> list[str]:
    """Return the columns with two roles; one that is ignored may have another."""
    keys = {key: name for key, name in roles(audit).items() if not key.startswith("data.ignore")}
    first = {name: key for key, name in reversed(keys.items())}
    return [
        f"{key} must be another column than {first[name]}; got {name!r} for both. Correct one of them."
        for key, name in keys.items()
        if first[name] != key
    ]


def _unlisted(audit: AuditFile) -> list[str]:
    """Return what is said of protected attributes that are not listed as such."""
    listed = audit.data.protected
    return [
        f"data.protected_features must list protected attributes; got {name!r}. {nearest(name, listed)}"
        for name in audit.data.protected_features or ()
        if name not in listed
    ]


def _ordered(values: pd.Series[Any]) -> bool:
    kinds = pd.api.types
    return kinds.is_numeric_dtype(values.dtype) or kinds.is_datetime64_any_dtype(values.dtype)


def _counted(values: pd.Series[Any]) -> str:
    counts: Mapping[Any, int] = values.value_counts().to_dict()
    return _cut([f"{short(level)} ({count(number, 'row')})" for level, number in counts.items()])


def _cut(items: Sequence[str]) -> str:
    rest = f" and {len(items) - _LEVELS} more" if len(items) > _LEVELS else ""
    return ", ".join(items[:_LEVELS]) + rest


# How settings are called in messages of the runner -> where they stand in audit.toml.
_KEYS = (
    ("checks.policy.require", "policy.rules"),
    ("checks.direction.monotone", "expectations"),
    ("settings.options", "explainers"),
    ("settings.", "run."),
    ("plugins.require", "run.require"),
)


def option_mistakes(audit: AuditFile) -> list[str]:
    """Return the mistakes in names and options of explainers and checks, and plugins that are missing."""
    return [_by_key(line) for line in runner.option_mistakes(_with_all_options(audit))]


def _by_key(line: str) -> str:
    """Return a mistake with its key in audit.toml."""
    name, key = next((pair for pair in _KEYS if line.startswith(pair[0])), ("", ""))
    return key + line.removeprefix(name)


def unregistered(audit: AuditFile) -> list[str]:
    """Return the names of an adapter, format, template or appendix that nobody registered."""
    output, adapter = audit.output, audit.model and audit.model.adapter
    entries = [(f"output.formats[{number}]", name, plugins.RENDERERS) for number, name in enumerate(output.formats)]
    entries += [("model.adapter", adapter, plugins.ADAPTERS)] if adapter else []
    names = {key: (name, _names(group, audit.run.deny)) for key, name, group in entries}
    names |= {"output.template": (output.template, set(NAMES)), "output.appendix": (output.appendix, set(EXTENTS))}
    return [
        f"{key} must be a registered name; got {name!r}. {nearest(name, allowed)}"
        for key, (name, allowed) in names.items()
        if name not in allowed
    ]


def _names(group: str, deny: Iterable[str]) -> set[str]:
    return {plugin.name for plugin in plugins.find(group, deny)}


def _with_all_options(audit: AuditFile) -> Settings:
    """Return settings that also choose what has options without being chosen, so that these are looked at too."""
    settings, more = audit.settings(), {}
    for name, group in (("explainers", plugins.EXPLAINERS), ("checks", plugins.CHECKS)):
        chosen = getattr(settings, name)
        if chosen is not None:
            optioned = _names(group, settings.deny) & set(getattr(audit, name))
            more[name] = (*chosen, *sorted(optioned - set(chosen)))
    return settings.model_copy(update=more)
