"""Survival models of scikit-survival: a survival curve per row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...core.model.adapter import Match, class_names
from ...core.predictive import Distribution
from ...core.support.arrays import BoolArray, FloatArray, Table
from ...core.support.errors import UnsupportedError, to_type
from .sklearn_ import ROWWISE_BATCH, in_order, refitted, transform, unwrap
from .survival_curves import CurvesAdapter

_BATCH_CELLS = 2_500_000  # rows x times of a call
_FORESTS = ("RandomSurvivalForest", "ExtraSurvivalTrees", "SurvivalTree", "ExtraSurvivalTree")
_FORESTS_NAMES = {f"sksurv.{name}" for name in _FORESTS}
_NEEDED = (("fit_baseline_model", True), ("loss", "coxph"), ("low_memory", False))
_COX = """\
from sksurv.linear_model import CoxPHSurvivalAnalysis

model = CoxPHSurvivalAnalysis(alpha=0.1).fit(X_train, y_train)
uq.explain(model, X, y)"""


@dataclass(frozen=True)
class SksurvAdapter(CurvesAdapter):
    """Models of scikit-survival with ``predict_survival_function``, alone, last in a pipeline, or in a search object.

    Cox models (of ``CoxnetSurvivalAnalysis`` the one of its smallest alpha), forests, trees and boosted Cox models.
    Machines that only rank rows have no survival function and are refused.
    """

    name: ClassVar[str] = "sksurv"
    libraries: ClassVar[tuple[str, ...]] = ("sksurv",)

    def matches(self, model: Any) -> Match | None:
        """Match every estimator of the library by its module."""
        if isinstance(model, type):
            return None
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
        return self.curves(hazard.x, survival, _event_times(final, hazard.y))

    def batch_rows(self, model: Any) -> int | None:
        """Return up to 25 000 for trees and forests (fewer where there are many times), else None."""
        steps, final = unwrap(model)
        if steps or class_names(final)[0] not in _FORESTS_NAMES:
            return None
        return min(ROWWISE_BATCH, max(1_000, _BATCH_CELLS // max(1, len(getattr(final, "unique_times_", ())))))


def _event_times(model: Any, hazard: FloatArray) -> BoolArray:
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
