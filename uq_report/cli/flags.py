"""Flags of `run` and `init` as keys of audit.toml, so that both fill the same objects."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any

import typer

# Where each flag of `run` stands in audit.toml.
KEYS = {
    "model": "model.source",
    "label": "model.label",
    "adapter": "model.adapter",
    "positive_class": "model.positive_class",
    "trust": "model.trusted",
    "allow_pickle": "model.allow_pickle",
    "sha256": "model.sha256",
    "data": "data.source",
    "target": "data.target",
    "train": "data.train",
    "query": "data.query",
    "train_query": "data.train_query",
    "weights": "data.weights",
    "clusters": "data.clusters",
    "categorical": "data.categorical",
    "ignore": "data.ignore",
    "max_rows": "data.max_rows",
    "protected": "protected.attributes",
    "fail_on": "policy.fail_on",
    "seed": "run.seed",
    "confidence": "run.confidence",
    "jobs": "run.jobs",
    "explainers": "run.explainers",
    "deny": "run.deny",
    "require": "run.require",
    "as_of": "run.as_of",
    "time_limit": "budget.seconds",
    "memory_limit": "budget.memory_mb",
    "title": "about.title",
    "author": "about.author",
    "purpose": "about.purpose",
    "output": "output.folder",
    "history": "output.history",
    "name": "output.name",
    "formats": "output.formats",
    "template": "output.template",
    "templates": "output.templates",
    "annex": "output.annex",
    "mlflow": "mlflow.tracking_uri",
    "experiment": "mlflow.experiment",
}


def flags(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the flags that were given, by their keys in audit.toml."""
    from ..jobs.reading import toml_value

    found = {}
    for pair in given.get("settings") or ():
        key, sign, text = pair.partition("=")
        if not (sign and key.strip()):
            raise typer.BadParameter(f"--set must be KEY=VALUE, such as run.seed=1; got {pair!r}")
        found[key.strip()] = toml_value(text.strip())
    for name, key in KEYS.items():
        value = given.get(name)
        if value is not None and value != []:
            found[key] = str(value) if isinstance(value, Path | StrEnum) else value
    return found
