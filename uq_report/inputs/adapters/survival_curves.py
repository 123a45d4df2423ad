"""Survival models of lifelines and scikit-survival: curves cut into cells, and exact distributions of failure times."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import ndtr

from ...core.model.adapter import Match, class_names
from ...core.predictive import Distribution
from ...core.support.arrays import BoolArray, FloatArray, IntArray, Table
from ...core.support.errors import InputError, UnsupportedError, to_type
from ...distributions import Censored, LogLogistic, LogNormal, Survival, Weibull
from .sklearn_ import ROWWISE_BATCH, SklearnAdapter, in_order, refitted, transform, unwrap

CELLS = 5


@dataclass(frozen=True)
class CurvesAdapter(SklearnAdapter):
    """What becomes of survival curves that a model gives as steps at the times it was fitted on.

    Moments and quantiles are those of the curves. The loss and the entropy are those of cells of the time axis, by
    default `n_cells` of equally many event times of the fit: single times would leave most events without mass.

    Parameters
    ----------
    n_cells : int, default=5
    ends : tuple of float, default=()
        The last times of the cells, instead: increasing. The curves end at the last, which is then the horizon of the
        restricted mean. Losses and entropies of two models compare on the same `ends` only.
    """

    n_cells: int = CELLS
    ends: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if isinstance(self.n_cells, bool) or not isinstance(self.n_cells, int) or self.n_cells < 2:
            raise InputError(f"{self.name}.n_cells must be an integer >= 2; got {self.n_cells!r}.")
        ends = np.asarray(self.ends, dtype=float)
        if ends.ndim != 1 or not (np.isfinite(ends).all() and (ends > 0).all() and (np.diff(ends) > 0).all()):
            raise InputError(f"{self.name}.ends must be increasing times > 0; got {self.ends}.")

    def curves(self, times: Any, survival: Any, events: Any) -> Survival:
        """Return the curves, shape (n, T), in the cells of this adapter; `events` says which times are of events."""
        times, survival = np.asarray(times, dtype=float), np.asarray(survival, dtype=float)
        if not self.ends:
            return Survival(times, survival, even_cells(np.asarray(events), self.n_cells))
        ends = np.asarray(self.ends)
        grid = np.union1d(times[times <= ends[-1]], ends)
        before = np.column_stack([np.ones(len(survival)), survival])
        steps: FloatArray = before[:, np.searchsorted(times, grid, side="right")]
        return Survival(grid, steps, np.searchsorted(grid, ends))


def even_cells(events: BoolArray, n_cells: int) -> IntArray:
    """Return the positions of times that end at most `n_cells` cells of equally many event times, the last among them.

    Examples
    --------
    >>> even_cells(np.array([True, False, True, True, False]), 2), even_cells(np.array([False, False]), 2)
    (array([2, 4]), array([1]))
    """
    at = np.flatnonzero(events)
    parts = np.array_split(at, min(n_cells, max(len(at), 1)))
    return np.array([*(part[-1] for part in parts[:-1]), len(events) - 1])


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
        if "lifelines.BaseFitter" not in class_names(model):
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
        known = _fitted_columns(model)
        extra = [] if known is None else [name for name in map(str, X.columns) if name not in known]
        if extra:
            raise InputError(
                f"explain.X must have the columns {who} was fitted on, {sorted(known or ())}; got {extra} besides. "
                f"Leave out what the model does not know: uq.explain(model, X.drop(columns={extra}), y)."
            )
        rows, accelerated = X.reset_index(drop=True), _accelerated(model)
        if accelerated is None:
            table = model.predict_survival_function(rows)
            return self.curves(table.index, table[rows.index].to_numpy().T, _fitter_event_times(model, table.index))
        first, second = (np.asarray(model.predict_percentile(rows, p=p), dtype=float) for p in accelerated.levels)
        horizon = self.ends[-1] if self.ends else float(np.max(model.durations))
        return Censored(accelerated.family(first, np.log(second / first)), horizon)


def _fitted_columns(model: Any) -> set[str] | None:
    """Return the columns that a fitter of lifelines reads; None where a formula picks them from more columns."""
    mappings = getattr(getattr(model, "regressors", None), "mappings", None) or {}
    listed = [columns for columns in mappings.values() if isinstance(columns, list)]
    if not listed:
        return None
    strata = getattr(model, "strata", None) or []
    parts = [*listed, [strata] if isinstance(strata, str) else strata]
    return {str(name) for columns in parts for name in columns} - {"Intercept"}


def _accelerated(model: Any) -> _Accelerated | None:
    return next((_ACCELERATED[name] for name in class_names(model) if name in _ACCELERATED), None)


def _fitter_event_times(model: Any, times: Any) -> BoolArray:
    """Return at which of its times the model saw an event."""
    seen = np.asarray(model.durations)[np.asarray(model.event_observed, dtype=bool)]
    return np.isin(np.asarray(times), seen)


_BATCH_CELLS = 2_500_000  # rows x times of a call
_FORESTS = ("RandomSurvivalForest", "ExtraSurvivalTrees", "SurvivalTree", "ExtraSurvivalTree")
_FORESTS_NAMES = {f"sksurv.{name}" for name in _FORESTS}
_NEEDED = (("fit_baseline_model", True), ("loss", "coxph"), ("low_memory", False))
_COX = """\
from sksurv.linear_model import CoxPHSurvivalAnalysis

