"""Scores of predictive distributions, their tests against outcomes drawn from these, and what recalibration gains."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import optimize, special

from ...core.model.measures import BRIER, ENTROPY, NLL, SQUARED_ERROR
from ...core.predictive import Distribution
from ...core.statistics.inference import as_extreme
from ...core.support.arrays import AnyArray, BoolArray, FloatArray, IntArray
from ...core.support.limits import check_limits
from ...distributions import Categorical, Normal
from ..shared.choice import blocks


class CalibrationScore(NamedTuple):
    """A score whose estimate is the mean of `rows`, shape (n,), in `unit`."""

    item: str
    unit: str
    rows: FloatArray


def confidence_gap(q: Distribution, y: AnyArray) -> FloatArray:
    """Return nll_i - entropy_i in nats, shape (n,): mean 0 if y follows q, because E_q[-log q(Y)] = H(q).

    Where outcomes are censored, the entropy is that of what was observed: `Distribution.expected_nll`.
    """
    with np.errstate(invalid="ignore"):
        return -q.log_prob(y) - q.expected_nll(y)


VARENTROPY_DRAWS = 200


def varentropy(q: Distribution, rng: np.random.Generator) -> FloatArray:
    """Return Var_q(-log q(Y)) of each row, shape (n,): the variance of its confidence gap if y follows q.

    The sum over classes, 1/2 of a normal, else the variance of 200 draws of each row's own distribution.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> varentropy(Categorical([[0.8, 0.2], [0.5, 0.5]]), rng).round(6)
    array([0.30749, 0.     ])
    >>> varentropy(Normal([0.0, 1.0], [1.0, 3.0]), rng)
    array([0.5, 0.5])
    """
    if isinstance(q, Categorical):
        p = q.probabilities
        squares = np.square(np.log(p, out=np.zeros_like(p), where=p > 0) + q.entropy()[:, None])
        return np.asarray((p * squares).sum(axis=1))
    if isinstance(q, Normal):
        return np.full(len(q), 0.5)
    sizes = blocks(VARENTROPY_DRAWS, len(q), CELLS)
    losses = np.stack([q.log_prob(y) for some in sizes for y in q.sample(rng, some)])
    with np.errstate(invalid="ignore"):
        return np.asarray(losses.var(axis=0, ddof=1))


SCORED = {"log_score": NLL, "brier": BRIER, "squared_error": SQUARED_ERROR, "sharpness_entropy": ENTROPY}


def left_out_scores(q: Distribution, y: AnyArray, weights: FloatArray) -> dict[str, FloatArray]:
    """Return the mean scores of the mixtures without each of K members, shape (K,), by their items."""
    others = q.leave_one_out()
    usable = {item: measure for item, measure in SCORED.items() if not measure.why_not(q, has_y=True)}
    left = {
        item: np.array([measure.rows(other, y, None) @ weights for other in others]) for item, measure in usable.items()
    }
    if {"log_score", "sharpness_entropy"} <= left.keys():
        left["confidence_gap"] = left["log_score"] - left["sharpness_entropy"]
    if isinstance(q, Categorical) and len(q.classes) == 2 and len(np.unique(y[weights > 0])) == 2:
        areas = (auc_rows(other.mean(), y == q.positive, weights) @ weights for other in others)
        left["roc_auc"] = np.fromiter(areas, dtype=float, count=len(others))
    return left | {f"{item}_skill": scores for item, scores in left.items()}  # a baseline has no members


def class_scores(q: Categorical, y: AnyArray, baseline: FloatArray, weights: FloatArray) -> list[CalibrationScore]:
    """Return the scores of class probabilities; `baseline` (n, k) holds the marginal ones.

    Brier is Σ_c (p_c - 1[y=c])², in [0, 2]. A skill is the baseline's score less the model's.
    """
    n = np.arange(len(q))
    log_score, log_base = -q.log_prob(y), -np.log(baseline[n, y])
    brier, brier_base = brier_rows(q.probabilities, y), brier_rows(baseline, y)
    scores = [
        CalibrationScore("log_score", "nats", log_score),
        CalibrationScore("log_score_baseline", "nats", log_base),
        CalibrationScore("log_score_skill", "nats", log_base - log_score),
        CalibrationScore("brier", "squared probability", brier),
        CalibrationScore("brier_baseline", "squared probability", brier_base),
        CalibrationScore("brier_skill", "squared probability", brier_base - brier),
        CalibrationScore("accuracy", "share of rows", np.asarray(q.decisions() == y, dtype=float)),
        CalibrationScore("sharpness_entropy", "nats", q.entropy()),
    ]
    event = y == q.positive
    if len(q.classes) == 2 and (weights[event] > 0).any() and (weights[~event] > 0).any():
        scores.append(
            CalibrationScore("roc_auc", "probability", auc_rows(q.probabilities[:, q.positive], event, weights))
        )
    return scores


def brier_rows(p: FloatArray, y: AnyArray) -> FloatArray:
    """Return Σ_c (p_c - 1[y=c])² of class positions y of shape (..., n), shape (..., n)."""
    return np.asarray(np.square(p).sum(axis=1) - 2 * p[np.arange(len(p)), y] + 1)


def auc_rows(score: FloatArray, event: BoolArray, weights: FloatArray) -> FloatArray:
    """Return row values whose weighted mean is the area under the ROC curve A, and whose spread is its sampling error.

    A plus the influence (F₀(s) - A)/π for an event and (1 - F₁(s) - A)/(1 - π) otherwise, with F the
    mid-point empirical cdfs of the other class and π the share of events (DeLong et al. 1988).

    Examples
    --------
    >>> event = np.array([False, False, True, True])
    >>> auc_rows(np.array([0.1, 0.4, 0.35, 0.8]), event, np.full(4, 0.25)).mean()
    np.float64(0.75)
    """
    share = weights @ event
    below = _mid_cdf(score, weights * ~event / (1 - share))
    above = 1 - _mid_cdf(score, weights * event / share)
    area = below @ (weights * event) / share
    return np.asarray(area + np.where(event, (below - area) / share, (above - area) / (1 - share)))


def _mid_cdf(score: FloatArray, mass: FloatArray) -> FloatArray:
    """Return the mass below each score plus half of that at it."""
    place = np.unique(score, return_inverse=True)[1]
    at = np.bincount(place, mass)
    return np.asarray((np.cumsum(at) - at / 2)[place])


def class_baseline(y: AnyArray, k: int, weights: FloatArray, train: AnyArray | None) -> FloatArray:
    """Return marginal class probabilities, shape (n, k): of the training rows, else of the other test rows.

    Half a row is added to each class (Krichevsky & Trofimov 1981), so that none is 0.
    """
    if train is not None:
        counts = np.bincount(np.asarray(train, dtype=np.int64), minlength=k) + 0.5
        return np.tile(counts / counts.sum(), (len(y), 1))
    own = np.eye(k)[y] * (weights * len(y))[:, None]
    counts = own.sum(axis=0) - own + 0.5
    return np.asarray(counts / counts.sum(axis=1, keepdims=True))


def number_scores(q: Distribution, y: FloatArray, baseline: FloatArray | None) -> list[CalibrationScore]:
    """Return the scores of a numeric predictive distribution that it supports; `baseline` is a CRPS per row."""
    scores = []
    if "log_prob" in q.supports:
        scores.append(CalibrationScore("log_score", "nats", -q.log_prob(y)))
    if "crps" in q.supports:
        crps = q.crps(y)
        scores.append(CalibrationScore("crps", "units of y", crps))
        if baseline is not None:
            scores += [
                CalibrationScore("crps_baseline", "units of y", baseline),
                CalibrationScore("crps_skill", "units of y", baseline - crps),
            ]
    if "mean" in q.supports and not q.censored:
        error = y - q.mean()
        scores += [
            CalibrationScore("mean_error", "units of y", error),
            CalibrationScore("squared_error", "units of y, squared", error**2),
        ]
    if "variance" in q.supports:
        scores.append(CalibrationScore("sharpness_sd", "units of y", np.sqrt(q.variance())))
    if "quantile" in q.supports:
        width = q.quantile(np.array([0.05, 0.95])) @ np.array([-1.0, 1.0])
        scores.append(CalibrationScore("sharpness_width_90", "units of y", width))
    return scores


def crps_baseline(y: FloatArray, train: FloatArray | None) -> FloatArray | None:
    """Return the CRPS of the empirical distribution of the training y, else of the other test rows; None for one row.

    ``mean|z - y| - ½ mean|z - z'|`` over the values z of that distribution, shape (n,).

    Examples
    --------
    >>> crps_baseline(np.array([0.0]), np.array([-1.0, 1.0]))
    array([0.5])
    """
    if train is not None:
        return np.asarray(_distances(y, train) / len(train) - _distances(train, train).sum() / (2 * len(train) ** 2))
    if len(y) < 2:
        return None
    own, m = _distances(y, y), len(y) - 1
    return np.asarray(own / m - (own.sum() - 2 * own) / (2 * m**2))


def _distances(points: FloatArray, values: FloatArray) -> FloatArray:
    """Return Σ_z |z - point| for every point."""
    ordered = np.sort(values)
    below = np.concatenate([[0.0], np.cumsum(ordered)])
    at = np.searchsorted(ordered, points)
    return np.asarray(points * (2 * at - len(ordered)) + below[-1] - 2 * below[at])


CELLS = 2_000_000
LEVELS = (0.5, 0.8, 0.9, 0.95)


class MonteCarlo(NamedTuple):
    """One statistic: observed, and for each draw from q. `two_sided` where small values are bad too."""

    item: str
    observed: float
    null: FloatArray
    two_sided: bool = False

    @property
    def p_value(self) -> float:
        """The exact Monte-Carlo p-value."""
        above, below = (float(1 + count) / (len(self.null) + 1) for count in as_extreme(self.null, self.observed))
        return min(1.0, 2 * min(above, below)) if self.two_sided else above


def class_tests(
    q: Categorical, y: IntArray, weights: FloatArray, member: FloatArray, rng: np.random.Generator, draws: int
) -> tuple[list[MonteCarlo], FloatArray]:
    """Return the tests by Brier score and ECE, and the event shares of each bin under q, shape (draws, bins).

    `member`, shape (n, bins), is the indicator of the rows' bins; the shares of an empty bin are NaN.
    """
    confidence, hits = event_of(q)
    member = member * weights[:, None]

    def statistics(outcomes: IntArray) -> FloatArray:
        events = hits(outcomes)
        gaps = np.abs((confidence - events) @ member).sum(axis=1)  # ECE
        return np.column_stack([brier_rows(q.probabilities, outcomes) @ weights, gaps, events @ member])

    samples = (q.sample(rng, size) for size in blocks(draws, len(y), CELLS))
    table = np.concatenate([statistics(y[None]), *map(statistics, samples)])
    with np.errstate(invalid="ignore"):
        shares = table[1:, 2:] / member.sum(axis=0)
    tests = [_test("brier", table[:, 0], two_sided=True), _test("ece", table[:, 1])]
    return tests, shares


def _test(item: str, values: FloatArray, *, two_sided: bool = False) -> MonteCarlo:
    """Return the test of a statistic: its observed value, then those of the draws."""
    return MonteCarlo(item, float(values[0]), values[1:], two_sided)


def event_of(q: Categorical) -> tuple[FloatArray, Callable[[IntArray], BoolArray]]:
    """Return the probability that reliability is judged by, (n,), and the function from outcomes to events.

    The positive of two classes; else the class predicted (top label).
    """
    if len(q.classes) == 2:
        return q.probabilities[:, q.positive], lambda y: y == q.positive
    top = q.probabilities.argmax(axis=1)
    return q.probabilities.max(axis=1), lambda y: y == top


def pit_tests(pit: FloatArray, weights: FloatArray, rng: np.random.Generator, draws: int) -> list[MonteCarlo]:
    """Return the tests by PIT distance and coverage; under the hypothesis the PIT is uniform."""

    def statistics(u: FloatArray) -> FloatArray:
        return np.column_stack([uniform_distance(u, weights), coverage_gap(u, weights)])

    samples = (rng.random((size, len(pit))) for size in blocks(draws, len(pit), CELLS))
    table = np.concatenate([statistics(pit[None]), *map(statistics, samples)])
    return [_test(name, values) for name, values in zip(("pit_distance", "coverage_gap"), table.T, strict=True)]


def uniform_distance(u: FloatArray, weights: FloatArray) -> FloatArray:
    """Return ∫|F_u(t) - t| dt of each row of `u`, shape (b, n): 0 for perfectly uniform values, at most 1/2.

    Examples
    --------
    >>> uniform_distance(np.array([[0.5, 0.5], [0.25, 0.75]]), np.array([0.5, 0.5]))
    array([0.25 , 0.125])
    """
    order = np.argsort(u, axis=1)
    ordered, share = np.take_along_axis(u, order, axis=1), weights[order]
    right = np.cumsum(share, axis=-1) - ordered
    left = right - share
    return np.asarray((right * np.abs(right) - left * np.abs(left)).sum(axis=1) / 2)


def coverage_gap(u: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the largest |coverage - level| over the central 50, 80, 90 and 95 % intervals, of each row of `u`."""
    inside = [np.abs((np.abs(u - 0.5) <= level / 2) @ weights - level) for level in LEVELS]
    return np.asarray(np.max(inside, axis=0))


