"""The subject of a described audit; every mistake is reported before the model is loaded.

The subject of a saved run, from its model and data, of which a run keeps names, roles and hashes.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from inspect import signature
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from ..core.model.subject import Subject
from ..core.support.errors import InputError, LockedError, UQReportError, attribute_of, nearest
from ..core.support.text import is_sha256
from ..core.validation.residuals import Residuals
from ..evidence.run import Run
from ..evidence.subject import SubjectFacts
from ..runner import plugins
from ..runner.settings import BENCHMARKS, refuse
from . import description_errors
from .audit_file import AuditFile, DataPart, ModelPart
from .description_errors import features_of
from .reading import describe_audit
from .sources import ReadModel, check_source, read_model, read_table, source_name

_log = logging.getLogger(__name__)
_PREDICTIONS = "predictions"


class AuditTables(NamedTuple):
    """The tables of an audit as read, all columns: the rows to audit, and the training rows with their name."""

    rows: pd.DataFrame
    hashes: Mapping[str, str]
    training: pd.DataFrame | None = None
    train_name: str = ""


def subject_of(audit: AuditFile, mistakes: Sequence[str] = (), who: str = "") -> Subject:
    """Return the subject that a description names.

    Parameters
    ----------
    audit : AuditFile
    mistakes : sequence of str
        Mistakes of the description, reported in one error with those that its tables show.
    who : str
        The name of the file, which opens each line of the error.

    Raises
    ------
    InputError
        Every mistake at once: wrong options of explainers and checks, unknown plugins and columns, other columns in
        the training rows. Only then is the model's hash checked, and the model loaded.
    """
    tables, more = _examined(audit)
    refuse([*mistakes, *more], who)
    if tables is None:
        raise InputError("data.source must be read before a model is; it was not.")
    read = _predictions(audit, tables) if audit.model is None else read_model(audit.model, audit.run.deny)
    features = _features(audit, read.content, tables)
    subject = _explained(audit, read.content, features, tables)
    return replace(
        subject,
        sources=_sources(audit, tables, features) | ({"model_loading": read.caution} if read.caution else {}),
        hashes={"model": read.sha256, **tables.hashes},
        sampled_from=tables.rows.attrs.get("sampled_from", subject.sampled_from),
    )


def benchmark_model(audit: AuditFile) -> ReadModel | None:
    """Return the model of the benchmark that a file holds; None where there is none, or where it is to be fitted."""
    source = audit.run.benchmark
    if source is None or source in BENCHMARKS:
        return None
    trust = {} if audit.model is None else audit.model.model_dump(include={"trusted", "allow_pickle"})
    return read_model(ModelPart(source=source, **trust), audit.run.deny)


def mistakes_of(audit: AuditFile) -> list[str]:
    """Return every mistake of a description that shows without loading its model; its tables are read."""
    mistakes = _examined(audit)[1]
    if audit.model is not None:
        try:
            check_source(audit.model, audit.run.deny)
        except UQReportError as error:
            mistakes.append(str(error))
    return mistakes


def _examined(audit: AuditFile) -> tuple[AuditTables | None, list[str]]:
    """Return the tables, if they can be read, and every mistake in options, names and columns."""
    mistakes = [*description_errors.option_mistakes(audit), *description_errors.unregistered(audit)]
    try:
        tables = _tables(audit)
    except LockedError:
        raise
    except UQReportError as error:
        return None, [*mistakes, str(error)]
    name, names = source_name(audit.data.source), list(map(str, tables.rows.columns))
    mistakes += description_errors.column_mistakes(audit, names, name)
    if tables.training is not None:
        trained = list(map(str, tables.training.columns))
        mistakes += _lacking_outcomes(audit, names, trained, tables.train_name)
        # Whether protected attributes are features is the model's to say.
        here, there = (
            [column for column in features_of(audit, side) if column not in audit.data.protected]
            for side in (names, trained)
        )
        mistakes += description_errors.train_mistakes(here, there, (name, tables.train_name))
    return tables, mistakes


def _lacking_outcomes(audit: AuditFile, names: list[str], trained: list[str], train_name: str) -> list[str]:
    """Return a line for each target, and for the event, that only the rows to audit have."""
    stated = [*(("target", column) for column in audit.data.targets), ("event", audit.data.event)]
    return [
        f"data.{key} must be a column of {train_name} too; it has none of that name. {nearest(column, trained)}"
        for key, column in stated
        if column is not None and column in names and column not in trained
    ]


def table_of(audit: AuditFile) -> pd.DataFrame:
    """Return the rows to audit with all their columns."""
    return _rows(audit)[0]


def _rows(audit: AuditFile) -> tuple[pd.DataFrame, str]:
    data = audit.data
    offers = {} if data.max_rows is None else {"max_rows": data.max_rows, "seed": audit.run.seed}
    return read_table(data.source, data.query, offers=offers, deny=audit.run.deny)


def _tables(audit: AuditFile) -> AuditTables:
    data, (rows, sha256) = audit.data, _rows(audit)
    if data.train is None and not data.train_query:
        return AuditTables(rows, {"data_file": sha256})
    source = data.train or data.source
    training, train_sha256 = read_table(source, data.train_query, "data.train_query", deny=audit.run.deny)
    return AuditTables(rows, {"data_file": sha256, "train_file": train_sha256}, training, source_name(source))


def _features(audit: AuditFile, model: Any, tables: AuditTables) -> list[str]:
    """Return the features in the model's order; refuse columns that the model does not know."""
    name, candidates = source_name(audit.data.source), features_of(audit, map(str, tables.rows.columns))
    protected = audit.data.protected
    fitted = attribute_of(model, "feature_names_in_")
    if fitted is None:
        features = _used(audit, candidates)
    else:
        features = list(map(str, fitted))
        lacking = [feature for feature in features if feature not in candidates]
        extra = [column for column in candidates if column not in features and column not in protected]
        if apart := description_errors.difference(", ".join(map(repr, lacking)), ", ".join(map(repr, extra))):
            raise InputError(
                f"data must have the columns that the model was fitted on; got {name}: {apart}. "
                "A column that is no feature has a role (target, clusters, protected ...) or is listed in data.ignore."
            )
    if tables.training is not None:
        trained = features_of(audit, map(str, tables.training.columns))
        own = [column for column in trained if column in features or column not in protected]
        refuse(description_errors.train_mistakes(features, own, (name, tables.train_name)))
    return features