model = CoxPHSurvivalAnalysis(alpha=0.1).fit(X_train, y_train)
uq.explain(model, X, y)"""


class SksurvAdapter(CurvesAdapter):
    """Models of scikit-survival with ``predict_survival_function``, alone, last in a pipeline, or in a search object.

    Cox models (of ``CoxnetSurvivalAnalysis`` the one of its smallest alpha), forests, trees and boosted Cox models.
    Machines that only rank rows have no survival function and are refused.
    """

    name: ClassVar[str] = "sksurv"
    libraries: ClassVar[tuple[str, ...]] = ("sksurv",)

    def matches(self, model: Any) -> Match | None:
        """Match every estimator of the library by its module."""
        final = unwrap(model)[1]
        if not class_names(final)[0].startswith("sksurv."):
            return None
        return Match(1, f"{type(final).__name__}: survival curves, with loss and entropy of cells of the time axis")

    def predict(self, model: Any, X: Table) -> Distribution:
        """Return the survival curves of the rows."""
        steps, final = unwrap(model)
        _refuse_rankings(model)
        rows = transform(steps, X)
        with in_order():
            survival = final.predict_survival_function(rows, return_array=True)
            hazard = final.predict_cumulative_hazard_function(rows[:1])[0]
        return self.curves(hazard.x, survival, _sksurv_event_times(final, hazard.y))

    def batch_rows(self, model: Any) -> int | None:
        """Return up to 25 000 for trees and forests (fewer where there are many times), else None."""
        steps, final = unwrap(model)
        if steps or class_names(final)[0] not in _FORESTS_NAMES:
            return None
        return min(ROWWISE_BATCH, max(1_000, _BATCH_CELLS // max(1, len(getattr(final, "unique_times_", ())))))


def _sksurv_event_times(model: Any, hazard: FloatArray) -> BoolArray:
    """Return at which times events were fitted: stated by trees; of proportional hazards where any row's rises."""
    stated = getattr(model, "is_event_time_", None)
    return np.diff(hazard, prepend=0.0) > 0 if stated is None else np.asarray(stated, dtype=bool)


def _refuse_rankings(model: Any) -> None:
    """Refuse what has no survival function, with the line that gives one."""
    final = unwrap(model)[1]
    who = type(final).__name__
    if not callable(getattr(final, "predict_survival_function", None)):
        raise UnsupportedError(
            f"{who} must have a survival function; it has none: it ranks rows or predicts a time, without a "
            f"probability. Audit a model that has one. {to_type(_COX)}"
        )
    for name, right in _NEEDED:
        if (got := getattr(final, name, right)) != right:
            raise UnsupportedError(
                f"{who} must be fitted with {name}={right!r} to have a survival function; got {got!r}. "
                f"{to_type(refitted(model, name, repr(right)))}"
            )
