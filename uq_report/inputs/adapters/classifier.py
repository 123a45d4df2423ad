"""Anything with ``predict_proba``: a categorical distribution over the model's classes."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, ClassVar

from ...core.model.adapter import Advice, Match
from ...core.model.derivatives import Derivatives
from ...core.predictive import Distribution
from ...core.support.arrays import AnyArray, Table
from ...core.support.errors import InputError, to_type
from ...distributions import Categorical
from .class_derivatives import class_derivatives
from .outputs import class_labels, predicted_labels, probabilities
from .sklearn_ import SklearnAdapter, is_a, refitted

_CALIBRATED = """\
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator

model = CalibratedClassifierCV(FrozenEstimator(model)).fit(X_calibration, y_calibration)
uq.explain(model, X, y)"""
_CALIBRATED_PREFIT = """\
from sklearn.calibration import CalibratedClassifierCV

model = CalibratedClassifierCV(model, cv="prefit").fit(X_calibration, y_calibration)
uq.explain(model, X, y)"""
_FREQUENCIES = """\
import numpy as np
from sklearn.metrics import confusion_matrix

labels = model.classes_
table = confusion_matrix(y_calibration, model.predict(X_calibration), labels=labels, normalize="pred")

def f(X):  # how often each class occurs where this one is predicted
    return uq.dist.Categorical(table.T[np.searchsorted(labels, model.predict(X))], classes=labels)

uq.explain(f, X, y)"""


@dataclass(frozen=True)
class ClassifierAdapter(SklearnAdapter):
    """Classifiers with ``predict_proba(X)`` of shape (n, k) and, best, ``classes_`` of length k.

    Calibrated models, pipelines and search objects included; the class labels may be of any kind
    and order. A model without ``classes_`` (distance 3) is taken to have the classes 0 .. k-1;
    then y must hold these numbers, which the distribution checks. Multi-output models are refused.

    Examples
    --------
    >>> import numpy as np
    >>> class Coin:
    ...     classes_ = np.array(["tail", "head"])
    ...     def predict_proba(self, X):
    ...         return np.full((len(X), 2), 0.5)
    >>> adapter = ClassifierAdapter()
    >>> adapter.matches(Coin()).distance
    2
    >>> adapter.predict(Coin(), np.zeros((1, 3))).probabilities
    array([[0.5, 0.5]])
    """

    name: ClassVar[str] = "classifier"

    def matches(self, model: Any) -> Match | None:
        """Match by interface: a callable ``predict_proba``."""
        if _not_refitted(model):
            return Match(3, "a search object that kept no fitted model")
        if isinstance(model, type) or not callable(getattr(model, "predict_proba", None)):
            return None
        if getattr(model, "classes_", None) is None:
            return Match(3, "has predict_proba but no classes_: classes are taken to be 0 .. k-1")
        return Match(2, "has predict_proba and classes_")

    def predict(self, model: Any, X: Table) -> Distribution:
        """Return the model's probabilities as a categorical distribution."""
        if _not_refitted(model):
            raise InputError(
                f"{type(model).__name__}.refit must be True; got {model.refit!r}. "
                f"{to_type(refitted(model, 'refit', 'True'))}"
            )
        p = probabilities(model, X)
        return Categorical(p, classes=class_labels(model, p.shape[1]))

    def advise(self, model: Any) -> Advice | None:
        """Return how a classifier that only decides gets probabilities from rows that the fit did not use."""
        if getattr(model, "classes_", None) is None or not callable(getattr(model, "predict", None)):
            return None
        if callable(getattr(model, "decision_function", None)):
            frozen = find_spec("sklearn.frozen")  # new in scikit-learn 1.6
            remedy = _CALIBRATED if frozen else _CALIBRATED_PREFIT
            return Advice(1, "gives scores of its classes, no probabilities", remedy)
        return Advice(2, "decides for classes without probabilities", _FREQUENCIES)

    def derivatives(self, model: Any, X: Table, order: int) -> Derivatives | None:
        """Return exact derivatives of linear classifiers and perceptrons, through affine preprocessing, or None."""
        return class_derivatives(model, X, order)

    def decide(self, model: Any, X: Table) -> AnyArray | None:
        """Return the labels of the model's own ``predict``; None where it has none."""
        return predicted_labels(model, X)


def _not_refitted(model: Any) -> bool:
    return is_a(model, ("BaseSearchCV",)) and model.refit is False
