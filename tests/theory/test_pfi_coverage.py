"""How often the interval of permutation importance holds the truth over new rows (in full: a benchmark)."""

import os
from functools import cache

import numpy as np
import pytest
from scipy.special import entr, expit, log_expit
from scipy.stats import t as student

from uq_report.core.model.measures import ENTROPY, NLL
from uq_report.core.statistics.inference import all_pairs, n_units, shuffled_pairs, standard_error
from uq_report.core.support.arrays import FloatArray
from uq_report.methods.pfi.estimator import Estimator, stops
from uq_report.methods.shared.terms import ChangedMeasures, ShuffledRows, feature_terms

FEATURES = {"dependent": 0, "independent": 2, "irrelevant": 3}


def draw(n: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Draw rows and outcomes of a logistic truth; features 0 and 1 have correlation 0.8."""
    X = rng.normal(size=(n, 4))
    X[:, 1] = 0.8 * X[:, 0] + 0.6 * X[:, 1]
    return X, (rng.random(n) < expit(X[:, 0] + 0.5 * X[:, 1] + X[:, 2])).astype(float)


def evaluate(X: FloatArray, y: FloatArray) -> FloatArray:
    """Return nll and entropy of a slightly wrong model, and a nearly additive measure."""
    z = 1.2 * X[..., 0] + 0.4 * X[..., 1] + 0.9 * X[..., 2] + 0.3 * X[..., 0] * X[..., 2] + 0.05 * X[..., 3]
    near = X.sum(axis=-1) + 0.02 * (X[..., 2] + X[..., 0]) * X[..., 1] + 0.02 * X[..., 3] * X[..., 0]
    return np.stack([-log_expit(np.where(y == 1, z, -z)), entr(expit(z)) + entr(expit(-z)), near])


@cache
def truth(j: int) -> FloatArray:
    """Return the importance in the population, from two million pairs."""
    rng = np.random.default_rng(99)
    changes = []
    for _ in range(4):
        X, y = draw(500_000, rng)
        shuffled = X.copy()
        shuffled[:, j] = rng.permutation(X[:, j])
        changes.append((evaluate(shuffled, y) - evaluate(X, y)).mean(axis=1))
    return np.asarray(np.mean(changes, axis=0))


def covered(n: int, m: int, j: int, reps: int, *, copies: int = 1) -> tuple[FloatArray, FloatArray]:
    """Return the shares of samples whose interval, and whose mean ± t sd/√m over shuffles, hold the truth."""
    rng, ours, naive = np.random.default_rng([n, m, j, copies]), np.zeros(3), np.zeros(3)
    clusters = np.tile(np.arange(n), copies) if copies > 1 else None
    for _ in range(reps):
        X, y = (np.tile(part.T, copies).T for part in draw(n, rng))
        donors = np.stack([rng.permutation(n * copies) for _ in range(m)])
        shuffled = np.broadcast_to(X, (m, *X.shape)).copy()
        shuffled[..., j] = X[donors, j]
        ones = np.ones(n * copies)
        terms = shuffled_pairs(evaluate(shuffled, np.broadcast_to(y, (m, len(y)))), evaluate(X, y), donors, ones)
        error = np.abs(terms.repeats.mean(axis=1) - truth(j))
        df = n_units(ones, clusters) - 1
        ours += error <= student.ppf(0.975, df) * standard_error(terms, ones, clusters)
        naive += error <= student.ppf(0.975, m - 1) * terms.repeats.std(axis=1, ddof=1) / np.sqrt(m)
    return ours / reps, naive / reps


def within(share: FloatArray, reps: int, level: float = 0.95) -> bool:
    """Say whether shares agree with the level within four binomial errors and the 2.5 points simulated for small m."""
    tolerance = 4 * np.sqrt(level * (1 - level) / reps) + 0.025
    return bool((np.abs(share - level) <= tolerance).all())


@pytest.mark.parametrize("m", [3, 10])
@pytest.mark.parametrize("feature", FEATURES)
def test_the_interval_covers_new_rows_and_the_spread_of_shuffles_does_not(feature: str, m: int) -> None:
    ours, naive = covered(60, m, FEATURES[feature], 200)
    assert within(ours, 200), ours
    if m == 10:
        assert naive[0] < 0.8


def test_copies_of_rows_are_covered_when_they_are_clusters() -> None:
    ours, _ = covered(40, 5, FEATURES["dependent"], 200, copies=3)
    assert within(ours, 200), ours


def stopped(n: int, j: int, reps: int) -> tuple[FloatArray, FloatArray, list[int]]:
    """Return the share of intervals that hold the truth where shuffles stop once settled, and how many there were.

    Between both, the mean difference from the mean over all pairs of the same rows, in its own standard errors.
    """
    rng, ones, margins = np.random.default_rng([n, j, 7]), np.ones(n), {"nll": 0.01, "entropy": 0.01}
    hits, errors, numbers = np.zeros(2), [], []
    for _ in range(reps):
        X, y = draw(n, rng)
        donors = np.stack([rng.permutation(n) for _ in range(60)])
        pairs = np.broadcast_to(X, (n, *X.shape)).copy()
        pairs[..., j] = X[:, j, None]  # row i of part k has the value of row k
        full, b = evaluate(pairs, np.broadcast_to(y, (n, n)))[:2], evaluate(X, y)[:2]
        rows = ShuffledRows((NLL, ENTROPY), b, y, ones, None)
        estimator = Estimator(rows, margins, 0.95, 0.1)
        for m in stops(60, adaptive=True):
            terms = feature_terms(ChangedMeasures(full[:, donors[:m], np.arange(n)], donors[:m]), rows)
            if estimator.settled(terms):
                break
        exact = all_pairs(full, b, np.arange(n), donors[:1], ones).estimate
        errors.append(terms.estimate - exact)
        hits += np.abs(terms.estimate - truth(j)[:2]) <= student.ppf(0.975, n - 1) * terms.se
        numbers.append(m)
    return hits / reps, np.mean(errors, axis=0) / (np.std(errors, axis=0) / np.sqrt(reps)), numbers


@pytest.mark.parametrize("feature", FEATURES)
def test_stopping_once_settled_biases_nothing_and_keeps_the_level(feature: str) -> None:
    reps = 100
    ours, bias, numbers = stopped(60, FEATURES[feature], reps)
    assert within(ours, reps), ours
    assert (np.abs(bias) < 4).all(), bias
    assert len(set(numbers)) > 1  # some stop, and not all at once


@pytest.mark.study
@pytest.mark.parametrize("feature", FEATURES)
def test_stopping_keeps_the_level_in_500_samples(feature: str) -> None:
    reps = int(os.environ.get("UQ_STUDY_REPS", "500"))
    ours, bias, _ = stopped(200, FEATURES[feature], reps)
    assert within(ours, reps), ours
    assert (np.abs(bias) < 4).all(), bias


@pytest.mark.study
@pytest.mark.parametrize("m", [5, 10, 30])
@pytest.mark.parametrize("feature", FEATURES)
def test_coverage_of_500_samples(feature: str, m: int) -> None:
    reps = int(os.environ.get("UQ_STUDY_REPS", "500"))
    ours, _ = covered(200, m, FEATURES[feature], reps)
    assert within(ours, reps), ours
