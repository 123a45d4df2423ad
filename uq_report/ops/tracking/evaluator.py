"""The evaluator ``uq_report`` of `mlflow.models.evaluate`; what it does stands in `evaluation`.

MLflow imports this file whenever it lists its evaluators: only MLflow itself is imported at the top.
"""

import inspect
from typing import Any

from mlflow.models.evaluation.base import EvaluationResult, ModelEvaluator

MODEL_TYPES = ("classifier", "regressor")
# MLflow's function that collects all installed evaluators if the user named none.
_COLLECTS = "resolve_evaluators_and_configs"


class ReportEvaluator(ModelEvaluator):  # type: ignore[misc] # MLflow is not typed here
    """Audits the model and logs the report, run.json, its evidence, metrics and tags to MLflow's run.

    ``evaluator_config`` takes the fields of `uq_report.Settings`, the arguments of `uq_report.explain` beside the
    rows (``train``, ``protected``, ``positive_class``, ``max_rows`` ...), and ``formats`` (``("html",)``),
    ``template``, ``templates`` and ``appendix`` for the report.

    Examples
    --------
    ``mlflow.models.evaluate("models:/credit/3", test, targets="default", model_type="classifier",
    evaluators="uq_report", evaluator_config={"seed": 1, "formats": ["html", "pdf"]})``
    """

    @classmethod
    def can_evaluate(cls, *, model_type: str, **kwargs: Any) -> bool:  # noqa: ARG003 - MLflow's contract
        """Say yes to classifiers and regressors, if the evaluator was named.

        Without names MLflow runs every evaluator that is installed, and hands each the options meant for others. An
        audit takes minutes and refuses models without a predictive distribution, so it does not run unasked.
        """
        return model_type in MODEL_TYPES and not _unasked()

    def evaluate(  # noqa: PLR0913 - MLflow's contract
        self,
        *,
        model_type: str,
        dataset: Any,
        run_id: str,
        evaluator_config: dict[str, Any],
        model: Any = None,
        extra_metrics: Any = None,
        custom_artifacts: Any = None,
        predictions: Any = None,
        **kwargs: Any,
    ) -> Any:
        """Audit the model on the dataset; return metrics and artifacts as MLflow's `EvaluationResult`.

        Raises
        ------
        UQReportError
            The model gives no predictive distribution, or an option or column cannot be used.
        """
        from .evaluation import evaluated

        metrics, artifacts = evaluated(model, dataset, run_id, evaluator_config or {}, kwargs.get("model_id"))
        return EvaluationResult(metrics=metrics, artifacts=artifacts, run_id=run_id)


def _unasked() -> bool:
    """Say whether MLflow is collecting evaluators that nobody named."""
    frame = inspect.currentframe()
    for _ in range(2):
        frame = None if frame is None else frame.f_back
    return frame is not None and frame.f_code.co_name == _COLLECTS
