"""A fresh sample of an advised size decides in about 80% of samples: the gap of a calibrated model, and a limit."""

import math

import numpy as np
import pytest
from scipy import stats

from uq_report.core.statistics.verdicts import beyond, equivalence
from uq_report.core.support.arrays import FloatArray
from uq_report.distributions import Categorical, Normal
from uq_report.methods.calibration.scores import confidence_gap
from uq_report.methods.shared.predicted import varentropy

REPS, TOLERANCE = 1500, 0.05


def spread(q: Categorical | Normal, rng: np.random.Generator) -> float:
    """Return the mean variance of the gaps."""
    variances = varentropy(q, rng)
    assert variances is not None
    return float(variances.mean())


def is_within(gaps: FloatArray) -> bool:
    """Return whether the 90% interval of the mean lies within the tolerance."""
    reach = float(stats.t.ppf(0.95, len(gaps) - 1)) * gaps.std(ddof=1) / math.sqrt(len(gaps))
    return bool(abs(gaps.mean()) + reach < TOLERANCE)


@pytest.mark.parametrize("shift", [0.0, -3.0])  # even classes, and 5% events
@pytest.mark.parametrize("pilot", [100, 250])
def test_the_gap_of_a_calibrated_classifier(shift: float, pilot: int) -> None:
    rng = np.random.default_rng(1)

    def probabilities(n: int) -> Categorical:
        p = 1 / (1 + np.exp(-(shift + rng.normal(size=n))))
        return Categorical(np.column_stack([1 - p, p]))

    decided = 0
    for _ in range(REPS):
        q = probabilities(math.ceil(equivalence(spread(probabilities(pilot), rng), TOLERANCE)))
        decided += is_within(confidence_gap(q, q.sample(rng, 1)[0]))
    assert 0.75 <= decided / REPS <= 0.85


def test_the_gap_of_a_calibrated_normal() -> None:
    rng = np.random.default_rng(2)
    n = math.ceil(equivalence(spread(Normal(np.zeros(5), 1.0), rng), TOLERANCE))
    q = Normal(np.zeros(n), 1.0)
    assert 0.75 <= np.mean([is_within(confidence_gap(q, y)) for y in q.sample(rng, REPS)]) <= 0.85


def test_a_limit_that_the_truth_differs_from_as_stated() -> None:
    """Accuracy 0.80 against at least 0.77, from the standard error of a pilot of 250."""
    rng = np.random.default_rng(3)
    size = beyond(250, math.sqrt(0.8 * 0.2 / 250), 0.03)
    assert size is not None
    n = math.ceil(size.needed)
    share = rng.binomial(n, 0.8, size=20_000) / n
    kept = share - 1.96 * np.sqrt(share * (1 - share) / n) > 0.77
    assert 0.75 <= kept.mean() <= 0.85
