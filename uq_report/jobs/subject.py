"""The subject of a described audit; every mistake is told before the model is loaded."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from ..api import explain
from ..core.errors import InputError, UQReportError, nearest
from ..core.stochastic import MEMBERS
from ..core.subject import Subject
from ..runner import plugins
from ..runner.mistakes import refuse
from . import columns
from .audit_file import AuditFile
from .options import option_mistakes, unregistered
from .sources import Given, Read, ReadModel, check_source, read_model, read_table, shown

_log = logging.getLogger(__name__)
_PREDICTIONS = "predictions"


@dataclass(frozen=True)
class Tables:
    """The tables of an audit as read: the rows to audit, and the training rows."""

    data: Read
    train: Read | None = None

    @property
    def rows(self) -> pd.DataFrame:
        """The rows to audit, with all columns."""
        return self.data.content

    @property
    def training(self) -> pd.DataFrame | None:
        """The training rows, with all columns."""
        return None if self.train is None else self.train.content


@dataclass(frozen=True)
class _Names:
    """How the tables are called in messages and in the report."""

    data: str
    train: str = ""


def subject_of(audit: AuditFile, known: Sequence[str] = (), who: str = "") -> Subject:
    """Return the subject that a description names.

    Parameters
    ----------
    audit : AuditFile
    known : sequence of str
        Mistakes found before, told in one error with those found here.
    who : str
        The name of the file, which opens each line of the error.

    Raises
    ------
    InputError
        Every mistake at once: wrong options of explainers and checks, unknown plugins and columns, other columns in
        the training rows. Only then is the model's hash checked, and the model loaded.
    """
    tables, mistakes = _looked_at(audit)
    refuse([*known, *mistakes], who)
    if tables is None:
        raise InputError("data.source must be read before a model is; it was not.")
    read = _predictions(audit, tables) if audit.model is None else read_model(audit.model, audit.run.deny)
    features = _features(audit, read.content, tables)
    subject = _explained(audit, read.content, features, tables)
    hashes = {"model": read.sha256, "data_file": tables.data.sha256}
    if tables.train is not None:
        hashes["train_file"] = tables.train.sha256
    drawn_from = tables.rows.attrs.get("sampled_from", subject.sampled_from)
    sources = _sources(audit, tables, features) | ({"model_loading": read.caution} if read.caution else {})
    return replace(subject, sources=sources, hashes=hashes, sampled_from=drawn_from)


def mistakes_of(audit: AuditFile) -> list[str]:
    """Return every mistake of a description that shows without loading its model; its tables are read."""
    mistakes = _looked_at(audit)[1]
    if audit.model is not None:
        try:
            check_source(audit.model, audit.run.deny)
        except UQReportError as error:
            mistakes.append(str(error))
    return mistakes


def _looked_at(audit: AuditFile) -> tuple[Tables | None, list[str]]:
    """Return the tables, if they can be read, and every mistake in options, names and columns."""
    mistakes = [*option_mistakes(audit), *unregistered(audit)]
    try:
        tables = _tables(audit)
    except UQReportError as error:
        return None, [*mistakes, str(error)]
    where = _names(audit)
    names = list(map(str, tables.rows.columns))
    mistakes += columns.column_mistakes(audit, names, where.data)
    if tables.training is not None:
        protected = set(audit.protected.attributes)  # whether they are features is the model's to say
        trained = list(map(str, tables.training.columns))
        if audit.data.target in names and audit.data.target not in trained:
            hint = nearest(audit.data.target, trained)
            mistakes.append(f"data.target must be a column of {where.train} too; it has none of that name. {hint}")
        here, there = (
            [one for one in columns.features_of(audit, side) if one not in protected] for side in (names, trained)
        )
        mistakes += columns.train_mistakes(here, there, (where.data, where.train))
    return tables, mistakes


def table_of(audit: AuditFile) -> pd.DataFrame:
    """Return the rows to audit with all their columns."""
    return _rows(audit).content


def _rows(audit: AuditFile) -> Read:
    data = audit.data
    query = {"query": Given("data.query", data.query)} if data.query else {}
    offers = {} if data.max_rows is None else {"max_rows": data.max_rows, "seed": audit.run.seed}
    return read_table(data.source, query, offers, audit.run.deny)


def _tables(audit: AuditFile) -> Tables:
    data, deny, rows = audit.data, audit.run.deny, _rows(audit)
    if data.train is None and not data.train_query:
        return Tables(rows)
    query = {"query": Given("data.train_query", data.train_query)} if data.train_query else {}
    return Tables(rows, read_table(data.train or data.source, query, deny=deny))


def _names(audit: AuditFile) -> _Names:
    data = audit.data
    return _Names(shown(data.source), shown(data.train or data.source))


def _features(audit: AuditFile, model: Any, tables: Tables) -> list[str]:
    """Return the features in the model's order; refuse columns that the model does not know."""
    where, found = _names(audit), columns.features_of(audit, map(str, tables.rows.columns))
    protected = audit.protected.attributes
    fitted = getattr(model, "feature_names_in_", None)
    if fitted is None:
        features = [name for name in found if name not in protected or name in _used(audit)]
    else:
        features = list(map(str, fitted))
        lacking = [name for name in features if name not in found]
        extra = [name for name in found if name not in features and name not in protected]
        parts = [f"it lacks {', '.join(map(repr, lacking))}"] if lacking else []
        parts += [f"it also has {', '.join(map(repr, extra))}"] if extra else []
        if parts:
            raise InputError(
                f"data must have the columns that the model was fitted on; got {where.data}: {' and '.join(parts)}. "
                "A column that is no feature has a role (target, weights, protected ...) or stands in data.ignore."
            )
    if tables.training is not None:
        trained = map(str, tables.training.columns)
        own = [n for n in columns.features_of(audit, trained) if n in features or n not in protected]
        refuse(columns.train_mistakes(features, own, (where.data, where.train)))
    return features


