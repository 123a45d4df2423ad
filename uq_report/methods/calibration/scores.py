"""Scores of predictive distributions, and their tests against outcomes drawn from these."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ...core.model.measures import BRIER, ENTROPY, NLL, SQUARED_ERROR
from ...core.model.sampling import Sampling
from ...core.predictive import Distribution
from ...core.statistics.inference import as_extreme
from ...core.statistics.score_intervals import auc_rows
from ...core.support.arrays import AnyArray, BoolArray, FloatArray, IntArray
from ...core.support.limits import check_limits
from ...core.support.numbers import OUTCOME_UNIT, SQUARED_UNIT
from ...distributions import Categorical, Draws
from ..shared.choice import blocks
from ..shared.estimates import area_of, explained_of, mean_of, rate_of, size_of
from .recalibration import smooth_statistic

Estimator = Callable[[FloatArray, Sampling, float], dict[str, Any]]
brier_of: Estimator = partial(size_of, most=2.0)


class CalibrationScore(NamedTuple):
    """A score whose estimate is the mean of `rows`, shape (n,), in `unit`; `of` gives it an interval in its range."""

    item: str
    unit: str
    rows: FloatArray
    of: Estimator = mean_of


def with_skill(item: str, unit: str, own: FloatArray, base: FloatArray, of: Estimator) -> list[CalibrationScore]:
    """Return a score, that of its baseline, and the skill: by how much the score is better."""
    scores = [CalibrationScore(item, unit, own, of), CalibrationScore(f"{item}_baseline", unit, base, of)]
    return [*scores, CalibrationScore(f"{item}_skill", unit, base - own)]


def confidence_gap(q: Distribution, y: AnyArray) -> FloatArray:
    """Return nll_i - entropy_i in nats, shape (n,): mean 0 if y follows q, because E_q[-log q(Y)] = H(q).

    Where outcomes are censored, the entropy is that of what was observed: `Distribution.expected_nll`.
    """
    with np.errstate(invalid="ignore"):
        return -q.log_prob(y) - q.expected_nll(y)


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
        *with_skill("log_score", "nats", log_score, log_base, size_of),
        *with_skill("brier", "squared probability", brier, brier_base, brier_of),
        CalibrationScore("accuracy", "share of observations", np.asarray(q.decisions() == y, dtype=float), rate_of),
        CalibrationScore("sharpness_entropy", "nats", q.entropy(), size_of),
    ]
    event = y == q.positive
    if len(q.classes) == 2 and (weights[event] > 0).any() and (weights[~event] > 0).any():
        p = q.probabilities[:, q.positive]
        area = partial(area_of, score=p, event=event)
        scores.append(CalibrationScore("roc_auc", "probability", auc_rows(p, event, weights), area))
    return scores


def order_scores(q: Categorical, y: AnyArray, baseline: FloatArray, order: IntArray) -> list[CalibrationScore]:
    """Return the ranked probability score, and how often the predicted class is one class off, and further.

    `order` has the positions of the classes from the lowest to the highest. The score is Σ_k (F_k - 1[y <= k])² over
    all classes but the highest, in [0, k - 1] (Epstein 1969).

    Examples
    --------
    >>> q = Categorical([[0.25, 0.25, 0.5]], classes=["high", "low", "medium"])
    >>> [(score.item, float(score.rows[0])) for score in order_scores(q, [0], np.full((1, 3), 1 / 3), [1, 2, 0])][::2]
    [('rps', 0.625), ('rps_skill', -0.06944444444444442), ('off_by_more', 0.0)]
    """
    place = np.argsort(order)
    below = place[y][:, None] <= np.arange(len(order) - 1)
    parts = (np.cumsum(p[:, order], axis=1)[:, :-1] - below for p in (q.probabilities, baseline))
    rps, rps_base = (np.square(part).sum(axis=1) for part in parts)
    off = np.abs(place[q.decisions()] - place[y])
    of, unit = partial(size_of, most=len(order) - 1.0), "squared probability"
    return [
        *with_skill("rps", unit, rps, rps_base, of),
        CalibrationScore("off_by_one", "share of observations", np.asarray(off == 1, dtype=float), rate_of),
        CalibrationScore("off_by_more", "share of observations", np.asarray(off > 1, dtype=float), rate_of),
    ]


def brier_rows(p: FloatArray, y: AnyArray) -> FloatArray:
    """Return Σ_c (p_c - 1[y=c])² of class positions y of shape (..., n), shape (..., n)."""
    return np.asarray(np.square(p).sum(axis=1) - 2 * p[np.arange(len(p)), y] + 1)


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


def number_scores(
    q: Distribution, y: FloatArray, baseline: FloatArray | None, weights: FloatArray
) -> list[CalibrationScore]:
    """Return the scores of a numeric predictive distribution that it supports; `baseline` is a CRPS per row."""
    scores = []
    if "log_prob" in q.supports:  # a density may be above 1, a probability may not
        scores.append(CalibrationScore("log_score", "nats", -q.log_prob(y), size_of if q.discrete else mean_of))
    if "crps" in q.supports:
        crps = q.crps(y)
        # the fair form of draws may be below 0
        scores.append(CalibrationScore("crps", OUTCOME_UNIT, crps, mean_of if isinstance(q, Draws) else size_of))
        if baseline is not None:
            scores += with_skill("crps", OUTCOME_UNIT, crps, baseline, size_of)[1:]
    if "mean" in q.supports and not q.censored:
        error = y - q.mean()
        scores += [
            CalibrationScore("mean_error", OUTCOME_UNIT, error),
            CalibrationScore("squared_error", SQUARED_UNIT, error**2, size_of),
        ]
        deviation = np.square(y - weights @ y)
        if weights @ deviation > 0:
            rows = r2_rows(error**2, deviation, weights)
            scores.append(CalibrationScore("r2", "share of variance", rows, explained_of))
    if "variance" in q.supports:
        scores.append(CalibrationScore("sharpness_sd", OUTCOME_UNIT, np.sqrt(q.variance()), size_of))
    if "quantile" in q.supports:
        width = q.quantile(np.array([0.05, 0.95])) @ np.array([-1.0, 1.0])
        scores.append(CalibrationScore("sharpness_width_90", OUTCOME_UNIT, width, size_of))
    return scores


def r2_rows(squares: FloatArray, deviations: FloatArray, weights: FloatArray) -> FloatArray:
    """Return row values whose weighted mean is R², and whose spread is its sampling error.

    R² less 1 − R² times the influence ``e²/mean e² − (y − ȳ)²/mean (y − ȳ)²`` of log(1 − R²).

    Examples
    --------
    >>> y, mean = np.arange(1.0, 7.0), np.array([1.2, 1.7, 3.1, 4.2, 4.6, 6.3])
    >>> rows = r2_rows((y - mean) ** 2, (y - 3.5) ** 2, np.full(6, 1 / 6))
    >>> round(float(rows.mean()), 6)
    0.975429
    """
    error, spread = weights @ squares, weights @ deviations
    rest = error / spread
    influence = squares / error - deviations / spread if error > 0 else np.zeros(len(squares))
    return np.asarray(1 - rest - rest * influence)


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
PIT_TESTS = ("pit_distance", "coverage_gap", "smooth_statistic")


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
    """Return the tests by PIT distance, coverage and the smooth statistic; under the hypothesis the PIT is uniform."""

    def statistics(u: FloatArray) -> FloatArray:
        return np.column_stack([uniform_distance(u, weights), coverage_gap(u, weights), smooth_statistic(u, weights)])

    samples = (rng.random((size, len(pit))) for size in blocks(draws, len(pit), CELLS))
    table = np.concatenate([statistics(pit[None]), *map(statistics, samples)])
    return [_test(name, values) for name, values in zip(PIT_TESTS, table.T, strict=True)]


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
    """Return the largest |coverage - level| over the central 50, 80, 90 and 95% intervals, of each row of `u`."""
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
