"""How often planted faults are named: the power of every check, on real audits.

    python benchmarks/faults.py [--reps 20] [--seed 0] [--designs "target leak" ...] [--jobs 2] [--write FILE]

Every fault stands in data of a logistic truth, of the shape of noise a linear one, with six features correlated .5,
audited on 800 rows. `NAMED` says
which code should name it, and of which feature; a code that no check has yet is told, and never counts as a pass.
`--write` keeps the power of every code in the file that its page prints (``uq_report/checks/power.json``); with
`--designs` the other faults stay.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from honest import (
    FEATURES,
    MIXED,
    SEVERITIES,
    Case,
    Heard,
    Rng,
    Rows,
    arguments,
    bank_rows,
    blocks,
    chosen,
    encoding,
    fitted,
    letters,
    logistic,
    logistic_rows,
    measured,
    rate,
    registered,
    tossed,
    troubles,
)
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor, RandomForestClassifier
from sklearn.linear_model import BayesianRidge, LogisticRegression, PoissonRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

Draw = Callable[[Rng], Case]
SHARES = ("named", "right feature", "above observation", "first", "severity")
ABOVE_LOW = SEVERITIES[: SEVERITIES.index("low")]


class Fault(NamedTuple):
    """A fault of stated size."""

    name: str
    size: str
    draw: Draw


class Named(NamedTuple):
    """What should name a fault: any of the codes, of any of the features; no features where the model is at fault.

    `fair` features have a part in it: a finding on them accuses no innocent, and does not count as naming the fault.
    A `refusal` of the audit that holds these words names it too, before anything else.
    """

    codes: tuple[str, ...]
    features: tuple[str, ...] = ()
    fair: tuple[str, ...] = ()
    refusal: str = ""


NAMED: Mapping[str, Named] = {
    "over-confidence": Named(("UQ101", "UQ401")),
    "under-confidence": Named(("UQ101", "UQ402")),
    "too strong a penalty": Named(("UQ101", "UQ402")),
    "heavy tails as normal": Named(("UQ101",)),
    "skewness as normal": Named(("UQ101",)),
    "spread by feature as constant": Named(("UQ101",), ("age",)),
    "exact copy": Named(("UQ704",), ("copy", "income")),
    "near copy": Named(("UQ203",), ("copy", "income")),
    "target leak": Named(("UQ411",), ("leak",)),
    "leak in training only": Named(("UQ411", "UQ401"), ("leak",)),
    "training observations in test": Named(("UQ701",)),
    "shifted test column": Named(("UQ303", "UQ304"), ("income",)),
    "wrong units, column": Named(("UQ303", "UQ304"), ("income",)),
    "wrong units, observations": Named(("UQ303", "UQ304"), ("income",)),
    "label noise in a group": Named(("UQ801", "UQ802"), ("group",)),
    "over-fit with an id": Named(
        ("UQ401",), ("id",), ("tenure", "savings", "visits")
    ),  # of little or no effect, so over-fitted too
    "over-fit on 300 observations": Named(("UQ401",), fair=FEATURES),
    "wrong direction": Named(("UQ901",), ("debt",)),
    "sentinel -999": Named(("UQ703",), ("savings",)),
    "protected proxy": Named(("UQ803",), ("proxy",), ("sex",)),
    "wrong segment": Named(("UQ123",), ("tenure", "visits")),
    "near copies of training observations": Named(("UQ305",)),
    "missing in test": Named(("UQ705",), ("savings",)),
    "sign of a test column": Named(("UQ401",), ("income",)),
    "attribute as an input": Named(("UQ803",), ("sex",)),
    "random predictions": Named((), refusal="Its predictions are random"),
    "random, read as members": Named(("UQ001",), fair=FEATURES),
    "constant model": Named(("UQ001",), fair=FEATURES),
    "shuffled labels": Named(("UQ001",)),
    "constant column": Named(("UQ704",), ("visits",)),
    "leak word": Named(("UQ411",), ("status",)),
    "units half x12": Named(("UQ303", "UQ304"), ("months",)),
    "swapped": Named(("UQ303", "UQ304"), ("salary", "balance")),
    "frozen half": Named(("UQ303", "UQ304"), ("salary",)),
    "new category 20%": Named(("UQ303", "UQ304"), ("product",)),
    "dup within": Named(("UQ702",), fair=("limit",)),  # its effect is curved, which the model does not have
    "drift 1 sd two": Named(("UQ303", "UQ304"), ("f0", "f4")),
    "under-dispersed": Named(("UQ101",)),
    "proxy of the outcome": Named(("UQ411",), ("calls",)),
    "other unit in test": Named(("UQ303", "UQ304"), ("temperature",)),
    "sign of half a column": Named(("UQ401", "UQ123"), ("income",)),
    "over-confident in a region": Named(("UQ121", "UQ101"), ("age",)),
    "spread of a segment": Named(("UQ121", "UQ101"), ("visits",)),
    "classes swapped in a region": Named(("UQ123", "UQ121"), ("region",)),
    "stale feature": Named(("UQ401", "UQ121"), ("income",)),
    "a tenth trained on": Named(("UQ701",)),
    "code 999": Named(("UQ703",), ("visits",)),
    "crossing quantiles": Named(("UQ101",)),
    "balanced training sample": Named(("UQ101",), fair=FEATURES),
    "records joined wrongly": Named(("UQ101", "UQ001", "UQ401"), fair=FEATURES),
    "top-coded in test": Named(("UQ303", "UQ304"), ("income",)),
}


class Scaled:
    """A classifier of two classes whose log-odds are multiplied."""

    def __init__(self, model: Any, factor: float) -> None:
        self.model, self.factor, self.classes_ = model, factor, model.classes_

    def predict_proba(self, X: pd.DataFrame) -> Any:
        """Return the probabilities."""
        p = 1 / (1 + np.exp(-self.factor * self.model.decision_function(X)))
        return np.column_stack([1 - p, p])

    def predict(self, X: pd.DataFrame) -> Any:
        """Return the likelier class."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


