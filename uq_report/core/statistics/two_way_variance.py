"""Row and donor effects of shuffled values, by least squares: ``T[:, r, i] = v_i + u_k``, k the donor of row i.

Shapes: M measures, m shuffles, n rows; every shuffle pairs each row with one donor and each donor with one row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import csc_array

from ..support.arrays import BoolArray, FloatArray, IntArray

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


LEAST = 4  # shuffles that are held until they are folded: the fit of fewer is far from that of all
_ROUGH = 1e-7  # to what a reference is solved: single precision


@dataclass(frozen=True)
class ShuffleSums:
    """Sums over the first shuffles of equal rows; infinite values count as 0, and are counted.

    Attributes
    ----------
    reference : ndarray of shape (2, M, n)
        Row and donor effects of some shuffles, in single precision. Squares are summed about them: a sum of squares
        about another fit, which is near this one, loses no digits.
    means : ndarray of shape (M, shuffles)
    rows, donated : ndarray of shape (M, n)
        Sums by row and by donor.
    squares : ndarray of shape (M, M)
        Sums of products of two measures, both about the reference.
    reach : ndarray of shape (M, n)
        The largest change of each row, in single precision.
    infinite : ndarray of shape (M,)
        Number of infinite values.
    hit : ndarray of shape (M, n)
        Whether a row has one.
    """

    reference: FloatArray
    means: FloatArray
    rows: FloatArray
    donated: FloatArray
    squares: FloatArray
    reach: FloatArray
    infinite: IntArray
    hit: BoolArray

    @classmethod
    def about(cls, T: FloatArray, donors: IntArray) -> ShuffleSums:
        """Return the sums over no shuffle, about the fit of some."""
        if not np.isfinite(T).all():
            T = np.where(np.isfinite(T), T, 0.0)
        rough = effects(T.mean(axis=1), by_donor(T, donors), donors, _ROUGH)
        M, n = rough[0].shape
        rows, donated = np.zeros((2, M, n))
        return cls(
            np.stack(rough).astype(np.float32),
            np.zeros((M, 0)),
            rows,
            donated,
            np.zeros((M, M)),
            np.zeros((M, n), dtype=np.float32),
            np.zeros(M, dtype=np.int64),
            np.zeros((M, n), dtype=bool),
        )

    def added(self, T: FloatArray, donors: IntArray, b: FloatArray) -> ShuffleSums:
        """Return these sums with further shuffles; the arrays by row are these, and change."""
        means, squares, infinite = [self.means], self.squares.copy(), self.infinite.copy()
        known = np.isfinite(b)
        for r, donor in enumerate(donors):
            values = T[:, r].copy()
            with np.errstate(invalid="ignore", over="ignore"):
                finite = np.isfinite(values.sum())
            if not finite:
                bad = ~np.isfinite(values)
                infinite += bad.sum(axis=1)
                self.hit[bad] = True
                values[bad] = 0.0
            means.append(values.mean(axis=1, keepdims=True))
            self.rows[...] += values
            self.donated[...] += by_donor(values[:, None], donor[None])
            np.maximum(self.reach, np.abs(values - b), out=self.reach, casting="same_kind", where=known)
            values -= self.reference[0]
            values -= self.reference[1].take(donor, axis=1)
            squares += values @ values.T
        return replace(self, means=np.concatenate(means, axis=1), squares=squares, infinite=infinite)

    def of(self, measures: slice) -> ShuffleSums:
        """Return the sums of some of the measures."""
        return ShuffleSums(
            self.reference[:, measures],
            self.means[measures],
            self.rows[measures],
            self.donated[measures],
            self.squares[measures, measures],
            self.reach[measures],
            self.infinite[measures],
            self.hit[measures],
        )

    def combined(self, C: FloatArray) -> ShuffleSums:
        """Return the sums of linear combinations of measures that are finite, C of shape (combinations, M)."""
        return replace(
            self,
            reference=C @ self.reference,
            means=C @ self.means,
            rows=C @ self.rows,
            donated=C @ self.donated,
            squares=C @ self.squares @ C.T,
        )

    def without(self, lost: BoolArray) -> ShuffleSums:
        """Return the sums with 0 in place of some measures, shape (M,)."""
        return self.combined(np.diag(np.where(lost, 0.0, 1.0)))

    def residuals(self, v: FloatArray, u: FloatArray, donors: IntArray) -> FloatArray:
        """Return the sum of squared residuals of effects v and u (M, n), shape (M,); `donors` are those of the sums.

        With a = v - v0, w = u - u0, y the values about the reference, and G the mean over donors: Σ (y - a_i - w_k)²
        = Σ y² + m Σ (a² + w²) - 2 Σ_i a_i (Σ_r T - m v0 - m G u) - 2 Σ_k w_k (Σ_r T - m u0 - m Gᵀ v0).
        """
        m, (v0, u0) = len(donors), self.reference.astype(float)
        a, w = v - v0, u - u0
        received = self.rows - m * (v0 + received_mean(u, donors))
        donated = self.donated - m * (u0 + donated_mean(v0, donors))
        own, crossed = a * a + w * w, a * received + w * donated
        return np.maximum(np.diagonal(self.squares) + m * own.sum(axis=1) - 2 * crossed.sum(axis=1), 0.0)


def fit(
    T: FloatArray, donors: IntArray, folded: ShuffleSums | None, converged: float = CONVERGED
) -> tuple[FloatArray, FloatArray]:
    """Return row and donor effects, each of shape (M, n), of shuffles `donors`, of which T holds the last."""
    if folded is None:
        return two_way(T, donors, converged)
    held = donors[len(donors) - T.shape[1] :]
    m, donated = len(donors), len(held) * by_donor(T, held)
    return effects((folded.rows + T.sum(axis=1)) / m, (folded.donated + donated) / m, donors, converged)
