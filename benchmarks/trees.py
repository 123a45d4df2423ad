"""Cost of walks down trees, as ratios to scikit-learn, to one call per grid point, and to the engine's plain path.

    python benchmarks/trees.py [--quick]

A forest of 500 trees of depth 8 on 1250 rows of 10 numbers. cpu time of all threads, each job in turn in the same
rounds; medians over rounds of the ratio within a round. Walks are compiled before. A textbook H-statistic predicts all
n x n rows for every feature and every pair: one such call is timed, and counted as often as there are of them.
Profiles are timed in a run of their own, and in one that has shuffled the features before, as an audit has.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from math import comb
from statistics import median
from typing import Any

import numpy as np
from pfi import MEASURES, timed
from sklearn.ensemble import RandomForestClassifier
from sklearn.inspection import permutation_importance

from uq_report.core.engine import Engine
from uq_report.core.measures import PREDICTION
from uq_report.core.subject import Subject, make_subject
from uq_report.core.variants import Variant
from uq_report.inputs.adapters.ensemble import EnsembleAdapter
from uq_report.inputs.fast_paths.trees.path import TreePath
from uq_report.methods.h_statistic.explain import HStatistic
from uq_report.methods.shared.changes import Distinct

NAMES = ("brier", "nll", "entropy")
SCORERS = ("neg_log_loss", "neg_brier_score", "accuracy")
SHUFFLES, H_ROWS, ROUNDS = 5, 200, 3


def evaluated(subject: Subject, variants: Iterable[Variant], *, fast: bool) -> None:
    """Evaluate three measures of all variants in a run of their own."""
    evaluate(Engine(subject, MEASURES, fast_paths=(TreePath(),) if fast else ()), variants)


def evaluate(engine: Engine, variants: Iterable[Variant]) -> None:
    """Evaluate three measures of all variants."""
    for group in engine.evaluate(variants, engine.select(NAMES)[0]):
        group.values.mean(axis=2)


def shuffles(subject: Subject, columns: Iterable[int], repeats: int) -> list[Variant]:
    rng = np.random.default_rng(0)
    return [Variant((c,), donors=rng.permutation(subject.n)) for c in columns for _ in range(repeats)]


def exact(subject: Subject) -> list[Variant]:
    """Return every row with every other value of each feature, as exact permutation importance asks for them."""
    own = [Distinct.of(subject.X, (c,)) for c in range(subject.X.shape[1])]
    return [Variant((c,), donors=of.donors(step)) for c, of in enumerate(own) for step in range(1, len(of.first))]


def after_importance(subject: Subject) -> Engine:
    """Return a run that has shuffled all features by walks."""
    engine = Engine(subject, MEASURES, fast_paths=(TreePath(),))
    evaluate(engine, shuffles(subject, range(subject.X.shape[1]), SHUFFLES))
    return engine


def grid(subject: Subject, features: int, points: int) -> list[Variant]:
    levels = np.linspace(0.02, 0.98, points)
    values = {c: np.quantile(subject.X[:, c], levels, method="inverted_cdf") for c in range(features)}
    return [Variant((c,), (value,)) for c in range(features) for value in values[c]]


def one_call_a_point(subject: Subject, points: Iterable[Variant]) -> None:
    for variant in points:
        X = subject.X.copy()
        X[:, variant.columns[0]] = variant.values[0]
        subject.model.predict_proba(X)


def h_statistic(subject: Subject) -> None:
    """Compute H of all pairs, of prediction and entropy."""
    engine = Engine(subject, {**MEASURES, PREDICTION.name: PREDICTION}, fast_paths=(TreePath(),))
    HStatistic(max_rows=H_ROWS, top=None).explain(subject, engine, {})


def one_call_of_all_pairs(subject: Subject) -> None:
    rows = subject.X[:H_ROWS]
    subject.model.predict_proba(np.repeat(rows, H_ROWS, axis=0))


Job = tuple[Callable[[], Any], Callable[[], Any], int]


def jobs(subject: Subject, y: Any, *, quick: bool) -> dict[str, Job]:
    """Return each job with its base, and how often that counts."""
    d, repeats = subject.X.shape[1], 5 if quick else 10
    every = exact(subject)
    few = shuffles(subject, range(d), SHUFFLES)
    found: dict[str, Job] = {
        f"PFI, {repeats} repeats / scikit-learn, 3 scorers": (
            lambda: evaluated(subject, shuffles(subject, range(d), repeats), fast=True),
            lambda: permutation_importance(
                subject.model, subject.X, y, scoring=SCORERS, n_repeats=repeats, random_state=0
            ),
            1,
        )
    }
    for fast, path in ((False, "plain path"), (True, "walks")):
        found[f"PFI of all n x n pairs / of {SHUFFLES} shuffles by the {path}"] = (
            partial(evaluated, subject, every, fast=True),
            partial(evaluated, subject, few, fast=fast),
            1,
        )
    for features, points in ((3, 50), (d, 20)):
        name = f"PDP + ICE + entropy + nll, {points} points of {features} features"
        variants = grid(subject, features, points)
        runs = [after_importance(subject) for _ in range(ROUNDS)]
        base = partial(one_call_a_point, subject, variants)
        found[f"{name} / one call a point"] = partial(evaluated, subject, variants, fast=True), base, 1
        found[f"{name}, after PFI / one call a point"] = _next(runs, variants), base, 1
    found[f"H of all pairs, {H_ROWS} rows / a call of n x n rows for each feature and pair"] = (
        lambda: h_statistic(subject),
        lambda: one_call_of_all_pairs(subject),
        d + comb(d, 2),
    )
    return found


def _next(runs: list[Engine], variants: Sequence[Variant]) -> Callable[[], None]:
    return lambda: evaluate(runs.pop(), variants)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1250, 10))
    y = (X[:, :3].sum(axis=1) + X[:, 3] * X[:, 4] + rng.normal(size=1250) > 0).astype(int)
    model = RandomForestClassifier(500, max_depth=8, random_state=0).fit(X, y)
    subject = make_subject(model, EnsembleAdapter(), X, y)
    evaluated(subject, [Variant((0,), (0.0,)), Variant((0, 1), (0.0, 0.0))], fast=True)
    for name, (job, base, times) in jobs(subject, y, quick=quick).items():
        ratios = [timed(job) / timed(base) / times for _ in range(1 if quick else ROUNDS)]
        print(f"{median(ratios):.3f}  {name}")


if __name__ == "__main__":
    main()