class Random:
    """A classifier that draws its probabilities anew in each call."""

    classes_ = np.array([0, 1])

    def predict_proba(self, X: pd.DataFrame) -> Any:
        """Return the probabilities."""
        p = np.random.default_rng().uniform(0.05, 0.95, len(X))
        return np.column_stack([1 - p, p])

    def predict(self, X: pd.DataFrame) -> Any:
        """Return the likelier class."""
        return self.predict_proba(X).argmax(axis=1)


rows = partial(logistic_rows, b=MIXED, r=0.5)
honest = partial(logistic, b=MIXED, r=0.5)


def refitted(model: Any, train: Rows, test: Rows, **more: Any) -> Case:
    """Fit a model to training rows with a fault in them."""
    with warnings.catch_warnings(action="ignore"):
        return Case(model=model.fit(*train), train=train, test=test, **more)


def scaled(rng: Rng, factor: float) -> Case:
    """Multiply the log-odds of an honest model."""
    case = honest(rng)
    return replace(case, model=Scaled(case.model, factor))


def with_column(
    rng: Rng, name: str, make: Callable[[Rows, str, Rng], Any], model: Any = None, n_train: int = 3000, **more: Any
) -> Case:
    """Add a column that `make` fills in each of the samples ``"train"`` and ``"test"``, and fit the model with it."""
    train, test = rows(n_train, rng), rows(800, rng)
    for sample, which in ((train, "train"), (test, "test")):
        sample[0][name] = make(sample, which, rng)
    return refitted(LogisticRegression(max_iter=1000) if model is None else model, train, test, **more)


def leak(sample: Rows, which: str, rng: Rng, *, trained_only: bool = False) -> Any:
    """Return the outcome with a little noise, or in test rows somebody else's."""
    y = rng.permutation(sample[1]) if trained_only and which == "test" else sample[1]
    return y + 0.1 * rng.normal(size=len(y))


def near_copy(sample: Rows, _: str, rng: Rng) -> Any:
    """Return income, measured with an error of 5% of its spread."""
    return sample[0]["income"] + 0.05 * rng.normal(size=len(sample[0]))


