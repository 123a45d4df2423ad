"""Cost of whole audits, part by part, in units of their own bare predictions, and beside what is run in their place.

    python benchmarks/audit.py [--models linear,forest,boosting,process] [--rows N] [--features D] [--rounds N]
        [--no-peers]
    python benchmarks/audit.py --grid [--models ...]

An audit with every explainer and rule as they are by default, its HTML and PDF (with the process that prints it), and
the verification of the written folder. Seconds are CPU time of all threads and child processes, BLAS on one thread.
"Bare predictions" are what the model's own calls take on exactly the rows that the audit asks for without fast paths,
"with every repeat" those it would ask for if permutation importance made every shuffle, none stopped early and none
exact; "model calls" is what is left of them with fast paths. The peers answer less on the same rows: scikit-learn's
permutation importance with three scorers and as many repeats, shap on as many rows and background rows, dalex's
parts of one loss and profiles of all features. Imports are timed in processes of their own.

``--grid`` audits all of 5, 20 and 100 features and 1e3 to 1e6 rows, each in a process of its own, and drawn rows where
there are more than `DRAWN`; without bare predictions and peers. A size is left out, and said to be, if the one before
it lets expect more than `MOST` seconds.
"""

from __future__ import annotations

import argparse
import compileall
import json
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage
from tempfile import TemporaryDirectory
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

import uq_report as uq
from uq_report.api.views import AuditRun
from uq_report.core.model.subject import Subject
from uq_report.document import blocks
from uq_report.evidence import run_folder
from uq_report.runner import audit as audits, judge

ROWS = {"linear": 1000, "forest": 400, "boosting": 400, "process": 200}
FEATURES = {"linear": 18, "forest": 8, "boosting": 8, "process": 5}
TRAIN = 1000
REPEATS, SHAP_ROWS, SHAP_BACKGROUND = 30, 50, 30
OWN, PEERS = 3.5, 0.35
# parts below this share of an audit are not listed
LEAST = 0.01
BARE, REPEATS_MADE = "bare predictions", "bare predictions with every repeat"
GRID_FEATURES, GRID_ROWS = (5, 20, 100), (1_000, 10_000, 100_000, 1_000_000)
DRAWN, MOST = 20_000, 400.0
CELL = ("audit", "model calls", "figures", "HTML", "PDF", "verify", "peak MB", "run.json MB")
IMPORTS = ("numpy, pandas", "uq_report", "uq_report.cli")
LEVELS = np.array(["red", "green", "blue", "grey"], dtype=object)


def cpu() -> float:
    """Return the CPU seconds of this process and of those it waited for."""
    return sum(use.ru_utime + use.ru_stime for use in map(getrusage, (RUSAGE_SELF, RUSAGE_CHILDREN)))


