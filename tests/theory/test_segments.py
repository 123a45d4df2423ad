"""Segments: intervals cover, honest fitted models are not accused, and planted faults are found."""

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import BayesianRidge, LogisticRegression

import uq_report as uq
from uq_report import testing
from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.model.describe import describe
from uq_report.core.model.subject import Subject
from uq_report.core.support.arrays import AnyArray, FloatArray, IntArray
from uq_report.distributions import Categorical, Normal
from uq_report.evidence import ids
from uq_report.evidence.finding import Finding
from uq_report.evidence.outcomes import CONFIDENCE_GAP
from uq_report.evidence.run import Run
from uq_report.evidence.segments import SegmentsView
from uq_report.methods.segments.check import OVERSURE, SegmentsCheck
from uq_report.methods.segments.explain import Segments

MEASURES = testing.measures()
CHANCE = 1e-4
ALLOWED, POWER = 0.05, 0.8
REGION = 0.67  # x0 above it in a quarter of the rows
SLOPES = np.array([1.0, 0.8, 0.6, 0.4, 0.0])
Drawn = tuple[FloatArray, AnyArray]


def oversure(given: Subject, seed: int) -> list[Finding]:
    """Return the findings that the model is over-confident in a segment."""
    engine = Engine(given, MEASURES, seed=seed)
    results = tuple(Segments().explain(given, engine.bound(ids.SEGMENTS), {}))
    facts = describe(given, engine.baseline)
    run = Run(as_of="2026-01-01", subject=facts, settings={}, environment={}, results=results)
    return [finding for finding in SegmentsCheck().check(run).findings if finding.code == OVERSURE]


def features(rng: np.random.Generator, n: int, correlation: float = 0.7) -> FloatArray:
    return rng.multivariate_normal(np.zeros(5), np.full((5, 5), correlation) + (1 - correlation) * np.eye(5), size=n)


def expit(z: FloatArray) -> FloatArray:
    return np.asarray(1 / (1 + np.exp(-z)))


def binary(rng: np.random.Generator, n: int, slopes: Any, intercept: float = 0.0, correlation: float = 0.7) -> Drawn:
    X = features(rng, n, correlation)
    return X, (rng.random(n) < expit(X @ np.asarray(slopes) + intercept)).astype(int)


def numeric(rng: np.random.Generator, n: int) -> Drawn:
    X = features(rng, n)
    return X, X @ SLOPES + rng.normal(size=n)


def rare(rng: np.random.Generator, n: int) -> Drawn:
    return binary(rng, n, 0.6 * SLOPES, -3.6)


def mixed(rng: np.random.Generator, n: int) -> Drawn:
    return binary(rng, n, [1.0, -1.0, 1.0, -1.0, 0.0])


def plain(rng: np.random.Generator, n: int) -> Drawn:
    return binary(rng, n, 0.6 * SLOPES)


def independent(rng: np.random.Generator, n: int) -> Drawn:
    return binary(rng, n, 0.6 * SLOPES, correlation=0.0)


def skewed(rng: np.random.Generator, n: int) -> Drawn:
    """Return heavy-tailed features: some rows have large odds."""
    X = np.sinh(features(rng, n))
    return X, (rng.random(n) < expit(np.clip(X @ (0.3 * SLOPES), -8, 8))).astype(int)


def forest(leaf: int) -> Any:
    return RandomForestClassifier(60, min_samples_leaf=leaf, random_state=0)


def boosting() -> Any:
    return HistGradientBoostingClassifier(max_iter=50, learning_rate=0.05)


HONEST: dict[str, tuple[Callable[[np.random.Generator, int], Drawn], Callable[[], Any]]] = {
    "linear, correlated": (numeric, BayesianRidge),
    "logistic, correlated": (plain, LogisticRegression),
    "logistic, independent": (independent, LogisticRegression),
    "logistic, mixed signs": (mixed, LogisticRegression),
    "logistic, rare class": (rare, LogisticRegression),
    "logistic, heavy tails": (skewed, LogisticRegression),
    "forest, correlated": (plain, lambda: forest(20)),
    "forest of small leaves, correlated": (plain, lambda: forest(5)),
    "forest, rare class": (rare, lambda: forest(20)),
    "boosting, correlated": (plain, boosting),
}


