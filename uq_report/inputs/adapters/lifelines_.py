"""Regression models of lifelines: survival curves, and exact distributions of accelerated failure times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from ...core.adapter import Match, class_names
from ...core.arrays import BoolArray, FloatArray, Table
from ...core.errors import InputError, UnsupportedError
from ...core.predictive import Distribution
from .survival_curves import CurvesAdapter

_LINE = "from lifelines import WeibullAFTFitter; model = WeibullAFTFitter().fit(frame, 'time', 'event')"


@dataclass(frozen=True)
class LifelinesAdapter(CurvesAdapter):
    """Regression models of lifelines, whose rows are a DataFrame with the columns of the fit.

    A curve is read at the model's own times, which needs none of the library's interpolation.
    """

    name: ClassVar[str] = "lifelines"

    def matches(self, model: Any) -> Match | None:
        """Match every fitter of the library by name."""
        names = class_names(model)
        if isinstance(model, type) or not {"lifelines.BaseFitter", "lifelines.UnivariateFitter"} & set(names):
            return None
        return Match(1, f"{type(model).__name__}: survival curves, with loss and entropy of cells of the time axis")

    def predict(self, model: Any, X: Table) -> Distribution:
        """Return the survival curves of the rows."""
        who = type(model).__name__
        if not callable(getattr(model, "predict_survival_function", None)):
            raise UnsupportedError(
                f"{who} must predict a survival function of each row; it has none: it has no features, or rows that "
                f"are intervals. Audit a regression model: {_LINE}"
            )
        if not isinstance(X, pd.DataFrame):
            raise InputError(
                f"explain.X must be a DataFrame with the columns {who} was fitted on; got an array. Type: "
                "X = pd.DataFrame(X, columns=[...])"
            )
        rows = X.reset_index(drop=True)
        table = model.predict_survival_function(rows)
        return self.curves(table.index, table[rows.index].to_numpy().T, _event_times(model, np.asarray(table.index)))


def _event_times(model: Any, times: FloatArray) -> BoolArray:
    """Return at which of its times the model saw an event."""
    seen = np.asarray(model.durations)[np.asarray(model.event_observed, dtype=bool)]
    return np.isin(times, seen)
