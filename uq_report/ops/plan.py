"""Audits of models that run elsewhere: the rows to predict are written, and an audit is made once all are predicted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from .. import api
from ..core.engine.fast_path_evaluator import Progress
from ..jobs import subject_of
from ..jobs.reading import describe_audit
from .run import CompletedAudit, run


def plan(
    folder: str | Path,
    file: str | Path | None = None,
    changes: Mapping[str, Any] | None = None,
    *,
    progress: bool | Callable[[Progress], None] | None = None,
) -> CompletedAudit:
    """Run an audit whose model is the predictions in a folder, as `run` does.

    Parameters
    ----------
    folder : str or Path
        ``rows.csv`` is written there, and ``predictions.csv`` of the same rows read; see `[model] command` for its
        columns.
    file, changes, progress
        As of `run`; ``model.source`` is the folder.

    Raises
    ------
    PendingError
        If predictions are missing: their rows are in ``rows.csv``. What an audit needs depends on predictions, so it
        asks several times, each time for all that it can know of.
    """
    described = {**(changes or {}), "model.source": f"planned:{Path(folder).resolve()}"}
    description = describe_audit(file, described)
    subject = subject_of(description.left(), description.mistakes, description.who)
    api.audit(subject, description.left().settings(), progress=progress)
    subject.model.ask()
    return run(file, described, force=True, progress=progress)
