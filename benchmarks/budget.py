"""How far an audit oversteps its limits: seconds and memory of audits under limits, of easy models and hard ones.

Run: python benchmarks/budget.py. Seconds are processor time, which the audit is given as its clock, as others use the
machine as well. Exits with 1 if a limit is overstepped by more than a fifth, and START seconds of plugins before it.
"""

from __future__ import annotations

import sys
import time
import warnings
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import uq_report as uq
from uq_report import runner
from uq_report.core import caller
from uq_report.core.distributions import Normal
from uq_report.core.subject import Subject
from uq_report.runner import audit, budget
from uq_report.runner.settings import Settings

BOUND = 1.2
START = 0.2
SECONDS = (1, 5, 20)
HARD = (1, 5)


def subjects() -> dict[str, Subject]:
    """Return a forest and a pipeline on 18 features and 1000 rows."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(2000, 18)), columns=[f"x{i}" for i in range(18)])
    y = pd.Series((X.x0 + X.x1 * X.x2 + rng.normal(size=2000) > 0).astype(int))
    models = {
        "forest of 500 trees": RandomForestClassifier(500, min_samples_leaf=5, random_state=0),
        "logistic pipeline": make_pipeline(StandardScaler(), LogisticRegression()),
    }
    train = X[:1000], y[:1000]
    rows = X[1000:].reset_index(drop=True), y[1000:].reset_index(drop=True)
    return {name: uq.explain(model.fit(*train), *rows, train=train) for name, model in models.items()}


def slow(X: pd.DataFrame) -> Normal:
    """Return what a model says that takes 2 ms a row."""
    end = time.process_time() + 0.002 * len(X)
    while time.process_time() < end:
        pass
    return Normal(X.x0.to_numpy(), np.ones(len(X)))


def hard_subjects() -> dict[str, Subject]:
    """Return models and data of which a single step of an explainer once took seconds."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(40_000, 100)), columns=[f"x{i}" for i in range(100)])
    number = X.x0 + X.x1 * X.x2 + rng.normal(size=len(X))
    few = X.iloc[:, :8]

    def subject(model: Any, X: pd.DataFrame, y: pd.Series, n: int, **given: Any) -> Subject:
        rows = X[-n:].reset_index(drop=True), y[-n:].reset_index(drop=True)
        train = X[: min(n, 2000)], y[: min(n, 2000)]
        return uq.explain(model.fit(*train), *rows, train=train, **given)

    region = rng.integers(0, 40, size=20_000).astype(str)
    process = GaussianProcessRegressor(RBF(3.0) + WhiteKernel(1.0), optimizer=None, normalize_y=True)
    forest = RandomForestRegressor(500, min_samples_leaf=5, max_features=0.4, random_state=0)
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    wide = pd.concat([X, X.add_prefix("a") ** 2, X.add_prefix("b") ** 3], axis=1)[:20_000]
    of_classes = X[-3000:].reset_index(drop=True), pd.qcut(number[-3000:], 20, labels=False).reset_index(drop=True)
    return {
        "2 ms a row": uq.explain(slow, few[:1000], number[:1000], train=(few[1000:3000], number[1000:3000])),
        "300 columns": subject(clone(pipeline), wide, (number[:20_000] > 0).astype(int), 20_000),
        "20 classes": uq.explain(clone(pipeline).fit(*of_classes), *of_classes, train=of_classes),
        "500 normal members": subject(forest, few, number, 2000),
        "Gaussian process": subject(process, few, number, 2000),
        "40 groups of 20,000": subject(pipeline, X, (number > 0).astype(int), 20_000, protected={"region": region}),
    }


def main() -> int:
    warnings.simplefilter("ignore")
    for module in (caller, audit, budget):
        vars(module)["perf_counter"] = time.process_time
    easy, hard, missed = subjects(), hard_subjects(), False
    for subject in (easy | hard).values():  # libraries are loaded before time is taken
        runner.run(subject, Settings(explainers=("calibration", "pfi"), options={"pfi": {"n_repeats": 1}}))
    print(f"{'model':20} {'limit':>9} {'used':>8} {'ratio':>6}  explained")
    for name, subject in (easy | hard).items():
        for limit in SECONDS if name in easy else HARD:
            start = time.process_time()
            run = runner.run(subject, Settings(time_limit=limit)).run
            used = time.process_time() - start
            ratio = used / limit
            missed |= used > BOUND * limit + START
            explained = len({result.explainer for result in run.results})
            print(f"{name:20} {limit:7} s {used:6.2f} s {ratio:6.2f}  {explained}", flush=True)
    for name, subject in easy.items():
        before = budget.memory_mb()
        most = round(before + 20)
        run = runner.run(subject, Settings(memory_limit_mb=most)).run
        used = budget.memory_mb()
        ratio = used / most
        missed |= ratio > BOUND
        print(f"{name:20} {most:6} MB {used:5.0f} MB {ratio:6.2f}  {run.not_reproducible or 'all'}", flush=True)
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
