"""The score that a scikit-learn estimator makes its prediction of, and the prediction that belongs to given scores.

No link is written down here: a copy of the estimator is given the scores in place of its own, and predicts.
"""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np

from ...core.adapter import class_names
from ...core.arrays import FloatArray

_LOGISTIC = (
    "LogisticRegression LogisticRegressionCV LinearDiscriminantAnalysis SGDClassifier GradientBoostingClassifier"
)
_LOG_LINKED = "PoissonRegressor GammaRegressor TweedieRegressor"
_POINTS = (
    "LinearRegression Ridge RidgeCV Lasso LassoCV LassoLars LassoLarsCV LassoLarsIC Lars LarsCV ElasticNet "
    "ElasticNetCV OrthogonalMatchingPursuit OrthogonalMatchingPursuitCV HuberRegressor TheilSenRegressor "
    "QuantileRegressor SGDRegressor LinearSVR GradientBoostingRegressor"
)
# method that gives the score, by class: what the estimator predicts is a function of nothing else
_METHODS = {
    f"sklearn.{name}": method
    for names, method in (
        (_LOGISTIC, "decision_function"),
        (_LOG_LINKED, "_linear_predictor"),
        (_POINTS, "predict"),
        ("HistGradientBoostingClassifier HistGradientBoostingRegressor", "_raw_predict"),
    )
    for name in names.split()
}


def score_of(final: Any, X: Any) -> FloatArray | None:
    """Return the scores of rows, shape (n, k); None of an estimator of another class, also of a subclass."""
    method = _METHODS.get(class_names(final)[0])
    return None if method is None else np.asarray(getattr(final, method)(X), dtype=float).reshape(X.shape[0], -1)


def rescored(final: Any, scores: FloatArray) -> Any:
    """Return a copy of the estimator whose rows have these scores, shape (n, k), whatever rows it is asked about."""
    method = _METHODS[class_names(final)[0]]
    own = scores if method == "_raw_predict" or scores.shape[1] > 1 else scores[:, 0]
    stub = copy(final)
    setattr(stub, method, lambda _: own)
    return stub
