"""Every family of models that the documentation names, fitted on small real data: the rows of docs/models.md."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from sklearn import datasets
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import BayesianRidge, LogisticRegression, PoissonRegressor

import uq_report as uq
from uq_report.core.subject import Subject

Data: TypeAlias = Callable[[], tuple[Any, Any]]
TRAIN, TEST = slice(0, 100), slice(100, 140)


class Family(NamedTuple):
    """One row of the table: words for readers, the module it needs, and a fitted model with its audited rows."""

    words: str
    library: str
    subject: Callable[[], Subject]


def numbers(target: Callable[[Any], Any] = np.asarray) -> tuple[pd.DataFrame, Any]:
    """Return 140 rows of three features of the diabetes data, and its target or a function of it."""
    X, y = datasets.load_diabetes(return_X_y=True, as_frame=True)
    return X.loc[:139, ["bmi", "bp", "s5"]], target(y[:140].to_numpy())


def classes() -> tuple[pd.DataFrame, Any]:
    """Return 140 rows of three features of the breast cancer data, and its two classes."""
    X, y = datasets.load_breast_cancer(return_X_y=True, as_frame=True)
    return X.loc[:139, ["mean texture", "mean area", "mean symmetry"]], y[:140].to_numpy()


def counts(y: Any) -> Any:
    """Return counts made of numbers."""
    return np.floor(y / 25)


def fitted(model: Any, data: Data, **options: Any) -> Subject:
    """Return the subject of a model fitted on the first 100 rows."""
    X, y = data()
    model.fit(X[TRAIN], y[TRAIN])
    return uq.explain(model, X[TEST], y[TEST], train=(X[TRAIN], y[TRAIN]), **options)


def family(
    words: str, library: str, model: Callable[[], Any], data: Callable[[], tuple[Any, Any]], **more: Any
) -> Family:
    """Return a family whose model has scikit-learn's ``fit``."""
    return Family(words, library, lambda: fitted(model(), data, **more))


SKLEARN = (
    family("classifiers with `predict_proba`, also calibrated, in pipelines and search objects", "sklearn",
           lambda: LogisticRegression(max_iter=10_000), classes),
    family("forests, bagging and soft voting of classifiers", "sklearn",
           lambda: RandomForestClassifier(10, random_state=0), classes),
    family("forests of regressors with leaves of one row", "sklearn",
           lambda: RandomForestRegressor(10, random_state=0), numbers),
    family("forests of regressors with `min_samples_leaf` of 5 and more", "sklearn",
           lambda: RandomForestRegressor(10, min_samples_leaf=5, random_state=0), numbers),
    family("regressors with `predict(return_std=True)`: Gaussian processes, BayesianRidge, ARDRegression", "sklearn",
           BayesianRidge, numbers),
    family("PoissonRegressor, HistGradientBoostingRegressor with the Poisson loss", "sklearn",
           PoissonRegressor, partial(numbers, counts)),
)  # fmt: skip

FAMILIES = (*SKLEARN,)
