"""Claimed and delivered importance: size of its exact test, false alarms, power, and what it costs.

    python benchmarks/claims.py [--reps 200] [--parts size honest faults cost]

*Size*: outcomes drawn from the model itself, at n = 50, 200 and 1000 and with 3% positives; the share of samples in
which the test of any feature, Holm-adjusted, and of all together rejects at 5%. *Honest*: fitted models of the right
family, the share of audits in which any feature is said to over-claim. *Faults*: a column that leaks in training only,
over-fitting and over-confidence, n = 600. *Cost*: the processor time of a pass with claims against one without.
Shares come with exact binomial 95% CIs.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from contextlib import nullcontext
from time import process_time
from typing import Any
from unittest import mock

import numpy as np
from honest import rate
from scipy.special import expit
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression

import uq_report as uq
from uq_report.core.model.subject import Subject
from uq_report.core.statistics.verdicts import holm
from uq_report.evidence import ids
from uq_report.evidence.importance import ALL_FEATURES, DIFFERENCE, Claims

B = np.array([1.0, -1.0, 0.8, -0.5, 0.0, 0.0])
RARE = -4.6  # intercept for 3% positives
Rng = np.random.Generator
Rows = tuple[Any, Any]


def drawn(n: int, rng: Rng, shift: float = 0.3) -> Rows:
    """Return features correlated .7 and outcomes of a logistic truth."""
    X = np.sqrt(0.7) * rng.normal(size=(n, 1)) + np.sqrt(0.3) * rng.normal(size=(n, len(B)))
    return X, (rng.random(n) < expit(X @ B + shift)).astype(int)


def claims_of(subject: Subject, seed: int = 0) -> Claims:
    """Return the claims of a subject."""
    results = uq.importance(subject, n_repeats=10, train=False, seed=seed)
    return Claims.from_result(results[ids.PFI_CLAIMS].result)


def rejections(n: int, shift: float, reps: int) -> tuple[int, int]:
    """Return how often any feature, and all together, are rejected where outcomes follow a fitted model."""
    any_feature = together = 0
    for rep in range(reps):
        rng = np.random.default_rng([rep, n, int(shift < 0)])
        model = (
            LogisticRegression().fit(*drawn(400, rng, 0.3))
            if shift > 0
            else LogisticRegression().fit(*drawn(4000, rng, shift))
        )
        X, _ = drawn(n, rng)
        y = (rng.random(n) < model.predict_proba(X)[:, 1]).astype(int)
        if y.min() == y.max():
            continue
        lines = claims_of(uq.explain(model, X, y), rep).part(DIFFERENCE)
        p = {line.feature: line.p_value for line in lines}
        together += p.pop(ALL_FEATURES) <= 0.05
        any_feature += bool((holm(list(p.values())) <= 0.05).any())
    return any_feature, together


def named(model: Any, rows: Rows) -> list[Any]:
    """Return the findings of the check on claims."""
    asked = {"explainers": ["pfi"], "checks": ["claims"], "options": {"pfi": {"n_repeats": 10, "train": False}}}
    return list(uq.audit(uq.explain(model, *rows), **asked, progress=False).run.findings)


def over(findings: list[Any]) -> bool:
    """Say whether over-claiming is among the findings."""
    return any(one.code == "UQ401" for one in findings)


HONEST: dict[str, tuple[Callable[[], Any], float]] = {
    "logistic": (LogisticRegression, 0.3),
    "logistic, 3% positives": (LogisticRegression, RARE),
    "forest, 20 rows a leaf": (lambda: RandomForestClassifier(60, min_samples_leaf=20, random_state=0), 0.3),
    "boosting": (lambda: HistGradientBoostingClassifier(max_iter=60, learning_rate=0.05, random_state=0), 0.3),
}


def accused(design: str, reps: int) -> int:
    """Return how often an honest, fitted model is said to over-claim, of any feature or all together."""
    make, shift = HONEST[design]
    count = 0
    for rep in range(reps):
        rng = np.random.default_rng([rep, len(design)])
        count += over(named(make().fit(*drawn(5000, rng, shift)), drawn(600, rng, shift)))
    return count


class Sharp:
    """A classifier whose log-odds are multiplied by 2.5, which realises a third less than it implies."""

    classes_ = np.array([0, 1])

    def __init__(self, model: Any) -> None:
        self.model = model

    def predict_proba(self, X: Any) -> Any:
        """Return the probabilities."""
        p = expit(2.5 * self.model.decision_function(X))
        return np.column_stack([1 - p, p])


def leaking(rng: Rng) -> bool:
    """Say whether a column that leaks in training only is named."""
    X, y = drawn(3000, rng)
    X[:, 5] = y + 0.1 * rng.normal(size=len(y))
    found = named(LogisticRegression().fit(X, y), drawn(600, rng))
    return any(one.code == "UQ401" and one.features == ("x5",) for one in found)


def over_fitted(rng: Rng) -> bool:
    """Say whether boosting on 300 rows is named."""
    model = HistGradientBoostingClassifier(max_iter=300, min_samples_leaf=5, random_state=0)
    return over(named(model.fit(*drawn(300, rng)), drawn(600, rng)))


def over_confident(rng: Rng) -> bool:
    """Say whether log-odds times 2.5 are named."""
    return over(named(Sharp(LogisticRegression().fit(*drawn(3000, rng))), drawn(600, rng)))


FAULTS = {"leak in training only": leaking, "over-fitted": over_fitted, "log-odds x 2.5": over_confident}


def cost(make: Callable[[], Any], n: int = 1000, times: int = 15) -> tuple[float, float]:
    """Return the time of a pass with claims over that of the same pass without, and the ms more: medians of pairs."""
    rng = np.random.default_rng(0)
    model, test = make().fit(*drawn(3000, rng)), drawn(n, rng)
    subject = uq.explain(model, *test)

    def seconds(*, without: bool) -> float:
        turned_off = (
            mock.patch("uq_report.methods.pfi.explain.score_of", return_value=None) if without else nullcontext()
        )
        start = process_time()
        with turned_off:
            uq.importance(subject, n_repeats=10, train=False)
        return process_time() - start

    seconds(without=False)
    both = np.array([(seconds(without=False), seconds(without=True)) for _ in range(times)])
    return float(np.median(both[:, 0] / both[:, 1])), float(1000 * np.median(both[:, 0] - both[:, 1]))


def sizes(reps: int) -> None:
    for n, shift in ((50, 0.3), (200, 0.3), (1000, 0.3), (1000, RARE)):
        any_feature, together = rejections(n, shift, reps)
        rare = ", 3% positives" if shift < 0 else ""
        print(
            f"size, n = {n}{rare}: any feature {rate(any_feature, reps)}, all together {rate(together, reps)}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--reps", type=int, default=200)
    parser.add_argument("--parts", nargs="+", default=["size", "honest", "faults", "cost"])
    options = parser.parse_args()
    if "size" in options.parts:
        sizes(options.reps)
    for design in HONEST if "honest" in options.parts else ():
        print(f"honest, {design}: {rate(accused(design, options.reps), options.reps)}", flush=True)
    for fault, found in FAULTS.items() if "faults" in options.parts else ():
        hits = sum(found(np.random.default_rng([rep, len(fault)])) for rep in range(options.reps))
        print(f"fault, {fault}: {rate(hits, options.reps)}", flush=True)
    for design, (make, _) in HONEST.items() if "cost" in options.parts else ():
        ratio, ms = cost(make)
        print(f"cost, {design}: {ratio:.3f} of the pass without claims, {ms:.0f} ms more", flush=True)


if __name__ == "__main__":
    main()
