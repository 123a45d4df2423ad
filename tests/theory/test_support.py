"""The test of support is exact: by enumeration, and over samples of any distribution, ties included."""

from collections import Counter
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy import stats

from uq_report.core.support.arrays import FloatArray
from uq_report.methods.support.explain import limit

N_SAMPLES = 2000


def p_value(held: FloatArray, new: FloatArray, share: float) -> float:
    """Return the p-value of the explainer, from distances alone."""
    found = limit(held, share)
    count = int((found.p_values(new) <= found.expected + 1e-12).sum())
    return float(stats.betabinom.sf(count - 1, len(new), found.rank, len(held) + 1 - found.rank))


def test_the_count_outside_is_beta_binomial_by_enumeration() -> None:
    """All orders of 7 held-out and 4 new rows are equally likely; the limit is the 2nd largest held-out one."""
    counts: Counter[int] = Counter()
    for places in combinations(range(11), 4):
        held = np.array([float(place) for place in range(11) if place not in places])
        found = limit(held, 0.25)
        assert (found.rank, found.expected) == (2, 0.25)
        counts[int((found.p_values(np.array(places, dtype=float)) <= 0.25 + 1e-12).sum())] += 1
    total = sum(counts.values())
    law = stats.betabinom(4, 2, 6)
    for k in range(5):
        assert counts[k] / total == pytest.approx(law.pmf(k))


@pytest.mark.parametrize(
    "draw",
    [
        pytest.param(lambda rng, n: rng.normal(size=n), id="normal"),
        pytest.param(lambda rng, n: rng.standard_cauchy(n), id="heavy tails"),
        pytest.param(lambda rng, n: rng.integers(0, 4, n).astype(float), id="four values"),
        pytest.param(lambda rng, n: np.zeros(n), id="one value"),
    ],
)
def test_the_level_holds_for_rows_drawn_alike(draw: Any) -> None:
    rng = np.random.default_rng(0)
    found = np.array([p_value(draw(rng, 60), draw(rng, 80), 0.05) for _ in range(N_SAMPLES)])
    for level in (0.01, 0.05, 0.2):
        assert (found <= level).mean() <= level + 3 * np.sqrt(level * (1 - level) / N_SAMPLES)


def test_the_test_is_not_empty() -> None:
    rng = np.random.default_rng(0)
    found = np.array([p_value(rng.normal(size=200), rng.normal(1, 1, 80), 0.05) for _ in range(200)])
    assert (found <= 0.05).mean() > 0.9


def test_a_limit_that_ignored_its_own_error_would_not_hold() -> None:
    """The plain binomial test, as if the limit were known, rejects too often: why the count is beta-binomial."""
    rng = np.random.default_rng(0)
    naive = []
    for _ in range(N_SAMPLES):
        found = limit(rng.random(60), 0.05)
        count = int((found.p_values(rng.random(400)) <= found.expected + 1e-12).sum())
        naive.append(stats.binom.sf(count - 1, 400, found.expected) <= 0.05)
    assert np.mean(naive) > 0.15
