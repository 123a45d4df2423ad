"""Cost of exact Gaussian process derivatives, as ratios to one ``predict(return_std=True)`` on the same rows.

    python benchmarks/rsens.py [--quick]

Mean, variance and both gradients, against central differences (two calls per feature) and the bare
prediction. Everything is timed in turn in the same rounds (cpu time of all threads, BLAS on one thread);
the table shows medians over rounds.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, RationalQuadratic, WhiteKernel
from threadpoolctl import threadpool_limits

from uq_report.inputs.adapters.regressor_std import RegressorStdAdapter

GOAL = 2.0


def cases(*, quick: bool) -> list[tuple[str, Any, Any]]:
    """Return fitted processes and their test rows."""
    rng = np.random.default_rng(0)
    sizes = ((500, 5), (1500, 8)) if not quick else ((300, 5),)
    found = []
    for n, d in sizes:
        X = rng.normal(size=(n, d))
        y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=n)
        ard = np.linspace(1.0, 3.0, d)
        kernels = {
            "RBF, ARD": RBF(ard),
            "Matern 3/2": Matern(ard, nu=1.5),
            "Matern 5/2": Matern(ard, nu=2.5),
            "RationalQuadratic": RationalQuadratic(2.0, 1.0),
        }
        for name, kernel in kernels.items():
            whole = ConstantKernel(1.5) * kernel + WhiteKernel(0.01)
            model = GaussianProcessRegressor(whole, optimizer=None, normalize_y=True).fit(X, y)
            found.append((f"{name}, N = {n}, d = {d}", model, rng.normal(size=(500, d))))
    return found


def differences(model: Any, X: Any) -> None:
    """Predict what central differences need: two calls for each feature."""
    for j in range(X.shape[1]):
        for sign in (1, -1):
            moved = X.copy()
            moved[:, j] += sign * 1e-4
            model.predict(moved, return_std=True)


def timed(jobs: list[Callable[[], object]], rounds: int) -> list[float]:
    """Return the median cpu seconds of each job, all jobs in turn in every round."""
    seconds = np.empty((rounds, len(jobs)))
    for r in range(rounds):
        for j, job in enumerate(jobs):
            start = time.process_time()
            job()
            seconds[r, j] = time.process_time() - start
    return [float(x) for x in np.median(seconds, axis=0)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one small case of each kernel")
    quick = parser.parse_args().quick
    adapter, missed = RegressorStdAdapter(), 0
    print(f"{'process':<36} {'exact':>7} {'differences':>12}   (1 = predict with std; goal <= {GOAL:g})")
    for name, model, X in cases(quick=quick):
        jobs: list[Callable[[], object]] = [
            lambda m=model, X=X: m.predict(X, return_std=True),  # type: ignore[misc]
            lambda m=model, X=X: adapter.derivatives(m, X, 1),  # type: ignore[misc]
            lambda m=model, X=X: differences(m, X),  # type: ignore[misc]
        ]
        base, exact, difference = timed(jobs, 7 if quick else 15)
        missed += exact > GOAL * base
        print(f"{name:<36} {exact / base:>7.2f} {difference / base:>12.1f}")
    return 1 if missed else 0


if __name__ == "__main__":
    with threadpool_limits(1):
        sys.exit(main())
