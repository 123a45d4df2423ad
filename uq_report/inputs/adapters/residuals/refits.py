"""Cross-validated residuals: the model fitted again to the rows outside each fold."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from ....core.support.arrays import FloatArray, Table, take_rows
from ....core.support.errors import InputError, ModelError, words_of
from ....core.traits.interop import global_random_state_restored
from ....core.validation.multioutput import Output
from ....core.validation.residuals import Residuals
from ..chains import Augmented
from ..sklearn_ import in_order, is_a
from .points import GIVE_ROWS, LEAST, Collected, PointPredictions, folds, predicted

_MUST = "explain.model must be able to be fitted again for cross-validated residuals"


def refitted(model: Any, X: Table, y: FloatArray, asked: Residuals, *, mixed: bool) -> Collected:
    """Return residuals of rows that the same model did not see when it was fitted to the other folds."""
    blank, n = _blank(model, asked.seed), len(y)
    if n < max(LEAST, asked.n_splits):
        raise InputError(f"explain.train must have at least {max(LEAST, asked.n_splits)} rows for residuals; got {n}.")
    mean, variance = np.empty(n), np.empty(n)
    clone = import_module("sklearn.base").clone
    for fold in folds(n, asked):
        rest = np.setdiff1d(np.arange(n), fold)
        try:
            with global_random_state_restored(), in_order():
                again = clone(blank)
                again.fit(take_rows(X, rest), y[rest])
        except Exception as error:  # a foreign object: whatever its fit raises is passed on with its name
            got = f"{type(model).__name__} ended with {words_of(error)}"
            raise ModelError(f"{_MUST}; {got}. {GIVE_ROWS}") from error
        mean[fold], variance[fold] = predicted(again, take_rows(X, fold), mixed=mixed)
    note = f"For the residuals the model was fitted {asked.n_splits} more times, each to the rows outside one fold."
    return Collected("cross_validation", X, y - mean, PointPredictions(mean, variance), (note,))


def can_refit(model: Any) -> bool:
    """Say whether a model and all its parts can be fitted again from their parameters, as scikit-learn's can."""
    return _has_parameters(model) and not _fixed(model)


def _has_parameters(model: Any) -> bool:
    methods = all(callable(getattr(model, name, None)) for name in ("get_params", "fit"))
    return methods and not isinstance(model, type)


def _fixed(model: Any) -> list[str]:
    """Return the parts of a model that are fitted and not changed by another fit."""
    return [name for name, part in {"itself": model, **model.get_params(deep=True)}.items() if _stays(part)]


def _blank(model: Any, seed: int) -> Any:
    """Return the model as it was before its fit, with a seed wherever it has none; refuse what cannot be.

    Of a search the best model is taken, without a new search.
    """
    if is_a(model, ("BaseSearchCV",)) and hasattr(model, "best_estimator_"):
        model = model.best_estimator_
    if not _has_parameters(model):
        raise InputError(f"{_MUST}; got {type(model).__name__}, which no clone of it can. {GIVE_ROWS}")
    if fixed := _fixed(model):
        raise InputError(
            f"{_MUST}; got {type(model).__name__} with parts that stay as they are ({', '.join(fixed)}) and have seen "
            f"every fold. {GIVE_ROWS}"
        )
    try:
        blank = import_module("sklearn.base").clone(model)
    except (TypeError, RuntimeError) as error:
        raise InputError(f"{_MUST}; {type(model).__name__} cannot be cloned: {error}. {GIVE_ROWS}") from error
    free = [
        name
        for name, value in model.get_params(deep=True).items()
        if value is None and name.split("__")[-1] == "random_state"
    ]
    return blank.set_params(**dict.fromkeys(free, seed)) if free else blank


def _stays(value: Any) -> bool:
    """Say whether a model, or a parameter of one, is fitted and not changed by another fit."""
    fitted = isinstance(value, Output | Augmented) or is_a(value, ("FrozenEstimator",))
    return fitted or (isinstance(value, str) and value == "prefit")
