"""How often intervals over blocks hold the truth where rows depend on each other in order of time."""

import os
from functools import cache

import numpy as np
import pytest
from scipy.signal import lfilter
from scipy.stats import binom, t as student

from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.model.measures import ENTROPY, NLL
from uq_report.core.model.sampling import Sampling
from uq_report.core.model.subject import make_subject
from uq_report.core.statistics.time_blocks import Blocks
from uq_report.core.statistics.verdicts import permutation_p_value
from uq_report.core.support.arrays import FloatArray, IntArray
from uq_report.core.traits.block_length import with_long_blocks
from uq_report.distributions import Normal
from uq_report.inputs.adapters.members import FunctionAdapter
from uq_report.methods.shared.terms import ChangedMeasures, ShuffledRows, feature_terms

M = 10


def ar(rho: float, n: int, rng: np.random.Generator) -> FloatArray:
    """Return a stationary AR(1) series of variance 1."""
    steps = rng.normal(size=n) * np.sqrt(1 - rho**2)
    steps[0] /= np.sqrt(1 - rho**2)
    return np.asarray(lfilter([1.0], [1.0, -rho], steps))


def model(X: FloatArray) -> Normal:
    """A regression that is slightly wrong in mean and spread, and leans on its third feature for nothing."""
    mean = 0.9 * X[..., 0] + 0.1 * X[..., 0] * X[..., 1] + 0.2 * X[..., 2]
    return Normal(mean, np.exp(0.6 * np.tanh(X[..., 0] * (1 + X[..., 1]))))


def evaluate(X: FloatArray, y: FloatArray) -> FloatArray:
    """Return nll and entropy, shape (2, ...)."""
    shape, dist = X.shape[:-1], model(X.reshape(-1, X.shape[-1]))
    return np.stack([-dist.log_prob(np.broadcast_to(y, shape).ravel()), dist.entropy()]).reshape(2, *shape)


def draw(n: int, rho: float, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Draw rows whose first and third features, and whose outcomes given them, have autocorrelation `rho`."""
    X = np.column_stack([ar(rho, n, rng), rng.normal(size=n), ar(rho, n, rng)])
    return X, X[:, 0] + ar(rho, n, rng)


@cache
def truth() -> FloatArray:
    """Return mean loss and importance of the first feature for nll and entropy in the population."""
    rng = np.random.default_rng(9)
    X, y = draw(2_000_000, 0.0, rng)
    unchanged = evaluate(X, y)
    X[:, 0] = rng.permutation(X[:, 0])
    return np.r_[unchanged[0].mean(), (evaluate(X, y) - unchanged).mean(axis=1)]


def held(X: FloatArray, y: FloatArray, donors: IntArray, clusters: IntArray | None, *, blocks: bool) -> FloatArray:
    """Say which of the three 95% intervals hold their truth."""
    n = len(y)
    shuffled = np.broadcast_to(X, (M, *X.shape)).copy()
    shuffled[..., 0] = X[donors, 0]
    own = ShuffledRows((NLL, ENTROPY), evaluate(X, y), y, np.ones(n), clusters, blocks=blocks)
    terms = feature_terms(ChangedMeasures(evaluate(shuffled, y), donors), own)
    mean, error = Sampling(np.full(n, 1 / n), own.units, clusters).mean(own.b[:1])
    reach = student.ppf(0.975, own.units - 1) * np.r_[error, terms.se]
    return np.abs(np.r_[mean, terms.estimate] - truth()) <= reach


def covered(n: int, rho: float, reps: int) -> tuple[FloatArray, FloatArray]:
    """Return the shares of samples whose intervals hold the truth: over blocks, and as if rows were independent."""
    rng, ours, naive = np.random.default_rng([n, int(100 * rho)]), np.zeros(3), np.zeros(3)
    for _ in range(reps):
        X, y = draw(n, rho, rng)
        subject = make_subject(model, FunctionAdapter(), X, y, time=np.arange(n))
        blocks = with_long_blocks(subject, Engine(subject, {})).blocks
        assert blocks is not None
        ours += held(X, y, np.stack([blocks.donors(rng) for _ in range(M)]), blocks.codes, blocks=True)
        naive += held(X, y, np.stack([rng.permutation(n) for _ in range(M)]), None, blocks=False)
    return ours / reps, naive / reps


def rejected(n: int, rho: float, reps: int, *, blocks: bool) -> float:
    """Return how often a test at 5% rejects for the third feature, which neither rows nor outcomes depend on."""
    rng, count, whole = np.random.default_rng([n, int(100 * rho)]), 0, Blocks(np.arange(n), n // 20)
    for _ in range(reps):
        X, y = draw(n, rho, rng)
        donors = np.stack([whole.donors(rng) if blocks else rng.permutation(n) for _ in range(19)])
        shuffled = np.broadcast_to(X, (19, *X.shape)).copy()
        shuffled[..., 2] = X[donors, 2]
        changes = (evaluate(shuffled, y) - evaluate(X, y)[:, None])[0].mean(axis=1)
        count += permutation_p_value(changes) <= 0.05
    return count / reps


def test_blocks_cover_and_rows_do_not() -> None:
    ours, naive = covered(400, 0.8, 60)
    assert (ours >= 0.85).all(), ours
    assert (naive[:2] < 0.8).all(), naive


def consistent(share: float, reps: int, least: float, most: float) -> bool:
    """Say whether a share of repetitions is consistent with a rate between two, by exact binomial tests at 0.1%."""
    count = round(share * reps)
    return binom.cdf(count, reps, least) > 1e-3 and binom.sf(count - 1, reps, most) > 1e-3


def test_a_share_far_off_is_not_consistent() -> None:
    assert consistent(0.6, 5, 0.90, 0.98)
    assert not consistent(0.2, 5, 0.90, 0.98)
    assert not consistent(1.0, 400, 0.90, 0.98)


@pytest.mark.study
@pytest.mark.parametrize(("n", "rho"), [(400, 0.6), (400, 0.8), (1000, 0.8)])
def test_coverage_of_many_samples(n: int, rho: float) -> None:
    """Nominal 95%: 90 to 98% over blocks; clearly less where rows are taken as rows."""
    reps = int(os.environ.get("UQ_STUDY_REPS", "200"))
    ours, naive = covered(n, rho, reps)
    assert all(consistent(share, reps, 0.90, 0.98) for share in ours), ours
    assert all(consistent(share, reps, 0.0, 0.90) for share in naive[:2]), naive


@pytest.mark.study
def test_the_level_of_shuffled_blocks() -> None:
    reps = int(os.environ.get("UQ_STUDY_REPS", "300"))
    assert consistent(rejected(400, 0.8, reps, blocks=True), reps, 0.0, 0.07)
    assert consistent(rejected(400, 0.8, reps, blocks=False), reps, 0.15, 1.0)