def _used(audit: AuditFile) -> Iterable[str]:
    """Return the protected attributes that are features of a model which does not list its own."""
    used = audit.protected.used_by_model
    if isinstance(used, tuple):
        return used
    return () if used is False else audit.protected.attributes


def _explained(audit: AuditFile, model: Any, features: list[str], tables: Tables) -> Subject:
    data, part, rows = audit.data, audit.model, tables.rows
    y = None if data.target is None else rows[data.target]
    train = None
    if tables.training is not None:
        trained = tables.training
        train = (trained[features], None if data.target is None else trained[data.target])
    said = part or data.predictions
    return explain(
        model,
        rows[features],
        y,
        train=train,
        groups=dict(data.groups) or None,
        categorical=data.categorical or None,
        sample_weight=None if data.weights is None else rows[data.weights],
        clusters=None if data.clusters is None else rows[data.clusters],
        protected={name: rows[name].to_numpy() for name in audit.protected.attributes} or None,
        label=None if said is None else said.label,
        adapter=None if part is None else part.adapter,
        positive_class=_as_label(None if said is None else said.positive_class, model, y),
        max_rows=data.max_rows,
        stochastic=None if part is None else part.stochastic,
        n_members=MEMBERS if part is None else part.n_members,
        seed=audit.run.seed,
        deny=audit.run.deny,
    )


def _as_label(given: Any, model: Any, y: pd.Series[Any] | None) -> Any:
    """Return a class as the label in y, or of the model, that it spells."""
    labels = [*([] if y is None else y.unique().tolist()), *getattr(model, "classes_", ())]
    return next((label for label in labels if str(label) == str(given)), given)


def _predictions(audit: AuditFile, tables: Tables) -> ReadModel:
    """Return what stands for the model where only its predictions are at hand."""
    part = audit.data.predictions
    if part is None:
        raise InputError("model.source must be given; it is missing.")
    loader = plugins.load(plugins.named(plugins.find(plugins.LOADERS, audit.run.deny), _PREDICTIONS, "loader"))()
    rows = tables.rows
    named = [name for key, name in columns.roles(audit).items() if key.startswith("data.predictions.")]
    free = columns.features_of(audit, map(str, rows.columns))
    features = [name for name in free if name not in audit.protected.attributes or name in _used(audit)]
    model = loader.load(
        shown(audit.data.source),
        X=rows[features],
        predictions=rows[named],
        part=part.model_dump(),
        y=None if audit.data.target is None else rows[audit.data.target],
        positive_class=part.positive_class,
    )
    return ReadModel(model, "not available: the predictions were given, not the model")


def _sources(audit: AuditFile, tables: Tables, features: list[str]) -> dict[str, str]:
    """Return where everything was read from, the columns of every table, and what drifted between them."""
    data, where = audit.data, _names(audit)
    found = {"model": "predictions only" if audit.model is None else shown(audit.model.source), "data": where.data}
    if tables.training is not None:
        found["train"] = where.train
    found |= {role: getattr(data, role) for role in ("target", "weights", "clusters") if getattr(data, role)}
    found |= {"ignored": ", ".join(data.ignore)} if data.ignore else {}
    found |= {key: value for key in ("query", "train_query") if (value := getattr(data, key))}
    found["data_columns"] = columns.schema(tables.rows)
    if tables.training is not None:
        found["train_columns"] = columns.schema(tables.training)
        told = list(columns.drift(tables.rows[features], tables.training[features], data.categorical))
        found["train_against_data"] = "; ".join(told) or "same columns and types, no new levels"
        for sentence in told:
            _log.warning("%s: %s", where.data, sentence)
    return found
