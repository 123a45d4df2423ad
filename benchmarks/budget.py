"""How far an audit oversteps its limits: seconds and memory of audits under limits, on a forest and on a pipeline.

Run: python benchmarks/budget.py. Seconds are processor time, which the audit is given as its clock, as others use the
machine as well. Exits with 1 if a limit is overstepped by more than a fifth, and START seconds of plugins before it.
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import uq_report as uq
from uq_report import runner
from uq_report.core import engine
from uq_report.core.subject import Subject
from uq_report.runner import audit, budget
from uq_report.runner.settings import Settings

BOUND = 1.2
START = 0.2
SECONDS = (1, 5, 20)


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


def main() -> int:
    warnings.simplefilter("ignore")
    for module in (engine, audit, budget):
        vars(module)["perf_counter"] = time.process_time
    prepared, missed = subjects(), False
    for subject in prepared.values():  # libraries are loaded before time is taken
        runner.run(subject, Settings(explainers=("calibration", "pfi"), options={"pfi": {"n_repeats": 1}}))
    print(f"{'model':20} {'limit':>9} {'used':>8} {'ratio':>6}  explained")
    for name, subject in prepared.items():
        for limit in SECONDS:
            start = time.process_time()
            run = runner.run(subject, Settings(time_limit=limit)).run
            used = time.process_time() - start
            ratio = used / limit
            missed |= used > BOUND * limit + START
            explained = len({result.explainer for result in run.results})
            print(f"{name:20} {limit:7} s {used:6.2f} s {ratio:6.2f}  {explained}", flush=True)
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
