"""A finished run's folder goes to a tracking store; whatever goes wrong there, the folder stays as it is."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any
from urllib.parse import urlsplit

from ...core.support.errors import MissingDependencyError, UQReportError, installed
from ...core.support.text import clean
from ...evidence import codec, run_folder
from ...jobs.audit_file import MlflowPart
from .record import PREFIX, log_folder

# This process speaks to the store alone, says itself what it did, and asks one that is silent three times at most.
_QUIET_AND_BRIEF = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_LOGGING_LEVEL": "WARNING",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "20",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",
}
_REMEDY = "The report is complete; check the store, and run the same command again."


class TrackingError(UQReportError):
    """The tracking store could not be written; the report is where it was."""


def ready() -> None:
    """Say before the audit, not after it, that MLflow is missing."""
    if not installed("mlflow"):
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
        The store cannot be reached, refuses, or does not answer in time; a run that was begun is marked as failed.
    MissingDependencyError
        MLflow is not installed.
    """
    ready()
    for variable, value in _QUIET_AND_BRIEF.items():
        os.environ.setdefault(variable, value)
    with _store_errors(where):
        from mlflow.tracking import MlflowClient

        logging = _Logging(folder, where, template, once=once)
        return logging.within(where.timeout, lambda: MlflowClient(where.tracking_uri))


class _Logging:
    """A folder on its way to a store, in a thread of its own: a store that does not answer is waited for no longer."""

    def __init__(self, folder: Path, where: MlflowPart, template: str, *, once: bool) -> None:
        self._folder, self._where, self._template, self._once = folder, where, template, once
        self._ended: Future[str] = Future()
        self._late = Event()

    def within(self, seconds: float, connect: Callable[[], Any]) -> str:
        """Return MLflow's id of the run, or raise what the store's libraries do, or after some seconds `TrackingError`.

        A run that is late, or interrupted, ends in the store as failed, if it ever ends there.
        """
        Thread(target=self._work, args=[connect], daemon=True).start()
        try:
            return self._ended.result(seconds)
        except TimeoutError as error:
            if self._ended.done():
                raise
            raise TrackingError(
                f"mlflow.timeout must be as long as the store takes; {_kind(self._where)} did not answer within "
                f"{seconds:g} s. {_REMEDY}"
            ) from error
        finally:
            self._late.set()

    def _work(self, connect: Callable[[], Any]) -> None:
        try:
            self._ended.set_result(self._log(connect()))
        except BaseException as error:  # noqa: BLE001 - raised where the end is waited for
            self._ended.set_exception(error)

    def _log(self, client: Any) -> str:
        where = self._where
        if where.run_id:
            log_folder(client, where.run_id, self._folder, self._template)
            return where.run_id
        run = run_folder.read(self._folder)[0]
        experiment = client.get_experiment_by_name(where.experiment)
        place = client.create_experiment(where.experiment) if experiment is None else experiment.experiment_id
        query = f"tags.`{PREFIX}.run_sha256` = '{codec.sha256(run)}' and attributes.status = 'FINISHED'"
        same = client.search_runs([place], query, max_results=1) if self._once else ()
        if same:
            return str(same[0].info.run_id)
        run_id = str(client.create_run(place, run_name=clean(run.subject["label"])).info.run_id)
        whole = False
        try:
            log_folder(client, run_id, self._folder, self._template)
            whole = not self._late.is_set()
        finally:  # MLflow would show the run as running for ever
            client.set_terminated(run_id, "FINISHED" if whole else "FAILED")
        return run_id


@contextmanager
def _store_errors(where: MlflowPart) -> Iterator[None]:
    """Turn whatever the store's libraries raise into one error, without a password."""
    try:
        yield
    except UQReportError:
        raise
    except Exception as error:  # noqa: BLE001 - clients of HTTP, SQL and clouds share no base class
        password = urlsplit(where.tracking_uri).password
        reason = str(error) or type(error).__name__
        if password:
            reason = reason.replace(password, "***")
        raise TrackingError(
            f"mlflow.tracking_uri must be a store that can be written; got an error of {_kind(where)}: "
            f"{clean(reason)}. {_REMEDY}"
        ) from None


def _kind(where: MlflowPart) -> str:
    """Return what kind of store it is, without its address."""
    return urlsplit(where.tracking_uri).scheme or "the folder"
