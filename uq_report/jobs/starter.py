"""A first ``audit.toml``, written from what a model and a table show; what only people know stays a comment.

Comments that explain start with ``# ``; keys that can be switched on start with ``#`` alone.
"""

import json
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from ..core.engine.fast_path_evaluator import first_distribution
from ..core.model.describe import scalar, task
from ..core.model.subject import Subject
from ..core.support.text import clean, is_sha256
from .audit_file import AuditFile
from .description_errors import features_of, roles
from .sources import read_model
from .subject import subject_of, table_of

HEADER = """\
# One audit. Run it with `uq-report run audit.toml`; `uq-report config check audit.toml` only validates it.
# Keys after a # are disabled. Paths are relative to this file. Options of `run` override it.
"""
_REST = Path(__file__).with_name("starter.toml")  # the sections that no model or table shows; a test switches all on
_HEAD = 200
_MAX_LISTED = 60
_MAX_CODES = 12
_PROTECTED = re.compile(r"(^|_)(sex|gender|age|race|ethnic\w*|religion|nationality|disab\w*|marital\w*)(_|$)", re.I)
_WEIGHTS = re.compile(r"(^|_)(w|weights?|exposure)(_|$)", re.I)
_TIMES = re.compile(r"(^|_)(date|time|timestamp|day|month|year|hour)(_|$)", re.I)
_CLUSTERS = re.compile(r"(^|_)(household|customer|client|patient|group|cluster|site|id)(_|$)", re.I)
_TARGETS = re.compile(r"^(y|target|label|outcome|class|response|default)$", re.I)


def starter(audit: AuditFile, base: str | Path) -> str:
    """Return the text of an ``audit.toml`` in the folder `base`: it runs as it is, and explains every section.

    Parameters
    ----------
    audit : AuditFile
        Model and data, and what else is known of them. Columns that the model does not know are ignored.
    base : str or Path

    Raises
    ------
    InputError
        If model and data do not go together; the message says what to add.
    """
    table = table_of(audit)
    audit = _without_strangers(audit, table)
    subject = subject_of(audit)
    folder = Path(base).resolve()
    blocks = (_model(audit, subject, folder), _data(audit, subject, table, folder))
    return "\n".join([HEADER, *("\n".join([*block, ""]) for block in blocks), _REST.read_text(encoding="utf-8")])


def _without_strangers(audit: AuditFile, table: pd.DataFrame) -> AuditFile:
    """Return the audit with the columns ignored that a model which lists its features does not know."""
    part, data = audit.model, audit.data
    fitted = None if part is None else getattr(read_model(part, audit.run.deny).content, "feature_names_in_", None)
    if fitted is None:
        return audit
    taken = {*map(str, fitted), *data.protected}
    strangers = [name for name in features_of(audit, map(str, table.columns)) if name not in taken]
    return audit.model_copy(update={"data": data.model_copy(update={"ignore": (*data.ignore, *strangers)})})


def _model(audit: AuditFile, subject: Subject, base: Path) -> Iterator[str]:
    part, dist = audit.model, first_distribution(subject, _HEAD)
    yield "[model]"
    kind = f"{type(subject.model).__name__}, read by the adapter {subject.adapter.name}: {task(dist)}"
    yield f"# {clean(kind)}, {dist.family} distribution."
    if part is not None:
        yield f"source = {_toml(_relative(part.source, base))}"
        if part.trusted:
            yield f"trusted = {_toml(part.trusted)}  # types in the file whose source code was reviewed"
        if part.allow_pickle:
            yield "allow_pickle = true  # executes any code in the file"
    yield f"#label = {_toml(subject.label)}"
    digest = subject.hashes["model"]
    yield f"#sha256 = {_toml(digest if is_sha256(digest) else '')}  # checked before the model is loaded"
    yield f"#adapter = {_toml(subject.adapter.name)}  # decides how predictions are read"
    classes = [scalar(label) for label in getattr(dist, "classes", ())]
    if classes:
        positive = part.positive_class if part is not None else None
        mark, chosen = ("#", classes[-1]) if positive is None else ("", positive)
        yield f"{mark}positive_class = {_toml(chosen)}  # one of {clean(', '.join(map(str, classes)))}"


