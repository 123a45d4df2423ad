"""Monte-Carlo tests of "y follows q": every statistic beside its values for outcomes drawn from q itself.

Under the hypothesis the observed y and B draws y* are exchangeable, so ``(1 + #{T* >= T})/(B + 1)``
is an exact p-value (Bröcker & Smith 2007). No test needs a new prediction. The observed outcome runs
through the same lines as the draws, as number 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ...core.predictive import Distribution
from ...core.statistics.inference import as_extreme
from ...core.support.arrays import BoolArray, FloatArray, IntArray
from ...core.support.limits import check_limits
from ...distributions import Categorical
from ..shared.choice import blocks
from .scores import brier_rows

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
