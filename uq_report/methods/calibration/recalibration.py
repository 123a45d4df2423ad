"""What recalibration gains: cross-fitted log score of recalibrated distributions less that of the model's own."""

from collections.abc import Sequence
from math import ceil

import numpy as np
from scipy import optimize, special

from ...core.support.arrays import AnyArray, BoolArray, FloatArray, IntArray
from ...core.support.limits import check_limits
from ..shared.association import NumericColumn

FLOOR = 1e-12
REACH = 8.0  # of normal scores
STEPS = 50
TOLERANCE = 1e-8


def class_gain(p: FloatArray, y: IntArray, weights: FloatArray, fold: IntArray) -> FloatArray:
    """Return log q'(y) - log q(y) in nats, shape (n,), with q' cross-fitted.

    ``q'_c ∝ exp(a log p_c + b_c)``: temperature and one offset per class, for two classes Platt's
    form (Platt 1999; Guo et al. 2017), with a unit normal prior around no change. In q' alone,
    probabilities below 1e-12 count as 1e-12. p(y) = 0 gives infinity.
    """
    logits = np.log(np.maximum(p, FLOOR))
    rows = np.arange(len(p))
    after = np.empty(len(p))
    for k in np.unique(fold):
        fitted = _fit(logits[fold != k], y[fold != k], weights[fold != k])
        after[fold == k] = _log_softmax(logits[fold == k], fitted)[np.arange(int((fold == k).sum())), y[fold == k]]
    with np.errstate(divide="ignore"):
        return np.asarray(after - np.log(p[rows, y]))


def _fit(logits: FloatArray, y: IntArray, weights: FloatArray) -> FloatArray:
    """Return (a, b_1 .. b_k) of the largest posterior density, by Newton steps halved until they help."""
    k = logits.shape[1]
    share = weights / weights.sum()
    prior = 1 / len(logits)
    start = np.concatenate([[1.0], np.zeros(k)])

    def loss(theta: FloatArray) -> float:
        log_q = _log_softmax(logits, theta)[np.arange(len(y)), y]
        return float(prior / 2 * np.square(theta - start).sum() - share @ log_q)

    theta, now = start, loss(start)
    for _ in range(STEPS):
        check_limits()
        gradient, hessian = _derivatives(logits, y, share, theta)
        step = np.linalg.solve(hessian + prior * np.eye(k + 1), gradient + prior * (theta - start))
        while (after := loss(theta - step)) > now and np.abs(step).max() > TOLERANCE:
            step = step / 2
        theta, now = theta - step, min(now, after)
        if np.abs(step).max() <= TOLERANCE:
            break
    return theta


