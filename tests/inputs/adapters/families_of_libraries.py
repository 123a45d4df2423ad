"""Families of the libraries for uncertainty: forests of quantiles, conformal prediction, statistics, survival."""

from __future__ import annotations

import warnings
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression

import uq_report as uq
from uq_report.core.model.subject import Subject

from .families_boosted import estimator
from .family import TEST, TRAIN, Family, classes, counts, made, numbers


def grades(y: Any) -> Any:
    """Return three grades made of numbers."""
    return np.digitize(y, [100, 180])


def mapie(kind: str, inner: Any) -> Any:
    """Return how to fit and conformalise MAPIE's estimator of this name by two halves of the training rows."""

    def fit(X: Any, y: Any) -> Any:
        model = getattr(import_module(f"mapie.{kind.partition('.')[0]}"), kind.partition(".")[2])
        with warnings.catch_warnings():  # MAPIE tries a fitted model on an array of zeros
            warnings.filterwarnings("ignore", "X does not have valid feature names")
            return model(inner.fit(X[:50], y[:50]), confidence_level=0.9, prefit=True).conformalize(X[50:], y[50:])

    return fit


def crepes(kind: str, inner: Any, **options: Any) -> Any:
    """Return how to fit and calibrate crepes' wrapper of this name by two halves of the training rows."""

    def fit(X: Any, y: Any) -> Any:
        model = getattr(import_module("crepes"), kind)(inner)
        model.fit(X[:50], y[:50])
        model.calibrate(X[50:], y[50:], seed=0, **options)
        return model

    return fit


def skpro(X: Any, y: Any) -> Any:
    """Return skpro's distribution from the residuals of two linear regressions."""
    model = import_module("skpro.regression.residual").ResidualDouble(LinearRegression())
    return model.fit(X, pd.DataFrame({"y": y}, X.index))


def statsmodels(kind: str, constant: bool = True, **options: Any) -> Any:
    """Return how to fit statsmodels' class of this name."""

    def fit(X: Any, y: Any) -> Any:
        api = import_module("statsmodels.api")
        module = import_module("statsmodels.miscmodels.ordinal_model") if kind == "OrderedModel" else api
        rows = api.add_constant(X) if constant else X
        with warnings.catch_warnings(action="ignore"):  # of the optimiser's steps
            return getattr(module, kind)(y, rows, **options).fit(**({} if kind == "OLS" else {"disp": 0}))

    return fit


def gamma(X: Any, y: Any) -> Any:
    """Return a generalised linear model of statsmodels with a gamma likelihood."""
    api = import_module("statsmodels.api")
    return api.GLM(y, api.add_constant(X), family=api.families.Gamma(api.families.links.Log())).fit()


def lifelines(kind: str) -> Subject:
    """Return a survival model of lifelines of this name, on arrests after release."""
    frame = import_module("lifelines.datasets").load_rossi().sample(frac=1.0, random_state=0).reset_index(drop=True)
    features, outcome = ["fin", "age", "prio"], ["week", "arrest"]
    train, test = frame[:300], frame[300:420]
    model = getattr(import_module("lifelines"), kind)().fit(train[features + outcome], *outcome)
    return uq.explain(model, test[features], test[outcome], train=(train[features], train[outcome]))


def sksurv() -> Subject:
    """Return a survival forest of scikit-survival, on heart attacks."""
    X, y = import_module("sksurv.datasets").load_whas500()
    X, order = X[["age", "bmi", "sysbp"]].astype(float), np.random.default_rng(0).permutation(len(X))
    X, y = X.iloc[order].reset_index(drop=True), y[order]
    forest = import_module("sksurv.ensemble").RandomSurvivalForest
    model = forest(15, min_samples_leaf=15, random_state=0).fit(X[:200], y[:200])
    return uq.explain(model, X[200:320], y[200:320], train=(X[:200], y[:200]))


def arviz() -> Subject:
    """Return posterior predictive draws as ArviZ holds them."""
    X, y = numbers()
    line = LinearRegression().fit(X[TRAIN], y[TRAIN])
    draws = np.random.default_rng(0).normal(line.predict(X[TEST]), 55.0, size=(4, 50, 120))
    data = import_module("arviz").from_dict(posterior_predictive={"y": draws})
    return uq.explain(data, X[TEST], y[TEST], train=(X[TRAIN], y[TRAIN]))


FOREST = RandomForestRegressor(15, min_samples_leaf=5, random_state=0)
LOGISTIC = LogisticRegression(max_iter=10_000)

LIBRARIES = (
    made("quantile-forest: RandomForestQuantileRegressor, ExtraTreesQuantileRegressor", "quantile_forest",
         estimator("quantile_forest", "RandomForestQuantileRegressor", n_estimators=20, min_samples_leaf=8,
                   random_state=0), numbers),
    made("skpro: regressors that give a known family", "skpro", skpro, numbers),
    made("MAPIE: regressors", "mapie", mapie("regression.SplitConformalRegressor", FOREST), numbers),
    made("MAPIE: classifiers", "mapie", mapie("classification.SplitConformalClassifier", LOGISTIC), classes),
    made("crepes: WrapRegressor", "crepes", crepes("WrapRegressor", FOREST), numbers),
    made("crepes: WrapRegressor calibrated with `cps=True`", "crepes", crepes("WrapRegressor", FOREST, cps=True),
         numbers),
    made("crepes: WrapClassifier", "crepes", crepes("WrapClassifier", LOGISTIC), classes),
    made("statsmodels: OLS", "statsmodels", statsmodels("OLS"), numbers),
    made("statsmodels: GLM, here gamma", "statsmodels", gamma, numbers),
    made("statsmodels: Poisson and other models of counts", "statsmodels", statsmodels("Poisson"),
         partial(numbers, counts)),
    made("statsmodels: Logit, Probit, MNLogit", "statsmodels", statsmodels("MNLogit"), partial(numbers, grades)),
    made("statsmodels: OrderedModel", "statsmodels", statsmodels("OrderedModel", constant=False),
         partial(numbers, grades)),
    Family("lifelines: CoxPHFitter and other curves", "lifelines", partial(lifelines, "CoxPHFitter")),
    Family("lifelines: Weibull, log-normal and log-logistic accelerated failure times", "lifelines",
           partial(lifelines, "WeibullAFTFitter")),
    Family("scikit-survival: models with `predict_survival_function`", "sksurv", sksurv),
    Family("PyMC, ArviZ: posterior predictive draws of the audited rows", "arviz", arviz),
)  # fmt: skip
