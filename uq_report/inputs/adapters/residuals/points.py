"""Point predictions of any regressor or function, and the residuals they leave on rows outside the fit."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ....core.predictive import Distribution
from ....core.support.arrays import FloatArray, IntArray, Table
from ....core.support.errors import InputError
from ....core.validation.residuals import Residuals, Source
from ..ensemble import EnsembleAdapter
from ..outputs import refuse_rows
from ..sklearn_ import in_order

LEAST = 20  # residuals from which a spread is taken
GIVE_ROWS = "Give rows of your own: residuals=uq.Residuals(rows=(X_calibration, y_calibration))."
_STREAM = 0x12E5  # of the folds


class PointPredictions(NamedTuple):
    """Predictions of rows, and the variance that the members of an ensemble give each; 0 where members are not used."""

    mean: FloatArray
    variance: FloatArray


class Collected(NamedTuple):
    """Rows outside the fit with their residuals and predictions, and what a reader must know of them."""

    source: Source
    X: Table
    residual: FloatArray
    predicted: PointPredictions
    notes: tuple[str, ...] = ()


def point(model: Any, X: Table) -> FloatArray:
    """Return one number per row, shape (n,): what ``predict`` or a function gives; of a distribution its mean."""
    with in_order():
        values = model.predict(X) if callable(getattr(model, "predict", None)) else model(X)
    values = values.mean() if isinstance(values, Distribution) else values
    who = getattr(model, "__name__", type(model).__name__)
    try:
        numbers = np.asarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(f"{who} must predict numbers for residuals to be of; got others ({error}).") from error
    numbers = numbers[:, 0] if numbers.ndim == 2 and numbers.shape[1] == 1 else numbers
    if numbers.shape != (len(X),):
        raise InputError(
            f"{who} must predict one number per row, shape ({len(X)},), for residuals to be of; got {numbers.shape}. "
            "A model with several outputs is audited one output at a time."
        )
    refuse_rows(f"{who} must predict a finite number", ~np.isfinite(numbers), "Look at these rows' inputs.")
    return numbers


def predicted(model: Any, X: Table, *, mixed: bool) -> PointPredictions:
    """Return predictions and, if the members of an ensemble are used, their variance."""
    if mixed:
        mixture = EnsembleAdapter().predict(model, X)
        return PointPredictions(mixture.mean(), mixture.variance())
    mean = point(model, X)
    return PointPredictions(mean, np.zeros(len(mean)))


def folds(n: int, asked: Residuals) -> list[IntArray]:
    """Return the row positions of each fold, drawn by the seed."""
    order = np.random.default_rng([asked.seed, _STREAM]).permutation(n)
    return [np.sort(fold) for fold in np.array_split(order, asked.n_splits)]
