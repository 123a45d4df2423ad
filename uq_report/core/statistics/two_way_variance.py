"""Row and donor effects of shuffled values, by least squares: ``T[:, r, i] = v_i + u_k``, k the donor of row i.

Shapes: M measures, m shuffles, n rows; every shuffle pairs each row with one donor and each donor with one row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import csc_array

from ..support.arrays import FloatArray, IntArray

Means = Callable[[FloatArray], FloatArray]
CONVERGED = 1e-9  # of the size of what is fitted: no error beside what the choice of shuffles adds
EXACT = 1e-13  # the same to rounding
_MAX_STEPS = 1000
_SPARSE = 2**21  # pairs up to which two sparse matrices are held, at 12 bytes a pair; above they are no faster


def by_donor(T: FloatArray, donors: IntArray) -> FloatArray:
    """Return the mean over the m values that each row donated, shape (M, n)."""
    m, n = donors.shape
    flat = donors.ravel().astype(np.intp)  # once: `bincount` would for each measure
    means: FloatArray = np.stack([np.bincount(flat, t.ravel(), n) for t in T]) / m
    return means


def two_way(T: FloatArray, donors: IntArray, converged: float = CONVERGED) -> tuple[FloatArray, FloatArray]:
    """Fit row effects (the constant included) and donor effects by least squares, each of shape (M, n).

    Examples
    --------
    >>> a, f, rng = np.arange(6.0), np.arange(6.0) ** 2, np.random.default_rng(0)
    >>> donors = np.stack([rng.permutation(6) for _ in range(4)])
    >>> v, u = two_way((a + f[donors])[None], donors)
    >>> bool(np.allclose(v, a + f.mean()) and np.allclose(u, f - f.mean()))
    True
    """
    return effects(T.mean(axis=1), by_donor(T, donors), donors, converged)


def effects(
    r: FloatArray, d: FloatArray, donors: IntArray, converged: float = CONVERGED
) -> tuple[FloatArray, FloatArray]:
    """Return the fit of `two_way` from the means of what each row received and of what it donated, shape (M, n).

    Both are written over.

    Donor effects are eliminated; ``(I - A Aᵀ) v = r - A d`` remains, A the n x n share of shuffles that
    pair row i with donor k, and is solved by conjugate gradients: the eigenvalues of A Aᵀ of random shuffles lie
    between 0 and 4(m-1)/m² but for one of 1, so a few steps are enough. Theirs are an error of `converged` at most;
    the residual left is added, which leaves A Aᵀ times that error.
    """
    c = r.mean(axis=1, keepdims=True)
    r -= c
    d -= c
    scale = (r * r).sum(axis=1) + (d * d).sum(axis=1)
    if donors.size > _SPARSE:  # each row's measures side by side
        r, d = np.asfortranarray(r), np.asfortranarray(d)
        received, donated = _looked_up(donors), _looked_up(donors, inverse=True)
    else:
        share = np.full(donors.size, 1 / len(donors))  # of both matrices, so that more of them stays in the cache
        received, donated = _shares(_receivers(donors), share), _shares(donors, share)
    r -= received(d)
    v = _conjugate_gradients(received, donated, r, (converged * (1 - 2 / len(donors)) ** 2) ** 2 * scale)
    v += r
    d -= donated(v)
    shift = d.mean(axis=1, keepdims=True)
    v += shift
    v += c
    d -= shift
    return v, d


def received_mean(u: FloatArray, donors: IntArray) -> FloatArray:
    """Return the mean of what the donors of each row have, shape (M, n)."""
    return _looked_up(donors)(np.asfortranarray(u))


def donated_mean(v: FloatArray, donors: IntArray) -> FloatArray:
    """Return the mean of what those have whom each row donated to, shape (M, n)."""
    return _looked_up(donors, inverse=True)(np.asfortranarray(v))


def _shares(rows: IntArray, share: FloatArray) -> Means:
    """Return the product with the sparse matrix that has 1/m at (rows[r, k], k); a measure's bits are its own.

    `share` is 1/m, m n times.
    """
    m, n = rows.shape
    starts = np.arange(0, n * m + 1, m, dtype=np.int32)
    A: Any = csc_array((share, rows.T.astype(np.int32).ravel(), starts), shape=(n, n))
    return lambda x: (A @ x.T).T


def _receivers(donors: IntArray) -> IntArray:
    """Return the row that each row donates to, shape (m, n)."""
    receivers, order = np.empty_like(donors), np.arange(donors.shape[1], dtype=donors.dtype)
    for donor, receiver in zip(donors.astype(np.intp), receivers, strict=True):
        receiver[donor] = order
    return receivers


def _looked_up(donors: IntArray, *, inverse: bool = False) -> Means:
    """Return the means of what donors, or, `inverse`, receivers have, from the shuffles themselves."""
    m, n = donors.shape
    order = np.arange(n)

    def means(x: FloatArray) -> FloatArray:
        columns, total = np.ascontiguousarray(x.T), np.zeros((n, len(x)))
        at = np.empty(n, dtype=donors.dtype)
        for donor in donors:
            if inverse:
                at[donor] = order
            total += columns.take(at if inverse else donor, axis=0)
        total /= m
        return total.T

    return means


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