def in_test(rng: Rng, change: Callable[[pd.DataFrame, Rng], Any], column: str = "income") -> Case:
    """Change a column of the audited rows of an honest model; the outcomes stay."""
    case = honest(rng)
    X, y = case.test
    return replace(case, test=(X.assign(**{column: change(X, rng)}), y))


def some_times_1000(X: pd.DataFrame, rng: Rng) -> Any:
    """Return income, in other units in one row of five."""
    return X["income"] * np.where(rng.uniform(size=len(X)) < 0.2, 1000.0, 1.0)


def trained_rows(rng: Rng) -> Case:
    """Put training rows of a forest among the audited ones."""
    case = fitted(RandomForestClassifier(100, min_samples_leaf=5, random_state=0), rows, rng)
    X, y = case.test[0].copy(), case.test[1].copy()
    X.iloc[:240], y[:240] = case.train[0].iloc[:240].to_numpy(), case.train[1][:240]
    return replace(case, test=(X, y))


def noisy_group(rng: Rng) -> Case:
    """Let a third of a group's outcomes be wrong, in both samples; the group is no feature."""
    (X, y), test = rows(3000, rng), rows(800, rng)
    group = rng.uniform(size=800) < 0.3
    trained = rng.uniform(size=3000) < 0.3
    noisy = [np.where(g & (rng.uniform(size=len(z)) < 0.35), 1 - z, z) for g, z in ((trained, y), (group, test[1]))]
    protected = {"group": np.where(group, "b", "a")}
    return refitted(LogisticRegression(), (X, noisy[0]), (test[0], noisy[1]), told={"protected": protected})


def overfit() -> Any:
    """Return deep trees boosted without restraint."""
    return HistGradientBoostingClassifier(
        learning_rate=0.3, max_iter=200, min_samples_leaf=2, max_leaf_nodes=31, early_stopping=False
    )


def wrong_direction(rng: Rng) -> Case:
    """Expect the outcome to fall with debt, where it rises."""
    return replace(honest(rng), options={"checks.direction": {"monotone": {"debt": "decreasing"}}}, also=("pdp",))


def sentinel(rng: Rng) -> Case:
    """Write -999 where savings are not known, in both samples, and fit boosting to that."""
    train, test = rows(3000, rng), rows(800, rng)
    for X, _ in (train, test):
        X.loc[rng.uniform(size=len(X)) < 0.08, "savings"] = -999.0
    return refitted(HistGradientBoostingClassifier(max_iter=60, max_leaf_nodes=8), train, test)


def proxy(rng: Rng) -> Case:
    """Let a feature tell a protected attribute in 95 of 100 rows, and the outcome depend on that attribute."""
    sample = []
    for n in (3000, 800):
        X = rows(n, rng)[0]
        sex = rng.integers(0, 2, n)
        X["proxy"] = np.where(rng.uniform(size=n) < 0.05, 1 - sex, sex) + 0.05 * rng.normal(size=n)
        sample.append(((X, tossed(X[list(FEATURES)].to_numpy() @ np.asarray(MIXED) + 1.5 * sex - 0.75, rng)), sex))
    (train, _), (test, sex) = sample
    return refitted(LogisticRegression(), train, test, told={"protected": {"sex": np.where(sex, "m", "f")}})


def wrong_segment(rng: Rng) -> Case:
    """Let the outcome be less likely by 3 log-odds in 13% of the audited rows, of which the model knows nothing."""
    X = rows(800, rng)[0]
    inside = (X["tenure"] > 0) & (X["visits"] > np.quantile(X["visits"][X["tenure"] > 0], 0.74))
    return refitted(
        LogisticRegression(), rows(3000, rng), (X, tossed(X.to_numpy() @ np.asarray(MIXED) - 3 * inside, rng))
    )


def near_copies(rng: Rng) -> Case:
    """Put training rows, changed by 2% of a standard deviation, among the audited ones."""
    case = honest(rng)
    X, y = case.test[0].copy(), case.test[1].copy()
    X.iloc[:160] = case.train[0].iloc[:160].to_numpy() + 0.02 * rng.normal(size=(160, X.shape[1]))
    y[:160] = case.train[1][:160]
    return replace(case, test=(X, y))