def table(n: int, d: int, *, text: bool) -> tuple[pd.DataFrame, Any]:
    """Return features, every third of them text if `text`, and the score that decides y."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(n, d)), columns=[f"x{j}" for j in range(d)])
    score = X["x0"] + X["x1"] * X["x2"] + rng.logistic(size=n)
    for j in range(3, d, 3) if text else ():
        codes = rng.integers(0, len(LEVELS), n)
        score, X[f"x{j}"] = score + 0.3 * codes, LEVELS[codes]
    return X, score


def subject(kind: str, n: int, d: int, **options: Any) -> Subject:
    """Fit one of the models on `TRAIN` rows, to be audited on others with these options of `explain`."""
    X, score = table(n + TRAIN, d, text=kind == "linear")
    y: Any = score if kind == "process" else (score > score.median()).astype(int)
    words = [name for name in X if X[name].dtype == object]
    encode = make_column_transformer(
        (StandardScaler(), [name for name in X if name not in words]), (OneHotEncoder(), words)
    )
    kernel = ConstantKernel(1.0) * RBF(2.0) + WhiteKernel(0.5)
    models = {
        "linear": make_pipeline(encode, LogisticRegression()),
        "forest": RandomForestClassifier(100, min_samples_leaf=5, random_state=0),
        "boosting": HistGradientBoostingClassifier(max_iter=100, random_state=0),
        "process": GaussianProcessRegressor(kernel, optimizer=None),
    }
    train = X[:TRAIN], y[:TRAIN]
    tested = X[TRAIN:].reset_index(drop=True), y[TRAIN:].reset_index(drop=True)
    return uq.explain(models[kind].fit(*train), *tested, train=train, **options)


@contextmanager
def calls(owner: Any, name: str) -> Iterator[list[float]]:
    """Put the CPU seconds of every call of a function, looked up where it is called, into the list."""
    spent, plain = [0.0], getattr(owner, name)

    def called(*args: Any) -> Any:
        seconds, answer = timed(lambda: plain(*args))
        spent[0] += seconds
        return answer

    setattr(owner, name, called)
    try:
        yield spent
    finally:
        setattr(owner, name, plain)


def model_calls(of: Subject) -> AbstractContextManager[list[float]]:
    """Count the calls of the adapter, which calls the model."""
    return calls(type(of.adapter), "predict")


def timed(job: Callable[[], Any]) -> tuple[float, Any]:
    """Return the CPU seconds of a job and what it returns."""
    start = cpu()
    answer = job()
    return cpu() - start, answer


def fresh(run: AuditRun) -> AuditRun:
    """Return an equal audit, of which nothing is made yet."""
    return AuditRun(replace(run.run, results=tuple(map(replace, run.run.results))), run.clock)


def whole(of: Subject) -> dict[str, float]:
    """Return the CPU seconds of each part of an audit, of its reports and of their verification."""
    uq.importance(of, n_repeats=1)  # what is compiled once on a machine, is
    with model_calls(of) as bare:
        uq.audit(of, fast_paths=False)
    with model_calls(of) as every:
        uq.importance(of, max_shuffle_variance=0, exact=False, fast_paths=False)
    with model_calls(of) as stopped:
        uq.importance(of, fast_paths=False)
    with model_calls(of) as left:
        spent, run = timed(lambda: uq.audit(of))
    html, _ = timed(lambda: run.reports(("html",)))
    markdown, _ = timed(partial(fresh(run).render, "markdown"))
    both, reports = timed(partial(fresh(run).reports, ("html", "pdf")))
    with TemporaryDirectory() as folder:
        run_folder.write(run.run, folder, reports=reports, clock={})
        verify, _ = timed(lambda: uq.verify(folder))
    seconds = {f"  {name}": used for name, used in run.clock["seconds"].items() if used >= LEAST * spent}
    bases = {BARE: bare[0], REPEATS_MADE: bare[0] - stopped[0] + every[0]}
    parts = bases | {"audit": spent, "  model calls": left[0], **seconds}
    return parts | {"Markdown, no figures": markdown, "HTML": html, "PDF": both - html, "verify": verify}


def cell(kind: str, n: int, d: int) -> dict[str, float]:
    """Return what one size of the grid costs, in seconds, MB and counts."""
    of = subject(kind, n, d, max_rows=DRAWN)
    with model_calls(of) as left:
        spent, run = timed(lambda: uq.audit(of))
    with calls(blocks, "svg_of") as figures:
        html, _ = timed(lambda: run.reports(("html",)))
    both, reports = timed(partial(fresh(run).reports, ("html", "pdf")))
    with TemporaryDirectory() as folder:
        run_folder.write(run.run, folder, reports=reports, clock={})
        verify, _ = timed(lambda: uq.verify(folder))
        stored = (Path(folder) / "run.json").stat().st_size
    seconds = {"audit": spent, "model calls": left[0], "figures": figures[0], "HTML": html, "PDF": both - html}
    peak = getrusage(RUSAGE_SELF).ru_maxrss / 1024
    return seconds | {"verify": verify, "peak MB": peak, "run.json MB": stored / 1e6}


def grid(kinds: list[str]) -> None:
    """Print one line for each model and size."""
    print("| " + " | ".join(("model", "features", "rows", "audited", *CELL)) + " |")
    print("|---|" + "---|" * (3 + len(CELL)))
    for kind in kinds:
        for d in GRID_FEATURES:
            expected, before = 0.0, min(GRID_ROWS)
            for n in GRID_ROWS:
                audited = min(n, DRAWN)
                expected, before = expected * audited / before, audited
                if expected > MOST:
                    print(f"| {kind} | {d} | {n:,} | none: {expected:.0f} s expected |" + " |" * len(CELL), flush=True)
                    continue
                command = [sys.executable, __file__, "--cell", kind, str(n), str(d)]
                costs = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
                expected = costs["audit"]
                values = " | ".join(f"{costs[name]:.2f}" for name in CELL)
                print(f"| {kind} | {d} | {n:,} | {audited:,} | {values} |", flush=True)


def peers(of: Subject) -> dict[str, float]:
    """Return the CPU seconds of scikit-learn, shap and dalex on the same rows."""
    import dalex
    import shap

    model, X, y = of.model, pd.DataFrame(of.X), of.y
    classes = hasattr(model, "predict_proba")
    scorers = ["neg_brier_score", "neg_log_loss", "accuracy"] if classes else ["r2", "neg_root_mean_squared_error"]
    scorers += [] if classes else ["neg_mean_absolute_error"]
    words: dict[str, Any] = {name: X[name].astype("category").cat for name in X.columns if X[name].dtype == object}

    def predict(values: Any) -> Any:
        frame = pd.DataFrame(values, columns=X.columns)
        for name, levels in words.items():
            frame[name] = np.asarray(levels.categories, dtype=object)[frame[name].astype(int)]
        return model.predict_proba(frame)[:, 1] if classes else model.predict(frame)

    coded = X.assign(**{name: levels.codes for name, levels in words.items()}).to_numpy(dtype=float)
    explainer = dalex.Explainer(model, X, y, verbose=False)
    jobs: dict[str, Callable[[], Any]] = {
        "scikit-learn": lambda: permutation_importance(model, X, y, n_repeats=REPEATS, scoring=scorers),
        "shap": lambda: shap.Explainer(predict, coded[:SHAP_BACKGROUND], seed=0)(coded[:SHAP_ROWS], silent=True),
        "dalex parts": lambda: explainer.model_parts(N=None),
        "dalex profiles": lambda: explainer.model_profile(N=None, verbose=False),
    }
    return {name: timed(job)[0] for name, job in jobs.items()}


def imports() -> dict[str, float]:
    """Return the CPU seconds of a process that imports, the least of some."""
    python = sys.executable
    return {
        name: min(timed(lambda: subprocess.run([python, "-c", f"import {name}"], check=True))[0] for _ in range(3))  # noqa: B023
        for name in IMPORTS
    }


def shown(kind: str, options: argparse.Namespace) -> None:
    """Print the table of one model."""
    of = partial(subject, kind, options.rows or ROWS[kind], options.features or FEATURES[kind])
    rounds = pd.DataFrame([whole(of()) for _ in range(options.rounds)])
    rounds["audit + HTML + PDF"] = rounds[["audit", "HTML", "PDF"]].sum(axis=1)
    ratios = rounds.div(rounds[BARE], axis=0)
    print(f"\n{kind}, {of().n} rows, {len(of().features)} features\n\n| part | CPU s | {BARE} |\n|---|---|---|")
    for name in rounds:
        print(f"| {name} | {rounds[name].median():.2f} | {ratios[name].median():.2f} |", flush=True)
    total = rounds["audit + HTML + PDF"]
    for base in (BARE, REPEATS_MADE):
        each = (total / rounds[base]).sort_values()
        print(f"\nwhole over its {base}: {each.median():.2f} ({each.iloc[0]:.2f} to {each.iloc[-1]:.2f}); goal {OWN}")
    if not options.no_peers:
        spent = peers(of())
        words = ", ".join(f"{name} {seconds:.2f}" for name, seconds in spent.items())
        share = total.median() / sum(spent.values())
        print(f"peers, s: {words}\nwhole over peers: {share:.2f}; goal {PEERS}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", default="linear,forest", help="of " + ",".join(ROWS))
    parser.add_argument("--rows", type=int, help="rows audited")
    parser.add_argument("--features", type=int)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--grid", action="store_true", help="all sizes, in place of one")
    parser.add_argument("--cell", nargs=3, metavar=("model", "n", "d"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    compileall.compile_dir(Path(uq.__file__).parent, quiet=1)  # as an installed package is
    kinds = options.models.split(",")
    with threadpool_limits(1):
        if options.cell:
            kind, n, d = options.cell
            print(json.dumps(cell(kind, int(n), int(d))))
        elif options.grid:
            grid(kinds)
        else:
            tables(kinds, options)


def tables(kinds: list[str], options: argparse.Namespace) -> None:
    """Print what imports cost, and the table of each model."""
    for module in (audits, judge):
        vars(module)["perf_counter"] = cpu
    for name, seconds in imports().items():
        print(f"import {name}: {seconds:.2f} s")
    for kind in kinds:
        shown(kind, options)


if __name__ == "__main__":
    main()
