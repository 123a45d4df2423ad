"""One evaluation of MLflow: its model and dataset become a subject, the audit a folder, the folder MLflow's files."""

from collections.abc import Mapping
from dataclasses import replace
from inspect import Parameter, signature
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from mlflow.models.evaluation.base import EvaluationArtifact
from mlflow.tracking import MlflowClient

from ...api.auditing import audit
from ...api.explaining import explain
from ...api.views import Style
from ...core.model.subject import Subject
from ...core.support.errors import InputError, nearest
from ...runner.settings import Settings, make_settings, refuse
from .record import PREFIX, log_folder, report_files


class ReportArtifact(EvaluationArtifact):  # type: ignore[misc] # MLflow is not typed here
    """A rendered report; its content is bytes."""

    def _save(self, output_artifact_path: str) -> None:
        Path(output_artifact_path).write_bytes(self.content)

    def _load_content_from_file(self, local_artifact_path: str) -> bytes:
        return Path(local_artifact_path).read_bytes()


class RunArtifact(EvaluationArtifact):  # type: ignore[misc] # MLflow is not typed here
    """The run.json; its content is the saved audit, an `uq_report.api.views.AuditRun`, and needs no model."""

    def _save(self, output_artifact_path: str) -> None:
        from ...evidence.codec import dumps

        Path(output_artifact_path).write_bytes(dumps(self.content.run))

    def _load_content_from_file(self, local_artifact_path: str) -> Any:
        from ...api.auditing import load

        return load(local_artifact_path)


WHO = "mlflow.evaluator_config"
SUBJECT = tuple(
    name
    for name, parameter in signature(explain).parameters.items()
    if parameter.kind is Parameter.KEYWORD_ONLY and name not in Settings.model_fields
)
REPORT = ("formats", *Style.__annotations__)


def evaluated(
    model: Any, dataset: Any, run_id: str, config: Mapping[str, Any], model_id: str | None
) -> tuple[dict[str, float], dict[str, Any]]:
    """Audit, write, and log to the run; return metrics and artifacts by name."""
    settings, about_subject, look = _split(config)
    subject = _subject(unwrapped(model), dataset, settings, about_subject, model_id)
    done = audit(subject, settings, progress=False)
    with TemporaryDirectory() as place:
        folder = done.write(place, **{"formats": ("html",), **look})
        template = look.get("template", "audit")
        values = log_folder(MlflowClient(), run_id, folder, template, model_id)
        reports = {file.name: file.read_bytes() for file in report_files(folder, template)}
    artifacts: dict[str, Any] = {name: ReportArtifact(_uri(run_id, name), content) for name, content in reports.items()}
    artifacts["run.json"] = RunArtifact(_uri(run_id, "run.json"), done)
    return values, {f"{PREFIX}/{name}": artifact for name, artifact in artifacts.items()}


def unwrapped(model: Any) -> Any:
    """Return the estimator inside MLflow's wrapper; the wrapper itself gives point predictions alone.

    Raises
    ------
    InputError
        No model, or one whose flavor hides the estimator.
    """
    metadata = getattr(model, "metadata", None)
    flavors = sorted(getattr(metadata, "flavors", {}))
    try:
        raw = model.get_raw_model()
    except (AttributeError, NotImplementedError):
        raw = None
    if raw is None or not ("sklearn" in flavors or hasattr(raw, "predict_proba")):
        got = "no model" if model is None else f"flavors {flavors or 'none'}"
        raise InputError(
            f"mlflow.model must be logged with its scikit-learn estimator, which tells its uncertainty; got {got}. "
            "Log it with mlflow.sklearn.log_model, or audit it with uq_report.explain."
        )
    return raw


def _split(config: Mapping[str, Any]) -> tuple[Settings, dict[str, Any], dict[str, Any]]:
    """Return the settings, what describes the subject, and how the report looks; name every unknown key."""
    allowed = (*Settings.model_fields, *SUBJECT, *REPORT)
    refuse(
        f"{WHO}.{key} must be a known setting; got {key!r}. {nearest(key, allowed)}"
        for key in config
        if key not in allowed
    )
    parts = [{key: config[key] for key in names if key in config} for names in (Settings.model_fields, SUBJECT, REPORT)]
    return make_settings(parts[0], WHO), parts[1], parts[2]


def _subject(model: Any, dataset: Any, settings: Settings, about: Mapping[str, Any], model_id: str | None) -> Subject:
    """Return the subject, with the names MLflow knows model and data by."""
    subject = explain(
        model, dataset.features_data, dataset.labels_data, seed=settings.seed, deny=settings.deny, **about
    )
    sources = {"data": f"MLflow dataset {dataset.name}"}
    if model_id:
        sources["model"] = f"models:/{model_id}"
    if dataset.targets_name:
        sources["target"] = str(dataset.targets_name)
    return replace(subject, sources=sources)


def _uri(run_id: str, name: str) -> str:
    return f"runs:/{run_id}/{PREFIX}/{name}"
