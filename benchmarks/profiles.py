"""Cost of ALE and of all pairs of the H-statistic, as ratios to the bare predict calls on the same rows.

    python benchmarks/profiles.py [--quick]

Peers run in the same rounds: PyALE and dalex beside ALE, pyartemis beside H, each where it is installed
(pyartemis installs with ``pip install --no-deps pyartemis``). All is one measure, the predicted probability.
The limit's rows are permuted in every block: equal rows would flatter it. Median cpu time over rounds.
"""

from __future__ import annotations

import argparse
import importlib
import logging
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import threadpool_limits

from uq_report.core.engine import Engine
from uq_report.core.measures import PREDICTION
from uq_report.core.subject import make_subject
from uq_report.inputs.adapters.classifier import ClassifierAdapter
from uq_report.methods.ale.explain import AccumulatedLocalEffects
from uq_report.methods.h_statistic.explain import HStatistic

Job = Callable[[], object]


def model_and_rows(n: int, d: int, iterations: int) -> tuple[Any, Any]:
    """Return a boosted classifier and rows as an array, which every peer and the limit get alike."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(max(n, 2000), d))
    y = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=len(X)) > 0
    return HistGradientBoostingClassifier(max_iter=iterations).fit(X, y), X[:n]


def shuffled_calls(model: Any, X: Any, rows: int, per_call: int) -> Job:
    """Return the bare predict calls: blocks of `per_call` rows with a permuted column, `rows` in all."""
    rng = np.random.default_rng(1)
    blocks = []
    for start in range(0, rows, per_call):
        block = np.resize(X, (min(per_call, rows - start), X.shape[1])).copy()
        column = (start // per_call) % X.shape[1]
        block[:, column] = rng.permutation(block[:, column])
        blocks.append(block)
    return lambda: [model.predict_proba(block) for block in blocks]


def ours(model: Any, X: Any, explainer: Any) -> Job:
    """Return our explainer, its baseline prediction included."""

    def run() -> object:
        subject = make_subject(model, ClassifierAdapter(), X)
        engine = Engine(subject, {"prediction": PREDICTION}).bound(explainer.name)
        return explainer.explain(subject, engine, {})

    return run


def optional(module: str) -> Any:
    """Return a module, or None where it is not installed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return importlib.import_module(module)
    except ImportError:
        return None


class Scores:
    """The model as PyALE wants it: probabilities from ``predict``."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def predict(self, X: Any) -> Any:
        """Return the probability of the second class."""
        return self.model.predict_proba(np.asarray(X))[:, 1]


def ale_jobs(*, quick: bool) -> dict[str, Job]:
    """Return ALE of six features with 20 bins: the limit is 2 n rows per feature."""
    n, d, features = (500, 10, 3) if quick else (2000, 30, 6)
    model, X = model_and_rows(n, d, 100)
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(d)])
    names = tuple(frame.columns[:features])
    explainer = AccumulatedLocalEffects(measures=("prediction",), features=names, n_bins=20)
    jobs = {"limit": shuffled_calls(model, X, (2 * features + 1) * n, 25_000), "uq_report": ours(model, X, explainer)}
    pyale, dalex = optional("PyALE"), optional("dalex")
    if pyale:
        scores = Scores(model)
        jobs["PyALE"] = lambda: [
            pyale.ale(X=frame, model=scores, feature=[f], grid_size=20, include_CI=False, plot=False) for f in names
        ]
    if dalex:
        whole = dalex.Explainer(
            model, frame, predict_function=lambda m, rows: m.predict_proba(rows.to_numpy())[:, 1], verbose=False
        )
        jobs["dalex"] = lambda: whole.model_profile(
            type="accumulated", variables=list(names), N=None, grid_points=21, verbose=False
        )
    return jobs


def h_jobs(*, quick: bool) -> dict[str, Job]:
    """Return H² of all pairs: the limit is n (n - 1) rows per feature and per pair."""
    n, d = (20, 4) if quick else (40, 6)
    model, X = model_and_rows(n, d, 50)
    rows = n * (n - 1) * (d + d * (d - 1) // 2) + n
    explainer = HStatistic(measures=("prediction",), max_rows=n, top=None)
    jobs = {"limit": shuffled_calls(model, X, rows, 25_000), "uq_report": ours(model, X, explainer)}
    artemis = optional("artemis.interactions_methods.model_agnostic")
    if artemis:
        frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(d)])
        method = artemis.FriedmanHStatisticMethod
        jobs["pyartemis"] = lambda: method(random_state=0).fit(
            Scores(model), frame, n=n, show_progress=False, features=list(frame.columns)
        )
    return jobs


def report(title: str, jobs: dict[str, Job], rounds: int, goal: float) -> None:
    """Run all jobs in turn in every round and print the medians over the limit."""
    seconds: dict[str, list[float]] = {name: [] for name in jobs}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the peers' own
        for _ in range(rounds):
            for name, job in jobs.items():
                start = time.process_time()
                job()
                seconds[name].append(time.process_time() - start)
    base = np.median(seconds["limit"])
    told = ", ".join(f"{name} {np.median(values) / base:.2f}" for name, values in seconds.items())
    print(f"{title}: {told} (goal: uq_report <= {goal} x the limit)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small cases, three rounds")
    quick = parser.parse_args().quick
    rounds = 3 if quick else 7
    report("ALE", ale_jobs(quick=quick), rounds, 1.1)
    report("H, all pairs", h_jobs(quick=quick), rounds, 1.4)


if __name__ == "__main__":
    logging.disable(logging.INFO)  # PyALE tells every feature
    with threadpool_limits(1):
        main()
