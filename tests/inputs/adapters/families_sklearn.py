"""Families of scikit-learn's models, and of point regressors under an assumption."""

from __future__ import annotations

from functools import partial
from typing import Any

from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import (
    BayesianRidge,
    GammaRegressor,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    QuantileRegressor,
    TweedieRegressor,
)

from uq_report.inputs.adapters.glm import GlmAdapter

from .family import amounts, classes, counts, family, made, numbers


def by_level(X: Any, y: Any) -> dict[float, Any]:
    """Return quantile regressors by their levels."""
    return {level: QuantileRegressor(quantile=level, alpha=0.0).fit(X, y) for level in (0.05, 0.25, 0.5, 0.75, 0.95)}


SKLEARN = (
    family("classifiers with `predict_proba`, also calibrated, in pipelines and search objects", "sklearn",
           lambda: LogisticRegression(max_iter=10_000), classes),
    family("forests, bagging and soft voting of classifiers", "sklearn",
           lambda: RandomForestClassifier(10, random_state=0), classes),
    family("forests of regressors with leaves of one row", "sklearn",
           lambda: RandomForestRegressor(10, random_state=0), numbers),
    family("forests of regressors with `min_samples_leaf` of 5 and more", "sklearn",
           lambda: RandomForestRegressor(10, min_samples_leaf=5, random_state=0), numbers),
    family("forests and bagging of regressors, `residuals=\"oob\"`", "sklearn",
           lambda: RandomForestRegressor(30, random_state=0), numbers, residuals="oob"),
    family("regressors with `predict(return_std=True)`: Gaussian processes, BayesianRidge, ARDRegression", "sklearn",
           BayesianRidge, numbers),
    family("any regressor, `residuals=\"normal\"`", "sklearn", LinearRegression, numbers, residuals="normal"),
    family("any regressor, `residuals=\"empirical\"`", "sklearn", LinearRegression, numbers, residuals="empirical"),
    family("any regressor, `residuals=\"conformal\"`", "sklearn", LinearRegression, numbers, residuals="conformal"),
    family("PoissonRegressor, HistGradientBoostingRegressor with the Poisson loss", "sklearn",
           PoissonRegressor, partial(numbers, counts)),
    family("GammaRegressor, HistGradientBoostingRegressor with the gamma loss, a dispersion given", "sklearn",
           GammaRegressor, amounts, adapter=GlmAdapter(dispersion=0.2)),
    family("TweedieRegressor of a power from 1 to 2, a dispersion given", "sklearn",
           lambda: TweedieRegressor(power=1.5), partial(numbers, counts), adapter=GlmAdapter(dispersion=0.8)),
    made("quantile models of any library in a dictionary, `{0.05: low, 0.5: mid, 0.95: high}`", "sklearn",
         by_level, numbers),
)  # fmt: skip
