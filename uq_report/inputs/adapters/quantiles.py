"""Quantile regressors: one model of several quantiles, or a dictionary of models of one each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from ...core.model.adapter import Match, class_names
from ...core.predictive import Distribution
from ...core.support.arrays import FloatArray, Table
from ...core.support.errors import InputError, to_type
from ...distributions import Quantiles
from ...distributions.tables.quantiles import Ties
from .outputs import point_prediction
from .quantile_levels import levels_of, words
from .sklearn_ import (
    ROWWISE_BATCH,
    SklearnAdapter,
    batch_rows,
    each_alone,
    fitted_anew,
    named_parameter,
    transform,
    unwrap,
)

_LINE = "uq.explain({0.05: low, 0.5: middle, 0.95: high}, X, y)"
# the names of the level, and how one is set
_LEVELS = {
    "quantile": "level",
    "quantile_alpha": "level",
    "loss_function": "f'Quantile:alpha={level}'",
    "alpha": "level",
}
_TREES = ("xgboost.", "lightgbm.", "catboost.")


@dataclass(frozen=True)
class QuantilesAdapter(SklearnAdapter):
    """``{level: fitted model}``, or a boosted model of several quantiles: XGBoost's or CatBoost's.

    The models of a dictionary are any regressors whose ``predict`` returns one number per row: QuantileRegressor,
    gradient boosting with a quantile loss, LightGBM, statsmodels, alone or in pipelines, no two need be of a kind. The
    level that a model itself names must be its key. XGBoost: ``reg:quantileerror`` with several ``quantile_alpha``;
    CatBoost: ``MultiQuantile``; both alone or last in a pipeline.

    Parameters
    ----------
    ties : {"joined", "atoms", "refused"}
        What is made of equal quantiles, which models of trees predict; see `Quantiles`.

    Examples
    --------
    >>> class Constant:
    ...     def __init__(self, value):
    ...         self.value = value
    ...     def predict(self, X):
    ...         return np.full(len(X), self.value)
    >>> models = {0.1: Constant(-1.0), 0.5: Constant(0.0), 0.9: Constant(1.0)}
    >>> QuantilesAdapter().predict(models, np.zeros((1, 2))).quantile([0.3])
    array([[-0.5]])
    """

    ties: Ties = "joined"

    name: ClassVar[str] = "quantiles"

    def matches(self, model: Any) -> Match | None:
        """Match dictionaries with numbers as keys, and models that were fitted to a quantile loss."""
        if isinstance(model, type):
            return None
        if isinstance(model, Mapping):
            if not model or not all(isinstance(key, Real) and not isinstance(key, bool) for key in model):
                return None
            return Match(0, f"a dictionary of {len(model)} models, one for each level")
        final = unwrap(model)[1]
        levels = levels_of(final)
        if not levels:
            return None
        kind = words(levels) if len(levels) > 1 else f"the quantile at level {levels[0]:g} alone"
        return Match(0, f"{type(final).__name__}: {kind}")

    def predict(self, model: Any, X: Table) -> Distribution:
        """Return a quantile table per row."""
        if isinstance(model, Mapping):
            keys = _checked_keys(model)
            columns = [_column(model[level], X, level) for level in keys]
            return Quantiles(keys, np.stack(columns, axis=1), ties=self.ties)
        steps, final = unwrap(model)
        levels = np.array(levels_of(final))
        if len(levels) < 3:
            raise InputError(
                f"model must predict at least 3 quantiles; got {type(final).__name__} for {levels.tolist()} alone. "
                f"{to_type(_more(model))}"
            )
        values = _table(final, transform(steps, X), len(levels))
        order = np.argsort(levels)
        return Quantiles(levels[order], values[:, order], ties=self.ties)

    def batch_rows(self, model: Any) -> int | None:
        """Return 25 000 for trees, all of them in a dictionary, else None."""
        parts = model.values() if isinstance(model, Mapping) else [model]
        return ROWWISE_BATCH if all(map(_rowwise, parts)) else None

    def rows_together(self, model: Any) -> int | None:
        """Return what all models of a dictionary allow; None for a boosted model."""
        if not isinstance(model, Mapping):
            return None
        parts = [super(QuantilesAdapter, self).rows_together(part) for part in model.values()]
        known = [rows for rows in parts if rows is not None]
        return min(known) if len(known) == len(parts) else None


def _more(model: Any) -> str:
    """Return how models of further levels are fitted, and passed with each other."""
    own = next((item for item in _LEVELS.items() if named_parameter(model, item[0])), None)
    if own is None:
        return _LINE
    fit, clone = fitted_anew(model, *own)
    return (
        f"{clone}levels = (0.05, 0.25, 0.5, 0.75, 0.95)\n"
        f"models = {{level: {fit} for level in levels}}\nuq.explain(models, X, y)"
    )


def _checked_keys(models: Mapping[Any, Any]) -> list[Any]:
    """Return the levels in order; refuse those that are none, too few, or not those of their models."""
    levels = sorted(models)
    if len(levels) < 3 or not 0 < levels[0] <= levels[-1] < 1:
        raise InputError(
            f"model must be a dictionary of at least 3 levels strictly between 0 and 1; got {levels}. "
            f"Fit one model for each level and pass all: {_LINE}."
        )
    for level in levels:
        own = levels_of(unwrap(models[level])[1])
        if own and not np.allclose(own, level):
            raise InputError(
                f"model[{level:g}] must be the model of that level; got a {type(models[level]).__name__} "
                f"for {', '.join(f'{value:g}' for value in own)}. Give each model the level it was fitted for."
            )
    return levels


def _column(model: Any, X: Table, level: Any) -> FloatArray:
    if not callable(getattr(model, "predict", None)):
        raise InputError(f"model[{level:g}] must be a fitted regressor; got {type(model).__name__} without predict.")
    steps, final = unwrap(model)
    rows = transform(steps, X)
    if "xgboost.Booster" in class_names(final):
        return np.asarray(final.inplace_predict(rows), dtype=float)
    return point_prediction(final, rows)


def _table(model: Any, X: Any, size: int) -> FloatArray:
    values = model.inplace_predict(X) if "xgboost.Booster" in class_names(model) else model.predict(X)
    return np.asarray(values, dtype=float).reshape(-1, size)


def _rowwise(model: Any) -> bool:
    """Say whether a model predicts every row alone, bit for bit: trees, here or in another library."""
    if batch_rows(model) is not None:
        return True
    steps, final = unwrap(model)
    name = class_names(final)[0]
    linear = "gblinear" in (getattr(final, "booster", None), getattr(final, "boosting_type", None))
    return name.startswith(_TREES) and not linear and "Booster" not in name and each_alone(steps)
