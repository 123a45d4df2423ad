"""Importance corrected for cover against refitting without the cover, and how often its intervals cover.

    python benchmarks/cover.py [--reps 20] [--model forest ...]

A logistic truth of eight features: a block of three and one of two, correlated by .6 to .97, two further features
and one that is not used; half of the truths with mixed signs inside the blocks (suppression). 1500 rows to fit, 800 to
audit. The reference of a feature is its importance in a model *refitted without the rest of its block*, on the same
audited rows. Compared are rank correlation and mean error of importance alone and corrected. An interval is right if
it holds the corrected importance of the same sets on 10 000 further rows.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import spearmanr
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.model.measures import NLL, Measure
from uq_report.core.model.results import Result
from uq_report.core.model.subject import Subject, make_subject
from uq_report.core.support.arrays import AnyArray, FloatArray
from uq_report.evidence.importance import CoverCorrected, CoverCorrectedLine, Pfi
from uq_report.inputs.adapters.classifier import ClassifierAdapter
from uq_report.methods.cid.correction import CoverCorrection
from uq_report.methods.cid.explain import CoveredInformation
from uq_report.methods.pfi.explain import PermutationImportance
from uq_report.testing import measures

FEATURES = tuple(f"x{k}" for k in range(8))
BLOCKS = (FEATURES[:3], FEATURES[3:5], *((name,) for name in FEATURES[5:]))
TRAIN, TEST, LARGE = 1500, 800, 10_000
Fitted = Callable[[], Any]

MODELS: Mapping[str, Fitted] = {
    "forest": lambda: RandomForestClassifier(200, min_samples_leaf=10, random_state=0),
    "boosting": lambda: HistGradientBoostingClassifier(max_iter=80, learning_rate=0.08, max_depth=3, random_state=0),
    "logistic": lambda: LogisticRegression(C=1e4, max_iter=1000),
    "lasso": lambda: LogisticRegression(C=0.1, l1_ratio=1, solver="liblinear", random_state=0),
}


@dataclass(frozen=True)
class Truth:
    """A logistic truth: the correlation of rows, and the coefficients."""

    covariance: FloatArray
    coefficients: FloatArray

    @classmethod
    def drawn(cls, rng: np.random.Generator, *, suppression: bool) -> Truth:
        """Return blocks of their own correlation, with coefficients of one sign unless `suppression` is asked for."""
        covariance, size = np.eye(len(FEATURES)), rng.uniform(0.2, 1.2, len(FEATURES))
        for block in BLOCKS:
            at = [FEATURES.index(name) for name in block]
            covariance[np.ix_(at, at)] = rng.uniform(0.6, 0.97)
            covariance[at, at] = 1
            if suppression and len(at) > 1:
                size[at[-1]] *= -1
        size[-1] = 0
        return cls(covariance, size)

    def rows(self, rng: np.random.Generator, n: int) -> tuple[pd.DataFrame, AnyArray]:
        """Return new rows and their outcomes."""
        X = rng.multivariate_normal(np.zeros(len(FEATURES)), self.covariance, size=n)
        y = rng.random(n) < 1 / (1 + np.exp(-X @ self.coefficients))
        return pd.DataFrame(X, columns=list(FEATURES)), y.astype(int)


class Compared(NamedTuple):
    """One model of one truth: by feature the reference, both importances, and whether the interval held the value."""

    reference: FloatArray
    plain: FloatArray
    corrected: FloatArray
    held: FloatArray

    def correlation(self, importance: FloatArray) -> float:
        """Return the rank correlation with the reference."""
        return float(spearmanr(self.reference, importance).statistic)

    def error(self, importance: FloatArray) -> float:
        """Return the mean error against the reference, in nats."""
        return float(np.abs(importance - self.reference).mean())


@cache
def known_measures() -> Mapping[str, Measure]:
    """Return every registered measure, loaded once."""
    return measures()


def importance(subject: Subject, engine: Engine, n_repeats: int = 10) -> Sequence[Result]:
    """Return the likelihood importance of every feature."""
    return PermutationImportance(measures=(NLL.name,), n_repeats=n_repeats, train=False).explain(
        subject, engine.bound("pfi"), {}
    )


def corrected(subject: Subject, prior: Mapping[str, Sequence[Result]] | None = None) -> dict[str, Any]:
    """Return every result up to ``cover``; with the partner features of `prior` where they are given."""
    engine, made = Engine(subject, known_measures()), dict(prior or {})
    repeats = 10 if prior is None else 3
    made["pfi"] = importance(subject, engine, repeats)
    if prior is None:
        field = CoveredInformation(measures=(NLL.name,), n_sets=10)
        made["cid"] = field.explain(subject, engine.bound("cid"), made)
    made["cover"] = CoverCorrection(repeats).explain(subject, engine.bound("cover"), made)
    return made


def lines(made: Mapping[str, Sequence[Result]]) -> list[CoverCorrectedLine]:
    """Return the corrected importances, in the order of the features."""
    by_name = {line.feature: line for line in CoverCorrected.from_result(made["cover"][0]).lines}
    return [by_name[name] for name in FEATURES]


def refitted(fit: Fitted, train: tuple[pd.DataFrame, AnyArray], test: tuple[pd.DataFrame, AnyArray]) -> FloatArray:
    """Return each feature's importance in a model that never had the rest of its block."""
    values = []
    for block in BLOCKS:
        for name in block:
            kept = [one for one in FEATURES if one == name or one not in block]
            model = fit().fit(train[0][kept], train[1])
            subject = make_subject(model, ClassifierAdapter(), test[0][kept], test[1])
            view = Pfi.from_result(importance(subject, Engine(subject, known_measures()))[0])
            values.append(next(line.estimate for line in view.lines if line.feature == name))
    return np.array(values)


