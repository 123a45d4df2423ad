"""Probabilistic regressors of skpro: whatever distribution their ``predict_proba`` returns."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import pandas as pd

from ...core.model.adapter import Adapter, Match, class_names
from ...core.predictive import Distribution
from ...core.support.arrays import Table
from ...core.support.errors import InputError
from .skpro_families import LEVELS, from_skpro

_REGRESSOR = "skpro.BaseProbaRegressor"
_RESAMPLED = ("skpro.BootstrapRegressor",)


@dataclass(frozen=True)
class SkproAdapter(Adapter):
    """Regressors that inherit from skpro's ``BaseProbaRegressor``, pipelines and searches of skpro included.

    Families, mixtures, histograms and draws are read exactly; a distribution without an exact density is
    read at 99 quantiles, with the tails of `Quantiles`.

    Examples
    --------
    >>> BaseProbaRegressor = type("BaseProbaRegressor", (), {"__module__": "skpro.regression.base"})
    >>> SkproAdapter().matches(BaseProbaRegressor()).distance
    1
    """

    name: ClassVar[str] = "skpro"
    libraries: ClassVar[tuple[str, ...]] = ("skpro",)

    def matches(self, model: Any) -> Match | None:
        """Match by inheritance from skpro's base of probabilistic regressors."""
        if isinstance(model, type) or _REGRESSOR not in class_names(model):
            return None
        return Match(1, f"{type(model).__name__} of skpro: the distribution its predict_proba returns")

    def predict(self, model: Any, X: Table) -> Distribution:
        """Return the model's predictive distributions."""
        if not getattr(model, "is_fitted", True):
            raise InputError(
                f"model must be fitted; got a {type(model).__name__} of skpro that is not. Call fit first."
            )
        with warnings.catch_warnings():  # pandas, on how skpro stacks its tables
            warnings.filterwarnings("ignore", "The previous implementation of stack", FutureWarning)
            dist = model.predict_proba(X.copy() if isinstance(X, pd.DataFrame) else X)
        return from_skpro(dist)

    def remarks(self, model: Any) -> tuple[str, ...]:
        """Say what of skpro's distributions is not read exactly, and what draws of predictions leave out."""
        exact = f"A distribution of skpro without an exact density is read at {len(LEVELS)} quantiles."
        if set(_RESAMPLED) & set(class_names(model)):
            return (exact, "Its draws are predictions of refitted models: the noise of the outcome is not in them.")
        return (exact,)
