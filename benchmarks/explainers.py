"""CPU time of R-sens of a Gaussian process and of Shapley values of entropy, as ratios to a base in the same run.

    OMP_NUM_THREADS=1 python benchmarks/explainers.py

R-sens is compared with the model's predict(return_std) of the audited rows, once, and of as many rows as the explainer
asks for. What it cannot go below is told by the triangular solves it needs, which a prediction has one of: one for the
predictions themselves, two for the slopes of each row it uses, and one for each feature where pairs are computed. The
floor is what these take, with the rest of one prediction. All jobs of a size take turns, and medians are shown.
Shapley values with shap's Exact explainer on the same background and rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import shap
from scipy.linalg import solve_triangular
from sklearn.ensemble import RandomForestClassifier
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.linear_model import LogisticRegression

from uq_report.api import explain
from uq_report.core.arrays import FloatArray
from uq_report.core.engine import Engine
from uq_report.inputs.fast_paths.process import ProcessPath
from uq_report.inputs.fast_paths.trees.path import TreePath
from uq_report.methods.rsens.explain import RSens
from uq_report.methods.shap.explain import ShapleyValues
from uq_report.testing import measures

BACKGROUND = 30
PATHS = (TreePath(),)


def seconds(*jobs: Callable[[], object], rounds: int = 3) -> list[float]:
    """Return the median cpu seconds of each of some jobs that take turns."""
    taken = np.empty((rounds, len(jobs)))
    for line in taken:
        for place, job in enumerate(jobs):
            start = time.process_time()
            job()
            line[place] = time.process_time() - start
    return np.median(taken, axis=0).tolist()


def sensitivity(train: int, d: int, n: int) -> str:
    """Return one line of the table of R-sens."""
    rng = np.random.default_rng(0)
    X, rows = rng.normal(size=(train, d)), rng.normal(size=(n, d))
    kernel = 1.0 * RBF(np.full(d, 2.0)) + WhiteKernel(0.05)
    model = GaussianProcessRegressor(kernel, optimizer=None).fit(X, np.sin(X[:, 0]) + X[:, 1] * X[:, 2])
    subject = explain(model, rows)
    plain = Engine(subject, measures())
    main, pairs, _ = RSens().explain(subject, plain.bound("rsens"), {})
    asked = sum(plain.rows_predicted.values())
    used, paired = (len(part.meta["rows_used"]) for part in (main, pairs))
    solves = (n + 2 * used + d * paired) / n
    K = model.kernel_(rows, X)

    def run(**options: Any) -> None:
        engine = Engine(subject, measures(), fast_paths=[ProcessPath()])
        RSens(**options).explain(subject, engine.bound("rsens"), {})

    base, solve, alone, whole = seconds(
        lambda: model.predict(rows, return_std=True),
        lambda: solve_triangular(model.L_, K.T, lower=True, check_finite=False),
        partial(run, comparators=False, interactions=False),
        run,
        rounds=15,
    )
    (bare,) = seconds(lambda: model.predict(np.resize(rows, (asked, d)), return_std=True), rounds=1)
    floor = 1 + solve / base * (solves - 1)
    ratios = f"{alone / base:.1f} | {whole / base:.1f} | {floor:.1f} | {solves:.1f} | {solve / base:.2f}"
    return f"| {train} | {d} | {n} | {1000 * base:.1f} | {ratios} | {asked} | {whole / bare:.2f} |"


def attributions(d: int, model: Any, n: int) -> float:
    """Return the time of Shapley values of entropy, in units of shap's."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, d))
    y = (X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=400) > 0).astype(int)
    model.fit(X[:200], y[:200])
    subject = explain(model, X[200:], y[200:], train=(X[:200], y[:200]))
    explainer = ShapleyValues(measures=("entropy",), n_local=0, n_rows=n, n_background=BACKGROUND)

    def entropy(rows: FloatArray) -> FloatArray:
        p = model.predict_proba(rows)
        return np.asarray(-(p * np.log(np.where(p > 0, p, 1))).sum(axis=1))

    masker = shap.maskers.Independent(X[:BACKGROUND], max_samples=BACKGROUND)
    jobs = (
        lambda: explainer.explain(subject, Engine(subject, measures(), fast_paths=PATHS).bound("shap"), {}),
        lambda: shap.explainers.Exact(entropy, masker)(X[200 : 200 + n]),
    )
    for job in jobs:
        job()
    ours, theirs = seconds(*jobs)
    return ours / theirs


def main() -> None:
    print("| training rows | d | rows | ms | alone | whole | floor | solves | one solve | rows asked | whole / bare |")
    for size in ((200, 3, 100), (500, 5, 200), (500, 5, 500), (1500, 8, 200), (2000, 8, 1000)):
        print(sensitivity(*size))
    for d in (5, 8, 10):
        linear = attributions(d, LogisticRegression(), 20 if d == 10 else 50)
        forest = attributions(d, RandomForestClassifier(50, max_depth=8, random_state=0), 20)
        print(f"Shapley values, d = {d}: logistic {linear:.2f}, forest {forest:.2f} of shap's Exact")


if __name__ == "__main__":
    main()
