"""What a simple recalibration, fitted on other rows, would gain in log score."""

from __future__ import annotations

import numpy as np
from scipy import optimize, special

from ...core.support.arrays import AnyArray, BoolArray, FloatArray, IntArray
from ...core.support.limits import check_limits

FLOOR = 1e-12
REACH = 8.0
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


def number_gain(
    lower: FloatArray, upper: FloatArray, pit: FloatArray, weights: FloatArray, fold: IntArray
) -> FloatArray:
    """Return log q'(y) - log q(y) in nats, shape (n,), with q' cross-fitted.

    The normal score z = Φ⁻¹(PIT) is modelled as N(m, s²), so ``F'(y) = Φ((Φ⁻¹(F(y)) - m)/s)``: for a
    normal q an affine change of mean and standard deviation, for any other the same on its own
    scale. `lower` and `upper` are F(y-) and F(y); where they differ (counts, F(t) and 1 of a row censored at t) masses
    are compared, else densities; m and s maximise the same log score of the other rows. |z| counts as 8 at most.
    """
    z, ends = normal_score(pit), np.asarray(special.ndtri([lower, upper]), dtype=float)
    atom = upper - lower > FLOOR
    gain = np.empty(len(z))
    for k in np.unique(fold):
        out, used = fold == k, fold != k
        m, s = _normal(z[used], ends[:, used], atom[used], weights[used] / weights[used].sum())
        after = np.diff(special.ndtr((ends[:, out] - m) / s), axis=0)[0]
        before = (upper - lower)[out]
        masses = atom[out] & (after > 0)
        density = (np.square(z[out]) - np.square((z[out] - m) / s)) / 2 - np.log(s)
        gain[out] = np.where(masses, np.log(np.where(masses, after, 1) / np.where(masses, before, 1)), density)
    return gain


def _normal(z: FloatArray, ends: FloatArray, atom: BoolArray, share: FloatArray) -> tuple[float, float]:
    """Return m and s of the scores: their mean and standard deviation, unless some are known by their `ends` only.

    A draw between the ends would be drawn as the model has it, and so speak for the model. A unit normal prior around
    no change, as one row counts, keeps m and s finite where few events tell of them.
    """
    if not atom.any():
        m = float(share @ z)
        return m, max(float(np.sqrt(share @ np.square(z - m))), 1e-6)
    prior = 1 / len(z)

    def loss(theta: FloatArray) -> tuple[float, FloatArray]:
        x, (low, high) = (z - theta[0]) * np.exp(-theta[1]), (ends - theta[0]) * np.exp(-theta[1])
        mass = np.maximum(special.ndtr(high) - special.ndtr(low), np.finfo(float).tiny)
        at = np.exp(-np.square([low, high]) / 2) / np.sqrt(2 * np.pi) / mass
        moved = np.where(atom, at[0] - at[1], x)
        spread = np.where(atom, _times(low, at[0]) - _times(high, at[1]), np.square(x) - 1)
        score = np.where(atom, np.log(mass), -np.square(x) / 2 - theta[1])
        slope = np.array([share @ moved * np.exp(-theta[1]), share @ spread])
        return float(prior / 2 * theta @ theta - share @ score), prior * theta - slope

    m, log_s = optimize.minimize(loss, np.zeros(2), jac=True, method="BFGS").x
    return float(m), float(np.exp(log_s))


def _times(end: FloatArray, density: FloatArray) -> FloatArray:
    """Return the product, 0 at an infinite end."""
    return np.where(np.isfinite(end), end, 0.0) * density


def normal_score(u: AnyArray) -> FloatArray:
    """Return Φ⁻¹(u), within ±8."""
    return np.asarray(np.clip(special.ndtri(u), -REACH, REACH))
