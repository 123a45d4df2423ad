"""What was audited, as JSON values: the model, the rows and every feature."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from inspect import signature
from typing import Any

import numpy as np
import pandas as pd

from ..predictive import Distribution
from ..support.arrays import AnyArray
from ..support.digest import column_digest, table_sha256, vector_sha256
from ..support.errors import FOREIGN, words_of
from ..support.numbers import infinite
from ..validation.multioutput import whole
from .decisions import MOST_PROBABLE
from .subject import Subject

TOP_LEVELS = 10
_MAX_PARAMETER = 200
_MAX_MODEL = 80
_MAX_DEPTH = 6
_IN_MEMORY = "not available: the model was passed in memory"


def describe(subject: Subject, dist: Distribution) -> dict[str, Any]:
    """Return the facts of a subject and of its predictive distribution, JSON values only.

    Parameters
    ----------
    subject : Subject
    dist : Distribution
        Of the subject's rows, with the positive class set.
    """
    classes = _classes(dist)
    train = subject.train
    parameters = tuple(_parameters(subject.model))
    return dict(
        label=subject.label,
        task=task(dist),
        family=dist.family,
        model_class=_dotted(whole(subject.model)),
        model_parameters={name: text for name, text, _ in parameters},
        parameters_at_default=sorted({name for name, _, default in parameters if default}),
        adapter=subject.adapter.name,
        adapter_reason=subject.adapter_reason,
        notes=list(subject.notes),
        assumption=None if subject.assumption is None else subject.assumption.facts(),
        decisions=None if classes is None else (dist.rule or MOST_PROBABLE).words,
        n=subject.n,
        d=len(subject.features),
        sampled_from=subject.sampled_from,
        classes=classes,
        positive_class=None if classes is None else classes[getattr(dist, "positive", 0)],
        has_y=subject.y is not None,
        has_train=train is not None,
        n_train=None if train is None else len(train[0]),
        weights=subject.weights is not None,
        clusters=None if subject.clusters is None else len(np.unique(subject.clusters)),
        block_length=None if subject.blocks is None else subject.blocks.length,
        block_rule=None if subject.blocks is None else subject.blocks.rule,
        groups={name: list(members) for name, members in subject.groups.items()},
        protected=list(subject.protected),
        features=_features(subject),
        hashes=hashes(subject),
        sources=dict(subject.sources),
        y_summary=None if subject.y is None else _target(subject.y, dist),
    )


def task(dist: Distribution) -> str:
    """Return ``"classification"``, ``"survival"``, ``"count"`` or ``"regression"``."""
    if "proba" in dist.supports:
        return "classification"
    if dist.censored:
        return "survival"
    return "count" if dist.discrete else "regression"


def _classes(dist: Distribution) -> list[Any] | None:
    if "proba" not in dist.supports:
        return None
    return [scalar(label) for label in np.asarray(getattr(dist, "classes", ())).tolist()]


def _features(subject: Subject) -> list[dict[str, Any]]:
    first: dict[bytes, str] = {}
    facts = []
    for name in subject.features:
        values = pd.Series(subject.values(name))
        original = first.setdefault(column_digest(values), name)
        doubled = None if original == name else original
        facts.append({**_feature(name, subject.kinds[name], values), "duplicate_of": doubled})
    return facts


def _feature(name: str, kind: str, values: pd.Series[Any]) -> dict[str, Any]:
    missing = int(values.isna().sum())
    present = values.dropna() if missing else values
    distinct = int(present.nunique())
    ordered = kind != "categorical" and len(present) > 0
    counts = present.value_counts().head(TOP_LEVELS) if kind == "categorical" else present.iloc[:0]
    return {
        "name": name,
        "kind": kind,
        "missing": missing,
        "distinct": distinct,
        "min": scalar(present.min()) if ordered else None,
        "max": scalar(present.max()) if ordered else None,
        "top_levels": [[str(level), int(count)] for level, count in counts.items()],
        "constant": distinct + (missing > 0) <= 1,
    }


def scalar(value: Any) -> Any:
    """Return a cell as a JSON value: numbers, booleans and text stay, everything else (dates) becomes text."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return infinite(value)
    return value if value is None or isinstance(value, str | bool | int | float) else str(value)


