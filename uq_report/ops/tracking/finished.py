"""A finished run's folder goes to a tracking store; whatever goes wrong there, the folder stays as it is."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

from ...core.errors import MissingDependencyError, UQReportError
from ...core.text import clean
from ...evidence import codec, saved
from ...jobs.audit_file import MlflowPart
from .record import PREFIX, log_folder


class TrackingError(UQReportError):
    """The tracking store could not be written; the report is where it was."""


def ready() -> None:
    """Say before the audit, not after it, that MLflow is missing."""
    if find_spec("mlflow") is None:
        raise MissingDependencyError("mlflow.tracking_uri", "mlflow", "mlflow")


def log_finished(folder: Path, where: MlflowPart, template: str = "audit", *, once: bool = False) -> str:
    """Log a run's folder to a tracking store; return MLflow's id of the run it was logged to.

    Parameters
    ----------
    folder : Path
        Of the run; files of others in it stay there.
    where : MlflowPart
        With a `run_id` the files join that run; else a new one in the experiment, which is made if it is missing.
    template : str
        Decides which reports of the folder are meant.
    once : bool
        Log nothing if a finished run of the experiment has this very run.json, and return that one's id.

    Raises
    ------
    TrackingError
        The store cannot be reached or refuses; a run that was begun is marked as failed.
    MissingDependencyError
        MLflow is not installed.
    """
    ready()
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")  # this process speaks to the store alone
    os.environ.setdefault("MLFLOW_LOGGING_LEVEL", "WARNING")  # and says itself what it did
    with _store_errors(where):
        from mlflow.tracking import MlflowClient

        client = MlflowClient(where.tracking_uri)
        if where.run_id:
            log_folder(client, where.run_id, folder, template)
            return where.run_id
        run = saved.read(folder)[0]
        experiment = client.get_experiment_by_name(where.experiment)
        place = client.create_experiment(where.experiment) if experiment is None else experiment.experiment_id
        query = f"tags.`{PREFIX}.run_sha256` = '{codec.sha256(run)}' and attributes.status = 'FINISHED'"
        same = client.search_runs([place], query, max_results=1) if once else ()
        if same:
            return str(same[0].info.run_id)
        run_id = str(client.create_run(place, run_name=clean(run.subject["label"])).info.run_id)
        try:
            log_folder(client, run_id, folder, template)
        except BaseException:  # an interrupt too: MLflow would show the run as running for ever
            client.set_terminated(run_id, "FAILED")
            raise
        client.set_terminated(run_id)
        return run_id


@contextmanager
def _store_errors(where: MlflowPart) -> Iterator[None]:
    """Turn whatever the store's libraries raise into one error, without a password."""
    try:
        yield
    except UQReportError:
        raise
    except Exception as error:  # noqa: BLE001 - clients of HTTP, SQL and clouds share no base class
        split = urlsplit(where.tracking_uri)
        reason = str(error) or type(error).__name__
        if split.password:
            reason = reason.replace(split.password, "***")
        raise TrackingError(
            f"mlflow.tracking_uri must be a store that can be written; got an error of {split.scheme or 'the folder'}: "
            f"{clean(reason)}. The report is complete; check the store, and run the same command again."
        ) from None
