"""A subject from files: a model and tables named as on the command line, with their hashes."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from . import plugins
from .api import explain
from .core.errors import InputError, nearest
from .core.subject import Subject


@dataclass(frozen=True)
class Sources:
    """Where a subject is read from.

    Parameters
    ----------
    model : str
        ``model.skops`` or ``module:factory``.
    data : str
        A CSV or Parquet file with the rows to audit.
    target : str, optional
        The column of the data that holds y.
    train : str, optional
        The training rows, of the same columns.
    weights, clusters : str, optional
        Columns of the data that hold sample weights and cluster labels; they are no features.
    trusted : tuple of str
        Further types a .skops file may hold, by full name.
    """

    model: str
    data: str
    target: str | None = None
    train: str | None = None
    weights: str | None = None
    clusters: str | None = None
    trusted: tuple[str, ...] = ()


def explain_files(sources: Sources, **given: Any) -> Subject:
    """Return the subject of `sources`; `given` are further arguments of `uq_report.explain`."""
    deny = tuple(given.get("deny", ()))
    model, model_hash = read_model(sources.model, sources.trusted, deny)
    data, data_hash = read_table(sources.data, deny)
    roles = {"target": sources.target, "weights": sources.weights, "clusters": sources.clusters}
    for role, name in roles.items():
        if name is not None and name not in data.columns:
            hint = nearest(name, map(str, data.columns))
            raise InputError(f"{role} must be a column of {sources.data}; got {name!r}. {hint}")
    used = [name for name in roles.values() if name is not None]
    y = None if sources.target is None else data[sources.target]
    train, hashes = None, {"model": model_hash, "data_file": data_hash}
    if sources.train is not None:
        table, hashes["train_file"] = read_table(sources.train, deny)
        if sources.target is not None and sources.target not in table.columns:
            raise InputError(f"train must have the target column {sources.target!r}; {sources.train} has none.")
        train = (table.drop(columns=used, errors="ignore"), None if sources.target is None else table[sources.target])
    if given.get("positive_class") is not None and y is not None:
        given["positive_class"] = _as_label(given["positive_class"], y)
    subject = explain(
        model,
        data.drop(columns=used),
        y,
        train=train,
        sample_weight=None if sources.weights is None else data[sources.weights],
        clusters=None if sources.clusters is None else data[sources.clusters],
        **given,
    )
    named = {"model": sources.model, "data": sources.data, "train": sources.train}
    shown = {role: Path(name).name for role, name in named.items() if name is not None}
    if sources.target is not None:
        shown["target"] = sources.target
    return replace(subject, sources=shown, hashes=hashes)


def read_model(source: str, trusted: Sequence[str] = (), deny: Sequence[str] = ()) -> tuple[Any, str]:
    """Return a model and the SHA-256 of its file, or why there is none."""
    loader = _loader("model", source, deny)
    options = {"trusted": tuple(trusted)} if trusted else {}
    model = loader.load(source, **options)
    return model, _file_sha256(source) or f"not available: the model was made by {source}"


def read_table(source: str, deny: Sequence[str] = ()) -> tuple[pd.DataFrame, str]:
    """Return a table and the SHA-256 of its file."""
    table: pd.DataFrame = _loader("data", source, deny).load(source)
    return table, _file_sha256(source)


def _loader(kind: str, source: str, deny: Sequence[str]) -> Any:
    """Return the loader that reads a source; more than one is an error."""
    loaders = [plugins.load(plugin)() for plugin in plugins.find(plugins.LOADERS, deny)]
    fitting = [one for one in loaders if one.kind == kind and one.matches(source)]
    if len(fitting) != 1:
        names = ", ".join(one.name for one in (fitting or loaders) if one.kind == kind)
        count = "two loaders read it" if fitting else "no loader reads it"
        raise InputError(f"{kind} must be read by one loader; got {source!r}: {count}. Loaders of the {kind}: {names}.")
    return fitting[0]


def _file_sha256(source: str) -> str:
    file = Path(source)
    return hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else ""


def _as_label(text: str, y: pd.Series[Any]) -> Any:
    """Return a class named on the command line as the label in y it spells."""
    return next((label for label in y.unique().tolist() if str(label) == text), text)
