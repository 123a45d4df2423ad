"""XGBoost: classifiers, counts, amounts and failure times, by its scikit-learn interface or as a Booster."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import expit

from ...core.model.adapter import Match
from ...core.predictive import Distribution
from ...core.support.arrays import AnyArray, FloatArray, Table
from ...core.support.errors import InputError
from ...distributions import Categorical, LogNormal, Scipy, Weibull
from .boosted import BoostedAdapter, classes_of, comes_from, numbers_of
from .glm import DispersionEstimate, dispersed
from .outputs import class_labels, predicted_labels, probabilities
from .sklearn_ import transform, unwrap

_CLASSIFIER, _BOOSTER = frozenset({"xgboost.XGBClassifier"}), frozenset({"xgboost.Booster"})
_MODELS = _BOOSTER | {"xgboost.XGBModel"}
_RAW, _CLASSES = "binary:logitraw", ("binary:logistic", "reg:logistic", "multi:softprob")
_POWERS = {"count:poisson": 1.0, "reg:gamma": 2.0, "reg:tweedie": 1.5}
_NO_PROBABILITY = {
    "binary:hinge": "It fits no probabilities: fit it again with objective='binary:logistic'.",
    "multi:softmax": "Type: model.set_param({'objective': 'multi:softprob'})",
}
_AFT = "survival:aft"
_KNOWN = {_RAW, *_CLASSES, *_POWERS, *_NO_PROBABILITY, _AFT}


class _Objective(NamedTuple):
    name: str
    options: dict[str, Any]


@dataclass(frozen=True)
class XGBoostAdapter(BoostedAdapter):
    """XGBClassifier, XGBRegressor with a likelihood, and native Boosters, alone or last in a pipeline.

    By objective: ``binary:logistic``, ``binary:logitraw`` (its margin through the logistic function),
    ``reg:logistic`` and ``multi:softprob`` give classes (of a Booster 0 .. k-1); ``count:poisson`` a Poisson;
    ``reg:gamma`` and ``reg:tweedie`` need a `dispersion`; ``survival:aft`` gives the
    distribution of the time itself (log-normal, log-logistic or Weibull). Squared and other errors are of point
    regressors, and match nothing here. A Booster gets a DMatrix with the columns' names and categories.

    Parameters
    ----------
    dispersion : float, optional
        The variance is dispersion * mean^2 (gamma) or dispersion * mean^power (Tweedie).

    Examples
    --------
    >>> XGBoostAdapter(dispersion=-1.0)
    Traceback (most recent call last):
    uq_report.core.support.errors.InputError: xgboost.dispersion must be None or a finite number > 0; got -1.0.
    """

    name: ClassVar[str] = "xgboost"
    libraries: ClassVar[tuple[str, ...]] = ("xgboost",)
    row_alone: ClassVar[frozenset[str]] = frozenset(
        f"xgboost.{name}" for name in ("Booster", "XGBClassifier", "XGBRegressor", "XGBRFClassifier", "XGBRFRegressor")
    )

    def matches(self, model: Any) -> Match | None:
        """Match XGBoost's models by name, with an objective that is a likelihood."""
        final = unwrap(model)[1]
        if not comes_from(final, _MODELS):
            return None
        name = _named(final)
        return Match(1, f"{type(final).__name__} with the objective {name}") if name in _KNOWN else None

    def predict(self, model: Any, X: Table) -> Distribution:
        """Return the distribution that belongs to the objective."""
        steps, final = unwrap(model)
        booster, rows = _booster(final), transform(steps, X)
        objective, what = _objective(booster), type(final).__name__
        if objective.name not in _POWERS:
            self.refuse_dispersion(objective.name)
        native, classifier = comes_from(final, _BOOSTER), comes_from(final, _CLASSIFIER)
        if objective.name in _NO_PROBABILITY and not (classifier and objective.name == "multi:softmax"):
            remedy = _NO_PROBABILITY[objective.name]
            raise InputError(f"xgboost.objective must give probabilities; got {objective.name}. {remedy}")
        if classifier and objective.name != _RAW:
            p = probabilities(final, rows)
            return Categorical(p, classes=class_labels(final, p.shape[1]))
        raw = {"output_margin": True} if objective.name == _RAW else {}
        values = booster.predict(_matrix(booster, rows), **raw) if native else final.predict(rows, **raw)
        if objective.name in (_RAW, *_CLASSES):
            labels = final.classes_ if classifier else None
            return classes_of(expit(values) if raw else values, X.shape[0], what, labels)
        return self._amounts(final, objective, values)

    def _amounts(self, final: Any, objective: _Objective, values: AnyArray) -> Distribution:
        """Return the distributions of counts, amounts or failure times with these means or medians."""
        what, native = type(final).__name__, comes_from(final, _BOOSTER)
        values = numbers_of(values, len(values), what)
        if objective.name == _AFT:
            return _failure_time(values, objective.options)
        mean = "model.inplace_predict(X_calibration)" if native else "model.predict(X_calibration)"
        power = float(objective.options.get("tweedie_variance_power", _POWERS[objective.name]))
        return dispersed(
            self.name,
            f"{what} with {objective.name}",
            values,
            round(power, 6),  # kept in single precision
            self.dispersion,
            DispersionEstimate("XGBoostAdapter", __name__, mean),
        )

    def decide(self, model: Any, X: Table) -> AnyArray | None:
        """Return the labels of a classifier's own ``predict``; None for others."""
        return predicted_labels(model, X) if comes_from(unwrap(model)[1], _CLASSIFIER) else None

    def remarks(self, model: Any) -> tuple[str, ...]:
        """Say that a dispersion was given, and what is read of a survival model and of a Booster that stopped early."""
        final = unwrap(model)[1]
        remarks = list(super().remarks(model))
        if _named(final) == _AFT:
            remarks.append("survival:aft gives the distribution of the time itself: y is read as times of events.")
        best = final.attr("best_iteration") if comes_from(final, _BOOSTER) else None
        if best is not None and int(best) + 1 < final.num_boosted_rounds():
            remarks.append(
                f"The Booster's predict uses all {final.num_boosted_rounds()} rounds, though its best was {best}; "
                f"model[: {int(best) + 1}] keeps the best."
            )
        return tuple(remarks)


