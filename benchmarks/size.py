"""What size costs: bytes of run.json and memory by rows, CPU time by features and by classes.

    OMP_NUM_THREADS=1 python benchmarks/size.py [rows] [million] [features] [classes] [--full]

Each audit runs in a process of its own: memory is the largest that the process held (resident), and beside it what it
held before the audit, libraries and data included. ``--full`` goes up to 1e5 rows, 500 features and 50 classes, else to
1e4, 100 and 10. Without names everything is measured.

* rows: an audit of a logistic regression of five features, by the number of rows.
* million: a Parquet file of 1e6 x 50 numbers (a tenth of the rows without ``--full``), of which the command line audits
  20,000 rows; memory in units of the numbers' size.
* features: an audit of a logistic regression on 300 rows, by the number of features: seconds per feature, those of the
  largest explainers, and the growth from the first size to the last. The bound is 2.
* classes: the same by the number of classes, of a linear model of eight features on 600 rows.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from typing import Any

MEGABYTE = 2**20
PARTS = ("rows", "million", "features", "classes")
SAMPLE, WIDTH = 20_000, 50
GROWTH = 2.0


def main() -> None:
    """Print one table for each part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="|".join(PARTS))
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--child", nargs=4, type=int, metavar=("n", "d", "classes", "train"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if unknown := sorted(set(args.parts) - set(PARTS)):
        parser.error(f"parts must be some of {PARTS}; got {unknown}.")
    if args.child:
        print(json.dumps(audited(*args.child)))
        return
    for part in args.parts or PARTS:
        {"rows": by_rows, "million": of_a_million, "features": by_features, "classes": by_classes}[part](args.full)


def audited(n: int, d: int, classes: int, train: int) -> dict[str, Any]:
    """Audit a linear classifier in this process: seconds in all and by explainer, memory, bytes of run.json."""
    import uq_report as uq
    from uq_report.evidence import codec
    from uq_report.runner.audit import _Audit as Work

    model, rows, training = made(n, d, classes)
    subject = uq.explain(model, *rows, train=training if train else None)
    seconds, attempt = {}, Work._attempt  # noqa: SLF001 - one part is timed at a time

    def timed(self: Any, name: str, explainer: Any) -> str:
        start = time.process_time()
        reason = attempt(self, name, explainer)
        seconds[name] = time.process_time() - start
        return reason

    Work._attempt = timed  # type: ignore[method-assign] # noqa: SLF001 - a run's own clock is not the processor's
    before, start = peak(), time.process_time()
    run = uq.audit(subject, as_of="2026-01-01").run
    total = time.process_time() - start
    size = len(codec.dumps(run))
    return {"cpu": total, "seconds": seconds, "before": before, "peak": peak(), "bytes": size}


def made(n: int, d: int, classes: int) -> Any:
    """Return a fitted linear classifier with rows to audit and the rows it was fitted on."""
    import numpy as np
    import pandas as pd
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(0)
    weights = np.zeros((d, classes))
    weights[: min(d, 10)] = rng.normal(size=(min(d, 10), classes))
    names = [f"x{j}" for j in range(d)]

    def draw() -> tuple[Any, Any]:
        X = rng.normal(size=(n, d))
        y = (X @ weights + rng.gumbel(size=(n, classes))).argmax(axis=1)
        y[:classes] = np.arange(classes)  # a rare class is drawn too
        return pd.DataFrame(X, columns=names), y

    rows, training = draw(), draw()
    return LogisticRegression(max_iter=300).fit(*training), rows, training


def peak(who: int = resource.RUSAGE_SELF) -> float:
    """Return the largest resident memory of this process, or of the children waited for, in MB."""
    largest = resource.getrusage(who).ru_maxrss
    return largest / (MEGABYTE if sys.platform == "darwin" else 1024)