def alarms(name: str, n: int, sets: int) -> int:
    """Return in how many audits an honest model is accused; it is fitted anew on 5000 rows every ten sets."""
    draw, make = HONEST[name]
    count, model = 0, None
    for k in range(sets):
        rng = np.random.default_rng([k, n, len(name)])
        if model is None or k % 10 == 0:
            model = make().fit(*draw(rng, 5000))
        count += bool(oversure(uq.explain(model, *draw(rng, n)), k))
    return count


def too_small_variance(rng: np.random.Generator, n: int) -> tuple[Any, FloatArray, AnyArray]:
    """Return a model that says half of the variance in the region."""
    X, y = numeric(rng, n)
    return lambda Z: Normal(Z @ SLOPES, np.where(Z[:, 0] > REGION, np.sqrt(0.5), 1.0)), X, y


def wrong_labels(rng: np.random.Generator, n: int) -> tuple[Any, FloatArray, AnyArray]:
    """Return a model of the truth, with a fifth of the labels of the region turned round."""
    slopes = np.array([2.0, 1.5, 1.0, 0.5, 0.0])
    X, y = binary(rng, n, slopes)
    turned: IntArray = np.where((X[:, 0] > REGION) & (rng.random(n) < 0.2), 1 - y, y)

    def model(Z: FloatArray) -> Categorical:
        p = expit(Z @ slopes)
        return Categorical(np.column_stack([1 - p, p]), classes=(0, 1))

    return model, X, turned


def wrong_coefficient(rng: np.random.Generator, n: int) -> tuple[Any, FloatArray, AnyArray]:
    """Return a model without the second slope that x1 has in the region."""
    X, y = numeric(rng, n)
    return lambda Z: Normal(Z @ SLOPES, np.ones(len(Z))), X, y + np.where(X[:, 0] > REGION, X[:, 1], 0.0)


FAULTS = {
    "variance": (too_small_variance, {"x0"}),
    "labels": (wrong_labels, {"x0"}),
    "coefficient": (wrong_coefficient, {"x0", "x1"}),
}


def detected(name: str, n: int, sets: int) -> int:
    """Return in how many audits the fault is found in a segment made of a feature that it is about."""
    make, about = FAULTS[name]
    count = 0
    for k in range(sets):
        given = uq.explain(*make(np.random.default_rng([7, k, n]), n))
        count += any(about & set(finding.features) for finding in oversure(given, k))
    return count


def test_intervals_of_segments_cover_the_truth() -> None:
    """The gap of a model that is the truth is 0 in any rows, so also in a segment chosen on other rows."""
    hits = tested = 0
    for seed in range(60):
        given = testing.linear_subject(300, seed)
        engine = Engine(given, MEASURES, seed=seed).bound(ids.SEGMENTS)
        view = SegmentsView.from_result(Segments().explain(given, engine, {})[0])
        own = [x for x in view.lines if x.measure == x.grown == CONFIDENCE_GAP]
        tested += len(own)
        hits += sum(x.lower <= 0 <= x.upper for x in own)
    assert tested >= 120
    assert hits >= binom.ppf(CHANCE, tested, 0.93)  # squared normal terms are skewed: a little below 95%


@pytest.mark.parametrize("name", ["logistic, rare class", "forest of small leaves, correlated"])
def test_honest_models_are_seldom_accused(name: str) -> None:
    assert alarms(name, 400, 20) <= binom.isf(CHANCE, 20, ALLOWED)


@pytest.mark.parametrize("name", FAULTS)
def test_planted_faults_are_found(name: str) -> None:
    assert detected(name, 1500, 10) >= binom.ppf(CHANCE, 10, POWER)


@pytest.mark.study
@pytest.mark.parametrize("n", [300, 1000])
@pytest.mark.parametrize("name", HONEST)
def test_honest_models_are_seldom_accused_in_full(name: str, n: int) -> None:
    sets = int(os.environ.get("UQ_STUDY_REPS", "20"))
    count = alarms(name, n, sets)
    assert count <= binom.isf(CHANCE, sets, ALLOWED), f"{count} of {sets}"


@pytest.mark.study
@pytest.mark.parametrize("name", FAULTS)
def test_planted_faults_are_found_in_full(name: str) -> None:
    sets = 5 * int(os.environ.get("UQ_STUDY_REPS", "20"))
    assert detected(name, 1500, sets) > POWER * sets
