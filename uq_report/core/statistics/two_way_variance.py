"""Row and donor effects of shuffled values, by least squares: ``T[:, r, i] = v_i + u_k``, k the donor of row i.

Shapes: M measures, m shuffles, n rows; every shuffle pairs each row with one donor and each donor with one row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from ..support.arrays import FloatArray, IntArray

Means = Callable[[FloatArray], FloatArray]
CONVERGED = 1e-9  # of the size of what is fitted: no error beside what the choice of shuffles adds
EXACT = 1e-13  # the same to rounding
_MAX_STEPS = 1000


def by_donor(T: FloatArray, donors: IntArray) -> FloatArray:
    """Return the mean over the m values that each row donated, shape (M, n)."""
    m, n = donors.shape
    flat = donors.ravel().astype(np.intp)  # once: `bincount` would for each measure
    means: FloatArray = np.stack([np.bincount(flat, t.ravel(), n) for t in T]) / m
    return means


def two_way(T: FloatArray, donors: IntArray, converged: float = CONVERGED) -> tuple[FloatArray, FloatArray]:
    """Fit row effects (the constant included) and donor effects by least squares, each of shape (M, n).

    Donor effects are eliminated; ``(I - A Aᵀ) v = r - A d`` remains, with r and d the means of what each row received
    and donated and A the n x n share of shuffles that pair row i with donor k. It is solved by conjugate gradients: the
    eigenvalues of A Aᵀ of random shuffles lie between 0 and 4(m-1)/m² but for one of 1, so a few steps are enough.
    Their error is at most `converged`; the residual left is added, which leaves A Aᵀ times that error.

    Examples
    --------
    >>> a, f, rng = np.arange(6.0), np.arange(6.0) ** 2, np.random.default_rng(0)
    >>> donors = np.stack([rng.permutation(6) for _ in range(4)])
    >>> v, u = two_way((a + f[donors])[None], donors)
    >>> bool(np.allclose(v, a + f.mean()) and np.allclose(u, f - f.mean()))
    True
    """
    r, d = T.mean(axis=1), by_donor(T, donors)
    c = r.mean(axis=1, keepdims=True)
    r -= c
    d -= c
    scale = (r * r).sum(axis=1) + (d * d).sum(axis=1)
    received, donated = _means(donors)
    r -= received(d)
    v = _conjugate_gradients(received, donated, r, (converged * (1 - 2 / len(donors)) ** 2) ** 2 * scale)
    v += r
    d -= donated(v)
    shift = d.mean(axis=1, keepdims=True)
    v += shift
    v += c
    d -= shift
    return v, d


def _means(donors: IntArray) -> tuple[Means, Means]:
    """Return the products with A and with Aᵀ: means of what donors, and of what receivers have, by measure."""
    m, n = donors.shape
    starts = np.arange(0, n * m + 1, m, dtype=np.int32)
    A: Any = csr_array((np.full(donors.size, 1 / m), donors.T.astype(np.int32).ravel(), starts), shape=(n, n))
    return lambda x: (A @ x.T).T, lambda x: (A.T @ x.T).T


def _conjugate_gradients(received: Means, donated: Means, residual: FloatArray, goal: FloatArray) -> FloatArray:
    """Solve (I - A Aᵀ) v = residual for each measure; singular but consistent, hence the start at 0.

    The residual is written over by what is left of it, a sum of squares of at most `goal`.
    """
    v, direction = np.zeros_like(residual), residual.copy()
    size = (residual * residual).sum(axis=1)
    active = size > goal
    for _ in range(_MAX_STEPS):
        if not active.any():
            break
        image = received(donated(direction))
        np.subtract(direction, image, out=image)
        curvature = (direction * image).sum(axis=1)
        active &= curvature > 0
        step = np.divide(size, curvature, out=np.zeros_like(size), where=active)[:, None]
        v += step * direction
        residual -= step * image
        before, size = size, (residual * residual).sum(axis=1)
        direction *= np.divide(size, before, out=np.zeros_like(size), where=active)[:, None]
        direction += residual
        active &= size > goal
    return v