def compared(name: str, number: int) -> Compared:
    """Return one model of truth `number`; every second truth has suppression."""
    rng = np.random.default_rng([number, 9])
    truth = Truth.drawn(rng, suppression=bool(number % 2))
    train, test, large = (truth.rows(rng, n) for n in (TRAIN, TEST, LARGE))
    model = MODELS[name]().fit(*train)
    made = corrected(make_subject(model, ClassifierAdapter(), *test))
    exact = lines(corrected(make_subject(model, ClassifierAdapter(), *large), made))
    table = lines(made)
    held = [one.lower <= true.estimate <= one.upper for one, true in zip(table, exact, strict=True)]
    return Compared(
        reference=refitted(MODELS[name], train, test),
        plain=np.array([line.plain for line in table]),
        corrected=np.array([line.estimate for line in table]),
        held=np.array(held, dtype=float),
    )


def line(name: str, truths: Sequence[int], *, suppression: bool) -> dict[str, Any]:
    """Return one line of the table: means over the truths without, or with suppression."""
    table = [compared(name, number) for number in truths if number % 2 == suppression]

    def mean(of: Callable[[Compared], float]) -> float:
        return float(np.mean([of(one) for one in table]))

    return {
        "model": name,
        "suppression": suppression,
        "truths": len(table),
        "rank correlation, alone": mean(lambda one: one.correlation(one.plain)),
        "corrected": mean(lambda one: one.correlation(one.corrected)),
        "mean error, alone": mean(lambda one: one.error(one.plain)),
        "error, corrected": mean(lambda one: one.error(one.corrected)),
        "bias, corrected": mean(lambda one: float((one.corrected - one.reference).mean())),
        "coverage": mean(lambda one: float(one.held.mean())),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--reps", type=int, default=20, help="truths, half of them with suppression")
    parser.add_argument("--model", nargs="*", choices=list(MODELS), help="models to study; all by default")
    options = parser.parse_args()
    for name in options.model or MODELS:
        for suppression in (False, True):
            found = line(name, range(options.reps), suppression=suppression)
            print({key: round(one, 3) if isinstance(one, float) else one for key, one in found.items()}, flush=True)


if __name__ == "__main__":
    main()
