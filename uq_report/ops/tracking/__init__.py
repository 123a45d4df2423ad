"""Reports in MLflow: an evaluator for `mlflow.models.evaluate`, and the log of a finished run's folder.

MLflow imports `evaluator` whenever it lists its evaluators, so that nothing is imported here.
"""
