"""MAPIE's conformal models: prediction intervals, or label sets beside the probabilities of the wrapped classifier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...core.model.adapter import Adapter, Match, class_names
from ...core.predictive import Distribution
from ...core.support.arrays import AnyArray, FloatArray, Table
from ...core.support.errors import InputError, to_type
from ...distributions import Intervals, LabelSets
from .outputs import POINTS, class_labels, level_words, probabilities

_REGRESSORS = {
    "mapie.SplitConformalRegressor",
    "mapie.CrossConformalRegressor",
    "mapie.JackknifeAfterBootstrapRegressor",
    "mapie.ConformalizedQuantileRegressor",
    "mapie.CrossConformalizedQuantileRegressor",
}
_CLASSIFIERS = {"mapie.SplitConformalClassifier", "mapie.CrossConformalClassifier"}
_SERIES = "mapie.TimeSeriesRegressor"


@dataclass(frozen=True)
class MapieAdapter(Adapter):
    """MAPIE 1.x: ``predict_interval`` and ``predict_set`` at the levels the model was made with.

    Regressors give intervals and a point, no density: width, miscoverage and interval score, no entropy.
    Classifiers give label sets, audited beside the probabilities of the classifier they wrap. A
    ``TimeSeriesRegressor`` is refused: its intervals belong to rows in their order.

    Examples
    --------
    >>> SplitConformalRegressor = type("SplitConformalRegressor", (), {"__module__": "mapie.regression.regression"})
    >>> MapieAdapter().matches(SplitConformalRegressor()).distance
    0
    """

    name: ClassVar[str] = "mapie"
    libraries: ClassVar[tuple[str, ...]] = ("mapie",)

    def matches(self, model: Any) -> Match | None:
        """Match MAPIE's classes by name."""
        names = {*()} if isinstance(model, type) else {*class_names(model)}
        if names & _CLASSIFIERS:
            return Match(0, "label sets of MAPIE beside the probabilities of its classifier")
        if names & _REGRESSORS:
            return Match(0, "prediction intervals of MAPIE: no density")
        return Match(0, "intervals of rows in their order") if _SERIES in names else None

    def predict(self, model: Any, X: Table) -> Distribution:
        """Return intervals with the point prediction, or probabilities with label sets."""
        names = {*class_names(model)}
        if _SERIES in names:
            raise InputError(
                "model must predict rows that do not depend on their order; got a TimeSeriesRegressor of MAPIE. "
                f"Lay residuals over its predictions. {to_type(POINTS)}"
            )
        levels = _levels(model)
        if names & _CLASSIFIERS:
            _, sets = model.predict_set(X)
            inner = model._mapie_classifier.estimator_.single_estimator_  # noqa: SLF001 - it has no public name
            p = probabilities(inner, X)
            return LabelSets(p, levels, sets, class_labels(inner, p.shape[1]))
        point, bounds = model.predict_interval(X)
        return Intervals(levels, bounds[:, 0], bounds[:, 1], point)

    def decide(self, model: Any, X: Table) -> AnyArray | None:
        """Return the labels of the model's own ``predict``; None for regressors."""
        return np.asarray(model.predict(X)) if {*class_names(model)} & _CLASSIFIERS else None

    def remarks(self, model: Any) -> tuple[str, ...]:
        """Say what is read at which levels."""
        if {*class_names(model)} & _CLASSIFIERS:
            return (f"Entropy and losses are of the wrapped classifier's probabilities. {level_words(_levels(model))}",)
        return (level_words(_levels(model)),)


def _levels(model: Any) -> FloatArray:
    """Return the coverage levels of the model, in its order."""
    alphas = getattr(model, "_alphas", None)
    missed = np.asarray(getattr(model, "_alpha", None) if alphas is None else alphas, dtype=float)
    return np.round(1 - np.atleast_1d(missed), 12)
