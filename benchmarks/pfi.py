"""Cost of permutation importance, as ratios to the bare predict calls on the same permuted rows.

    python benchmarks/pfi.py [--quick] [--large] [--no-dalex] [--brief] [--rounds N] [--samples]

The limit is the fastest of a few ways to hand exactly the permuted rows to the model's own predict
function: as they come (1n), or several shuffles of a row side by side in one call. Every block of the
limit has a column permuted, since equal rows flatter a forest by a factor of two. Everything is timed in
turn in the same rounds (cpu time of all threads, BLAS on one thread); the table shows the median over
rounds of the ratio within a round, since a busy machine slows both, and the quartiles of what the goal is for.
The peers shuffle all features, fewer times, and are scaled to the same number of shuffles. By default features of few
values are exact over all permutations and others are shuffled until their numbers are settled: its own row, beside the
share of the rows that it predicts. "pass" is the prediction pass of the three measures over all shuffles with their
means, which is what peers give; the others add intervals, tests and result tables. Ours is the plain path, which serves
any model, but for one row: by default fast paths serve the models that they know.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from threadpoolctl import threadpool_limits

from uq_report.core import measures
from uq_report.core.arrays import FloatArray
from uq_report.core.engine import Engine
from uq_report.core.subject import make_subject
from uq_report.core.variants import Variant
from uq_report.inputs.adapters.classifier import ClassifierAdapter
from uq_report.inputs.adapters.ensemble import EnsembleAdapter
from uq_report.inputs.adapters.regressor_std import RegressorStdAdapter
from uq_report.jobs.demo import build
from uq_report.methods.pfi.explain import PermutationImportance
from uq_report.runner.prepare import load_fast_paths
from uq_report.runner.settings import Settings

MEASURES = {m.name: m for m in (measures.BRIER, measures.SQUARED_ERROR, measures.NLL, measures.ENTROPY)}
GOAL = 1.05
PASS = "uq_report, 3 measures, pass"
ALL_SHUFFLES = "uq_report, 3 measures"
FAST = "uq_report, 3 measures, where a fast path serves"
DEFAULT = "uq_report, 3 measures, exact or until settled"
PEER_ROUNDS = 2  # they are slow, and far from the limit


@dataclass(frozen=True)
class Case:
    """A fitted model, its test rows, its adapter and the number of shuffles."""

    name: str
    model: Any
    adapter: Any
    X: Any
    y: Any
    repeats: int
    blocks: tuple[int, ...]  # rows per call to try for the limit, in units of the rows
    peer_repeats: int = 2
    explained: int = 10  # features shuffled, the first ones

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features that are shuffled."""
        names = list(self.X.columns) if frame_like(self.X) else [f"x{j}" for j in range(self.X.shape[1])]
        return tuple(names[: self.explained])

    def predict(self, X: Any) -> Any:
        """Call the model as bare as it can be called."""
        if hasattr(self.model, "predict_proba"):
            return self.model.predict_proba(X)
        return self.model.predict(X, return_std=True)


def binary(n: int, d: int, rng: np.random.Generator) -> tuple[Any, Any]:
    X = rng.normal(size=(n, d))
    return X, (X[:, 0] + X[:, 1] * X[:, 2] + rng.logistic(size=n) > 0).astype(int)


def mixed(n: int, d: int, rng: np.random.Generator) -> tuple[Any, Any]:
    X, y = binary(n, d, rng)
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(d)])
    for j in range(3, d, 3):
        frame[f"x{j}"] = np.array(["red", "green", "blue", "grey"], dtype=object)[rng.integers(0, 4, n)]
    return frame, y


