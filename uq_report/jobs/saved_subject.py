"""The subject of a saved run, from its model and data, of which a run keeps names, roles and hashes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from ..core.model.subject import Subject
from ..core.support.errors import InputError
from ..core.support.text import is_sha256
from ..evidence.run import Run
from ..evidence.subject import SubjectFacts
from ..runner.settings import refuse
from .reading import describe_audit
from .sources import read_table
from .subject import subject_of

# keys of audit.toml -> the role by which a run records their column
_ROLES = {
    "data.target": "target",
    "data.event": "event",
    "data.sample_weight": "weights",
    "data.clusters": "clusters",
    "data.time": "time",
    "data.query": "query",
    "data.train_query": "train_query",
}
_FILES = {"model": "model", "data": "data_file", "train": "train_file"}


def subject_of_run(run: Run, folder: Path, changes: Mapping[str, Any]) -> Subject:
    """Return the subject that a run was made of, and refuse another one.

    Parameters
    ----------
    run : Run
    folder : Path
        Where the files that the run names are looked for, beside the working folder.
    changes : mapping of str to value
        Keys of audit.toml: ``model.source`` at least, others in place of what the run recorded.

    Raises
    ------
    InputError
        A file is not there, or has another hash than the run recorded.
    """
    facts = SubjectFacts.of(run)
    described = {**_recorded(facts, folder), **changes}
    if facts.assumption is not None and "data.residuals" not in described:
        raise InputError("case.residuals must be given: the run lays an assumption over predictions. Add --residuals.")
    description = describe_audit(None, described)
    refuse(description.mistakes)
    subject = subject_of(description.left())
    for role, name in _FILES.items():
        known, now = facts.hashes.get(name, ""), subject.hashes.get(name, "")
        if is_sha256(known) and is_sha256(now) and known != now:
            raise InputError(
                f"case.{role} must be what the run was made of; got {described.get(f'{role}.source', role)!r}, whose "
                f"SHA-256 is {now[:12]}..., not {known[:12]}... Give that file."
            )
    return subject


def _recorded(facts: SubjectFacts, folder: Path) -> dict[str, Any]:
    """Return the keys of audit.toml that a run records."""
    sources = facts.sources
    found: dict[str, Any] = {key: sources[role] for key, role in _ROLES.items() if sources.get(role)}
    if sources.get("ignored"):
        found["data.ignore"] = sources["ignored"].split(", ")
    for key, role in (("data.source", "data"), ("data.train", "train")):
        if sources.get(role):
            found[key] = _found(sources[role], folder)
    features = {feature.name for feature in facts.features}
    found["data.protected"] = list(facts.protected)
    found["data.protected_features"] = [name for name in facts.protected if name in features]
    found["data.groups"] = {name: list(members) for name, members in facts.groups.items()}
    found |= {"model.label": facts.label, "run.seed": 0}
    if facts.positive_class is not None:
        found["model.positive_class"] = facts.positive_class
    return {key: value for key, value in found.items() if value not in (None, [], {})}


def _found(name: str, folder: Path) -> str:
    """Return where a file is that a run names without its folder: in the run's folder, or as it is called."""
    return next((str(place) for place in (folder / name, folder.parent / name) if place.is_file()), name)


def new_rows(path: str, subject: Subject, target: str | None) -> list[tuple[pd.DataFrame, Any]]:
    """Return new observations of a table, each with its outcome where the table has the target."""
    table, _ = read_table(path)
    lacking = [name for name in subject.features if name not in table]
    if lacking:
        raise InputError(f"case.rows must have the columns {list(subject.features)}; {path} lacks {lacking}.")
    outcomes = table[target].tolist() if target in table else [None] * len(table)
    rows = [table.iloc[[k]][list(subject.features)] for k in range(len(table))]
    return list(zip(rows, outcomes, strict=True))