def missing_in_test(rng: Rng) -> Case:
    """Lose a fifth of a column of the audited rows, of which 2% are missing in training."""
    train, test = rows(3000, rng), rows(800, rng)
    for (X, _), share in ((train, 0.02), (test, 0.2)):
        X.loc[rng.uniform(size=len(X)) < share, "savings"] = np.nan
    return refitted(HistGradientBoostingClassifier(max_iter=60, max_leaf_nodes=8), train, test)


def attribute_as_input(rng: Rng) -> Case:
    """Let a protected attribute be a feature, and the outcome depend on it."""
    sample = []
    for n in (3000, 800):
        X = rows(n, rng)[0].assign(sex=rng.integers(0, 2, n))
        sample.append((X, tossed(X[list(FEATURES)].to_numpy() @ np.asarray(MIXED) + X["sex"] - 0.5, rng)))
    return refitted(LogisticRegression(), *sample, told={"protected": ["sex"]})


def random(rng: Rng) -> Case:
    """Return a model that guesses anew in each call."""
    return replace(honest(rng), model=Random())


def members(rng: Rng) -> Case:
    """Return the same, its calls read as members of a mixture."""
    return replace(random(rng), told={"stochastic": "members"})


def shuffled(rng: Rng) -> Case:
    """Fit boosting to outcomes of other rows."""
    (X, y), test = rows(3000, rng), rows(800, rng)
    model = HistGradientBoostingClassifier(max_iter=60, max_leaf_nodes=8).fit(X, rng.permutation(y))
    return Case(model=model, train=(X, y), test=test)


def constant_column(rng: Rng) -> Case:
    """Let visits be the same in all rows."""
    train, test = rows(3000, rng), rows(800, rng)
    return refitted(
        LogisticRegression(), (train[0].assign(visits=1.0), train[1]), (test[0].assign(visits=1.0), test[1])
    )


def with_id(rng: Rng) -> Case:
    """Let boosting without restraint see a running number of the customer."""
    return with_column(rng, "id", lambda s, _, g: g.permutation(len(s[0])), overfit(), 800)


def noisy(rng: Rng, draw: Callable[[pd.DataFrame, Rng], Any]) -> Case:
    """Return a normal model of constant spread for a linear truth with other noise."""

    def numbers(n: int, rng: Rng) -> Rows:
        """Return rows with a number as outcome."""
        X = rows(n, rng)[0]
        return X, X.to_numpy() @ np.asarray(MIXED) + draw(X, rng)

    return fitted(BayesianRidge(), numbers, rng)


def heavy(X: pd.DataFrame, rng: Rng) -> Any:
    """Return noise with heavy tails."""
    return rng.standard_t(3, len(X))


def skewed(X: pd.DataFrame, rng: Rng) -> Any:
    """Return exponential noise of mean 0."""
    return rng.exponential(size=len(X)) - 1


def uneven(X: pd.DataFrame, rng: Rng) -> Any:
    """Return noise whose spread grows with age."""
    return np.exp(0.7 * X["age"].to_numpy()) * rng.normal(size=len(X))


def bank(rng: Rng, change: Callable[[pd.DataFrame, Any, Rng], None]) -> Case:
    """Return an honest model of `bank_rows` whose audited rows are changed in place."""
    model = encoding(LogisticRegression(max_iter=500), StandardScaler())
    train, (X, y) = bank_rows(3000, rng), bank_rows(800, rng)
    change(X, y, rng)
    return refitted(model, train, (X, y))


def half_in_years(X: pd.DataFrame, _: Any, rng: Rng) -> None:
    """Multiply the months of half of the rows by 12."""
    X["months"] *= np.where(rng.uniform(size=len(X)) < 0.5, 12.0, 1.0)


def swapped(X: pd.DataFrame, *_: Any) -> None:
    """Exchange two columns."""
    X["salary"], X["balance"] = X["balance"].copy(), X["salary"].copy()


