"""Families of boosted trees: XGBoost, LightGBM, CatBoost and NGBoost."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import Any

from .family import amounts, classes, counts, made, numbers

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)


def xgboost(kind: str, **options: Any) -> Any:
    """Return how to fit XGBoost's estimator of this name."""
    return estimator("xgboost", kind, n_estimators=8, max_depth=2, n_jobs=1, **options)


def lightgbm(kind: str, **options: Any) -> Any:
    """Return how to fit LightGBM's estimator of this name."""
    return estimator("lightgbm", kind, n_estimators=8, num_leaves=4, n_jobs=1, verbose=-1, **options)


def catboost(kind: str, **options: Any) -> Any:
    """Return how to fit CatBoost's estimator of this name."""
    few = {"iterations": 20, "depth": 3, "verbose": 0, "allow_writing_files": False, "thread_count": 1}
    return estimator("catboost", kind, **few, **options)


def ngboost(distribution: str) -> Any:
    """Return how to fit NGBoost with its distribution of this name."""

    def fit(X: Any, y: Any) -> Any:
        dist = getattr(import_module("ngboost.distns"), distribution)
        return estimator("ngboost", "NGBRegressor", Dist=dist, n_estimators=8, verbose=False)(X, y)

    return fit


def estimator(module: str, kind: str, **options: Any) -> Any:
    """Return how to fit an estimator of a module that is imported only then."""
    return lambda X, y: getattr(import_module(module), kind)(**options).fit(X, y)


def failure_times(X: Any, y: Any) -> Any:
    """Return XGBoost's booster of accelerated failure times."""
    module = import_module("xgboost")
    rows = module.DMatrix(X)
    for bound in ("label_lower_bound", "label_upper_bound"):
        rows.set_float_info(bound, y)
    return module.train({"objective": "survival:aft", "max_depth": 2, "nthread": 1}, rows, 8)


BOOSTED = (
    made("XGBoost, LightGBM: classifiers, also as native boosters", "xgboost", xgboost("XGBClassifier"), classes),
    made("XGBoost: `count:poisson`", "xgboost",
         xgboost("XGBRegressor", objective="count:poisson"), partial(numbers, counts)),
    made("XGBoost: `reg:quantileerror` of three and more levels; CatBoost: `MultiQuantile`", "xgboost",
         xgboost("XGBRegressor", objective="reg:quantileerror", quantile_alpha=list(LEVELS)), numbers),
    made("XGBoost: `survival:aft`", "xgboost", failure_times, amounts),
    made("LightGBM: `poisson`", "lightgbm", lightgbm("LGBMRegressor", objective="poisson"), partial(numbers, counts)),
    made("CatBoost: CatBoostClassifier with `posterior_sampling`", "catboost",
         catboost("CatBoostClassifier", posterior_sampling=True), classes),
    made("CatBoost: `RMSEWithUncertainty`", "catboost",
         catboost("CatBoostRegressor", loss_function="RMSEWithUncertainty"), numbers),
    made("CatBoost: `RMSEWithUncertainty` with `posterior_sampling`", "catboost",
         catboost("CatBoostRegressor", loss_function="RMSEWithUncertainty", posterior_sampling=True), numbers),
    made("NGBoost: every family, here log-normal", "ngboost", ngboost("LogNormal"), amounts),
)  # fmt: skip
