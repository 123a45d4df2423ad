"""Cost of permutation importance by fast paths, as ratios to scikit-learn's with three scorers.

    python benchmarks/fast_paths.py [--quick]

A pipeline of a scaler and an encoder in front of an estimator, on a frame of numbers and text. "pass" is one
prediction pass of three measures (loss, nll, entropy) over all shuffles, "explainer" adds terms, intervals and tests.
Everything is timed in turn in the same rounds (cpu time of all threads, BLAS on one thread); medians over rounds of the
ratio within a round. scikit-learn shuffles each feature once and is scaled to the same number of shuffles.
Then a default regression forest of 200 trees, 2000 rows of 10 numbers: explainers as usual by walks down its trees, in
units of the same without, each in a run of its own; permutation importance makes all 30 shuffles. Loops are compiled
before.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from pfi import MEASURES, Case, mixed, one_pass, peer, timed
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from uq_report.core.arrays import FloatArray
from uq_report.core.engine import Engine
from uq_report.core.shortcut import FastPath
from uq_report.core.subject import Subject, make_subject
from uq_report.inputs.adapters.classifier import ClassifierAdapter
from uq_report.inputs.adapters.ensemble import EnsembleAdapter
from uq_report.inputs.fast_paths.additive import AdditivePath
from uq_report.inputs.fast_paths.separable import SeparablePath
from uq_report.inputs.fast_paths.trees.path import TreePath
from uq_report.methods.h_statistic.explain import HStatistic
from uq_report.methods.pdp.explain import PartialDependence
from uq_report.methods.pfi.explain import PermutationImportance
from uq_report.testing import measures

BOUNDS = {"separable": 0.033, "additive": 0.014}
Paths = Sequence[FastPath]


def case(final: Any, *, quick: bool) -> Case:
    """Fit the pipeline."""
    frame, y = mixed(12_000, 20 if quick else 40, np.random.default_rng(0))
    text = [c for c in frame if frame[c].dtype == object]
    encode = make_column_transformer(
        (StandardScaler(), [c for c in frame if c not in text]), (OneHotEncoder(sparse_output=False), text)
    )
    model = make_pipeline(encode, final).fit(frame[8000:], y[8000:])
    d = frame.shape[1]
    return Case(type(final).__name__, model, ClassifierAdapter(), frame[:8000], y[:8000], 30, (1,), 1, d)


def engine(of: Case, paths: Paths) -> Engine:
    subject = make_subject(of.model, of.adapter, of.X, of.y)
    return Engine(subject, MEASURES, fast_paths=paths).bound("pfi")


def passed(of: Case, paths: Paths) -> FloatArray:
    return one_pass(engine(of, paths), len(of.features), of.repeats)


def explainer(of: Case, paths: Paths) -> Callable[[], Any]:
    def run() -> Any:
        own = engine(of, paths)
        return PermutationImportance(n_repeats=of.repeats).explain(own.subject, own, {})

    return run


def jobs(of: Case) -> dict[str, Callable[[], Any]]:
    """Return what is timed, the base first."""
    named: dict[str, Callable[[], Any]] = {"scikit-learn, 3 scorers": peer(of, 3)}
    kinds: dict[str, Paths] = {"plain": (), "separable": (SeparablePath(),)}
    if hasattr(of.model[-1], "coef_"):
        kinds["additive"] = (AdditivePath(),)
    for kind, paths in kinds.items():
        named[f"{kind}, pass"] = partial(passed, of, paths)
        named[f"{kind}, explainer"] = explainer(of, paths)
    return named


def ratios(of: Case, rounds: int) -> dict[str, float]:
    """Return each job's time in units of scikit-learn's, for the same shuffles."""
    named = jobs(of)
    times = np.array([[timed(run) for run in named.values()] for _ in range(rounds)])
    times[:, 0] *= of.repeats / of.peer_repeats
    return dict(zip(named, np.median(times / times[:, :1], axis=0), strict=True))


def forest(*, quick: bool) -> Subject:
    """Fit a default forest of regression trees."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 10))
    y = X[:, :3].sum(axis=1) + X[:, 3] * X[:, 4] + rng.normal(size=2000)
    model = RandomForestRegressor(50 if quick else 200, random_state=0).fit(X, y)
    return make_subject(model, EnsembleAdapter(), X, y)


def by_walks(subject: Subject, explainer: Any, rounds: int) -> tuple[float, float]:
    """Return the time without walks, and that with them in units of it."""

    def run(paths: Paths) -> None:
        own = Engine(subject, measures(), fast_paths=paths).bound(explainer.name)
        explainer.explain(subject, own, {})

    run((TreePath(),))
    times = np.array([[timed(lambda paths=paths: run(paths)) for paths in ((), (TreePath(),))] for _ in range(rounds)])
    return float(np.median(times[:, 0])), float(np.median(times[:, 1] / times[:, 0]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="20 features in place of 40, one round")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        cases = [
            case(final, quick=options.quick) for final in (LogisticRegression(), DecisionTreeClassifier(max_depth=6))
        ]
        rounds = 1 if options.quick else 3
        table = pd.DataFrame({of.name: ratios(of, rounds) for of in cases})
        subject = forest(quick=options.quick)
        explainers = (PermutationImportance(n_repeats=30, seed_share=0), PartialDependence(), HStatistic())
        walked = {explainer.name: by_walks(subject, explainer, rounds) for explainer in explainers}
    print(table.round(4).to_string(na_rep="-"))
    for kind, bound in BOUNDS.items():
        worst = table.loc[f"{kind}, pass"].max()
        print(f"{kind}: {worst:.3f}; bound {bound}: {'met' if worst <= bound else 'missed'}")
    for name, (seconds, ratio) in walked.items():
        print(f"{name} of a regression forest, by walks: {ratio:.3f} of {seconds:.2f} s")


if __name__ == "__main__":
    main()