def _named(final: Any) -> str | None:
    """Return the objective's name, also of an unfitted model; None for a function of the user's."""
    if comes_from(final, _BOOSTER):
        return _objective(final).name
    name = getattr(final, "objective", None)
    if name is None and comes_from(final, _CLASSIFIER):
        return "binary:logistic"
    return name if isinstance(name, str) else None


def _booster(final: Any) -> Any:
    if comes_from(final, _BOOSTER):
        return final
    if not final.__sklearn_is_fitted__():
        raise InputError(f"model must be fitted; got a {type(final).__name__} without trees. Call fit first.")
    return final.get_booster()


def _objective(booster: Any) -> _Objective:
    """Return the objective and its options, as the booster keeps them whichever way it was made."""
    kept = json.loads(booster.save_config())["learner"]["objective"]
    options = {name: value for part in kept.values() if isinstance(part, dict) for name, value in part.items()}
    return _Objective(kept["name"], options)


def _matrix(booster: Any, rows: Any) -> Any:
    """Return rows as the DMatrix a Booster takes, with its own columns' names where the rows have none."""
    import xgboost

    names = None if isinstance(rows, pd.DataFrame) else booster.feature_names
    return xgboost.DMatrix(rows, enable_categorical=True, feature_names=names)


def _failure_time(median: FloatArray, options: dict[str, Any]) -> Distribution:
    """Return the distribution of T where log T = log(predicted) + scale Z."""
    kind, scale = options["aft_loss_distribution"], float(options["aft_loss_distribution_scale"])
    if kind == "normal":
        return LogNormal(np.log(median), scale)
    if kind == "extreme":
        return Weibull(1 / scale, median)
    return Scipy.named("fisk", np.full(len(median), 1 / scale), scale=median)
