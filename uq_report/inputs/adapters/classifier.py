"""Anything with ``predict_proba``: a categorical distribution over the model's classes."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd
from pandas.api.types import is_float_dtype
from scipy.special import expit, softmax

from ...core.model.adapter import Advice, Match, class_names
from ...core.model.derivatives import Derivatives, numbers, spread
from ...core.model.variants import Variant, variant_rows
from ...core.predictive import Distribution
from ...core.support.arrays import AnyArray, ColumnLookup, FloatArray, Table
from ...core.support.errors import InputError, to_type
from ...distributions import Categorical
from .outputs import class_labels, predicted_labels, probabilities
from .sklearn_ import SklearnAdapter, is_a, refitted, transform, unwrap

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


def dense(values: Any) -> FloatArray | None:
    """Return transformed rows as a dense array of floats, or None if they hold anything else."""
    try:
        return np.array(values.toarray() if hasattr(values, "toarray") else values, dtype=float)
    except (TypeError, ValueError):
        return None


def affine_slopes(steps: Sequence[Any], X: Table, rows: FloatArray) -> FloatArray:
    """Return the change of the transformed `rows` per unit of each column, NaN where it is no constant."""
    if not steps:
        return np.eye(X.shape[1])
    matrix = np.full((X.shape[1], rows.shape[1]), np.nan)
    for j in range(len(matrix)):
        if not isinstance(X, pd.DataFrame) or is_float_dtype(X.dtypes.iloc[j]):
            matrix[j] = _slopes(steps, X, rows, j)
    return matrix


def _slopes(steps: Sequence[Any], X: Table, rows: FloatArray, column: int) -> FloatArray | float:
    """Return the change of the rows per unit of one column; NaN where it is no constant, or the steps refuse it."""
    own = numbers(X, column)
    # an affine step changes alike over any distance, so a whole standard deviation loses no digits
    far, present = spread(own) or 1.0, np.isfinite(own)
    moves = [Variant((column,), (own + h,)) for h in (far, -far)]
    try:
        moved = dense(transform(steps, variant_rows(X, moves, ColumnLookup(X))))
    except ValueError:  # an encoder refuses values it has not met
        moved = None
    if moved is None:
        return np.nan
    ahead, behind = moved.reshape(len(X), 2, -1).swapaxes(0, 1)
    changes = np.stack([ahead - rows, rows - behind])[:, present]
    change = changes.mean(axis=(0, 1))
    rounding = 1e-9 * (np.abs(rows[present]).max(axis=0) + np.abs(change))
    return change / far if (np.abs(changes - change) <= rounding).all() else np.nan


_LINEAR = ("sklearn.LogisticRegression", "sklearn.LogisticRegressionCV", "sklearn.LinearDiscriminantAnalysis")
_BLOCK = 10_000_000  # numbers in the second derivatives of a layer worked on at once


class ScoreDerivatives(NamedTuple):
    """Values (n, k) with first (n, d, k) and second (n, d, d, k) derivatives; None for second ones that are 0."""

    value: FloatArray
    first: FloatArray
    second: FloatArray | None = None


def class_derivatives(model: Any, X: Table, order: int) -> Derivatives | None:
    """Return derivatives of the class probabilities by the columns of `X`, or None for a model of another kind.

    Columns that do not enter affinely through the steps before the final estimator have derivatives of NaN. A
    subclass may predict in another way and is of another kind.
    """
    steps, final = unwrap(model)
    layers = _layers(final)
    rows = None if layers is None else dense(transform(steps, X))
    if layers is None or rows is None:
        return None
    matrix, width = affine_slopes(steps, X, rows), max(len(bias) for _, bias in layers)
    step = max(1, _BLOCK // (width * len(matrix) ** order))
    activation = getattr(final, "activation", "identity")
    blocks = (rows[start : start + step] for start in range(0, len(rows), step))
    parts = [_probabilities(_scores(block, matrix, layers, activation, order), order) for block in blocks]
    values, first, *second = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return Derivatives(values, first, second[0] if second else None)


def _layers(final: Any) -> Sequence[tuple[FloatArray, FloatArray]] | None:
    """Return weights and biases by layer, the last one with a score for each class."""
    name = class_names(final)[0]
    if name in _LINEAR:
        before, weights, bias = [], np.atleast_2d(final.coef_).T, np.ravel(final.intercept_)
    elif name == "sklearn.MLPClassifier" and (final.out_activation_ != "logistic" or final.n_outputs_ == 1):
        *before, (weights, bias) = zip(final.coefs_, final.intercepts_, strict=True)
    else:
        return None
    if len(bias) == 1:  # the score of the second of two classes, that of the first being 0
        weights, bias = np.pad(weights, ((0, 0), (1, 0))), np.pad(bias, (1, 0))
    return [*before, (weights, bias)]


def _scores(
    X: FloatArray, matrix: FloatArray, layers: Sequence[tuple[FloatArray, FloatArray]], activation: str, order: int
) -> ScoreDerivatives:
    """Return the last layer's scores with their derivatives by the inputs of `matrix`."""
    weights, bias = layers[0]
    slopes = matrix @ weights
    z = ScoreDerivatives(X @ weights + bias, np.broadcast_to(slopes, (len(X), *slopes.shape)))
    for weights, bias in layers[1:]:
        a = _activated(z, activation, order)
        z = ScoreDerivatives(
            a.value @ weights + bias, a.first @ weights, None if a.second is None else a.second @ weights
        )
    return z


def _activated(z: ScoreDerivatives, activation: str, order: int) -> ScoreDerivatives:
    """Return f(z): f' z', and f'' z' z' + f' z''. The bend of relu is 0 but at its kink."""
    if activation == "identity":
        return z
    if activation == "relu":
        value, slope = np.maximum(z.value, 0), (z.value > 0).astype(float)
        bend = None
    elif activation == "tanh":
        value = np.tanh(z.value)
        slope = 1 - np.square(value)
        bend = -2 * value * slope
    else:
        value = expit(z.value)
        slope = value * (1 - value)
        bend = slope * (1 - 2 * value)
    first = slope[:, None] * z.first
    if order == 1:
        return ScoreDerivatives(value, first)
    second = None if z.second is None else slope[:, None, None] * z.second
    if bend is not None:
        bent = (bend[:, None] * z.first)[:, :, None] * z.first[:, None]
        second = bent if second is None else second + bent
    return ScoreDerivatives(value, first, second)


def _probabilities(z: ScoreDerivatives, order: int) -> tuple[FloatArray, ...]:
    """Return p = softmax(z) and its derivatives up to `order`.

    With centred derivatives c = z' - Σ p z': p' = p c and p'' = p [c c + z'' - Σ p (z'' + c c)].
    """
    p = softmax(z.value, axis=1)
    centred = z.first - np.einsum("nk,ndk->nd", p, z.first)[..., None]
    first = p[:, None] * centred
    if order == 1:
        return p, first
    inner = centred[:, :, None] * centred[:, None]
    if z.second is not None:
        inner += z.second
    inner -= np.einsum("nk,ndek->nde", p, inner)[..., None]
    return p, first, p[:, None, None] * inner
