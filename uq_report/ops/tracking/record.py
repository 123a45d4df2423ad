"""What MLflow keeps of a run beside its files: numbers that can be compared over runs, and tags to find it by."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from ...core.support.text import clean
from ...evidence import codec, run_folder
from ...evidence.finding import SEVERITIES
from ...evidence.outcomes import CONFIDENCE_GAP, LOG_SCORE, SHARPNESS, scores_of
from ...evidence.run import Run
from ...report.rating import rating

PREFIX = "uq_report"
_LABEL_LENGTH = 250
_NLL, _ENTROPY = "nll", "entropy"
_NAMES = {LOG_SCORE: _NLL, SHARPNESS: _ENTROPY}


def metrics(run: Run) -> dict[str, float]:
    """Return findings by severity, and the scores of the predictions: confidence gap, nll and entropy (nats) and more.

    The mean entropy of numbers is ``nll - confidence_gap``, which is its definition.

    Examples
    --------
    >>> metrics(Run(as_of="2026-01-31", subject={}, settings={}, environment={}))["uq_report/findings_high"]
    0.0
    """
    severities = [finding.severity for finding in run.findings]
    numbers = {f"findings_{severity}": float(severities.count(severity)) for severity in SEVERITIES}
    numbers |= {_NAMES.get(item, item): score for item, score in scores_of(run).items()}
    if {_NLL, CONFIDENCE_GAP} <= set(numbers):
        numbers.setdefault(_ENTROPY, numbers[_NLL] - numbers[CONFIDENCE_GAP])
    return {f"{PREFIX}/{name}": value for name, value in numbers.items()}


def tags(run: Run, sha256: str) -> dict[str, str]:
    """Return the rating, and what says which run this is."""
    values = {
        "rating": rating(run.outcomes).text,
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