def crps_test(q: Distribution, y: FloatArray, weights: FloatArray, rng: np.random.Generator, draws: int) -> MonteCarlo:
    """Return the test by CRPS, each outcome scored against the other outcomes of its row (the fair sample form)."""
    total, spread = np.zeros(draws + 1), 0.0
    step = max(1, CELLS // (draws + 1))
    for start in range(0, len(y), step):
        check_limits()
        rows = np.arange(start, min(start + step, len(y)))
        pool = np.concatenate([y[None, rows], q.take(rows).sample(rng, draws)])
        distance = _mean_distance(pool)
        total += distance @ weights[rows]
        spread += float(distance.mean(axis=0) @ weights[rows])
    return _test("crps", total - spread / 2, two_sided=True)


def _mean_distance(pool: FloatArray) -> FloatArray:
    """Return the mean distance of every value to the others of its column, shape as `pool`."""
    m = len(pool)
    order = np.argsort(pool, axis=0, kind="stable")
    ordered = np.take_along_axis(pool, order, axis=0)
    below = np.cumsum(ordered, axis=0)
    place = np.arange(m)[:, None]
    sums = ordered * (2 * place - m + 2) + below[-1] - 2 * below
    means = np.empty(pool.shape)
    np.put_along_axis(means, order, sums / (m - 1), axis=0)
    return means


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
