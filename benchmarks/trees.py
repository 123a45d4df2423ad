"""Cost of walks down trees, as ratios to scikit-learn, to one call per grid point, and to the engine's plain path.

    python benchmarks/trees.py [--quick]

A forest of 500 trees of depth 8 on 1250 rows of 10 numbers. cpu time of all threads, each job in turn in the same
rounds; medians over rounds of the ratio within a round. The forest is compiled and flattened before.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from statistics import median
from typing import Any

import numpy as np
from pfi import MEASURES, timed
from sklearn.ensemble import RandomForestClassifier
from sklearn.inspection import permutation_importance

from uq_report.core.engine import Engine
from uq_report.core.subject import Subject, make_subject
from uq_report.core.variants import Variant
from uq_report.inputs.adapters.ensemble import EnsembleAdapter
from uq_report.inputs.fast_paths.trees.path import TreePath

NAMES = ("brier", "nll", "entropy")
SCORERS = ("neg_log_loss", "neg_brier_score", "accuracy")
GRID, SHUFFLES, FEATURES = 50, 5, 3


def evaluated(subject: Subject, variants: Iterable[Variant], *, fast: bool) -> None:
    """Evaluate three measures of all variants."""
    engine = Engine(subject, MEASURES, fast_paths=(TreePath(),) if fast else ())
    for group in engine.evaluate(variants, engine.select(NAMES)[0]):
        group.values.mean(axis=2)


def shuffles(subject: Subject, columns: Iterable[int], repeats: int) -> list[Variant]:
    rng = np.random.default_rng(0)
    return [Variant((c,), donors=rng.permutation(subject.n)) for c in columns for _ in range(repeats)]


def shifts(subject: Subject, column: int) -> list[Variant]:
    """Return every row with the value of every other."""
    rows = np.arange(subject.n)
    return [Variant((column,), donors=np.roll(rows, shift)) for shift in range(1, subject.n)]


def grid(subject: Subject) -> list[Variant]:
    points = np.linspace(0.02, 0.98, GRID)
    values = {c: np.quantile(subject.X[:, c], points, method="inverted_cdf") for c in range(FEATURES)}
    return [Variant((c,), (value,)) for c in range(FEATURES) for value in values[c]]


def one_call_a_point(subject: Subject) -> None:
    for variant in grid(subject):
        X = subject.X.copy()
        X[:, variant.columns[0]] = variant.values[0]
        subject.model.predict_proba(X)


def jobs(subject: Subject, y: Any, repeats: int) -> dict[str, tuple[Callable[[], Any], Callable[[], Any]]]:
    """Return each job with its base."""
    d = subject.X.shape[1]
    return {
        f"PFI, {repeats} repeats / scikit-learn, 3 scorers": (
            lambda: evaluated(subject, shuffles(subject, range(d), repeats), fast=True),
            lambda: permutation_importance(
                subject.model, subject.X, y, scoring=SCORERS, n_repeats=repeats, random_state=0
            ),
        ),
        f"all n x n pairs of a feature / {SHUFFLES} shuffles by the plain path": (
            lambda: evaluated(subject, shifts(subject, 4), fast=True),
            lambda: evaluated(subject, shuffles(subject, (4,), SHUFFLES), fast=False),
        ),
        f"PDP + ICE + entropy + nll, {GRID} points / one call a point": (
            lambda: evaluated(subject, grid(subject), fast=True),
            lambda: one_call_a_point(subject),
        ),
    }


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
    evaluated(subject, shuffles(subject, (0,), 1), fast=True)
    for name, (job, base) in jobs(subject, y, 5 if quick else 10).items():
        ratios = [timed(job) / timed(base) for _ in range(1 if quick else 3)]
        print(f"{median(ratios):.3f}  {name}")


if __name__ == "__main__":
    main()
