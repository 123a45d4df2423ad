"""How the size of residuals depends on the row: small boosted trees on their absolute values."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd

from ....core.support.arrays import FloatArray, Table, take_rows
from ....core.support.errors import InputError
from ....core.validation.residuals import Residuals
from .points import GIVE_ROWS, Collected, folds

LEAST = 60  # residuals from which a scale is modelled
# few and small steps of small trees: of a constant scale they make next to nothing
_TREES = {"max_iter": 60, "learning_rate": 0.05, "max_leaf_nodes": 4, "min_samples_leaf": 20, "early_stopping": False}


@dataclass(frozen=True, eq=False)
class ModelledScale:
    """The mean absolute residual of a row, by its features and its prediction; each row alone, to the last bit."""

    trees: Any
    encoder: Any

    def __call__(self, X: Table, mean: FloatArray) -> FloatArray:
        """Return the scale of each row, greater than 0, shape (n,)."""
        return np.asarray(self.trees.predict(_numbers(self.encoder, X, mean)))


def modelled(rows: Collected, asked: Residuals) -> tuple[ModelledScale, FloatArray]:
    """Return the scale fitted to all residuals, and that of each residual row fitted to the other folds.

    The Poisson deviance of the absolute residuals is least at their mean, allows 0, and keeps the scale positive.
    """
    size, n = np.abs(rows.residual), len(rows.residual)
    least = max(LEAST, asked.n_splits)
    if n < least:
        raise InputError(f"residuals.scale must be 'constant' for fewer than {least} residuals; got {n}. {GIVE_ROWS}")
    own = np.empty(n)
    for fold in folds(n, asked):
        rest = np.setdiff1d(np.arange(n), fold)
        model = _fitted(take_rows(rows.X, rest), rows.predicted.mean[rest], size[rest])
        own[fold] = model(take_rows(rows.X, fold), rows.predicted.mean[fold])
    return _fitted(rows.X, rows.predicted.mean, size), own


def _fitted(X: Table, mean: FloatArray, size: FloatArray) -> ModelledScale:
    boosting = import_module("sklearn.ensemble").HistGradientBoostingRegressor(loss="poisson", **_TREES)
    encoder = import_module("sklearn.preprocessing").OrdinalEncoder(
        handle_unknown="use_encoded_value", unknown_value=np.nan, encoded_missing_value=np.nan
    )
    if _others(X):
        encoder.fit(_labels(X))
    return ModelledScale(boosting.fit(_numbers(encoder, X, mean), size), encoder)


def _numbers(encoder: Any, X: Table, mean: FloatArray) -> FloatArray:
    """Return the rows as numbers, the prediction first; other columns as the order of their levels."""
    if not isinstance(X, pd.DataFrame):
        return np.column_stack([mean, X]).astype(float)
    plain = [
        X.iloc[:, place].to_numpy(float, na_value=np.nan)
        for place, dtype in enumerate(X.dtypes)
        if pd.api.types.is_numeric_dtype(dtype)
    ]
    levels = [encoder.transform(_labels(X))] if _others(X) else []
    return np.column_stack([mean, *plain, *levels])


def _others(X: Table) -> list[int]:
    """Return the positions of the columns that are no numbers."""
    dtypes = X.dtypes if isinstance(X, pd.DataFrame) else ()
    return [place for place, dtype in enumerate(dtypes) if not pd.api.types.is_numeric_dtype(dtype)]


def _labels(X: Any) -> Any:
    return X.iloc[:, _others(X)].astype(str).to_numpy(dtype=object)
