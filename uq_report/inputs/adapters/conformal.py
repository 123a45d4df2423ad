"""Conformal models of MAPIE and crepes: prediction intervals, predictive distributions, or label sets."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...core.model.adapter import Adapter, Match, class_names
from ...core.predictive import Distribution
from ...core.support.arrays import AnyArray, FloatArray, Table
from ...core.support.errors import InputError, to_type
from ...distributions import Draws, Intervals, LabelSets
from ...distributions.tables.intervals import checked_levels
from .outputs import POINTS, class_labels, level_words, point_prediction, predicted_labels, probabilities

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
        names = {*class_names(model)}
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


_CREPES_REGRESSOR, _CREPES_CLASSIFIER = "crepes.WrapRegressor", "crepes.WrapClassifier"
_CALIBRATED = "model.calibrate(X_calibration, y_calibration)\nuq.explain(model, X, y)"
_CREPES_INTERVALS = f"""\
from {__name__} import CrepesAdapter

uq.explain(model, X, y, adapter=CrepesAdapter(intervals=True))"""


@dataclass(frozen=True)
class CrepesAdapter(Adapter):
    """``WrapRegressor`` and ``WrapClassifier`` of crepes after ``calibrate``.

    Regressors give intervals and a point, no density: width, miscoverage and interval score, no entropy. A
    conformal predictive system (``cps=True``) is read as draws, its thresholds with equal weight, so that CRPS,
    quantiles and an entropy of draws exist. Classifiers give label sets, audited beside the probabilities of the
    learner. P-values are not smoothed at random, so that the same rows have the same sets; such sets hold the
    outcome at least as often.

    Parameters
    ----------
    levels : tuple of float, default=(0.5, 0.8, 0.9, 0.95)
        Coverage levels to ask for; crepes keeps none. Width and miscoverage are those of the level nearest to 90%.
    intervals : bool, default=False
        Read a conformal predictive system by its intervals too.

    Examples
    --------
    >>> WrapRegressor = type("WrapRegressor", (), {"__module__": "crepes.base"})
    >>> CrepesAdapter().matches(WrapRegressor()).distance
    0
    """

    levels: tuple[float, ...] = (0.5, 0.8, 0.9, 0.95)
    intervals: bool = False

    name: ClassVar[str] = "crepes"
    libraries: ClassVar[tuple[str, ...]] = ("crepes",)

    def __post_init__(self) -> None:
        object.__setattr__(self, "levels", tuple(checked_levels("crepes.levels", self.levels).tolist()))

    def matches(self, model: Any) -> Match | None:
        """Match the two wrappers by name."""
        names = class_names(model)
        if _CREPES_CLASSIFIER in names:
            return Match(0, "label sets of crepes beside the probabilities of its learner")
        if _CREPES_REGRESSOR not in names:
            return None
        what = "thresholds of a conformal predictive system" if self._system(model) else "prediction intervals"
        return Match(0, f"{what} of crepes: no density")

    def predict(self, model: Any, X: Table) -> Distribution:
        """Return intervals with the point prediction, or probabilities with label sets."""
        if not getattr(model, "calibrated", False):
            raise InputError(
                f"model must be calibrated; got a {type(model).__name__} of crepes that is not. "
                f"Calibrate it with rows that neither fitted nor audit it. {to_type(_CALIBRATED)}"
            )
        if _CREPES_CLASSIFIER in class_names(model):
            p = probabilities(model.learner, X)
            values = np.asarray(model.predict_p(X, smoothing=False))
            sets = np.stack([values >= 1 - level for level in self.levels], axis=2)
            return LabelSets(p, self.levels, sets, class_labels(model.learner, p.shape[1]))
        if self._system(model):
            return _thresholds(model, X)
        point = point_prediction(model.learner, X)
        bounds = _intervals(model, X, point, self.levels)
        return Intervals(self.levels, bounds[:, 0], bounds[:, 1], point)

    def decide(self, model: Any, X: Table) -> AnyArray | None:
        """Return the labels of the learner's own ``predict``; None for regressors."""
        return predicted_labels(model.learner, X) if _CREPES_CLASSIFIER in class_names(model) else None

    def remarks(self, model: Any) -> tuple[str, ...]:
        """Say what is read at which levels."""
        words = level_words(np.array(self.levels))
        if _CREPES_CLASSIFIER in class_names(model):
            return (f"Entropy and losses are of the learner's probabilities. {words} Its p-values are not smoothed.",)
        if not self._system(model):
            return (words,)
        return ("Its conformal predictive distribution is read as draws: the thresholds of its calibration sample.",)

    def _system(self, model: Any) -> bool:
        """Say whether the model is a conformal predictive system that is read as such."""
        return getattr(model, "cps", None) is not None and not self.intervals


def _intervals(model: Any, X: Table, point: FloatArray, levels: Sequence[float]) -> FloatArray:
    """Return what ``model.predict_int`` does at each level, shape (n, 2, L), after one prediction of the learner."""
    predictor = model.cr if model.cps is None else model.cps
    sigmas = None if model.de is None else model.de.apply(X)
    mondrian = getattr(model.mc, "apply", model.mc)
    bins = None if mondrian is None else mondrian(X)
    with warnings.catch_warnings():  # infinite intervals are refused by row, with what to do
        warnings.filterwarnings("ignore", "the no. of calibration examples is too small")
        own = [predictor.predict_int(point, sigmas=sigmas, bins=bins, confidence=level) for level in levels]
    return np.stack(own, axis=2)


def _thresholds(model: Any, X: Table) -> Draws:
    """Return the conformal predictive distributions, shape (n, thresholds) in crepes; refuse unequal numbers."""
    own = model.predict_cpds(X)
    if len({len(row) for row in own}) > 1:
        raise InputError(
            "crepes.predict_cpds must give equally many thresholds in every row; got other numbers in other categories "
            f"(mc). Read its intervals. {to_type(_CREPES_INTERVALS)}"
        )
    return Draws(np.stack([np.asarray(row, dtype=float) for row in own], axis=1))