def _used(audit: AuditFile, candidates: Sequence[str]) -> list[str]:
    """Return the features of a model that does not list its own: protected attributes are, unless the file says no."""
    data = audit.data
    unused: set[str] = set() if data.protected_features is None else {*data.protected} - {*data.protected_features}
    return [name for name in candidates if name not in unused]


def _explained(audit: AuditFile, model: Any, features: list[str], tables: AuditTables) -> Subject:
    """Explain the model: a key of ``[model]`` and ``[data]`` that is called as an argument fills it."""
    data, part, rows = audit.data, audit.model or audit.data.predictions, tables.rows
    y, train = _outcomes(data, rows), None
    own = data.output or data.target  # the column whose labels the positive class is one of
    if tables.training is not None:
        train = (tables.training[features], _outcomes(data, tables.training))
    arguments, scale = {**dict(data), **dict(part or ())}, data.residual_scale or "constant"
    arguments |= {
        "train": train,
        "sample_weight": None if data.sample_weight is None else rows[data.sample_weight],
        "clusters": None if data.clusters is None else rows[data.clusters],
        "time": None if data.time is None else rows[data.time],
        "protected": {name: rows[name].to_numpy() for name in data.protected} or None,
        "groups": dict(data.groups) or None,
        "categorical": data.categorical or None,
        "positive_class": _as_label(arguments["positive_class"], model, rows[own] if isinstance(own, str) else None),
        "seed": audit.run.seed,
        "deny": audit.run.deny,
        "residuals": data.residuals and replace(Residuals.of(data.residuals), scale=scale, seed=audit.run.seed),
    }
    from ..api.explaining import explain  # with it come pages and figures, which a description needs none of

    taken = signature(explain).parameters.keys() & arguments.keys()
    return explain(model, rows[features], y, **{name: arguments[name] for name in taken})


def _outcomes(data: DataPart, table: pd.DataFrame) -> Any:
    """Return the target: the frame of all outputs, or a time with its events, or None without one."""
    if data.event is not None and not isinstance(data.target, str):
        must = "data.target must be the column with the times"
        raise InputError(f"{must}; got {data.target!r} beside event={data.event!r}.")
    if data.target is None:
        return None
    y = table[data.target if isinstance(data.target, str) else list(data.target)]
    return y if data.event is None else (y, table[data.event])


def _as_label(text: Any, model: Any, y: Any) -> Any:
    """Return a class as the label in y, or of the model, that it spells."""
    labels = [*(y.unique().tolist() if isinstance(y, pd.Series) else ()), *getattr(model, "classes_", ())]
    return next((label for label in labels if str(label) == str(text)), text)


def _predictions(audit: AuditFile, tables: AuditTables) -> ReadModel:
    """Return what stands for the model where only its predictions are at hand."""
    part = audit.data.predictions
    if part is None:
        raise InputError("model.source must be given; it is missing.")
    loader = plugins.load(plugins.named(plugins.find(plugins.LOADERS, audit.run.deny), _PREDICTIONS, "loader"))()
    rows = tables.rows
    names = [name for key, name in description_errors.roles(audit).items() if key.startswith("data.predictions.")]
    model = loader.load(
        source_name(audit.data.source),
        X=rows[_used(audit, features_of(audit, map(str, rows.columns)))],
        predictions=rows[names],
        part=part.model_dump(),
        y=_outcomes(audit.data, rows),
        positive_class=part.positive_class,
    )
    return ReadModel(model, "not available: the predictions were given, not the model")


def _sources(audit: AuditFile, tables: AuditTables, features: list[str]) -> dict[str, str]:
    """Return where everything was read from, the columns of every table, and what drifted between them."""
    data, name = audit.data, source_name(audit.data.source)
    sources = {
        "model": "predictions only" if audit.model is None else source_name(audit.model.source),
        "data": name,
        "train": tables.train_name,
        "target": data.output or ", ".join(data.targets),
        "event": data.event,
        "weights": data.sample_weight,
        "clusters": data.clusters,
        "time": data.time,
        "ignored": ", ".join(data.ignore),
        "query": data.query,
        "train_query": data.train_query,
        "data_columns": description_errors.schema(tables.rows),
    }
    if tables.training is not None:
        changes = list(description_errors.drift(tables.rows[features], tables.training[features], data.categorical))
        sources["train_columns"] = description_errors.schema(tables.training)
        sources["train_against_data"] = "; ".join(changes) or "same columns and types, no new levels"
        for sentence in changes:
            _log.warning("%s: %s", name, sentence)
    return {role: source for role, source in sources.items() if source}


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
_HASHED = {"model": "model", "data": "data_file", "train": "train_file"}


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
    for role, name in _HASHED.items():
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
