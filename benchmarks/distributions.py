"""Cost and error of the entropies of mixtures, as ratios to the members' log densities on one grid.

    python benchmarks/distributions.py [--rows 1000] [--members 10] [--forests]

The limit is one evaluation of every member's log_prob at 400 values of each row, timed in turn with the entropy
(cpu time, median of the ratios). The errors are those of a few rows against scipy's quad, member by member.

With --forests: entropy of a forest of regression trees, and its divergence from that of rows with one feature
permuted, in units of the forest's own prediction of as many rows.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from itertools import pairwise

import numpy as np
from scipy.integrate import quad
from sklearn.ensemble import RandomForestRegressor

import uq_report as uq
from uq_report.core.distributions import (
    Gamma,
    Laplace,
    Logistic,
    LogNormal,
    Mixture,
    NegativeBinomial,
    Normal,
    Poisson,
    StudentT,
)
from uq_report.core.predictive import Distribution

NODES, ROUNDS, CHECKED, GOAL = 400, 3, 5, 30.0

NAMES = ("normal", "normal, narrow and far apart", "Laplace", "logistic", "Student-t", "gamma", "log-normal", "counts")


def members(name: str, n: int, m: int, rng: np.random.Generator) -> list[Distribution]:
    """Return m members of n rows, of widths from 0.1 to 10 and some far apart."""
    make: dict[str, Callable[[int], Distribution]] = {
        "normal": lambda _: Normal(5 * rng.normal(size=n), np.exp(rng.normal(size=n))),
        "normal, narrow and far apart": lambda _: Normal(1e4 * rng.normal(size=n), 0.01 * np.exp(rng.normal(size=n))),
        "Laplace": lambda _: Laplace(5 * rng.normal(size=n), np.exp(rng.normal(size=n))),
        "logistic": lambda _: Logistic(5 * rng.normal(size=n), np.exp(rng.normal(size=n))),
        "Student-t": lambda _: StudentT(3.0, 5 * rng.normal(size=n), np.exp(rng.normal(size=n))),
        "gamma": lambda _: Gamma(0.5 + np.exp(rng.normal(size=n)), np.exp(rng.normal(size=n))),
        "log-normal": lambda _: LogNormal(rng.normal(size=n), np.exp(rng.normal(size=n) / 2)),
        "counts": lambda k: Poisson(np.full(n, 5.0 + k)) if k % 2 else NegativeBinomial(np.full(n, 3.0 + k), 2.0),
    }
    return [make[name](k) for k in range(m)]


def ratio(name: str, n: int, m: int, rng: np.random.Generator) -> tuple[float, float]:
    """Return the median ratio of the times, and the largest error of the rows checked."""
    parts = members(name, n, m, rng)
    grids = [np.tile(part.quantile(np.array([0.5])), NODES).ravel() for part in parts]
    many = [part.take(np.repeat(np.arange(n), NODES)) for part in parts]
    ratios = []
    for _ in range(ROUNDS):
        start = time.process_time()
        for part, grid in zip(many, grids, strict=True):
            part.log_prob(grid)
        limit = time.process_time() - start
        start = time.process_time()
        Mixture(parts).entropy()
        ratios.append((time.process_time() - start) / limit)
    return float(np.median(ratios)), max(error(parts, row) for row in range(CHECKED))


def error(parts: list[Distribution], row: int) -> float:
    """Return the distance of one row's entropy from quad's, or from the sum over counts."""
    q = Mixture([part.take(np.array([row])) for part in parts])

    def term(y: float) -> float:
        log_q = float(q.log_prob(np.array([y]))[0])
        return -np.exp(log_q) * log_q if log_q > -np.inf else 0.0

    levels = np.array([1e-13, 1e-9, 1e-6, 1e-4, 1e-2, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 1 - 1e-4, 1 - 1e-6, 1 - 1e-9])
    edges = np.unique(np.hstack([part.quantile(levels)[0] for part in q.components]))
    if q.discrete:
        return abs(float(q.entropy()[0]) - sum(term(k) for k in range(int(edges[-1]) + 50)))
    whole = sum(quad(term, a, b, epsabs=1e-11, epsrel=1e-11, limit=200)[0] for a, b in pairwise(edges))
    return abs(float(q.entropy()[0]) - whole)


def forest(trees: int, leaf: int, rows: int) -> tuple[float, float, float, float]:
    """Return seconds of predict, entropy, divergence and the adapter's prediction, medians of `ROUNDS`."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000 + rows, 8))
    y = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=len(X)) * np.exp(X[:, 0] / 2)
    model = RandomForestRegressor(trees, min_samples_leaf=leaf, random_state=0).fit(X[:1000], y[:1000])
    audited, changed = X[1000:], X[1000:].copy()
    changed[:, 0] = rng.permutation(changed[:, 0])
    subject, seconds = uq.explain(model, audited), np.empty((ROUNDS, 4))
    for r in range(ROUNDS):
        clock = [time.process_time()]
        model.predict(audited)
        clock.append(time.process_time())
        own, other = (subject.adapter.predict(model, table) for table in (audited, changed))
        clock.append(time.process_time())
        own.entropy()
        clock.append(time.process_time())
        own.kl(other)
        clock.append(time.process_time())
        seconds[r] = np.diff(clock)[[0, 2, 3, 1]]
    predict, entropy, divergence, both = np.median(seconds, axis=0)
    return predict, entropy, divergence, both / 2


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--members", type=int, default=10)
    parser.add_argument("--forests", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if given.forests:
        print("| trees, rows in a leaf | predict, us a row | moments of the leaves | entropy | divergence |")
        print("|---|---|---|---|---|")
        for trees, leaf in ((30, 20), (100, 10), (100, 5), (300, 10)):
            predict, entropy, divergence, moments = forest(trees, leaf, given.rows)
            shares = " | ".join(f"{part / predict:.1f}" for part in (moments, entropy, divergence))
            print(f"| {trees}, {leaf} | {1e6 * predict / given.rows:.0f} | {shares} |", flush=True)
        return
    print(f"entropy of {given.rows} rows x {given.members} members, against their log_prob at {NODES} values a row")
    print(f"| members | times the limit (goal <= {GOAL:g}) | largest error of {CHECKED} rows, nats |\n|---|---|---|")
    for name in NAMES:
        value, off = ratio(name, given.rows, given.members, np.random.default_rng(0))
        print(f"| {name} | {value:.1f} | {off:.1e} |", flush=True)


if __name__ == "__main__":
    main()
