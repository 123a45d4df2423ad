"""Sampling error of a mean over pairs of rows, where each row both receives and donates a value.

With T_ik the measure of row i carrying row k's value, b_i the measure unchanged and ω the weights
(summing to 1), the quantity is ``θ = Σ_ik ω_i ω_k (T_ik - b_i)``, a two-sample U-statistic in which
every row plays both parts. To first order, new rows move θ by the weighted sum of their terms
``g_i = Σ_k ω_k T_ik + Σ_k ω_k T_ki - b_i`` (receiver, donor, unchanged; up to a constant).
Either all pairs are known, by the distinct values among the rows, or m shuffles of the rows are, and row and donor
effects are fitted.

Nothing here knows models or features. Shapes: M measures, m shuffles, G distinct values, n rows; in shuffles
``T[:, r, i]`` has row i carry the value of row ``donors[r, i]``.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from ..support.arrays import BoolArray, FloatArray, IntArray

CONFIDENCE = 0.95  # of every interval, where a run asks for no other level
MIN_SHUFFLES = 3
MIN_CLUSTERS = 20
TIED = 1e-12  # of a value's size: two that are closer are equal
_CELLS = 65_536  # looked up at a time: what stays in the cache


class PairTerms(NamedTuple):
    """What the pairs say about θ.

    Attributes
    ----------
    estimate : ndarray of shape (M,)
        θ where all pairs are known, else the mean of the shuffles.
    repeats : ndarray of shape (M, m)
        θ as each shuffle gives it. Without weights, the shuffle's own mean.
    rows : ndarray of shape (M, n)
        The terms g, shifted so that their weighted mean is the estimate.
    row_noise, mean_noise : ndarray of shape (M,)
        Variance that the choice of shuffles adds to one g_i and to the estimate; 0 where all pairs are known.
    """

    estimate: FloatArray
    repeats: FloatArray
    rows: FloatArray
    row_noise: FloatArray
    mean_noise: FloatArray


def all_pairs(T: FloatArray, b: FloatArray, codes: IntArray, donors: IntArray, weights: FloatArray) -> PairTerms:
    """Return the terms where all n² pairs are known, and what the shuffles `donors` say of them.

    A row with itself counts as a pair, as it does in the mean over all n! shuffles. Rows of one value donate the same,
    so n G numbers are all n² pairs, each value counted as often, or as heavily, as it occurs. The terms are exact;
    for a measure that is additive in the shuffled value they are all equal, so θ and its error are 0.

    Parameters
    ----------
    T : ndarray of shape (M, G, n)
        ``T[:, g, i]`` has row i carry the distinct value g.
    b : ndarray of shape (M, n)
    codes : ndarray of shape (n,)
        The distinct value of each row, 0 to G - 1.
    donors : ndarray of shape (m, n)
    weights : ndarray of shape (n,)

    Examples
    --------
    >>> a, f, codes = np.array([1.0, 2.0, 4.0]), np.array([0.0, 3.0]), np.array([0, 1, 1])
    >>> found = all_pairs((a + f[:, None])[None], (a + f[codes])[None], codes, codes[None], np.ones(3))
    >>> bool(np.allclose(found.rows, 0.0, atol=1e-12))
    True
    """
    omega = weights / weights.sum()
    share = np.bincount(codes, omega, T.shape[1])
    v, u = np.stack([share @ t for t in T]), T @ omega
    theta = v @ omega
    u -= theta[:, None]
    estimate = theta - b @ omega
    rows = v + u[:, codes] - b
    rows += (estimate - rows @ omega)[:, None]
    repeats = _interactions(T, v, u, codes, donors, omega)
    none = np.zeros(len(T))
    return PairTerms(estimate, repeats + estimate[:, None], rows, none, none)


def _interactions(
    T: FloatArray, v: FloatArray, u: FloatArray, codes: IntArray, donors: IntArray, omega: FloatArray
) -> FloatArray:
    """Return ``n Σ_i ω_i ω_k (T_ik - v_i - u_k)`` of each shuffle with row i's donor k, shape (M, m)."""
    n, repeats = len(omega), np.empty((len(T), len(donors)))
    step = max(1, _CELLS // n)
    for start in range(0, len(donors), step):
        some = donors[start : start + step]
        weighed, taken = omega[some] * (n * omega), codes[some]
        pairs = taken * n + np.arange(n)
        for k, t in enumerate(T):
            interaction = t.take(pairs) - v[k]
            interaction -= u[k].take(taken)
            repeats[k, start : start + step] = np.einsum("ri,ri->r", interaction, weighed)
    return repeats


def shuffled_pairs(T: FloatArray, b: FloatArray, donors: IntArray, weights: FloatArray) -> PairTerms:
    """Return the terms from m shuffles, by the fit ``T = c + v_i + u_k + residual`` of `two_way`.

    Weights act on the residuals: the fit knows neither which rows nor which donors weigh more, so the excess
    of n²ω_i ω_k over 1 is put on each pair's residual as it would be had the pair not been fitted,
    m/(m-2) times the fitted one. With fewer than three shuffles nothing can be fitted: infinite noise.
    """
    m, n = donors.shape
    if m < MIN_SHUFFLES:
        repeats, rows, _ = _weighted(T, b, (b, np.zeros_like(b)), donors, weights, 1.0)
        return PairTerms(repeats.mean(axis=1), repeats, rows, np.full(len(T), np.inf), np.full(len(T), np.inf))
    effects = two_way(T, donors, solved_to(weights))
    repeats, rows, squares = _weighted(T, b, effects, donors, weights, m / (m - 2))
    return PairTerms(repeats.mean(axis=1), repeats, rows, *_noise(squares / (n * m - 2 * n + 1), m, weights))


def solved_to(weights: FloatArray) -> float:
    """Return what the fit is solved to: residuals of unequal rows are part of the importance, where 0 must be 0."""
    return CONVERGED if (weights == weights[0]).all() else EXACT


def standard_error(terms: PairTerms, weights: FloatArray, clusters: IntArray | None = None) -> FloatArray:
    """Return the standard error of θ over new rows, shape (M,); NaN where it is not known.

    ``se² = max(C/(C-1) Σ_c (Σ_{i in c} ω_i (g_i - θ))² - Σ ω_i² row_noise, 0) + mean_noise`` with C clusters;
    without clusters each row is its own, and without weights the first part is var(g)/n. A weight is
    taken as what a row stands for, not as independent copies of it.
    """
    sums, omega = np.stack([unit_sums(g, weights, clusters) for g in terms.rows]), weights / weights.sum()
    count = n_units(weights, clusters)
    estimable = np.isfinite(terms.mean_noise) & (count > 1)
    row_noise, mean_noise = (np.where(estimable, noise, 0.0) for noise in (terms.row_noise, terms.mean_noise))
    between = (sums**2).sum(axis=1) * count / max(count - 1, 1) - (omega**2).sum() * row_noise
    return np.where(estimable, np.sqrt(np.maximum(between, 0) + mean_noise), np.nan)


def member_variance(left_out: FloatArray) -> FloatArray:
    """Return the variance over new draws of K members of a quantity, from its values without each, shape (K, ...).

    The delete-one jackknife, ``(K-1)/K Σ_k (θ₍₋ₖ₎ - mean θ₍₋ₖ₎)²`` (Efron & Stein 1981).

    Examples
    --------
    >>> member_variance(np.array([[0.667793], [0.688139], [0.610864]])).round(6)
    array([0.002139])
    """
    members = len(left_out)
    return np.asarray((members - 1) / members * np.square(left_out - left_out.mean(axis=0)).sum(axis=0))


def pooled_error(errors: Sequence[FloatArray], freedom: Sequence[float]) -> tuple[FloatArray, FloatArray]:
    """Return the standard error of a sum of independent parts, and its degrees of freedom by Satterthwaite (1946).

    ``(Σ se²)² / Σ se⁴/df`` for parts of standard errors se and degrees of freedom df; those of the first part where
    nothing varies.

    Examples
    --------
    >>> error, freedom = pooled_error([np.array([3.0, 3.0, 0.0]), np.array([4.0, 0.0, 0.0])], [99, 9])
    >>> error.tolist(), freedom.round(2).tolist()
    ([5.0, 3.0, 0.0], [21.36, 99.0, 99.0])
    """
    squares = np.square(np.stack(errors))
    total, size = squares.sum(axis=0), np.array(freedom, dtype=float).reshape(-1, *[1] * (squares.ndim - 1))
    spread = (np.square(squares) / size).sum(axis=0)
    known = total > 0
    return np.sqrt(total), np.divide(np.square(total), spread, out=np.full_like(total, size.flat[0]), where=known)


def unit_sums(g: FloatArray, weights: FloatArray, clusters: IntArray | None) -> FloatArray:
    """Return ``Σ_{i in c} ω_i (g_i - θ)`` of each unit c, a cluster or a row, of terms g of weighted mean θ."""
    omega = weights / weights.sum()
    codes = np.arange(len(g)) if clusters is None else clusters
    return np.asarray(np.bincount(codes, omega * (g - g @ omega)), dtype=float)


def n_units(weights: FloatArray | BoolArray, clusters: IntArray | None = None) -> int:
    """Return how many independent units there are: clusters or rows, of positive weight, or in a mask."""
    present = weights > 0
    return int(present.sum()) if clusters is None else len(np.unique(clusters[present]))


def _weighted(
    T: FloatArray,
    b: FloatArray,
    effects: tuple[FloatArray, FloatArray],
    donors: IntArray,
    weights: FloatArray,
    unfitted: float,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return `repeats` and `rows` of `PairTerms`, and the (weighted) sum of squared residuals, by measure.

    `unfitted` is the size of a residual had its pair not been fitted, over its fitted size.
    """
    omega, even = weights / weights.sum(), bool((weights == weights[0]).all())
    repeats, rows, squares = np.empty(T.shape[:2]), effects[0] + effects[1] - b, np.empty(len(T))
    residual, at = np.empty(T.shape[1:]), donors.astype(np.intp)  # once: `take` would for each measure
    for k, (v, u) in enumerate(zip(*effects, strict=True)):
        np.take(u, at, out=residual, mode="clip")  # in place; nothing is out of range
        np.subtract(T[k], residual, out=residual)
        residual -= v
        repeats[k] = T[k].mean(axis=1) - b[k].mean()
        squares[k] = np.vdot(residual, residual)
        if not even:
            repeats[k], squares[k], more = _reweighted(residual, donors, omega, unfitted)
            repeats[k] += rows[k] @ omega
            rows[k] += more
        rows[k] += repeats[k].mean() - rows[k] @ omega
    return repeats, rows, squares


def _reweighted(
    residual: FloatArray, donors: IntArray, omega: FloatArray, unfitted: float
) -> tuple[FloatArray, float, FloatArray]:
    """Return what unequal weights make of one measure's residuals: by shuffle, squared in all, and by row."""
    n = len(omega)
    pairs, excess = n * n * omega * omega[donors], unfitted * (n * omega - 1)
    by_shuffle = (residual * (1 + unfitted * (pairs - 1))).mean(axis=1)
    by_row = (residual * excess[donors]).mean(axis=0) + by_donor((residual * excess)[None], donors)[0]
    weighed = float(pairs.mean())
    squares = float((residual**2 * pairs).sum()) / weighed if weighed else np.inf  # no shuffle joins rows of weight
    return by_shuffle, squares, by_row


def _noise(sigma2: FloatArray, m: int, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the noise variance of a row's term, 2σ²(m-1)/(m(m-2)), and of the estimate, σ²/(nm).

    With weights, e = nΣω² - 1 adds 2σ²e/(m-2) to the first and, with k = (m-1)/(m-2), the factor
    1 + 2ke + e²m/(m-2) to the second; e is 0 for equal weights.
    """
    n, omega = len(weights), weights / weights.sum()
    e, k = n * (omega**2).sum() - 1, (m - 1) / (m - 2)
    return 2 * sigma2 * (k / m + e / (m - 2)), sigma2 * (1 + 2 * k * e + e * e * m / (m - 2)) / (n * m)


def as_extreme(
    null: FloatArray, observed: float | FloatArray, slack: FloatArray | None = None
) -> tuple[IntArray, IntArray]:
    """Return how many draws (draws, ...) are at least, and at most, what is observed, each of shape (...).

    Values that only rounding sets apart are equal: of shares of rows, and sums over few different rows, many draws
    have the value observed. `slack` is what rounding leaves, by default 1e-12 of the largest finite value.

    Examples
    --------
    >>> above, below = as_extreme(np.array([0.1 + 0.2, 0.3, 0.5]), 0.3)
    >>> int(above), int(below)
    (3, 2)
    """
    if slack is None:
        slack = TIED * np.where(np.isfinite(null), np.abs(null), 0.0).max(axis=0)
    return (null >= observed - slack).sum(axis=0), (null <= observed + slack).sum(axis=0)


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
