"""Cost of the covered-information terms, as ratios to a loop over rows and features in the same run.

    python benchmarks/cid.py [--quick]

The loop evaluates scipy's normal densities row by row (on a sample of the rows, scaled up: the whole
takes minutes). Then 1000 features in one go, with the peak of memory. Last the whole fit, its penalty
chosen by cross-validation and its terms, against scikit-learn's search by five penalties a round.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable

import numpy as np
from scipy.stats import multivariate_normal
from sklearn.covariance import GraphicalLassoCV
from threadpoolctl import threadpool_limits

from uq_report.core.arrays import FloatArray
from uq_report.core.engine import Engine
from uq_report.methods.cid.normal import gaussian_terms
from uq_report.methods.cid.precision import by_lasso
from uq_report.testing import linear_subject, measures

GOAL = 100.0
FIT = 0.05


def field(d: int, n: int) -> tuple[FloatArray, FloatArray]:
    """Return rows of d features and y, and their precision."""
    rng = np.random.default_rng(0)
    loadings = rng.normal(size=(d + 1, 3))
    covariance = loadings @ loadings.T + np.eye(d + 1)
    return rng.multivariate_normal(np.zeros(d + 1), covariance, size=n), np.linalg.inv(covariance)


def loop(Z: FloatArray, precision: FloatArray) -> FloatArray:
    """Return covered information row by row and feature by feature from the densities."""
    covariance = np.linalg.inv(precision)
    y = Z.shape[1] - 1
    found = np.empty((len(Z), y))

    def density(columns: list[int], row: FloatArray) -> float:
        part = covariance[np.ix_(columns, columns)]
        return float(multivariate_normal(np.zeros(len(columns)), part).logpdf(row[columns]))

    for r, row in enumerate(Z):
        for i in range(y):
            rest = [j for j in range(y) if j != i]
            mutual = density([i, y], row) - density([i], row) - density([y], row)
            whole = density([i, y, *rest], row) + density(rest, row)
            found[r, i] = mutual - (whole - density([i, *rest], row) - density([y, *rest], row))
    return found


def whole_fit(rounds: int, d: int, n: int) -> None:
    """Print the cost of the whole fit as a ratio to scikit-learn's search for the penalty alone."""
    Z = field(d, n)[0]
    Z = (Z - Z.mean(axis=0)) / Z.std(axis=0)

    engine = Engine(linear_subject(20), measures())
    search = GraphicalLassoCV(alphas=5, max_iter=5000)
    ratios = [
        seconds(lambda: gaussian_terms(Z, by_lasso(Z, None, engine)[0])) / seconds(lambda: search.fit(Z))
        for _ in range(rounds)
    ]
    print(f"n = {n}, d = {d}: fit / GraphicalLassoCV = {np.median(ratios):.3f} (goal <= {FIT:.2f})")


def seconds(job: Callable[[], object]) -> float:
    """Return the cpu seconds of one call."""
    start = time.process_time()
    job()
    return time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds and a smaller wide case")
    quick = parser.parse_args().quick
    n, sample = 2000, 20
    Z, precision = field(7, n)
    rounds = 3 if quick else 7
    ours = np.median([seconds(lambda: [gaussian_terms(Z, precision) for _ in range(20)]) / 20 for _ in range(rounds)])
    theirs = np.median([seconds(lambda: loop(Z[:sample], precision)) for _ in range(rounds)]) * n / sample
    apart = np.abs(gaussian_terms(Z[:sample], precision).covered - loop(Z[:sample], precision)).max()
    print(f"n = {n}, d = 7: loop / terms = {theirs / ours:.0f} (goal >= {GOAL:.0f}); largest difference {apart:.1e}")
    wide = 300 if quick else 1000
    Z, precision = field(wide, n)
    base = seconds(lambda: Z @ precision)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    cost = seconds(lambda: gaussian_terms(Z, precision))
    peak = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    held = Z.nbytes / 2**20
    print(f"n = {n}, d = {wide}: {cost / base:.1f} x one product Z T")
    print(f"peak + {peak:.0f} MiB, {peak / held:.1f} x the data")
    whole_fit(rounds, 7, n)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
