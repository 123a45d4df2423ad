"""Every classifier and regressor of scikit-learn is audited, or its refusal's lines are, as typed."""

from __future__ import annotations

import warnings
from inspect import Parameter, signature
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import RegressorMixin, is_regressor
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.utils import all_estimators

import uq_report as uq
from uq_report.core.support.errors import UQReportError

from .family import counts, numbers
from .typed_lines import typed

FIT, CALIBRATION, AUDITED = slice(0, 70), slice(70, 110), slice(110, 140)
SOME = Parameter("any", Parameter.KEYWORD_ONLY, default=0)
COUNTS = ("PoissonRegressor", "GammaRegressor", "TweedieRegressor")  # of a target above 0, here in whole numbers
ONE_COLUMN = ("IsotonicRegression",)
SEVERAL = ("MultiTask", "MultiOutput", "RegressorChain", "ClassifierChain", "CCA", "PLSCanonical")
ESTIMATORS = [
    pytest.param(estimator, id=name) for name, estimator in all_estimators(type_filter=["classifier", "regressor"])
]


def made(estimator: Any) -> Any:
    """Return an estimator of the class, with a simple model inside where it needs one."""
    inner = Ridge() if issubclass(estimator, RegressorMixin) else LogisticRegression()
    parameters = signature(estimator).parameters
    if "radius" in parameters:  # wide enough for rows that methods make up
        return estimator(radius=9.0)
    if parameters.get("estimators", SOME).default is Parameter.empty:
        return estimator(estimators=[("a", inner), ("b", inner)])
    if estimator.__name__ == "IsotonicRegression":  # defined beyond the rows of its fit
        return estimator(out_of_bounds="clip")
    needed = (parameters.get(name, SOME).default for name in ("estimator", "base_estimator"))
    inside = "SelfTraining" in estimator.__name__ or Parameter.empty in needed
    return estimator(inner) if inside else estimator()


def data(model: Any) -> tuple[pd.DataFrame, Any]:
    """Return rows and a target that the model can be fitted on."""
    name = type(model).__name__
    X, y = numbers() if is_regressor(model) else flowers()
    if name in COUNTS:
        y = counts(y) + 1
    if "Threshold" in name:  # of two classes
        y = np.minimum(y, 1)
    if name in ONE_COLUMN:
        X = X[["bmi"]]
    if name.startswith(SEVERAL):
        y = np.column_stack([y, y if not is_regressor(model) else np.sqrt(y)])
    return X, y


def flowers() -> tuple[pd.DataFrame, Any]:
    """Return the iris data in random order, in whole centimetres, as categorical Bayes needs them."""
    X, y = load_iris(return_X_y=True, as_frame=True)
    order = np.random.default_rng(0).permutation(len(X))[:140]
    return X.iloc[order].round().reset_index(drop=True), y.to_numpy()[order]


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_it_is_audited_or_its_refusal_works_when_typed(estimator: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a fit that stops early is a model like any other
        warnings.simplefilter("ignore", FutureWarning)  # a class about to go is still there
        warnings.filterwarnings("ignore", "y contains no unlabeled samples")
        model = made(estimator)
        X, y = data(model)
        model.fit(X[FIT], y[FIT])
        names = {"model": model, "X": X[AUDITED], "y": y[AUDITED], "X_train": X[FIT], "y_train": y[FIT]}
        names |= {"X_calibration": X[CALIBRATION], "y_calibration": y[CALIBRATION]}
        try:
            subject = uq.explain(model, X[AUDITED], y[AUDITED])
        except UQReportError as error:
            subject = typed(str(error), **names)
    run = uq.audit(subject, explainers=["calibration", "pfi"], options={"pfi": {"n_repeats": 3}}, progress=False).run
    assert {"calibration", "pfi"} <= {result.id for result in run.results}
    assert not run.result("calibration").estimates["estimate"].isna().any()