def _data(audit: AuditFile, subject: Subject, table: pd.DataFrame, base: Path) -> Iterator[str]:
    data = audit.data
    yield "[data]"
    yield "# The test sample, ideally not used for fitting the model. A column without a role is a feature."
    yield f"source = {_toml(_relative(data.source, base))}"
    for key, candidate, comment in _keys(audit, subject, table):
        value = getattr(data, key)
        value = _relative(value, base) if value and key == "train" else value
        yield f"{key} = {_toml(value)}  # {comment}" if value else f"#{key} = {_toml(candidate)}  # {comment}"
    yield "# Columns:"
    by_name = {name: key.split(".")[1].partition("[")[0] for key, name in reversed(roles(audit).items())}
    for name in table.columns[:_MAX_LISTED]:
        role = by_name.get(str(name)) or subject.kinds.get(str(name), "protected")
        yield f"#   {clean(name)}: {role}, {table[name].dtype}, {table[name].nunique()} values"
    if table.shape[1] > _MAX_LISTED:
        yield f"#   and {table.shape[1] - _MAX_LISTED} more"


def _keys(audit: AuditFile, subject: Subject, table: pd.DataFrame) -> Iterable[tuple[str, Any, str]]:
    """Return the keys, each with columns that suit it by their names, where people have to decide, and a comment."""
    data = audit.data
    taken = (*data.targets, data.event, data.sample_weight, data.clusters, data.time)
    free = [name for name in map(str, table.columns) if name not in taken]
    repeated = [name for name in _like(free, _CLUSTERS) if table[name].nunique() < len(table)]
    codes = [name for name in subject.features if _is_code(subject, name)]
    return (
        ("query", "SELECT * FROM rows", "if the source is a database"),
        ("target", (_like(free, _TARGETS) or [*data.ignore, "y"])[0], "without it only the uncertainty is explained"),
        ("event", "event", "the target is a time that may be censored; 1 if its event was observed"),
        ("output", "weight", 'the one of target = ["height", "weight"] to audit, of a model that predicts several'),
        ("train", "train.csv", "the training sample, for train against test and as a reference"),
        ("ignore", ["id"], "columns that are no features of the model"),
        ("sample_weight", (_like(free, _WEIGHTS) or ["w"])[0], "a column of sample weights"),
        ("clusters", (repeated or ["customer"])[0], "observations with the same value are dependent"),
        ("time", (_like(free, _TIMES) or ["date"])[0], "observations are dependent in the order of this column"),
        ("block_size", 20, "observations per block of time; by default from the autocorrelation"),
        ("categorical", codes[:_MAX_LISTED], "integers with few values, if they are codes"),
        ("max_rows", 2000, "the largest number of observations audited, drawn at random"),
        (
            "residuals",
            "normal",
            "predictive distribution of a regressor with point predictions: normal, empirical, conformal, oob",
        ),
        ("residual_scale", "modelled", "lets the spread depend on the features; constant by default"),
        (
            "protected",
            _like(free, _PROTECTED) or ["sex"],
            "performance and uncertainty are compared between their groups",
        ),
        ("protected_features", [], "those that are features, if the model does not list its own"),
    )


def _like(names: Iterable[str], pattern: re.Pattern[str]) -> list[str]:
    return [name for name in names if pattern.search(name)]


def _is_code(subject: Subject, name: str) -> bool:
    values = pd.Series(subject.values(name))
    few = pd.api.types.is_integer_dtype(values.dtype) and values.nunique() <= _MAX_CODES
    return subject.kinds[name] == "numeric" and few


def _relative(source: str, base: Path) -> str:
    """Return a file as seen from the folder of the audit; anything else is as it was."""
    return Path(os.path.relpath(source, base)).as_posix() if Path(source).exists() else source


def _toml(value: Any) -> str:
    r"""Return a value as TOML.

    Examples
    --------
    >>> _toml(("a", 'b"c')), _toml(True), _toml(0.5)
    ('["a", "b\\"c"]', 'true', '0.5')
    """
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
