"""What two workers cost and save, as ratios to one.

    python benchmarks/parallel.py [--quick] [--rounds N]

One prediction pass of three measures and the whole explainer of permutation importance, without fast paths, BLAS and
OpenMP on one thread, processes started before. "cpu" is the processor time of all processes in units of one worker's,
"clock" what a clock shows in the same units: 0.5 is perfect, where two cores are free. Everything is run in turn in the
same rounds; medians over rounds of the ratio within a round. Of the killed worker, the clock in units of the same job
undisturbed, and whether all bytes are the same.
"""

from __future__ import annotations

import argparse
import os
import signal
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Timer
from time import perf_counter, process_time
from typing import Any

import numpy as np
import pandas as pd
import psutil
from distributed import Client, LocalCluster
from pfi import MEASURES, mixed, one_pass
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from threadpoolctl import threadpool_limits

from uq_report.core.engine import Engine
from uq_report.core.subject import Subject, make_subject
from uq_report.inputs.adapters.classifier import ClassifierAdapter
from uq_report.methods.pfi.explain import PermutationImportance

Kinds = dict[str, dict[str, Any]]
LOCAL: Kinds = {"threads": {"n_jobs": 2, "backend": "threading"}, "processes": {"n_jobs": 2, "backend": "loky"}}
DASK: Kinds = {"dask": {"backend": "dask"}}
KILLED = 1.5


@dataclass(frozen=True)
class Spent:
    """Processor time of this process and all below it, and the clock's, in seconds; a digest of what came out."""

    cpu: float
    clock: float
    own: float
    out: bytes


def numbers(n: int, d: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    return X, (X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=n) > 0).astype(int)


def subjects(*, quick: bool) -> dict[str, tuple[Subject, int]]:
    """Return the subjects, and how often each feature is shuffled: about five to ten seconds of one worker."""
    rows = 2000 if quick else 8000
    X, y = numbers(rows, 16)
    forest = RandomForestClassifier(100, max_depth=8, random_state=0).fit(X[:2000], y[:2000])
    boosted = HistGradientBoostingClassifier(max_iter=100, random_state=0).fit(X, y)
    frame, z = mixed(rows, 16, np.random.default_rng(0))
    text = [c for c in frame if frame[c].dtype == object]
    encode = make_column_transformer(
        (StandardScaler(), [c for c in frame if c not in text]), (OneHotEncoder(sparse_output=False), text)
    )
    linear = make_pipeline(encode, LogisticRegression()).fit(frame, z)
    cases = {"forest": (forest, X, y, 16), "boosting": (boosted, X, y, 16), "pipeline, frame": (linear, frame, z, 72)}
    return {k: (make_subject(m, ClassifierAdapter(), X, y), r) for k, (m, X, y, r) in cases.items()}


def passed(of: Subject, repeats: int, **workers: Any) -> bytes:
    own = Engine(of, MEASURES, **workers).bound("pfi")
    return one_pass(own, len(of.features), repeats).tobytes()


def explainer(of: Subject, repeats: int, **workers: Any) -> bytes:
    own = Engine(of, MEASURES, **workers).bound("pfi")
    explained = PermutationImportance(n_repeats=repeats, seed_share=0).explain(of, own, {})
    return explained[0].frame.to_csv().encode()


def processor_time() -> float:
    """Return the processor time of this process and of all below it that are alive."""
    below = psutil.Process().children(recursive=True)
    return process_time() + sum(sum(process.cpu_times()[:2]) for process in below)


def spent(run: Callable[[], bytes]) -> Spent:
    cpu, clock, own = processor_time(), perf_counter(), process_time()
    out = run()
    return Spent(processor_time() - cpu, perf_counter() - clock, process_time() - own, out)


def ratios(kinds: Kinds, of: Subject, repeats: int, job: Callable[..., bytes], rounds: int) -> dict[str, float]:
    """Return the ratios of each kind of workers to one worker; each works once before."""
    for workers in kinds.values():
        passed(of, 2, **workers)
    kept = []
    for _ in range(rounds):
        one = spent(lambda: job(of, repeats))
        found = {"one worker, s": one.cpu}
        for name, workers in kinds.items():
            many = spent(lambda workers=workers: job(of, repeats, **workers))
            if many.out != one.out:
                raise RuntimeError(f"{name}: other bytes than one worker's")
            found |= {f"{name}: cpu": many.cpu / one.cpu, f"{name}: clock": many.clock / one.clock}
            found |= {f"{name}: parent's cpu": many.own / one.cpu}
        kept.append(found)
    table = pd.DataFrame(kept)
    return dict(table.median())


@contextmanager
def cluster() -> Iterator[LocalCluster]:
    """Start two processes of dask, and take them for what asks for dask."""
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as local, Client(local):
        yield local


def killed(of: Subject, repeats: int) -> float:
    """Return the clock of a job, one of whose dask workers is killed in its middle, by that of the same undisturbed.

    It is three times as long as the others, as a new worker takes some three seconds to start.
    """
    with cluster() as local:
        passed(of, 1, **DASK["dask"])
        whole = spent(lambda: passed(of, 3 * repeats, **DASK["dask"]))
        victim = next(iter(local.workers.values())).pid
        Timer(0.4 * whole.clock, os.kill, (victim, signal.SIGKILL)).start()
        hurt = spent(lambda: passed(of, 3 * repeats, **DASK["dask"]))
    if hurt.out != whole.out:
        raise RuntimeError("a killed worker changes bytes")
    return hurt.clock / whole.clock


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a quarter of the rows, one round")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rounds = 1 if options.quick else options.rounds
    cases = subjects(quick=options.quick)

    def table(kinds: Kinds) -> pd.DataFrame:
        found = {}
        for name, (of, m) in cases.items():
            for job in (passed, explainer):
                found[f"{name}, {job.__name__}"] = ratios(kinds, of, m, job, rounds)
        return pd.DataFrame(found).T.round(2)

    with threadpool_limits(1):
        print(table(LOCAL).to_string(), flush=True)
        again = float(np.median([killed(*cases["forest"]) for _ in range(rounds)]))
        print(f"a killed dask worker: same bytes, {again:.2f} of the undisturbed clock; bound {KILLED}", flush=True)
        with cluster():
            print(table(DASK).to_string())


if __name__ == "__main__":
    main()
