"""Files of a report as MLflow hands them out again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mlflow.models.evaluation.base import EvaluationArtifact


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
        from ...api import load

        return load(local_artifact_path)
