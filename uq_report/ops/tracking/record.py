"""What MLflow keeps of a run beside its files: numbers that can be compared over runs, and tags to find it by."""

import os
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any

from ...core.support.errors import MissingDependencyError, UQReportError, installed
from ...core.support.text import clean, without_secrets
from ...evidence import codec, run_folder
from ...evidence.finding import SEVERITIES
from ...evidence.outcomes import CONFIDENCE_GAP, LOG_SCORE, SHARPNESS, scores_of
from ...evidence.run import Run
from ...jobs.audit_file import MlflowPart
from ...reading.rating import rating

PREFIX = "uq_report"
_LABEL_LENGTH = 250
_NLL, _ENTROPY = "nll", "entropy"
_BRIER = ("brier", "brier_baseline")
_NAMES = {LOG_SCORE: _NLL, SHARPNESS: _ENTROPY}


def metrics(run: Run) -> dict[str, float]:
    """Return findings by severity, and the scores of the predictions: confidence gap, nll and entropy (nats) and more.

    The mean entropy of numbers is ``nll - confidence_gap``, which is its definition. Brier scores of two classes are
    those of scikit-learn, in [0, 1]: half the sum over both classes, which the report has.

    Examples
    --------
    >>> metrics(Run(as_of="2026-01-31", subject={}, settings={}, environment={}))["uq_report/findings_high"]
    0.0
    """
    severities = [finding.severity for finding in run.findings]
    numbers = {f"findings_{severity}": float(severities.count(severity)) for severity in SEVERITIES}
    numbers |= {_NAMES.get(item, item): score for item, score in scores_of(run).items()}
    if len(run.subject.get("classes") or ()) == 2:
        numbers |= {name: numbers[name] / 2 for name in _BRIER if name in numbers}
    if {_NLL, CONFIDENCE_GAP} <= set(numbers):
        numbers.setdefault(_ENTROPY, numbers[_NLL] - numbers[CONFIDENCE_GAP])
    return {f"{PREFIX}/{name}": value for name, value in numbers.items()}


def tags(run: Run, sha256: str) -> dict[str, str]:
    """Return the recommendation, and what identifies the run."""
    values = {
        "recommendation": rating(run.outcomes).text,
        "label": clean(run.subject["label"])[:_LABEL_LENGTH],
        "as_of": run.as_of,
        "version": str(run.environment.get("uq_report", "")),
        "run_sha256": sha256,
    }
    return {f"{PREFIX}.{name}": value for name, value in values.items() if value}


def log_folder(
    client: Any, run_id: str, folder: Path, template: str = "audit", model_id: str | None = None
) -> dict[str, float]:
    """Log a run's files below ``uq_report/``, its metrics and its tags to a run of MLflow; return the metrics.

    Parameters
    ----------
    client : mlflow.MlflowClient
    run_id : str
    folder : Path
        As written by `saved.write`; other files in it stay out of the log.
    template : str
        Decides the names of the reports.
    model_id : str, optional
        MLflow's id of the model, to which the metrics are tied as well.
    """
    from mlflow.entities import Metric, RunTag

    run, _ = run_folder.read(folder)
    now = int(time.time() * 1000)
    values = metrics(run)
    for file in (folder / "run.json", folder / "clock.json", *report_files(folder, template)):
        client.log_artifact(run_id, str(file), PREFIX)
    client.log_artifacts(run_id, str(folder / "evidence"), f"{PREFIX}/evidence")
    client.log_batch(
        run_id,
        metrics=[Metric(name, value, now, 0, model_id=model_id) for name, value in values.items()],
        tags=[RunTag(name, value) for name, value in tags(run, codec.sha256(run)).items()],
    )
    return values


def report_files(folder: Path, template: str) -> list[Path]:
    """Return the rendered reports in a run's folder."""
    return sorted(folder.glob("report.*" if template == "audit" else f"{template}.*"))


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
    ended, late = Future[str](), Event()

    def work() -> None:  # in a thread of its own: a store that does not answer is waited for no longer
        try:
            ended.set_result(_logged(MlflowClient(where.tracking_uri), folder, where, template, once, late))
        except BaseException as error:  # noqa: BLE001 - raised where the end is waited for
            ended.set_exception(error)

    with _store_errors(where):
        from mlflow.tracking import MlflowClient

        Thread(target=work, daemon=True).start()
        try:
            return ended.result(where.timeout)
        except TimeoutError as error:
            if ended.done():
                raise
            raise TrackingError(
                f"mlflow.timeout must be as long as the store takes; {_kind(where)} did not answer within "
                f"{where.timeout:g} s. {_REMEDY}"
            ) from error
        finally:
            late.set()


def _logged(client: Any, folder: Path, where: MlflowPart, template: str, once: bool, late: Event) -> str:
    """Log a folder; a run that is late, or interrupted, ends in the store as failed, if it ever ends there."""
    if where.run_id:
        log_folder(client, where.run_id, folder, template)
        return where.run_id
    run = run_folder.read(folder)[0]
    experiment = client.get_experiment_by_name(where.experiment)
    place = client.create_experiment(where.experiment) if experiment is None else experiment.experiment_id
    query = f"tags.`{PREFIX}.run_sha256` = '{codec.sha256(run)}' and attributes.status = 'FINISHED'"
    same = client.search_runs([place], query, max_results=1) if once else ()
    if same:
        return str(same[0].info.run_id)
    run_id = str(client.create_run(place, run_name=clean(run.subject["label"])).info.run_id)
    whole = False
    try:
        log_folder(client, run_id, folder, template)
        whole = not late.is_set()
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
        reason = without_secrets(str(error) or type(error).__name__, where.tracking_uri)
        raise TrackingError(
            f"mlflow.tracking_uri must be a store that can be written; got an error of {_kind(where)}: "
            f"{clean(reason)}. {_REMEDY}"
        ) from None


def _kind(where: MlflowPart) -> str:
    """Return what kind of store it is, without its address."""
    scheme, address, _ = where.tracking_uri.partition("://")
    return scheme if address else "the folder"
