"""What the adapters of scikit-learn models share: what a wrapper holds, and which models are row-wise.

Nothing here imports scikit-learn: classes are told by name, parts by their public attributes.
"""

import inspect
from collections.abc import Iterable
from copy import copy
from typing import Any

import numpy as np
import pandas as pd
from joblib import parallel_config

from ...core.model.adapter import Adapter, class_names
from ...core.predictive import Distribution
from ...core.support.arrays import FloatArray, Table

ROWWISE_BATCH = 25_000
PROCESS_BATCH = 250
_TREE_BATCH, _TREE_CELLS = 80_000, 2**21  # rows of a call, and rows x columns: 16 MB, more of which leave the cache
_PROCESS_CELLS = 2**20  # rows of a call x training rows: 8 MB for each array of a kernel

# method that returns the score, by class: the prediction is a function of the score alone
_SCORES = {
    "sklearn.GradientBoostingClassifier": "decision_function",
    "sklearn.GradientBoostingRegressor": "predict",
    "sklearn.HistGradientBoostingClassifier": "_raw_predict",
    "sklearn.HistGradientBoostingRegressor": "_raw_predict",
}
_INSIDE = {
    "sklearn.BaseSearchCV": "best_estimator_",
    "sklearn.BaseThresholdClassifier": "estimator_",
    "sklearn.FrozenEstimator": "estimator",
}
_TRANSFORMERS = (
    "StandardScaler MinMaxScaler MaxAbsScaler RobustScaler SimpleImputer VarianceThreshold OrdinalEncoder "
    "OneHotEncoder KBinsDiscretizer SelectKBest SelectPercentile SelectFromModel SelectFdr SelectFpr SelectFwe"
)
_ELEMENTWISE = {f"sklearn.{name}" for name in _TRANSFORMERS.split()}


def _both(*families: str) -> set[str]:
    return {f"sklearn.{family}{task}" for family in families for task in ("Classifier", "Regressor")}


_TREES = _both("DecisionTree", "ExtraTree", "RandomForest", "ExtraTrees", "HistGradientBoosting")
_BOOSTED = _both("GradientBoosting")
_COMBINED = _both("Bagging", "Voting")


