"""Ratings of sensible models of real data against broken versions of them.

    python benchmarks/real.py [--data ../shared/data] [--designs wine ...] [--jobs 2]

Five families of models a data set. Broken: fitted to shuffled outcomes or to 30 rows, two columns of the audited rows
swapped, or a constant in its place. A broken one should be rated worse: by the counts of its findings, worst first.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from honest import SEVERITIES, Case, Heard, Rng, arguments, chosen, measured, rate, troubles
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.linear_model import BayesianRidge, LogisticRegression
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

FEW = 150  # training rows of a Gaussian process
SENSIBLE = "sensible"
SHUFFLED, FEW_ROWS, SWAPPED, CONSTANT = "shuffled labels", "30 training rows", "columns swapped", "constant"
VERSIONS = (SENSIBLE, SHUFFLED, FEW_ROWS, SWAPPED, CONSTANT)
BIKES = ("hr", "workingday", "weekday", "weathersit", "temp", "atemp", "hum", "windspeed", "yr")


class Spread:
    """A regressor with one standard deviation for all rows, from its cross-validated residuals."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def fit(self, X: pd.DataFrame, y: Any) -> Spread:
        """Fit the mean, and the spread about it."""
        self.std_ = np.std(y - cross_val_predict(self.model, X, y, cv=KFold(5, shuffle=True, random_state=0)))
        self.model.fit(X, y)
        return self

    def predict(self, X: pd.DataFrame, return_std: bool = False) -> Any:
        """Return means, and standard deviations if asked."""
        mean = self.model.predict(X)
        return (mean, np.full(len(X), self.std_)) if return_std else mean


def scaled(model: Any) -> Any:
    """Return a model of standardised features."""
    return make_pipeline(StandardScaler(), model)


CLASSIFIERS: Mapping[str, Callable[[], Any]] = {
    "logistic": lambda: scaled(LogisticRegression(max_iter=2000)),
    "forest": lambda: RandomForestClassifier(200, min_samples_leaf=5, random_state=0),
    "boosting": lambda: HistGradientBoostingClassifier(learning_rate=0.05, max_iter=80, max_leaf_nodes=8),
    "Gaussian process": lambda: scaled(GaussianProcessClassifier(RBF(3.0), random_state=0)),
    "naive Bayes": GaussianNB,
}
REGRESSORS: Mapping[str, Callable[[], Any]] = {
    "Bayesian ridge": lambda: scaled(BayesianRidge()),
    "forest": lambda: Spread(RandomForestRegressor(50, min_samples_leaf=5, random_state=0)),
    "boosting": lambda: Spread(HistGradientBoostingRegressor(learning_rate=0.05, max_iter=150, max_leaf_nodes=8)),
    "Gaussian process": lambda: scaled(
        GaussianProcessRegressor(RBF(3.0) + WhiteKernel(0.1), normalize_y=True, random_state=0)
    ),
    "k nearest": lambda: Spread(scaled(KNeighborsRegressor(10))),
}


class Table(NamedTuple):
    """A data set: how it is read, or the file it is in with its target and features."""

    name: str
    read: Callable[[], Any] | None = None
    file: str = ""
    target: str = ""
    features: tuple[str, ...] = ()

    def rows(self, data: Path) -> tuple[pd.DataFrame, pd.Series]:
        """Return features and outcomes."""
        if self.read is not None:
            return self.read(return_X_y=True, as_frame=True)
        table = pd.read_csv(data / self.file)
        X = table[list(self.features)] if self.features else table.drop(columns=self.target)
        return X.astype(float), table[self.target]


TABLES = (
    Table("breast cancer", load_breast_cancer),
    Table("wine", load_wine),
    Table("diabetes", load_diabetes),
    Table("Pima", file="diabetes_pima.csv", target="diabetes"),
    Table("concrete", file="concrete_strength.csv", target="strength_mpa"),
    Table("bikes", file="bike_sharing_february.csv", target="cnt", features=BIKES),
)


