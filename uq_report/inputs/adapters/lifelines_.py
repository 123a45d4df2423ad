"""Regression models of lifelines: survival curves, and exact distributions of accelerated failure times."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import ndtr

from ...core.model.adapter import Match, class_names
from ...core.predictive import Distribution
from ...core.support.arrays import BoolArray, FloatArray, Table
from ...core.support.errors import InputError, UnsupportedError, to_type
from ...distributions import Censored, LogLogistic, LogNormal, Weibull
from .survival_curves import CurvesAdapter

_FITTED = """\
from lifelines import WeibullAFTFitter

time, event = y_train.columns
model = WeibullAFTFitter().fit(X_train.join(y_train), time, event)
uq.explain(model, X, y)"""
_NAMED = """\
import pandas as pd

uq.explain(model, pd.DataFrame(X, columns=X_train.columns), y)"""


class _Accelerated(NamedTuple):
    """The survival levels of the times exp(m) and exp(m + s), where log T has location m and scale s, and the family.

    ``family(exp(m), s)`` is the distribution.
    """

    levels: tuple[float, float]
    family: Callable[[FloatArray, FloatArray], Distribution]


_ACCELERATED: Mapping[str, _Accelerated] = {
    "lifelines.WeibullAFTFitter": _Accelerated((math.exp(-1), math.exp(-math.e)), lambda at, s: Weibull(1 / s, at)),
    "lifelines.LogNormalAFTFitter": _Accelerated((0.5, float(ndtr(-1))), lambda at, s: LogNormal(np.log(at), s)),
    "lifelines.LogLogisticAFTFitter": _Accelerated((0.5, 1 / (1 + math.e)), lambda at, s: LogLogistic(at, 1 / s)),
}


@dataclass(frozen=True)
class LifelinesAdapter(CurvesAdapter):
    """Regression models of lifelines, whose rows are a DataFrame with the columns of the fit.

    ``WeibullAFTFitter``, ``LogNormalAFTFitter`` and ``LogLogisticAFTFitter`` give their distributions: the loss is
    their likelihood. The others give curves, read at the model's own times, which needs none of the library's
    interpolation. The horizon of the restricted mean is the last time of the fit unless `ends` says otherwise.
    """

    name: ClassVar[str] = "lifelines"
    libraries: ClassVar[tuple[str, ...]] = ("lifelines",)

    def matches(self, model: Any) -> Match | None:
        """Match every fitter of the library by name."""
        if isinstance(model, type) or "lifelines.BaseFitter" not in class_names(model):
            return None
        exact = "distributions of the time, with its likelihood"
        cells = "survival curves, with loss and entropy of cells of the time axis"
        return Match(1, f"{type(model).__name__}: {exact if _accelerated(model) else cells}")

    def predict(self, model: Any, X: Table) -> Distribution:
        """Return the distributions or survival curves of the rows."""
        who = type(model).__name__
        if not callable(getattr(model, "predict_survival_function", None)):
            raise UnsupportedError(
                f"{who} must predict a survival function of each row; it has none: it has no features, or rows that "
                f"are intervals. Audit a regression model. {to_type(_FITTED)}"
            )
        if not isinstance(X, pd.DataFrame):
            raise InputError(
                f"explain.X must be a DataFrame with the columns {who} was fitted on; got an array. {to_type(_NAMED)}"
            )
        rows, accelerated = X.reset_index(drop=True), _accelerated(model)
        if accelerated is None:
            table = model.predict_survival_function(rows)
            return self.curves(table.index, table[rows.index].to_numpy().T, _event_times(model, table.index))
        first, second = (np.asarray(model.predict_percentile(rows, p=p), dtype=float) for p in accelerated.levels)
        horizon = self.ends[-1] if self.ends else float(np.max(model.durations))
        return Censored(accelerated.family(first, np.log(second / first)), horizon)


def _accelerated(model: Any) -> _Accelerated | None:
    return next((_ACCELERATED[name] for name in class_names(model) if name in _ACCELERATED), None)


def _event_times(model: Any, times: Any) -> BoolArray:
    """Return at which of its times the model saw an event."""
    seen = np.asarray(model.durations)[np.asarray(model.event_observed, dtype=bool)]
    return np.isin(np.asarray(times), seen)
