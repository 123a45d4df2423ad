"""LightGBM: classifiers, counts and amounts, by its scikit-learn interface or as a Booster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit

from ...core.model.adapter import Match
from ...core.predictive import Distribution
from ...core.support.arrays import AnyArray, FloatArray, Table
from ...core.support.errors import InputError, to_type
from ...distributions import Categorical
from .boosted import BoostedAdapter, classes_of, comes_from, numbers_of, softmax_of
from .glm import DispersionEstimate, dispersed
from .outputs import class_labels, predicted_labels, probabilities
from .sklearn_ import refitted, transform, unwrap

_CLASSIFIER, _BOOSTER = frozenset({"lightgbm.LGBMClassifier"}), frozenset({"lightgbm.Booster"})
_MODELS = _BOOSTER | {"lightgbm.LGBMModel"}
_CLASSES = ("binary", "multiclass", "cross_entropy")
_POWERS = {"poisson": 1.0, "gamma": 2.0, "tweedie": 1.5}
_APART = "multiclassova"
_TRAINED = """\
import lightgbm

options = {**model.params, "objective": "multiclass"}
model = lightgbm.train(options, lightgbm.Dataset(X_train, y_train), model.current_iteration())
uq.explain(model, X, y)"""


@dataclass(frozen=True)
class LightGBMAdapter(BoostedAdapter):
    """LGBMClassifier, LGBMRegressor with a likelihood, and native Boosters, alone or last in a pipeline.

    By objective: ``binary``, ``multiclass`` and ``cross_entropy`` give classes (of a Booster 0 .. k-1); ``poisson`` a
    Poisson; ``gamma`` and ``tweedie`` need a `dispersion`. Squared and other errors are of point regressors, and match
    nothing here.

    Parameters
    ----------
    dispersion : float, optional
        The variance is dispersion * mean^2 (gamma) or dispersion * mean^power (Tweedie).

    Examples
    --------
    >>> LightGBMAdapter(dispersion=0.0)
    Traceback (most recent call last):
    uq_report.core.support.errors.InputError: lightgbm.dispersion must be None or a finite number > 0; got 0.0.
    """

    name: ClassVar[str] = "lightgbm"
    libraries: ClassVar[tuple[str, ...]] = ("lightgbm",)
    row_alone: ClassVar[frozenset[str]] = _BOOSTER | {"lightgbm.LGBMClassifier", "lightgbm.LGBMRegressor"}

    def matches(self, model: Any) -> Match | None:
        """Match LightGBM's models by name, with an objective that is a likelihood."""
        final = unwrap(model)[1]
        if not comes_from(final, _MODELS):
            return None
        if not _fitted(final):
            return Match(1, f"{type(final).__name__}, not fitted")
        name = _objective(_booster(final))
        known = name in (*_CLASSES, *_POWERS, _APART)
        return Match(1, f"{type(final).__name__} with the objective {name}") if known else None

    def predict(self, model: Any, X: Table) -> Distribution:
        """Return the distribution that belongs to the objective."""
        steps, final = unwrap(model)
        if not _fitted(final):
            raise InputError(f"model must be fitted; got a {type(final).__name__} without trees. Call fit first.")
        booster, rows, what = _booster(final), transform(steps, X), type(final).__name__
        name = _objective(booster)
        if name not in _POWERS:
            self.refuse_dispersion(name)
        if name == _APART:
            code = _TRAINED if comes_from(model, _BOOSTER) else refitted(model, "objective", "'multiclass'")
            raise InputError(
                "lightgbm.objective must be multiclass; got multiclassova, whose probabilities do not sum to 1. "
                f"{to_type(code)}"
            )
        if comes_from(final, _CLASSIFIER):
            p = probabilities(final, rows)
            return Categorical(p, classes=class_labels(final, p.shape[1]))
        values = final.predict(rows)
        return classes_of(values, X.shape[0], what) if name in _CLASSES else self._amounts(final, name, values)

    def score(self, model: Any, X: Any) -> FloatArray | None:
        """Return the raw scores of rows, shape (n, k)."""
        steps, final = unwrap(model)
        return np.asarray(final.predict(transform(steps, X), raw_score=True), dtype=float).reshape(X.shape[0], -1)

    def from_score(self, model: Any, scores: FloatArray) -> Distribution:
        """Return what `predict` makes of these scores, by the objective's link."""
        final = unwrap(model)[1]
        booster, what = _booster(final), type(final).__name__
        name = _objective(booster)
        if name in _POWERS:
            return self._amounts(final, name, np.exp(scores[:, 0]))
        p = softmax_of(scores) if name == "multiclass" else expit(_steepness(booster) * scores[:, 0])
        return classes_of(p, len(scores), what, final.classes_ if comes_from(final, _CLASSIFIER) else None)

    def _amounts(self, final: Any, name: str, values: AnyArray) -> Distribution:
        """Return the distributions of counts or amounts with these means."""
        booster, what = _booster(final), type(final).__name__
        power = float(booster.params.get("tweedie_variance_power", 1.5)) if name == "tweedie" else _POWERS[name]
        estimate = DispersionEstimate("LightGBMAdapter", __name__, "model.predict(X_calibration)")
        mean = numbers_of(values, len(values), what)
        return dispersed(self.name, f"{what} with {name}", mean, power, self.dispersion, estimate)

    def decide(self, model: Any, X: Table) -> AnyArray | None:
        """Return the labels of a classifier's own ``predict``; None for others."""
        return predicted_labels(model, X) if comes_from(unwrap(model)[1], _CLASSIFIER) else None


def _fitted(final: Any) -> bool:
    return comes_from(final, _BOOSTER) or bool(final.__sklearn_is_fitted__())


def _booster(final: Any) -> Any:
    return final if comes_from(final, _BOOSTER) else final.booster_


def _objective(booster: Any) -> str:
    """Return the objective by its own name, whatever alias it was asked by; empty for a function of the user's."""
    return _objective_line(booster).partition(" ")[0]


def _steepness(booster: Any) -> float:
    """Return the factor of the score in the logistic function of two classes."""
    options = dict(option.split(":", 1) for option in _objective_line(booster).split()[1:] if ":" in option)
    return float(options.get("sigmoid", 1.0))


def _objective_line(booster: Any) -> str:
    lines = booster.model_to_string(num_iteration=1).split("\n", 40)
    return next((line for line in lines if line.startswith("objective=")), "objective= ").removeprefix("objective=")