class Version(NamedTuple):
    """A model of a family on a data set, sensible or broken."""

    table: Table
    family: str
    version: str
    data: Path

    @property
    def name(self) -> str:
        """Data set, family and version."""
        return f"{self.table.name} / {self.family} / {self.version}"

    @property
    def draw(self) -> Callable[[Rng], Case]:
        """What `measured` calls."""
        return partial(versioned, self)


def swapped(X: pd.DataFrame) -> pd.DataFrame:
    """Return rows with the values of the first two columns exchanged."""
    a, b = X.columns[:2]
    return X.assign(**{a: X[b], b: X[a]})


def versioned(one: Version, rng: Rng) -> Case:
    """Split the rows into halves, and fit the model as the version says."""
    X, y = one.table.rows(one.data)
    classes = y.nunique() < 10
    y = y.to_numpy() if classes else y.to_numpy(dtype=float)
    split = np.random.default_rng(0).permutation(len(X))  # the same for all versions
    kept, rest = split[len(X) // 2 :], split[: len(X) // 2]
    kept = kept[:30] if one.version == FEW_ROWS else kept[:FEW] if one.family == "Gaussian process" else kept
    test, train = (X.iloc[rest].reset_index(drop=True), y[rest]), (X.iloc[kept].reset_index(drop=True), y[kept])
    model = (CLASSIFIERS if classes else REGRESSORS)[one.family]()
    if one.version == CONSTANT:
        model = DummyClassifier() if classes else Spread(DummyRegressor())
    with warnings.catch_warnings(action="ignore"):
        model.fit(train[0], rng.permutation(train[1]) if one.version == SHUFFLED else train[1])
    return Case(model=model, train=train, test=(swapped(test[0]), test[1]) if one.version == SWAPPED else test)


def versions(tables: Sequence[Table], data: Path) -> Iterator[Version]:
    """Yield every version of every family; data that are absent are skipped by name."""
    for table in tables:
        if table.file and not (data / table.file).exists():
            print(f"{table.name} was skipped: {data / table.file} is absent.")
            continue
        classes = table.rows(data)[1].nunique() < 10
        for family in CLASSIFIERS if classes else REGRESSORS:
            yield from (Version(table, family, version, data) for version in VERSIONS)


def badness(heard: Heard) -> tuple[int, ...]:
    """Return the counts of findings above an observation, worst first; what is refused is worst of all."""
    counts = [sum(one.severity == severity for one in heard.findings) for severity in SEVERITIES[:-1]]
    return (int(bool(heard.refused)), *counts)


def told(heard: Heard) -> str:
    """Return the rating with the counts of findings and the first of them."""
    first = heard.findings[0] if heard.findings else None
    counts = "/".join(map(str, badness(heard)[1:]))
    return f"{heard.rating or 'refused'} {counts} {first.code if first and first.severity != 'observation' else '-'}"


def printed(table: Mapping[str, Sequence[Heard]]) -> None:
    """Print ratings by model and version, and how often a broken version is rated worse than the sensible one."""
    heard = {tuple(name.split(" / ")): audits[0] for name, audits in table.items()}
    models = sorted({key[:2] for key in heard})
    lines = [{"model": " / ".join(m)} | {v: told(heard[*m, v]) for v in VERSIONS} for m in models]
    print("Rating, findings critical/high/medium/low, code of the first")
    print(pd.DataFrame(lines).to_string(index=False), "\n")
    for version in VERSIONS[1:]:
        worse = sum(badness(heard[*m, version]) > badness(heard[*m, SENSIBLE]) for m in models)
        better = sum(badness(heard[*m, version]) < badness(heard[*m, SENSIBLE]) for m in models)
        print(f"{version}: rated worse {rate(worse, len(models))}, better {rate(better, len(models))}")
    print("\n".join(["Crashes and refusals:", *(troubles(table) or ["none"])]))


def main() -> None:
    options = arguments(__doc__, 1, data="../shared/data")
    printed(measured(list(versions(chosen(TABLES, options.designs), Path(options.data))), 1, options.jobs))


if __name__ == "__main__":
    main()