def child(n: int, d: int, classes: int, *, train: bool) -> dict[str, Any]:
    """Return what `audited` says of an audit in a process of its own."""
    command = [sys.executable, __file__, "--child", *map(str, (n, d, classes, int(train)))]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def by_rows(full: bool) -> None:
    """Print bytes and memory by the number of rows."""
    print("| rows | run.json, MB | peak, MB | bytes a row above 1,000 rows | CPU s |\n| --- | --- | --- | --- | --- |")
    first = None
    for n in (1000, 10_000, 100_000) if full else (1000, 10_000):
        result = child(n, 5, 2, train=False)
        first = result["peak"] if first is None else first
        more = f"{(result['peak'] - first) * MEGABYTE / n:.0f}" if n > 1000 else "–"
        print(f"| {n:,} | {result['bytes'] / 1e6:.1f} | {result['peak']:.0f} | {more} | {result['cpu']:.1f} |")


def of_a_million(full: bool) -> None:
    """Print the memory of an audit of a Parquet file, in units of the size of its numbers."""
    n = 1_000_000 if full else 100_000
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-c", MAKE, folder, str(n), str(WIDTH)], check=True)
        idle = run([sys.executable, "-c", "import uq_report.api, sklearn.linear_model, pandas, matplotlib.figure"])
        command = [sys.executable, "-m", "uq_report", "run", "--model", f"{folder}/m.joblib", "--allow-pickle"]
        command += ["--data", f"{folder}/rows.parquet", "--target", "y", "--max-rows", str(SAMPLE)]
        held = run([*command, "--output", f"{folder}/out", "--format", "html", "--format", "pdf"])
    size = n * WIDTH * 8 / MEGABYTE
    print(f"\n{n:,} x {WIDTH}: {size:.0f} MB of numbers, {SAMPLE:,} rows audited")
    print(f"peak {held:.0f} MB, {held / size:.2f} x the data; {idle:.0f} MB of it are libraries")


MAKE = """
import sys, joblib, numpy as np, pandas as pd
from sklearn.linear_model import LogisticRegression
folder, n, d = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
rng = np.random.default_rng(0)
X = pd.DataFrame(rng.normal(size=(n, d)), columns=[f"x{j}" for j in range(d)])
y = (X["x0"] + X["x1"] + rng.logistic(size=n) > 0).astype(int)
joblib.dump(LogisticRegression().fit(X[:5000], y[:5000]), f"{folder}/m.joblib")
X.assign(y=y).to_parquet(f"{folder}/rows.parquet")
"""


def run(command: list[str]) -> float:
    """Return the largest memory of a command, or of a child of it where that is larger, in MB."""
    wrapped = "import os, subprocess, sys; c = subprocess.Popen(sys.argv[1:], stdout=sys.stderr); "
    wrapped += "print(os.wait4(c.pid, 0)[2].ru_maxrss)"
    done = subprocess.run([sys.executable, "-c", wrapped, *command], capture_output=True, text=True, check=True)
    return int(done.stdout) / (MEGABYTE if sys.platform == "darwin" else 1024)


def by_features(full: bool) -> None:
    """Print the seconds of an audit per feature."""
    print()
    grown("features", {d: child(300, d, 2, train=True) for d in ((20, 100, 500) if full else (20, 100))})


def by_classes(full: bool) -> None:
    """Print the seconds of an audit per class."""
    print()
    grown("classes", {k: child(600, 8, k, train=True) for k in ((2, 10, 50) if full else (2, 10))})


def grown(what: str, results: dict[int, dict[str, Any]]) -> None:
    """Print a table: seconds in all and per unit, and those of the explainers that take most at the largest size."""
    sizes = list(results)
    print(f"| {what} | {' | '.join(map(str, sizes))} | growth of each |\n| --- {'| --- ' * (len(sizes) + 1)}|")
    last = results[sizes[-1]]["seconds"]
    lines = {"audit": [results[size]["cpu"] for size in sizes]}
    for name in sorted(last, key=lambda name: -last[name])[:10]:
        lines[name] = [results[size]["seconds"].get(name, 0.0) for size in sizes]
    for name, seconds in lines.items():
        growth = (seconds[-1] / sizes[-1]) / max(seconds[0] / sizes[0], 1e-9)
        print(f"| {name} | {' | '.join(f'{s:.2f}' for s in seconds)} | {growth:.2f} |")
    megabytes = " | ".join(f"{results[size]['bytes'] / 1e6:.1f}" for size in sizes)
    print(f"| run.json, MB | {megabytes} | |")


if __name__ == "__main__":
    main()