class SklearnAdapter(Adapter):
    """An adapter of scikit-learn's estimators, which knows how many rows a call of theirs should get."""

    def batch_rows(self, model: Any) -> int | None:
        """Return 25 000 to 80 000 for trees and what is built of them, else None."""
        return batch_rows(model)

    def rows_together(self, model: Any) -> int | None:
        """Return 25 000 for scikit-learn's own estimators, fewer for Gaussian processes, else None.

        A pipeline pays for every call more than for thousands of rows. Gaussian processes pay for rows x training
        rows that leave the cache, so theirs are 2^20 cells, and 250 rows at least. Estimators of other libraries are
        not known: None.
        """
        steps, final = unwrap(model)
        names = [class_names(part)[0] for part in (*steps, final)]
        if names[-1].startswith("sklearn.GaussianProcess"):
            trained = getattr(getattr(final, "base_estimator_", final), "X_train_", ())
            return max(PROCESS_BATCH, _PROCESS_CELLS // len(trained)) if len(trained) else PROCESS_BATCH
        return ROWWISE_BATCH if all(name.startswith("sklearn.") for name in names) else None

    def score(self, model: Any, X: Any) -> FloatArray | None:
        """Return the final estimator's scores, shape (n, k), where its class is known to predict from them alone."""
        steps, final = unwrap(model)
        return score_of(final, transform(steps, X))

    def from_score(self, model: Any, scores: FloatArray) -> Distribution:
        """Return what `predict` makes of these scores, by the estimator's own link."""
        return self.predict(rescored(unwrap(model)[1], scores), scores)


def refitted(model: Any, name: str, value: str) -> str:
    """Return the lines that fit a model anew with a parameter of its own or of a part, and explain it.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.pipeline import make_pipeline
    >>> print(refitted(make_pipeline(Ridge()), "alpha", "2.0"))
    from sklearn.base import clone
    <BLANKLINE>
    model = clone(model).set_params(ridge__alpha=2.0).fit(X_train, y_train)
    uq.explain(model, X, y)
    """
    fit, clone = fitted_anew(model, name, value)
    return f"{clone}model = {fit}\nuq.explain(model, X, y)"


def fitted_anew(model: Any, name: str, value: str) -> tuple[str, str]:
    """Return the expression that fits a model anew with a parameter, and the import before it."""
    if class_names(model)[0] == "catboost.CatBoost":  # takes its parameters as one dictionary, so has no clone
        return f'type(model)({{**model.get_params(), "{name}": {value}}}).fit(X_train, y_train)', ""
    given = named_parameter(model, name) or name
    fit = f"clone(model).set_params({given}={value}).fit(X_train, y_train)"
    return fit, "from sklearn.base import clone\n\n"


def named_parameter(model: Any, name: str) -> str | None:
    """Return the full name of a parameter of a model or of a part, as of a step of a pipeline; None if it has none."""
    names = model.get_params() if callable(getattr(model, "get_params", None)) else ()
    return next((own for own in names if own.rpartition("__")[2] == name), None)


def is_a(model: Any, names: Iterable[str]) -> bool:
    """Say whether any class of the model, nearest or inherited, is one of scikit-learn's `names`."""
    return not {f"sklearn.{name}" for name in names}.isdisjoint(class_names(model))


def unwrap(model: Any) -> tuple[tuple[Any, ...], Any]:
    """Return the fitted transformers in front of the final estimator, and that estimator.

    Looks through Pipeline, search objects with a refitted best estimator, decision-threshold
    wrappers and FrozenEstimator. A calibrated model is no wrapper: it predicts something else.
    """
    names = class_names(model)
    if names[0] == "sklearn.Pipeline":
        before, (_, last) = model.steps[:-1], model.steps[-1]
        own = tuple(step for _, step in before if step is not None and step != "passthrough")
    else:
        attribute = next((attribute for name, attribute in _INSIDE.items() if name in names), "")
        own, last = (), getattr(model, attribute, None) if attribute else None
    if last is None:
        return own, model
    inner, final = unwrap(last)
    return (*own, *inner), final


def transform(steps: Iterable[Any], X: Table) -> Any:
    """Return `X` after the fitted transformers `steps`; `X` itself if there are none."""
    for step in steps:
        X = step.transform(X)
    return X


def batch_rows(model: Any) -> int | None:
    """Return the rows per call of a model whose every row is predicted alone, bit for bit; else None.

    That holds for trees and what is built of trees alone, behind steps that treat each number by
    itself. It does not hold for anything that multiplies matrices. Known classes only: a subclass
    may predict in another way.
    """
    return rows_of_trees(unwrap(model)[1]) if _rowwise(model) else None


def rows_of_trees(final: Any) -> int:
    """Return 80 000 rows per call of fitted trees, each of which costs anew in a call; fewer of more than 26 columns.

    At least, and where the number of columns is not told, 25 000.
    """
    columns = getattr(final, "n_features_in_", None)
    return max(ROWWISE_BATCH, min(_TREE_BATCH, _TREE_CELLS // columns)) if columns else ROWWISE_BATCH


def _rowwise(model: Any) -> bool:
    steps, final = unwrap(model)
    if not all(map(_elementwise, steps)):
        return False
    name = class_names(final)[0]
    if name in _BOOSTED:
        return getattr(final, "init", None) in (None, "zero")
    if name == "sklearn.HistGradientBoostingClassifier":  # a single row of many classes is summed in another order
        return getattr(final, "n_trees_per_iteration_", 1) == 1
    if name in _COMBINED:
        return all(_rowwise(member) for member in getattr(final, "estimators_", ()))
    if name == "sklearn.CalibratedClassifierCV":
        return all(_rowwise(part.estimator) for part in getattr(final, "calibrated_classifiers_", ()))
    return name in _TREES


def _elementwise(step: Any) -> bool:
    """Say whether a fitted transformer treats each value by itself, also column by column or in a pipeline."""
    name = class_names(step)[0]
    if step in ("passthrough", "drop") or name in _ELEMENTWISE:
        return True
    if name == "sklearn.FunctionTransformer":  # what a column transformer makes of "passthrough"
        return step.func is None
    if name == "sklearn.Pipeline":
        return all(_elementwise(part) for _, part in step.steps if part is not None)
    return name == "sklearn.ColumnTransformer" and all(_elementwise(part[1]) for part in step.transformers_)


def in_order() -> Any:
    """Return a context in which scikit-learn sums the members of an ensemble in one fixed order.

    With ``n_jobs`` other than 1 a forest adds its trees in the order its threads finish, and
    bagging by blocks that depend on the machine, so the last bits change from call to call.
    The engine's own ``n_jobs`` spreads the work instead.
    """
    return parallel_config(backend="sequential")


def gives_std(model: Any) -> bool:
    """Say whether the final estimator's ``predict`` takes ``return_std``."""
    return predict_takes(unwrap(model)[1], "return_std")


def predict_takes(model: Any, argument: str) -> bool:
    """Say whether the model's ``predict`` names an argument; False where it has no signature to read."""
    predict = getattr(model, "predict", None)
    if not callable(predict):
        return False
    try:
        return argument in inspect.signature(predict).parameters
    except (TypeError, ValueError):  # compiled callables
        return False


def plain_array(X: Any) -> Any:
    """Return `X` as the array scikit-learn's ensembles hand to their members; what an encoder left sparse stays so."""
    if hasattr(X, "tocsr"):
        return X.tocsr()
    if isinstance(X, pd.DataFrame):
        numeric = all(pd.api.types.is_numeric_dtype(dtype) for dtype in X.dtypes)
        return X.to_numpy(dtype=float, na_value=np.nan) if numeric else X.to_numpy()
    return np.asarray(X)


def each_alone(steps: Iterable[Any]) -> bool:
    """Say whether fitted transformers treat each value by itself, so that rows do not depend on their neighbours."""
    return all(map(_elementwise, steps))


def score_of(final: Any, X: Any) -> FloatArray | None:
    """Return the scores of rows, shape (n, k); None of an estimator of another class, also of a subclass."""
    method = _SCORES.get(class_names(final)[0])
    return None if method is None else np.asarray(getattr(final, method)(X), dtype=float).reshape(X.shape[0], -1)


def rescored(final: Any, scores: FloatArray) -> Any:
    """Return a copy of the estimator whose rows have these scores, shape (n, k), whatever rows it is asked about."""
    method = _SCORES[class_names(final)[0]]
    own = scores if method == "_raw_predict" or scores.shape[1] > 1 else scores[:, 0]
    stub = copy(final)
    setattr(stub, method, lambda _: own)
    return stub
