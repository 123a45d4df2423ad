"""Run from a folder outside the checkout, by an interpreter that has only the wheel and its core dependencies.

Shows that templates travel in the wheel, that optional libraries are optional, and that what could
not run is listed with its reason.
"""

import subprocess
import sys
from pathlib import Path

import numpy as np
from sklearn.linear_model import BayesianRidge

import uq_report as uq
from uq_report import testing
from uq_report.runner import plugins


def main() -> None:
    package = Path(uq.__file__).resolve()
    if "site-packages" not in package.parts:
        sys.exit(f"the wheel must be what is imported; got {package}")
    bare = [group for group, members in plugins.catalog().items() if not members]
    if bare or not testing.explainer_checks():
        sys.exit(f"the wheel must register plugins of every group, and bring their contract checks; got none of {bare}")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    y = X @ [1.0, 2.0, 0.0] + rng.normal(size=120)
    subject = uq.explain(BayesianRidge().fit(X[:60], y[:60]), X[60:], y[60:], train=(X[:60], y[:60]))
    run = uq.audit(subject, as_of="2026-01-01")
    run.write("out")
    written = sorted(p.name for p in Path("out").iterdir())
    print("wrote", written)
    missing = {"report.html", "report.pdf", "run.json", "clock.json", "evidence"} - set(written)
    if missing:
        sys.exit(f"the run must write every output; missing {sorted(missing)}")
    not_run = {entry.name: entry.reason for entry in run.run.not_run}
    if "pip install 'uq_report[dalex]'" not in not_run.get("dalex", ""):
        sys.exit(f"dalex is not installed, so the run must say how to install it; got {not_run}")
    told = refused("run", "--model", "m:f", "--data", "d.csv", "--mlflow", "sqlite:///mlflow.db")
    if "pip install 'uq_report[mlflow]'" not in told:
        sys.exit(f"MLflow is not installed, and that must be told before anything runs; got {told}")


def refused(*arguments: str) -> str:
    """Return what the installed command says when it refuses."""
    script = Path(sys.executable).with_name("uq-report")
    done = subprocess.run([str(script), *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 3:
        sys.exit(f"uq-report {arguments} must end with 3; got {done.returncode}: {done.stderr}")
    return done.stderr


if __name__ == "__main__":
    main()
