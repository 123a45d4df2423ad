"""Bayesian ridge without intercept of many problems at once, from their products alone (MacKay 1992)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...core.arrays import FloatArray

_ROUNDS, _MOVED = 300, 1e-6
_PRIOR = 1e-6  # shape and rate of the gamma priors of both precisions, as scikit-learn has them


class Products(NamedTuple):
    """What m regressions on k columns need: X'X (m, k, k), X'y (m, k), y'y, the sum of y and the rows, each (m,)."""

    gram: FloatArray
    moment: FloatArray
    square: FloatArray
    total: FloatArray
    rows: FloatArray


def bayesian_ridges(of: Products) -> FloatArray:
    """Return the coefficients (m, k) at the precisions of noise and of coefficients that the evidence is largest at.

    Rounds and priors are those of scikit-learn's ``BayesianRidge(tol=1e-6, fit_intercept=False)``, which works on the
    rows of one problem.

    Examples
    --------
    >>> x, y = np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.1, 5.9])
    >>> products = (x @ x, x @ y, y @ y, y.sum(), 3.0)
    >>> gram, *others = map(np.atleast_1d, products)
    >>> bayesian_ridges(Products(gram[:, None, None], others[0][:, None], *others[1:])).round(2)
    array([[1.99]])
    """
    values, axes = np.linalg.eigh(of.gram)
    values = np.maximum(values, 0.0)
    seen = np.einsum("mij,mi->mj", axes, of.moment)
    noise = 1 / (of.square / of.rows - (of.total / of.rows) ** 2 + np.finfo(float).eps)
    prior = np.ones_like(noise)
    along = seen / (values + (prior / noise)[:, None])
    before, left = along + 1.0, np.arange(len(noise))
    for _ in range(_ROUNDS):
        here, bends = along[left], values[left]
        strength = (noise[left, None] * bends) / (prior[left, None] + noise[left, None] * bends)
        freedom = strength.sum(axis=1)
        missed = np.maximum(of.square[left] - 2 * (here * seen[left]).sum(axis=1) + (bends * here**2).sum(axis=1), 0.0)
        prior[left] = (freedom + 2 * _PRIOR) / ((here**2).sum(axis=1) + 2 * _PRIOR)
        noise[left] = (of.rows[left] - freedom + 2 * _PRIOR) / (missed + 2 * _PRIOR)
        along[left] = seen[left] / (bends + (prior / noise)[left, None])
        moved = np.einsum("mij,mj->mi", axes[left], here - before[left])
        before[left] = here
        left = left[np.abs(moved).sum(axis=1) >= _MOVED]
        if not len(left):
            break
    return np.asarray(np.einsum("mij,mj->mi", axes, along))