def cases(*, quick: bool) -> list[Case]:
    """Fit the four models."""
    rng, k = np.random.default_rng(0), 2 if quick else 1
    X, y = binary(3000, 10, rng)
    forest = RandomForestClassifier(200 // k, max_depth=8, random_state=0).fit(X[1250:], y[1250:])
    boosted_X, boosted_y = binary(6000, 10, rng)
    boosted = HistGradientBoostingClassifier(max_iter=100, random_state=0).fit(boosted_X[4000:], boosted_y[4000:])
    frame, frame_y = mixed(12_000, 40 // k, rng)
    text = [c for c in frame if frame[c].dtype == object]
    numbers = [c for c in frame if c not in text]
    encode = make_column_transformer((StandardScaler(), numbers), (OneHotEncoder(), text))
    linear = make_pipeline(encode, LogisticRegression()).fit(frame[8000:], frame_y[8000:])
    gp_X = rng.normal(size=(1000, 5))
    gp_y = gp_X[:, 0] + np.sin(gp_X[:, 1]) + 0.3 * rng.normal(size=1000)
    kernel = ConstantKernel(1.0) * RBF(2.0) + WhiteKernel(0.1)
    process = GaussianProcessRegressor(kernel, optimizer=None).fit(gp_X[500:], gp_y[500:])
    return [
        Case("forest", forest, EnsembleAdapter(), X[:1250], y[:1250], 30 // k, (1, 5, 20, 40)),
        Case("boosted trees", boosted, ClassifierAdapter(), boosted_X[:4000], boosted_y[:4000], 30 // k, (1, 5, 20)),
        Case("logistic, mixed frame", linear, ClassifierAdapter(), frame[:8000], frame_y[:8000], 30 // k, (1, 3), 1),
        Case("Gaussian process", process, RegressorStdAdapter(), gp_X[:500], gp_y[:500], 30 // k, (1, 4)),
    ]


def large() -> list[Case]:
    """Return the forest, the boosted trees and the Gaussian process with four times the test rows or more."""
    rng, known = np.random.default_rng(1), {case.name: case for case in cases(quick=False)}
    X, y = binary(20_000, 10, rng)
    gp_X = rng.normal(size=(2000, 5))
    gp_y = gp_X[:, 0] + np.sin(gp_X[:, 1]) + 0.3 * rng.normal(size=2000)
    of = (
        ("forest", X[:5000], y[:5000], (1, 5, 20)),
        ("boosted trees", X, y, (5, 20)),
        ("Gaussian process", gp_X, gp_y, (4, 1)),
    )
    return [replace(known[k], name=f"{k}, {len(X)} rows", X=X, y=y, blocks=blocks) for k, X, y, blocks in of]


EVERY: dict[str, Any] = {"exact": False, "seed_share": 0.0}  # every shuffle that is asked for, as the peers make them


def ours(case: Case, rows: dict[str, int], name: str, **options: Any) -> Callable[[], Any]:
    """Three measures at once, with intervals; the rows predicted are put among `rows`."""
    paths = load_fast_paths(Settings()) if name == FAST else ()

    def run() -> Any:
        subject = make_subject(case.model, case.adapter, case.X, case.y)
        engine = Engine(subject, MEASURES, fast_paths=paths).bound("pfi")
        explainer = PermutationImportance(n_repeats=case.repeats, features=case.features, **options)
        results = explainer.explain(subject, engine, {})
        rows[name] = sum(engine.rows_predicted.values()) - subject.n
        return results

    return run


def one_pass(own: Engine, features: int, repeats: int) -> FloatArray:
    """Return the means (3, shuffles) of three measures under all shuffles of the first features."""
    order = [(c, repeat) for c in range(features) for repeat in range(repeats)]
    variants = (Variant((c,), donors=own.rng(c, repeat).permutation(own.subject.n)) for c, repeat in order)
    groups = own.evaluate(variants, own.select(["loss", "nll", "entropy"])[0], total=len(order))
    return np.concatenate([group.values.mean(axis=2) for group in groups], axis=1)


def plain_pass(case: Case) -> Callable[[], Any]:
    def run() -> FloatArray:
        own = Engine(make_subject(case.model, case.adapter, case.X, case.y), MEASURES).bound("pfi")
        return one_pass(own, len(case.features), case.repeats)

    return run


def limit(case: Case, variants: int) -> Callable[[], Any]:
    """Bare predict calls, `variants` shuffles of one feature side by side; a table for each, made beforehand."""
    rng, n, d = np.random.default_rng(1), len(case.X), len(case.features)
    tables = [block(case, np.repeat(j, variants), rng) for j in range(d)]
    calls = d * case.repeats / variants

    def run() -> None:
        for call in range(int(calls)):
            case.predict(tables[call % len(tables)])
        left = round((calls - int(calls)) * n * variants)
        if left:
            case.predict(tables[0][:left])

    return run


def block(case: Case, features: Any, rng: np.random.Generator) -> Any:
    """Return the rows once for every entry of `features`, each with that column permuted, row by row."""
    n, v = len(case.X), len(features)
    if frame_like(case.X):
        table = case.X.iloc[np.repeat(np.arange(n), v)].reset_index(drop=True)
        for k, j in enumerate(features):
            table.iloc[k::v, j] = case.X.iloc[rng.permutation(n), j].to_numpy()
        return table
    rows = np.repeat(case.X[:, None], v, axis=1)
    for k, j in enumerate(features):
        rows[:, k, j] = case.X[rng.permutation(n), j]
    return rows.reshape(n * v, -1)


def frame_like(X: Any) -> bool:
    return isinstance(X, pd.DataFrame)


def peer(case: Case, scorers: int) -> Callable[[], Any]:
    """scikit-learn's permutation_importance with one or three scorers."""

    def score(name: str) -> Callable[..., float]:
        adapter, measure = case.adapter, MEASURES[name]

        def scorer(model: Any, X: Any, y: Any) -> float:
            dist = adapter.predict(model, X)
            return -float(measure.rows(dist, dist.encode(y), None).mean())

        return scorer

    loss = "brier" if hasattr(case.model, "predict_proba") else "squared_error"
    scoring = {name: score(name) for name in (loss, "nll", "entropy")[:scorers]}
    return lambda: permutation_importance(
        case.model, case.X, case.y, scoring=scoring, n_repeats=case.peer_repeats, random_state=0
    )


def dalex_parts(case: Case) -> Callable[[], Any]:
    """Permutation importance of one loss by dalex."""
    import dalex

    frame = case.X if frame_like(case.X) else pd.DataFrame(case.X, columns=[f"x{j}" for j in range(case.X.shape[1])])
    one = (lambda m, X: m.predict_proba(plain(case, X))[:, 1]) if hasattr(case.model, "predict_proba") else None
    explainer = dalex.Explainer(
        case.model, frame, case.y, predict_function=one or (lambda m, X: m.predict(plain(case, X))), verbose=False
    )
    return lambda: explainer.model_parts(B=case.peer_repeats, N=None, loss_function="rmse")


def plain(case: Case, X: Any) -> Any:
    return X if frame_like(case.X) else X.to_numpy()


def timed(run: Callable[[], Any]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


def measure(case: Case, rounds: int, *, brief: bool, with_dalex: bool) -> dict[str, float]:
    """Return each job's time in units of the best limit in the same round: the median over rounds."""
    blocks = case.blocks[-2:] if brief else case.blocks
    jobs: dict[str, Callable[[], Any]] = {f"limit, {v}n a call": limit(case, v) for v in blocks}
    jobs[PASS] = plain_pass(case)
    rows: dict[str, int] = {}
    for name in (ALL_SHUFFLES, FAST):
        jobs[name] = ours(case, rows, name, **EVERY)
    if not brief:
        jobs[DEFAULT] = ours(case, rows, DEFAULT)
        jobs["scikit-learn, 1 scorer"] = peer(case, 1)
        jobs["scikit-learn, 3 scorers"] = peer(case, 3)
    if with_dalex and not brief:
        jobs["dalex, 1 loss"] = dalex_parts(case)
    times: dict[str, list[float]] = {name: [] for name in jobs}
    for number in range(rounds):
        for name, run in jobs.items():
            if number >= PEER_ROUNDS and name.startswith(("scikit", "dalex")):
                continue
            shuffles = case.peer_repeats * case.X.shape[1] if name.startswith(("scikit", "dalex")) else None
            scale = case.repeats * len(case.features) / shuffles if shuffles else 1.0
            times[name].append(timed(run) * scale)
    best = min((np.median(values), name) for name, values in times.items() if name.startswith("limit"))[1]
    ratios = {name: float(np.median(np.divide(v, times[best][: len(v)]))) for name, v in times.items()}
    found = {"best limit, s": min(times[best]), **ratios}
    for name in (PASS, ALL_SHUFFLES):
        low, high = np.quantile(np.divide(times[name], times[best]), (0.25, 0.75)).tolist()
        found |= {f"{name}, lower quartile": low, f"{name}, upper": high}
    return found if brief else found | {"rows of the default": rows[DEFAULT] / rows[ALL_SHUFFLES]}


def sample_rows(rounds: int = 3) -> pd.DataFrame:
    """Return rows and CPU seconds of permutation importance on two samples: every shuffle, exact, and the default."""
    known = {m.name: m for m in vars(measures).values() if isinstance(m, measures.Measure)}
    modes: dict[str, dict[str, Any]] = {
        "every shuffle": EVERY,
        "exact where no dearer": {"seed_share": 0.0},
        "and until settled": {},
    }
    lines = []
    for which in ("credit", "parcels"):
        subject, _ = build(which)
        for mode, options in modes.items():
            engines = [Engine(subject, known).bound("pfi") for _ in range(rounds)]
            jobs = [partial(PermutationImportance(**options).explain, subject, engine, {}) for engine in engines]
            seconds = float(np.median([timed(job) for job in jobs]))
            lines.append((which, mode, sum(engines[0].rows_predicted.values()), seconds))
    return pd.DataFrame(lines, columns=["sample", "shuffles", "rows predicted", "CPU s"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="smaller models, two rounds")
    parser.add_argument("--no-dalex", action="store_true")
    parser.add_argument("--brief", action="store_true", help="all shuffles and the limit of two sizes of calls only")
    parser.add_argument("--large", action="store_true", help="three of the models on more rows")
    parser.add_argument("--rounds", type=int, help="12 by default, 2 with --quick")
    parser.add_argument("--samples", action="store_true", help="rows and CPU of two sample audits only")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.samples:
        with threadpool_limits(1):
            print(sample_rows().to_string(index=False))
        return
    columns, rounds = {}, options.rounds or (2 if options.quick else 12)
    with threadpool_limits(1):
        for case in large() if options.large else cases(quick=options.quick):
            columns[case.name] = measure(case, rounds, brief=options.brief, with_dalex=not options.no_dalex)
            ratios = ", ".join(f"{columns[case.name][name]:.3f}" for name in (PASS, ALL_SHUFFLES))
            print(f"{case.name}: {ratios}", flush=True)
    table = pd.DataFrame(columns)
    table = table.reindex(sorted(table.index, key=lambda name: (not name.startswith(("best", "limit")), name)))
    print(table.round(2).to_string(na_rep="-"))
    for name in (PASS, ALL_SHUFFLES):
        worst = table.loc[name].max()
        print(f"{name}: worst ratio {worst:.2f}; goal {GOAL}: {'met' if worst <= GOAL else 'missed'}")


if __name__ == "__main__":
    main()