def _derivatives(
    logits: FloatArray, y: IntArray, share: FloatArray, theta: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the gradient and the Hessian of the mean nll in (a, b_1 .. b_k)."""
    q = np.exp(_log_softmax(logits, theta))
    weighted = q * share[:, None]
    excess = weighted.copy()
    excess[np.arange(len(y)), y] -= share
    centred = logits - (q * logits).sum(axis=1, keepdims=True)
    cross = (weighted * centred).sum(axis=0)
    hessian = np.empty((len(theta), len(theta)))
    hessian[0, 0] = (weighted * centred**2).sum()
    hessian[0, 1:] = hessian[1:, 0] = cross
    hessian[1:, 1:] = np.diag(weighted.sum(axis=0)) - q.T @ weighted
    return np.concatenate([[(excess * logits).sum()], excess.sum(axis=0)]), hessian


def _log_softmax(logits: FloatArray, theta: FloatArray) -> FloatArray:
    return np.asarray(special.log_softmax(theta[0] * logits + theta[1:], axis=1))


# limits of the fit in shift, log scale, skewness and log tail weight: beyond what a sample can show, within floats
BOUNDS = ((-REACH, REACH), (-10.0, 10.0), (-REACH, REACH), (-2.0, 2.0))


def shape_gain(
    lower: FloatArray, upper: FloatArray, pit: FloatArray, weights: FloatArray, fold: IntArray
) -> FloatArray:
    """Return log q'(y) - log q(y) in nats, shape (n,), with q' cross-fitted; a lower bound of what the shape costs.

    ``F'(y) = S(Φ⁻¹(F(y)))`` with ``S(z) = Φ(sinh(exp(δ) asinh((z - m) exp(-s)) - ε))``: shift m, scale s, skewness ε
    and tails δ (Jones & Pewsey 2009, doi:10.1093/biomet/asp053); for a normal q and ε = δ = 0 a change of mean and
    standard deviation. `lower` and `upper` are the limits of the PIT; where they differ (counts, cells of tables, F(t)
    and 1 of an outcome censored at t) masses are compared, else densities. The parameters for a fold have the largest
    posterior density given the other folds, under a unit normal prior with the weight of one row. |z| is at most 8.
    """
    z, ends = normal_score(pit), np.asarray(special.ndtri([lower, upper]), dtype=float)
    atom = upper - lower > FLOOR
    gain = np.empty(len(z))
    for k in np.unique(fold):
        check_limits()
        out, used = fold == k, fold != k
        theta = _shape(z[used], ends[:, used], atom[used], weights[used] / weights[used].sum())
        density, mass = out & ~atom, out & atom
        gain[density] = _log_ratios(z[density], theta)[0]
        gain[mass] = _log_masses(ends[:, mass], theta)[0] - np.log((upper - lower)[mass])
    return gain


def _shape(z: FloatArray, ends: FloatArray, atom: BoolArray, share: FloatArray) -> FloatArray:
    """Return (m, s, ε, δ) of the largest posterior density.

    An outcome that is known by its `ends` only counts by its mass: a draw between them would follow the model.
    """
    prior = 1 / len(z)

    def loss(theta: FloatArray) -> tuple[float, FloatArray]:
        score, slope = np.empty(len(z)), np.empty((4, len(z)))
        score[~atom], slope[:, ~atom] = _log_ratios(z[~atom], theta)
        score[atom], slope[:, atom] = _log_masses(ends[:, atom], theta)
        return float(prior / 2 * theta @ theta - share @ score), prior * theta - slope @ share

    return np.asarray(
        optimize.minimize(
            loss, np.zeros(4), jac=True, method="L-BFGS-B", bounds=BOUNDS, options={"ftol": 1e-13, "gtol": 1e-7}
        ).x
    )


def _scored(z: FloatArray, theta: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    m, s, skew, tails = theta
    x = (z - m) * np.exp(-s)
    stretched = np.exp(tails) * np.arcsinh(x)
    by_x = np.exp(tails) / np.sqrt(1 + np.square(x))
    slopes = np.stack([-by_x * np.exp(-s), -by_x * x, np.full(len(z), -1.0), stretched])
    return x, stretched - skew, slopes


def _log_ratios(z: FloatArray, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return log S'(z) / φ(z) of each score, and its derivatives in the parameters, shape (4, n)."""
    x, v, slopes = _scored(z, theta)
    u, s, tails = np.sinh(v), theta[1], theta[3]
    value = (np.square(z) - np.square(u)) / 2 + np.log(np.cosh(v)) + tails - np.log1p(np.square(x)) / 2 - s
    derivative = -np.square(u) * np.tanh(v) * slopes
    pulled = x / (1 + np.square(x))
    derivative += np.stack([pulled * np.exp(-s), pulled * x - 1, np.zeros(len(z)), np.ones(len(z))])
    return value, derivative


def _log_masses(ends: FloatArray, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return log(S(upper) - S(lower)) of ends of shape (2, n), and its derivatives, shape (4, n).

    Masses in the upper half are those of the mirrored ends, which keeps their digits.
    """
    finite = np.isfinite(ends)
    parts = [_scored(np.where(known, end, 0.0), theta) for known, end in zip(finite, ends, strict=True)]
    u = np.where(finite, np.sinh([v for _, v, _ in parts]), ends)
    low, high = np.where(u[0] > 0, -u[::-1], u)
    mass = np.maximum(special.ndtr(high) - special.ndtr(low), np.finfo(float).tiny)
    slope = np.zeros((4, ends.shape[1]))
    for sign, known, (_, v, slopes), at in zip((-1, 1), finite, parts, u, strict=True):
        density = np.exp(-np.square(at) / 2) / np.sqrt(2 * np.pi)
        slope += np.where(known, sign * density * np.cosh(v) / mass, 0.0) * slopes
    return np.log(mass), slope


def normal_score(u: AnyArray) -> FloatArray:
    """Return Φ⁻¹(u), within ±8."""
    return np.asarray(np.clip(special.ndtri(u), -REACH, REACH))


LEAVES, LEAST_LEAF, LEAF_SHARE, PRIOR_ROWS = 6, 20, 0.05, 10.0
MOST_SQUARE = 9.0  # of a normal score, in the target of the tree
NAMED = 0.2  # of what the splits of the trees explain, from which a feature is named


def row_gain(
    columns: Sequence[NumericColumn], z: FloatArray, weights: FloatArray, fold: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Return what a mean and a spread by segment gain in nats, shape (n,), and the share of each column, shape (d,).

    In each fold a regression tree on min(z², 9) of the other folds has at most 6 leaves of 20 rows and 5% of the rows
    or more; each leaf gives its rows N(m, v) with the mean and the mean square around it of the normal scores z, shrunk
    by 10 rows towards 0 and 1. The gain is ``log N(z; m, v) - log N(z; 0, 1)``. The shares are those of what the splits
    explain of the target, averaged over the folds; 0 where no tree splits.
    """
    from sklearn.tree import DecisionTreeRegressor  # here: heavy, and a list of plugins grows no tree

    target, gain = np.minimum(np.square(z), MOST_SQUARE), np.empty(len(z))
    folds, shares = np.unique(fold), np.zeros(len(columns))
    ranked = np.column_stack([_ranks(column.numbers) for column in columns]).astype(np.float32)
    levels = [j for j, column in enumerate(columns) if not column.ordered]
    for k in folds:
        check_limits()
        out, used = fold == k, fold != k
        least = max(LEAST_LEAF, ceil(LEAF_SHARE * used.sum()))
        tree = DecisionTreeRegressor(max_leaf_nodes=LEAVES, min_samples_leaf=least, random_state=0)
        X = ranked.copy() if levels else ranked
        for j in levels:
            X[:, j] = _by_target(ranked[:, j], target, used)
        tree.fit(X[used], target[used], sample_weight=weights[used])
        leaf, rows = tree.apply(X), used * weights * (used.sum() / weights[used].sum())
        size = np.bincount(leaf, rows)
        mean = np.bincount(leaf, rows * z) / (size + PRIOR_ROWS)
        square = np.square(z - mean[leaf])
        variance = (np.bincount(leaf, rows * square) + PRIOR_ROWS) / (size + PRIOR_ROWS)
        own = variance[leaf]
        gain[out] = ((np.square(z) - square / own - np.log(own)) / 2)[out]
        shares += tree.feature_importances_ / len(folds)
    return gain, shares


def _ranks(numbers: FloatArray) -> FloatArray:
    """Return the place of each number among the distinct ones, NaN where missing."""
    known, ranks = ~np.isnan(numbers), np.full(len(numbers), np.nan)
    ranks[known] = np.unique(numbers[known], return_inverse=True)[1]
    return ranks


def _by_target(levels: AnyArray, target: FloatArray, used: BoolArray) -> FloatArray:
    """Return levels by the mean target of the rows `used`, those of other rows last."""
    known, ranks = ~np.isnan(levels), np.full(len(levels), np.nan)
    codes, grown = levels[known].astype(np.int64), used[known]
    counts = np.bincount(codes[grown], minlength=int(codes.max(initial=0)) + 1)
    sums = np.bincount(codes[grown], target[known][grown], minlength=len(counts))
    means = np.divide(sums, counts, out=np.full(len(counts), np.inf), where=counts > 0)
    ranks[known] = np.unique(means, return_inverse=True)[1][codes]
    return ranks


def smooth_statistic(u: FloatArray, weights: FloatArray) -> FloatArray:
    """Return Neyman's smooth statistic with 4 Legendre polynomials of each row of `u`, shape (b, n).

    ``Σ_k (2k + 1) (Σ_i w_i P_k(2 u_i - 1))² / Σ_i w_i²`` for weights that sum to 1: about χ² with 4 degrees of freedom
    for uniform values (Neyman 1937; Rayner & Best 1989).

    Examples
    --------
    >>> smooth_statistic(np.array([[0.0, 1.0], [0.5, 0.5]]), np.array([0.5, 0.5])).round(3)
    array([28.   ,  5.031])
    """
    terms = [(2 * k + 1) * np.square(special.eval_legendre(k, 2 * u - 1) @ weights) for k in (1, 2, 3, 4)]
    return np.asarray(np.sum(terms, axis=0) / np.square(weights).sum())
