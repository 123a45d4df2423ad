"""From covered information to corrected importance (Pereira et al., equations 3-4, assumption 2.1).

Over subsample sets, importance is regressed on the information terms of the same rows; the corrected
importance is what the map says when no information is covered redundantly. That point lies outside
the data, so the map must pass a gate before its values are printed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from sklearn.linear_model import BayesianRidge

from ...core.arrays import FloatArray
from ...core.errors import InputError
from ...core.numbers import fixed

MIN_FEATURES = 8
MIN_R2 = 0.5


class ImportanceMap(NamedTuple):
    """The fitted map and what the gate says of it.

    Attributes
    ----------
    corrected : ndarray (sets, d)
        Importance with redundant covered information set to 0.
    coefficients : ndarray (4,)
        Of redundant CI, MI, synergistic CI, synergistic MI.
    left_out : ndarray (d, 4)
        The coefficients of the fit without each feature.
    r2, r2_left_out : float
        In the sample, and predicting each feature from the others; NaN if all importances are equal.
    refusals : tuple of str
        Why corrected values must not be printed; empty if the gate passes.
    """

    corrected: FloatArray
    coefficients: FloatArray
    left_out: FloatArray
    r2: float
    r2_left_out: float
    refusals: tuple[str, ...]


def importance_map(importance: FloatArray, terms: FloatArray) -> ImportanceMap:
    """Fit the map by Bayesian ridge without intercept, with one zero row per set.

    Parameters
    ----------
    importance : ndarray (sets, d)
    terms : ndarray (sets, d, 4)
        As `regressors` gives them, on the same rows.

    Notes
    -----
    The zero rows (no information, no importance) change the noise estimate only. Sets share rows,
    so the map is learnt from d features: the gate asks for at least 8 of them, a leave-one-feature-out
    R² of at least 0.5, and a negative coefficient of redundant CI in every leave-one-feature-out fit.
    """
    if importance.ndim != 2 or terms.shape != (*importance.shape, 4):
        raise InputError(
            f"cid.importance_map must get importance (sets, d) and terms (sets, d, 4); "
            f"got {importance.shape} and {terms.shape}."
        )
    if not (np.isfinite(importance).all() and np.isfinite(terms).all()):
        raise InputError("cid.importance_map must get finite numbers; got others. Leave out features without terms.")
    d = importance.shape[1]
    coefficients = _fit(importance, terms)
    left_out, predicted = np.zeros((d, 4)), np.zeros_like(importance)
    for j in range(d if d > 1 else 0):
        others = np.arange(d) != j
        left_out[j] = _fit(importance[:, others], terms[:, others])
        predicted[:, j] = terms[:, j] @ left_out[j]
    uncovered = terms.copy()
    uncovered[..., 0] = 0
    r2, r2_left_out = _r2(importance, terms @ coefficients), _r2(importance, predicted)
    return ImportanceMap(
        uncovered @ coefficients, coefficients, left_out, r2, r2_left_out, _refusals(d, r2_left_out, left_out)
    )


def _fit(importance: FloatArray, terms: FloatArray) -> FloatArray:
    sets = len(importance)
    rows = np.vstack([terms.reshape(-1, 4), np.zeros((sets, 4))])
    target = np.concatenate([importance.ravel(), np.zeros(sets)])
    coefficients: FloatArray = BayesianRidge(tol=1e-6, fit_intercept=False).fit(rows, target).coef_
    return coefficients


def _r2(observed: FloatArray, predicted: FloatArray) -> float:
    total = ((observed - observed.mean()) ** 2).sum()
    return float(1 - ((observed - predicted) ** 2).sum() / total) if total > 0 else float("nan")


def _refusals(d: int, r2: float, left_out: FloatArray) -> tuple[str, ...]:
    refusals = []
    if d < MIN_FEATURES:
        refusals.append(f"the map is learnt from {d} features, at least {MIN_FEATURES} are needed")
    if not r2 >= MIN_R2:
        shown = "undefined" if np.isnan(r2) else fixed(r2, 2)
        refusals.append(f"predicting each feature from the others has R² {shown}, at least {MIN_R2} is needed")
    positive = int((left_out[:, 0] >= 0).sum())
    if positive:
        refusals.append(
            f"the coefficient of redundant covered information is not negative in {positive} of {d} "
            "leave-one-feature-out fits"
        )
    return tuple(refusals)
