"""What a model returned, checked once and told with the model's name."""

import math
from numbers import Real
from typing import Any

import numpy as np

from ...core.support.arrays import AnyArray, BoolArray, FloatArray, Table
from ...core.support.errors import InputError, ModelError, to_type
from ...distributions.numerics.validate import numbers
from ...distributions.tables.intervals import nearest_level
from .sklearn_ import in_order, transform, unwrap

POINTS = "uq.explain(model, X, y, residuals=uq.Residuals(rows=(X_calibration, y_calibration)))"
SEVERAL = (
    "A model with several outputs is audited one output at a time, all by uq.explain_outputs. "
    f"{to_type('uq.explain(model, X, y, output=0)')}"
)


def probabilities(model: Any, X: Table) -> FloatArray:
    """Return ``model.predict_proba(X)`` as floats of shape (n, k); refuse any other shape."""
    who = type(model).__name__
    with in_order():
        p = model.predict_proba(X)
    if isinstance(p, list | tuple) and not (len(p) == X.shape[0] and all(np.ndim(row) == 1 for row in p)):
        raise InputError(f"{who}.predict_proba must return one (rows, classes) array; got {len(p)} of them. {SEVERAL}")
    shape: Any = getattr(p, "shape", ())
    if len(shape) != 2 or shape[0] != X.shape[0] or not hasattr(p, "__array__"):
        raise ModelError(
            f"{who}.predict_proba must return an array of shape ({X.shape[0]}, classes); "
            f"got {type(p).__name__} of shape {shape}. Wrap the model in a function that returns a Distribution."
        )
    return numbers(f"{who}.predict_proba", p)


def class_labels(model: Any, k: int) -> AnyArray:
    """Return the k class labels in the order of the probability columns; 0 .. k-1 if the model names none."""
    who, classes = type(model).__name__, getattr(model, "classes_", None)
    if classes is None:
        return np.arange(k)
    if isinstance(classes, list) and any(np.ndim(labels) for labels in classes):
        raise InputError(f"{who}.classes_ must list the classes of one output; got {len(classes)} lists. {SEVERAL}")
    if len(classes) != k:
        raise ModelError(
            f"{who}.predict_proba must have one column per class in classes_, {len(classes)}; got {k} columns. "
            "Check that classes_ belongs to this model."
        )
    return np.asarray(classes)


def predicted_labels(model: Any, X: Table) -> AnyArray | None:
    """Return the class labels of the model's own ``predict``, in their kind; None if it has no ``predict``."""
    if not callable(getattr(model, "predict", None)):
        return None
    with in_order():
        return np.asarray(model.predict(X))


def mean_and_std(model: Any, X: Table) -> tuple[FloatArray, FloatArray]:
    """Return ``predict(X, return_std=True)`` of the final estimator, both finite and of shape (n,)."""
    steps, final = unwrap(model)
    who = type(final).__name__
    mean, std = (np.asarray(part, dtype=float) for part in final.predict(transform(steps, X), return_std=True))
    if mean.shape != (X.shape[0],) or std.shape != (X.shape[0],):
        raise InputError(
            f"{who}.predict must return one mean and one std per row, shapes ({X.shape[0]},); "
            f"got {mean.shape} and {std.shape}. {SEVERAL}"
        )
    refuse_rows(
        f"{who}.predict must return a finite mean and a finite std >= 0",
        ~(np.isfinite(mean) & np.isfinite(std) & (std >= 0)),
        "Check these rows for values far outside the training data.",
    )
    return mean, std


def point_prediction(model: Any, X: Table) -> FloatArray:
    """Return ``model.predict(X)`` as floats of shape (n,)."""
    with in_order():
        mean = np.asarray(model.predict(X), dtype=float)
    if mean.shape != (X.shape[0],):
        raise InputError(
            f"{type(model).__name__}.predict must return one number per row, shape ({X.shape[0]},); got {mean.shape}. "
            f"{SEVERAL}"
        )
    return mean


def refuse_unfitted(model: Any, fitted: object, how: str) -> None:
    """Refuse a model that is not fitted; `how` says what shows it."""
    if not fitted:
        raise InputError(f"model must be fitted; got a {type(model).__name__} {how}. Call fit first.")


def refuse_rows(must: str, bad: BoolArray, remedy: str) -> None:
    """Raise if any row is bad; name the first five by their position in the call."""
    rows = np.flatnonzero(bad)
    if len(rows):
        named = ", ".join(map(str, rows[:5])) + (" ..." if len(rows) > 5 else "")
        raise ModelError(
            f"{must} in every row; got something else in {len(rows)} of {len(bad)}: rows {named}. {remedy}"
        )


def check_noise(who: str, value: Any) -> None:
    """Refuse a noise variance that is not a finite number >= 0."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= float(value) < math.inf:
        raise InputError(
            f"{who}.noise_variance must be a finite number >= 0; got {value!r}. Give it in squared units of y."
        )


def level_words(levels: FloatArray) -> str:
    """Say which coverage levels are read, and of which one width and miscoverage are.

    Examples
    --------
    >>> level_words(np.array([0.5, 0.9]))
    'Stated coverage levels: 50, 90%; width, set size, miscoverage and interval score are those of 90%.'
    """
    stated = ", ".join(f"{100 * level:g}" for level in np.sort(levels))
    main = f"{100 * levels[nearest_level(levels)]:g}"
    return f"Stated coverage levels: {stated}%; width, set size, miscoverage and interval score are those of {main}%."