def hashes(subject: Subject) -> dict[str, str]:
    """Return the SHA-256 of the data of a subject, by name, and those of the files they were read from."""
    train_X, train_y = subject.train or (None, None)
    vectors = {"y": subject.y, "train_y": train_y, "weights": subject.weights, "clusters": subject.clusters}
    if subject.blocks is not None:
        vectors["time"] = subject.blocks.moments
    vectors |= {f"protected {name}": values for name, values in subject.protected.items()}
    made = {"model": _IN_MEMORY, "X": table_sha256(subject.X)}
    if train_X is not None:
        made["train_X"] = table_sha256(train_X)
    made |= {name: vector_sha256(values) for name, values in vectors.items() if values is not None}
    return made | dict(subject.hashes)


def _target(y: AnyArray, dist: Distribution) -> dict[str, Any]:
    if "proba" in dist.supports:
        counts = np.bincount(dist.encode(y), minlength=len(_classes(dist) or ()))
        return {"counts": [int(count) for count in counts]}
    events = {"events": int(y["event"].sum())} if dist.censored else {}
    values = np.asarray(y["time"] if dist.censored else y, dtype=float)
    quartiles = np.quantile(values, [0.25, 0.5, 0.75])
    return {
        "mean": float(values.mean()),
        "std": float(values.std(ddof=1)) if len(values) > 1 else None,
        "min": float(values.min()),
        "quartiles": [float(q) for q in quartiles],
        "max": float(values.max()),
        **events,
    }


def _dotted(thing: Any) -> str:
    """Return the dotted name of a model's class, or of a function; of several models what holds them and how many.

    Examples
    --------
    >>> _dotted({0.1: object(), 0.9: object()})
    'dict of 2 object'
    """
    if isinstance(thing, dict | list | tuple):
        kinds = Counter(type(part).__name__ for part in (thing.values() if isinstance(thing, dict) else thing))
        return f"{type(thing).__name__} of {' and '.join(f'{number} {kind}' for kind, number in kinds.items())}"
    named = thing if hasattr(thing, "__qualname__") else type(thing)
    return f"{named.__module__}.{named.__qualname__}"


def _parameters(model: Any, prefix: str = "") -> Iterator[tuple[str, str, bool]]:
    """Yield what ``get_params`` says of a model and of the models in it, as text without memory addresses.

    Each with its name and whether it is the default of its class; without one, that is None.
    """
    if not _has_parameters(model) or prefix.count("__") > _MAX_DEPTH:
        return
    defaults = _defaults(type(model))
    try:
        parameters = sorted(model.get_params(deep=False).items())
    except FOREIGN as error:  # the model's own code
        yield f"{prefix}get_params", f"it fails: {words_of(error)}", False
        return
    for key, value in parameters:
        text = _text(value)
        yield f"{prefix}{key}", text, text == _text(defaults.get(key))
        for name, part in _parts(key, value):
            yield from _parameters(part, f"{prefix}{name}__")


def _defaults(of: type) -> dict[str, Any]:
    try:
        return {key: parameter.default for key, parameter in signature(of).parameters.items()}
    except (TypeError, ValueError):  # a class that is written in C need not tell
        return {}


def _parts(key: str, value: Any) -> list[tuple[str, Any]]:
    """Return the models in a parameter: itself, or those of named steps."""
    if isinstance(value, list | tuple):
        return [(str(step[0]), step[1]) for step in value if isinstance(step, tuple) and len(step) >= 2]
    return [(key, value)]


def _has_parameters(thing: Any) -> bool:
    return not isinstance(thing, type) and callable(getattr(thing, "get_params", None))


def _text(value: Any) -> str:
    """Return a parameter as text; a model or a list of steps by its class and names alone."""
    if isinstance(value, float) and math.isnan(value):  # what stands for a missing value
        return "not a number"
    if isinstance(value, list | tuple) and any(_has_parameters(part) for _, part in _parts("", value)):
        return ", ".join(name for name, _ in _parts("", value))
    try:
        shown = repr(value)
    except FOREIGN:  # the value's own code
        shown = type(value).__name__
    text = re.sub(r"\s+", " ", re.sub(r" at 0x[0-9a-fA-F]+", "", shown))
    if _has_parameters(value):
        return text if len(text) <= _MAX_MODEL else type(value).__name__
    if callable(value) and hasattr(value, "__qualname__"):
        return _dotted(value)
    return text if len(text) <= _MAX_PARAMETER else f"{text[: _MAX_PARAMETER - 1]}…"
