"""Which quantiles a fitted model predicts, read from its parameters without importing its library."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.model.adapter import class_names


def levels_of(model: Any) -> tuple[float, ...]:
    """Return the levels of the quantiles that a fitted final estimator predicts; none for another model."""
    name = next((name for name in class_names(model) if name in _READERS), None)
    return () if name is None else tuple(float(level) for level in _READERS[name](model))


def words(levels: tuple[float, ...]) -> str:
    """Return the levels in words.

    Examples
    --------
    >>> words((0.05, 0.5, 0.95))
    'quantiles at 3 levels, 0.05 to 0.95'
    """
    return f"quantiles at {len(levels)} levels, {levels[0]:g} to {levels[-1]:g}"


def _sklearn(parameter: str) -> Callable[[Any], tuple[float, ...]]:
    def read(model: Any) -> tuple[float, ...]:
        return (getattr(model, parameter),) if model.loss == "quantile" else ()

    return read


def _lightgbm(model: Any) -> tuple[float, ...]:
    parameters = model.get_params() if hasattr(model, "get_params") else model.params
    names = {parameters.get(name) for name in ("objective", "application", "objective_type")}
    return (parameters.get("alpha", 0.9),) if "quantile" in names else ()


def _xgboost(model: Any) -> tuple[float, ...]:
    """Read the configuration of the booster, which a model that was saved and loaded has too."""
    if hasattr(model, "get_booster") and not model.__sklearn_is_fitted__():
        return ()
    booster = model.get_booster() if hasattr(model, "get_booster") else model
    objective = json.loads(booster.save_config())["learner"]["objective"]
    if objective["name"] != "reg:quantileerror":
        return ()
    return tuple(np.atleast_1d(json.loads(objective["quantile_loss_param"]["quantile_alpha"])).tolist())


def _catboost(model: Any) -> tuple[float, ...]:
    parameters = model.get_all_params() if model.is_fitted() else model.get_params()
    loss, _, options = str(parameters.get("loss_function", "")).partition(":")
    if loss not in ("Quantile", "MultiQuantile"):
        return ()
    alphas = dict(option.split("=") for option in options.split(";") if "=" in option).get("alpha", "0.5")
    return tuple(float(alpha) for alpha in alphas.split(","))


_READERS: dict[str, Callable[[Any], tuple[float, ...]]] = {
    "sklearn.QuantileRegressor": lambda model: (model.quantile,),
    "sklearn.GradientBoostingRegressor": _sklearn("alpha"),
    "sklearn.HistGradientBoostingRegressor": _sklearn("quantile"),
    "lightgbm.LGBMModel": _lightgbm,
    "lightgbm.Booster": _lightgbm,
    "xgboost.XGBModel": _xgboost,
    "xgboost.Booster": _xgboost,
    "catboost.CatBoost": _catboost,
}