def frozen(X: pd.DataFrame, *_: Any) -> None:
    """Repeat one value in the second half of a column."""
    X.loc[len(X) // 2 :, "salary"] = X["salary"].iloc[len(X) // 2]


def new_category(X: pd.DataFrame, _: Any, rng: Rng) -> None:
    """Give a fifth of the rows a category that training does not have."""
    X.loc[rng.uniform(size=len(X)) < 0.2, "product"] = "factoring"


def twice(X: pd.DataFrame, y: Any, _: Rng) -> None:
    """Let the second half of the rows be the first."""
    X.iloc[400:], y[400:] = X.iloc[:400].to_numpy(), y[:400]


def leak_word(rng: Rng) -> Case:
    """Add a word that is set after the outcome, and wrong in 1% of the rows, in both samples."""
    train, test = bank_rows(3000, rng), bank_rows(800, rng)
    for X, y in (train, test):
        X["status"] = np.where((y == 1) ^ (rng.uniform(size=len(y)) < 0.01), "closed", "open")
    words = OneHotEncoder(handle_unknown="ignore")
    columns = make_column_transformer((words, ["product", "status"]), remainder=StandardScaler())
    return refitted(make_pipeline(columns, LogisticRegression()), train, test)


def drift(rng: Rng) -> Case:
    """Move two features of the audited rows, whose outcomes follow the same truth, by a standard deviation."""
    b = np.array([0.9, -0.6, 0.4, 0.3, 0, 0, 0.3, 0])

    def moved(n: int, by: float) -> Rows:
        X = blocks(n, rng, 8, 0.5, 4)
        X[["f0", "f4"]] += by
        return X, tossed(X.to_numpy() @ b, rng)

    model = HistGradientBoostingClassifier(learning_rate=0.05, max_iter=60, max_leaf_nodes=6, min_samples_leaf=40)
    return refitted(model, moved(2500, 0.0), moved(800, 1.0))


def regular_counts(rng: Rng) -> Case:
    """Fit a Poisson model to counts whose variance is about 0.3 of their mean."""

    def rows(n: int, rng: Rng) -> Rows:
        X = blocks(n, rng, 6, 0.5, 3)
        mean = np.exp(1.2 + X.to_numpy() @ np.array([0.4, -0.3, 0.2, 0, 0.1, 0]))
        trials = np.ceil(1.4 * mean)
        return X, rng.binomial(trials.astype(int), mean / trials)

    return fitted(PoissonRegressor(alpha=1e-4), rows, rng, 2500, 600)


def called(sample: Rows, _: str, rng: Rng) -> Any:
    """Return calls of the collection department, which come after the outcome; a few are for other reasons."""
    return rng.poisson(np.where(sample[1] == 1, 6.0, 0.02)).astype(float)


def measured_in(sample: Rows, which: str, rng: Rng) -> Any:
    """Return temperatures, in training in degrees Celsius, in test in degrees Fahrenheit."""
    celsius = 15 + 8 * sample[0]["age"] + 3 * rng.normal(size=len(sample[1]))
    return celsius if which == "train" else 32 + 1.8 * celsius


def surer_when_old(rng: Rng) -> Case:
    """Triple the log-odds of an honest model where age is above .8."""
    case = honest(rng)
    model, old = case.model, Scaled(case.model, 3.0)

    class Regional(Scaled):
        """The one model or the other."""

        def predict_proba(self, X: pd.DataFrame) -> Any:
            """Return the probabilities."""
            return np.where(X[["age"]] > 0.8, old.predict_proba(X), model.predict_proba(X))

    return replace(case, model=Regional(case.model, 1.0))


def wide_where_visited(X: pd.DataFrame, rng: Rng) -> Any:
    """Return noise with three times the spread where visits are above 1."""
    return np.where(X["visits"] > 1, 3.0, 1.0) * rng.normal(size=len(X))


def swapped_region(rng: Rng) -> Case:
    """Exchange the classes of the audited rows of one region of seven."""
    regions, sample = [f"r{i}" for i in range(7)], []
    for n in (3000, 800):
        X, y = rows(n, rng)
        sample.append((X.assign(region=rng.choice(regions, n)), y))
    train, (X, y) = sample
    words = make_column_transformer((OneHotEncoder(), ["region"]), remainder="passthrough")
    return refitted(make_pipeline(words, LogisticRegression()), train, (X, np.where(X["region"] == "r3", 1 - y, y)))


def stale(X: pd.DataFrame, rng: Rng) -> Any:
    """Return income of long ago, correlated .4 with that of today."""
    return 0.4 * X["income"] + np.sqrt(1 - 0.4**2) * rng.normal(size=len(X))


def tenth_trained(rng: Rng) -> Case:
    """Put training rows of a logistic regression among a tenth of the audited ones."""
    case = honest(rng)
    X, y = case.test[0].copy(), case.test[1].copy()
    X.iloc[:80], y[:80] = case.train[0].iloc[:80].to_numpy(), case.train[1][:80]
    return replace(case, test=(X, y))


def coded(rng: Rng) -> Case:
    """Write 999 where the number of visits is not known, in both samples, and fit boosting to that."""
    train, test = rows(3000, rng), rows(800, rng)
    for X, _ in (train, test):
        X["visits"] = np.where(rng.uniform(size=len(X)) < 0.05, 999, np.floor(8 + 4 * X["visits"]).clip(0))
    return refitted(HistGradientBoostingClassifier(max_iter=60, max_leaf_nodes=8), train, test)


def crossing(rng: Rng) -> Case:
    """Return deep trees boosted for each of seven quantiles, which cross."""

    def numbers(n: int) -> Rows:
        X = rows(n, rng)[0]
        return X, X.to_numpy() @ np.asarray(MIXED) + rng.normal(size=n)

    train, test = numbers(600), numbers(800)
    models = {
        level: HistGradientBoostingRegressor(loss="quantile", quantile=level, min_samples_leaf=3).fit(*train)
        for level in (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95)
    }
    return Case(model=models, train=train, test=test)


def balanced(rng: Rng) -> Case:
    """Fit to as many of either class, where 7% of the audited rows are of the first."""
    rare = partial(logistic_rows, b=MIXED, r=0.5, intercept=-3.2)
    (X, y), test = rare(6000, rng), rare(800, rng)
    keep = np.concatenate([np.flatnonzero(y == 1), rng.choice(np.flatnonzero(y == 0), int(y.sum()), replace=False)])
    return refitted(LogisticRegression(), (X.iloc[keep].reset_index(drop=True), y[keep]), test)


def joined_wrongly(rng: Rng) -> Case:
    """Give the outcomes of half of the audited rows to others of them."""
    case = honest(rng)
    X, y = case.test[0], case.test[1].copy()
    y[:400] = rng.permutation(y[:400])
    return replace(case, test=(X, y))


FAULTS: tuple[Fault, ...] = (
    Fault("over-confidence", "log-odds x 1.7", partial(scaled, factor=1.7)),
    Fault("under-confidence", "log-odds x 0.5", partial(scaled, factor=0.5)),
    Fault(
        "too strong a penalty",
        "C = 0.0003",
        lambda rng: fitted(LogisticRegression(C=0.0003), rows, rng),
    ),
    Fault("heavy tails as normal", "t3 noise, 0.2 nats", partial(noisy, draw=heavy)),
    Fault("skewness as normal", "exponential noise, 0.4 nats", partial(noisy, draw=skewed)),
    Fault("spread by feature as constant", "exp(0.7 age)", partial(noisy, draw=uneven)),
    Fault("exact copy", "a column twice", lambda rng: with_column(rng, "copy", lambda s, *_: s[0]["income"])),
    Fault("near copy", "r = .999", lambda rng: with_column(rng, "copy", near_copy, also=("redundancy",))),
    Fault("target leak", "y + 0.1 noise", lambda rng: with_column(rng, "leak", leak)),
    Fault(
        "leak in training only", "y + 0.1 noise", lambda rng: with_column(rng, "leak", partial(leak, trained_only=True))
    ),
    Fault("training observations in test", "30% of observations", trained_rows),
    Fault("shifted test column", "by 3 standard deviations", lambda rng: in_test(rng, lambda X, _: X["income"] + 3)),
    Fault("wrong units, column", "x 1000, all observations", lambda rng: in_test(rng, lambda X, _: X["income"] * 1000)),
    Fault("wrong units, observations", "x 1000, 20% of observations", lambda rng: in_test(rng, some_times_1000)),
    Fault("label noise in a group", "35% of 30% of observations", noisy_group),
    Fault("over-fit with an id", "boosting, 800 observations", with_id),
    Fault("over-fit on 300 observations", "boosting, 300 observations", lambda rng: fitted(overfit(), rows, rng, 300)),
    Fault("wrong direction", "+0.6 for 'decreasing'", wrong_direction),
    Fault("sentinel -999", "8% of observations", sentinel),
    Fault("protected proxy", "95% of observations, 1.5 log-odds", proxy),
    Fault("wrong segment", "3 log-odds in 13% of observations", wrong_segment),
    Fault("near copies of training observations", "20% of observations, 0.02 sd", near_copies),
    Fault("missing in test", "2% to 20% of observations", missing_in_test),
    Fault("sign of a test column", "all observations", lambda rng: in_test(rng, lambda X, _: -X["income"])),
    Fault("attribute as an input", "1 log-odds", attribute_as_input),
    Fault("random predictions", "anew each call", random),
    Fault("random, read as members", "20 calls", members),
    Fault("constant model", "the base rate", lambda rng: fitted(DummyClassifier(), rows, rng)),
    Fault("shuffled labels", "boosting", shuffled),
    Fault("constant column", "one value", constant_column),
    Fault("leak word", "1% of observations wrong", leak_word),
    Fault("units half x12", "50% of observations", lambda rng: bank(rng, half_in_years)),
    Fault("swapped", "r = .5, other scales", lambda rng: bank(rng, swapped)),
    Fault("frozen half", "one value, 50% of observations", lambda rng: bank(rng, frozen)),
    Fault("new category 20%", "20% of observations", lambda rng: bank(rng, new_category)),
    Fault("dup within", "each row twice", lambda rng: bank(rng, twice)),
    Fault("drift 1 sd two", "two features", drift),
    Fault("under-dispersed", "variance 0.3 of the mean", regular_counts),
    Fault("proxy of the outcome", "calls after the outcome, AUC .99", lambda rng: with_column(rng, "calls", called)),
    Fault("other unit in test", "1.8 x + 32", lambda rng: with_column(rng, "temperature", measured_in)),
    Fault(
        "sign of half a column",
        "50% of observations",
        lambda rng: in_test(rng, lambda X, g: X["income"] * g.choice([-1.0, 1.0], len(X))),
    ),
    Fault("over-confident in a region", "log-odds x 3 in 21% of observations", surer_when_old),
    Fault("spread of a segment", "3 sd in 16% of observations", partial(noisy, draw=wide_where_visited)),
    Fault("classes swapped in a region", "14% of observations", swapped_region),
    Fault("stale feature", "r = .4 with the present", lambda rng: in_test(rng, stale)),
    Fault("a tenth trained on", "10% of observations", tenth_trained),
    Fault("code 999", "5% of observations", coded),
    Fault("crossing quantiles", "boosting, 600 observations", crossing),
    Fault("balanced training sample", "50% for 7%", balanced),
    Fault("records joined wrongly", "50% of observations", joined_wrongly),
    Fault("top-coded in test", "at the median", lambda rng: in_test(rng, lambda X, _: X["income"].clip(upper=0.0))),
)


def is_named(finding: Any, named: Named, *, feature: bool = True) -> bool:
    """Say whether a finding has a right code and, where the fault has features, names one of them."""
    right = not (feature and named.features) or bool({*finding.features} & {*named.features})
    return finding.code in named.codes and right


def is_found(named: Named, heard: Heard) -> bool:
    """Say whether an audit names the fault above an observation, or is refused because of it."""
    raised = any(is_named(one, named) and one.severity != "observation" for one in heard.findings)
    return raised or (bool(named.refusal) and named.refusal in heard.refused)


def powers(faults: Sequence[Fault], table: Mapping[str, Sequence[Heard]]) -> dict[str, dict[str, tuple[str, int, int]]]:
    """Return, by code and fault, its size, the audits in which that code names it above an observation, and all."""
    power: dict[str, dict[str, tuple[str, int, int]]] = {}
    for fault in faults:
        for code in NAMED[fault.name].codes:
            named, audits = NAMED[fault.name]._replace(codes=(code,)), table[fault.name]
            raised = sum(is_found(named, heard) for heard in audits)
            power.setdefault(code, {})[fault.name] = (fault.size, raised, len(audits))
    return power


def accuses_innocent(finding: Any, named: Named) -> bool:
    """Say whether a finding above 'low' names features of which none is at fault."""
    about = {*finding.features}
    wrong = bool(about) and not about & {*named.features, *named.fair}
    return finding.severity in ABOVE_LOW and wrong and not is_named(finding, named)


def shares(named: Named, audits: Sequence[Heard]) -> dict[str, str]:
    """Return how often a fault is named, of the right feature, and first."""
    found, n = [heard.findings for heard in audits], len(audits)
    refused = sum(bool(named.refusal) and named.refusal in heard.refused for heard in audits)
    by_code = sum(any(is_named(one, named, feature=False) for one in every) for every in found)
    right = [next((one for one in every if is_named(one, named)), None) for every in found]
    return {
        "named": rate(by_code + refused, n),
        "right feature": f"{sum(map(bool, right))}/{n}" if named.features else "-",
        "above observation": f"{sum(is_found(named, heard) for heard in audits)}/{n}",
        "first": f"{refused + sum(one is every[0] for one, every in zip(right, found, strict=True) if one)}/{n}",
        "severity": letters(one.severity for one in right if one),
    }


def line(fault: Fault, audits: Sequence[Heard]) -> dict[str, Any]:
    """Return one line of the table."""
    named, n = NAMED[fault.name], len(audits)
    known = bool(named.refusal) or any(code in registered() for code in named.codes)
    said = shares(named, audits) if known else dict.fromkeys(SHARES, "no rule yet")
    innocent = sum(any(accuses_innocent(one, named) for one in heard.findings) for heard in audits)
    return {
        "fault": fault.name,
        "size": fault.size,
        "codes": "/".join(named.codes) or "refused",
        **said,
        "innocent": f"{innocent}/{n}",
        "worst of all": letters(heard.worst for heard in audits),
        "refused": f"{sum(bool(heard.refused) for heard in audits)}/{n}",
    }


def first_said(audits: Sequence[Heard]) -> str:
    """Return the first three findings of the first audit."""
    return "; ".join(f"{f.code} {f.severity} {'+'.join(f.features)}".strip() for f in audits[0].findings[:3])


def printed(faults: Sequence[Fault], table: Mapping[str, Sequence[Heard]]) -> None:
    """Print the table, and what stands first in the first audit of each fault."""
    print(pd.DataFrame(line(fault, table[fault.name]) for fault in faults).to_string(index=False), "\n")
    every = [(NAMED[fault.name], heard) for fault in faults for heard in table[fault.name]]
    print("All faults, named above observation:", rate(sum(is_found(*one) for one in every), len(every)), "\n")
    print("\n".join(["First findings:", *(f"{name}: {first_said(audits)}" for name, audits in table.items())]), "\n")
    print("\n".join(["Crashes and refusals:", *(troubles(table) or ["none"])]))


def main() -> None:
    options = arguments(__doc__, 20, write="")
    faults = chosen(FAULTS, options.designs)
    table = measured(faults, options.reps, options.jobs, seed=options.seed)
    printed(faults, table)
    if options.write:
        path, power = Path(options.write), powers(faults, table)
        before = json.loads(path.read_text()) if options.designs and path.exists() else {}
        kept = {code: {**before.get(code, {}), **power.get(code, {})} for code in sorted({*before, *power})}
        path.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
