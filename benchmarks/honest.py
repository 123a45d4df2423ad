"""How often every rule speaks of honest, fitted models: its size, on real audits.

    python benchmarks/honest.py [--reps 20] [--seed 0] [--designs "rare class" ...] [--jobs 2] [--write FILE]
    python benchmarks/honest.py --explainers support segments --checks UQ121 UQ122 --write uq_report/checks/rates.json

Every model is of the family that its data come from, or nearly, and fitted as people fit it. Rates are shares of
audits, with exact binomial 95% CIs; the rate of a rule is the worst over the designs. `--write` keeps the worst
rates in the file that reports print (``uq_report/checks/rates.json``); a code that no audit judged keeps its rate. Only
explainers run that checks above an observation read. For a new rule, `--explainers` runs those that it reads and no
other, and `--checks` puts its rate beside the rates that the file has. `--seed` is the number of the first data set.
"""

from __future__ import annotations

import argparse
import json
import re
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from scipy.optimize import minimize_scalar
from scipy.stats import beta, nbinom, t as student_t
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    BaggingClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.linear_model import (
    BayesianRidge,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    QuantileRegressor,
    RidgeCV,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

import uq_report as uq
from uq_report.core.support.errors import UQReportError
from uq_report.distributions import LogNormal, NegativeBinomial, Poisson, StudentT, ZeroInflated
from uq_report.evidence.finding import SEVERITIES, Finding, Outcome
from uq_report.reading.rating import FIT, rating
from uq_report.reading.run_reader import gate_of
from uq_report.runner import plugins

# not run unless a case needs them: the costly explainers, and those that only observations rest on
OMITTED = frozenset({"agreement", "ale", "cover", "dalex", "h_statistic", "pdp", "redundancy", "rsens", "shap"})
OPTIONS: Mapping[str, Mapping[str, Any]] = {"pfi": {"n_repeats": 10}}
FEATURES = ("income", "age", "debt", "tenure", "savings", "visits")
POSITIVE = (1.0, 0.6, 0.4, 0.2, 0.0, 0.0)
MIXED = (1.0, -0.8, 0.6, -0.4, 0.2, 0.0)
LETTERS = {severity: severity[0].upper() for severity in SEVERITIES}
CRASH = re.compile(r"^(it failed with )?\w*(Error|Exception|Warning): ")

Rng = np.random.Generator
Rows = tuple[pd.DataFrame, Any]
MakeRows = Callable[[int, Rng], Rows]


@dataclass(frozen=True, kw_only=True)
class Case:
    """A fitted model with its rows, what else `explain` and `audit` are told, and further explainers that it needs."""

    model: Any
    test: Rows
    train: Rows
    told: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    also: tuple[str, ...] = ()


class Heard(NamedTuple):
    """What an audit said: findings in the order of the report, crashes, codes left out, or why it was refused."""

    findings: tuple[Finding, ...] = ()
    failed: tuple[str, ...] = ()
    unjudged: frozenset[str] = frozenset()
    refused: str = ""
    rating: str = ""
    seconds: float = 0.0

    @property
    def worst(self) -> str:
        """The worst severity; empty if nothing was found."""
        return min((one.severity for one in self.findings), key=SEVERITIES.index, default="")


class Design(NamedTuple):
    """Data sets of one kind with an honest model; `share` of the repetitions, for large ones.

    A model that is not `honest` stands beside the others to show what it gets, and counts for no rate. What `true_of`
    it is true, since its fit has this fault: these codes are no false alarms.
    """

    name: str
    draw: Callable[[Rng], Case]
    share: float = 1.0
    honest: bool = True
    true_of: tuple[str, ...] = ()


def explainers(also: Iterable[str] = ()) -> list[str]:
    """Return the registered explainers of this package that claims rest on, and those of `also`."""
    ours = (one.name for one in plugins.find(plugins.EXPLAINERS) if one.distribution == "uq_report")
    return [name for name in ours if name not in OMITTED or name in also]


@cache
def registered() -> Mapping[str, str]:
    """Return every code of the registered checks with its title."""
    checks = (plugins.load(plugin)() for plugin in plugins.find(plugins.CHECKS))
    return dict(sorted((rule.code, rule.title) for check in checks for rule in check.rules))


def audited(case: Case, seed: int, only: Sequence[str] = ()) -> Heard:
    """Audit a case, with the explainers that claims rest on or `only` some; what cannot be audited is refused."""
    start = perf_counter()
    try:
        subject = uq.explain(case.model, *case.test, train=case.train, **case.told)
        names = [*only] or explainers(case.also)
        options = {name: value for name, value in {**OPTIONS, **case.options}.items() if not only or name in names}
        asked: dict[str, Any] = {"explainers": names, "options": options}
        run = uq.audit(subject, **asked, seed=seed, progress=False).run
    except UQReportError as error:
        return Heard(refused=str(error), seconds=perf_counter() - start)
    if rating(run.outcomes) == FIT and gate_of(run.outcomes).tone == "bad":
        raise AssertionError(f"Calibration is not acceptable, and the model is {FIT.text}: seed {seed} of {case}.")
    return Heard(
        findings=run.findings,
        failed=tuple(f"{one.group} {one.name}: {one.reason}" for one in run.not_run if CRASH.match(one.reason)),
        unjudged=frozenset(code for outcome in run.outcomes for code in left_out(outcome)),
        rating=rating(run.outcomes).text,
        seconds=perf_counter() - start,
    )


def left_out(outcome: Outcome) -> Iterable[str]:
    """Return the codes of a check that it did not judge."""
    if outcome.state == "not_applicable":
        return [rule.code for rule in outcome.rules]
    return re.findall(r"(UQ\d+) was not judged", outcome.reason)


def normals(n: int, rng: Rng, r: float = 0.0, names: Sequence[str] = FEATURES) -> pd.DataFrame:
    """Return standard normal columns, each pair correlated `r`."""
    shared = np.sqrt(r) * rng.normal(size=(n, 1))
    return pd.DataFrame(shared + np.sqrt(1 - r) * rng.normal(size=(n, len(names))), columns=list(names))


def tossed(log_odds: Any, rng: Rng) -> Any:
    """Return outcomes 0 and 1."""
    return (rng.uniform(size=len(log_odds)) < 1 / (1 + np.exp(-np.asarray(log_odds)))).astype(int)


def fitted(model: Any, rows: MakeRows, rng: Rng, n_train: int = 3000, n: int = 800) -> Case:
    """Fit a model to rows of a kind, and hold it beside others of the same kind."""
    train, test = rows(n_train, rng), rows(n, rng)
    with warnings.catch_warnings(action="ignore"):
        return Case(model=model.fit(*train), test=test, train=train)


def told(case: Case, **more: Any) -> Case:
    """Return the case with more said of it; `options` and `also` apart, arguments of `explain`."""
    ours = {name: more.pop(name) for name in ("options", "also") if name in more}
    return replace(case, **ours, told={**case.told, **more})


def logistic_rows(n: int, rng: Rng, b: Sequence[float] = POSITIVE, r: float = 0.7, intercept: float = 0.0) -> Rows:
    """Return correlated rows with outcomes of a logistic model."""
    X = normals(n, rng, r)
    return X, tossed(intercept + X.to_numpy() @ np.asarray(b), rng)


def logistic(rng: Rng, n_train: int = 3000, n: int = 800, **rows: Any) -> Case:
    """Return a logistic regression of a logistic truth."""
    return fitted(LogisticRegression(), partial(logistic_rows, **rows), rng, n_train, n)


def expected_directions(rng: Rng) -> Case:
    """Return positive coefficients that the owner expects."""
    expected = {name: "increasing" for name, b in zip(FEATURES, POSITIVE, strict=True) if b > 0}
    return told(logistic(rng), options={"checks.direction": {"monotone": expected}}, also=("pdp",))


def idle_groups(rng: Rng) -> Case:
    """Return independent features, and groups of rows that have nothing to do with them."""
    case = logistic(rng, b=MIXED, r=0.0)
    return told(case, protected={"group": rng.choice(["a", "b"], len(case.test[0]))})


def differing_groups(rng: Rng) -> Case:
    """Return groups that differ in income, and so in how many of their outcomes are 1."""
    case = logistic(rng)
    low = case.test[0]["income"] + rng.normal(size=len(case.test[0])) < 0
    return told(case, protected={"group": np.where(low, "a", "b")})


def two_attributes(rng: Rng) -> Case:
    """Return two attributes whose groups differ in income and debt, and so in how many of their outcomes are 1."""

    def rows(n: int, rng: Rng) -> tuple[Rows, Mapping[str, Any]]:
        X, sex, region = normals(n, rng, 0.3), rng.integers(0, 2, n), rng.choice(3, n, p=[0.6, 0.3, 0.1])
        X["income"] += 0.8 * sex
        X["debt"] += 0.6 * (region == 1) - 0.6 * (region == 2)
        attributes = {"sex": np.array(["f", "m"])[sex], "region": np.array(["a", "b", "c"])[region]}
        return (X, tossed(X.to_numpy() @ np.asarray(MIXED) - 2, rng)), attributes

    (train, _), (test, protected) = rows(3000, rng), rows(800, rng)
    return Case(model=LogisticRegression().fit(*train), train=train, test=test, told={"protected": protected})


def linear_rows(n: int, rng: Rng, *, uneven: bool = False, heavy: bool = False) -> Rows:
    """Return outcomes that are normal about a linear mean, their spread growing with age if `uneven`."""
    X = normals(n, rng, 0.7)
    X = X / np.sqrt(rng.chisquare(3, size=X.shape) / 3) if heavy else X
    scale = np.exp(0.4 * X["age"].to_numpy()) if uneven else 1.0
    return X, X.to_numpy() @ np.asarray(MIXED) + scale * rng.normal(size=n)


class Heteroscedastic:
    """A linear mean, and a log-linear spread fitted to the residuals."""

    def fit(self, X: pd.DataFrame, y: Any) -> Heteroscedastic:
        """Fit mean and spread in turn."""
        self.mean_ = LinearRegression().fit(X, y)
        for _ in range(3):
            squares = (y - self.mean_.predict(X)) ** 2
            self.spread_ = PoissonRegressor(alpha=0).fit(X, squares)  # E(residual²) = exp(...), whatever its law
            self.mean_ = LinearRegression().fit(X, y, sample_weight=1 / self.spread_.predict(X))
        return self

    def predict(self, X: pd.DataFrame, return_std: bool = False) -> Any:
        """Return means, and standard deviations if asked."""
        mean = self.mean_.predict(X)
        return (mean, np.sqrt(self.spread_.predict(X))) if return_std else mean


def curved_rows(n: int, rng: Rng) -> Rows:
    """Return outcomes with steps, curves and an interaction, for trees."""
    X = normals(n, rng, 0.5)
    bend = np.where(X["age"] > 0, X["income"], 0.2 * X["income"]) + 0.8 * np.sin(1.5 * X["debt"])
    return X, tossed(1.2 * bend + 0.5 * (X["tenure"] > 0.5), rng)


def mixed_rows(n: int, rng: Rng) -> Rows:
    """Return numbers and words, the words tied to income."""
    X = normals(n, rng, 0.5, FEATURES[:3])
    ranks = np.digitize(X["income"] + rng.normal(size=n), [-1.0, 0.0, 1.2])
    X["job"] = np.array(["none", "worker", "clerk", "own"])[ranks]
    X["region"] = rng.choice(["north", "east", "south", "west"], n, p=[0.4, 0.3, 0.2, 0.1])
    words = 0.5 * (X["job"] == "own") - 0.6 * (X["job"] == "none") + 0.4 * (X["region"] == "west")
    return X, tossed(0.8 * X["income"] - 0.5 * X["debt"] + words, rng)


def skewed_rows(n: int, rng: Rng) -> Rows:
    """Return three lognormal and three t3 features."""
    X = normals(n, rng, 0.5)
    X.iloc[:, :3] = np.exp(X.iloc[:, :3])
    X.iloc[:, 3:] = X.iloc[:, 3:] / np.sqrt(rng.chisquare(3, size=(n, 3)) / 3)
    return X, tossed(-1.0 + X.to_numpy() @ np.array([0.5, -0.3, 0.2, 0.4, -0.3, 0.0]), rng)


def count_rows(n: int, rng: Rng) -> Rows:
    """Return Poisson counts."""
    X = normals(n, rng, 0.6)
    return X, rng.poisson(np.exp(0.7 + X.to_numpy() @ (0.4 * np.asarray(MIXED))))


def class_rows(n: int, rng: Rng) -> Rows:
    """Return one of three classes."""
    X = normals(n, rng, 0.5)
    scores = X.to_numpy() @ np.column_stack([np.zeros(6), MIXED, MIXED[::-1]]) + rng.gumbel(size=(n, 3))
    return X, np.array(["low", "middle", "top"])[scores.argmax(axis=1)]


def encoded() -> Any:
    """Return a pipeline that encodes words."""
    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["job", "region"]), remainder="passthrough"
    )
    return make_pipeline(columns, LogisticRegression(max_iter=1000))


def forest(rng: Rng, **options: Any) -> Case:
    """Return a forest."""
    return fitted(RandomForestClassifier(100, random_state=0, **options), curved_rows, rng)


def boosting(rng: Rng) -> Case:
    """Return trees that are boosted with care."""
    model = HistGradientBoostingClassifier(learning_rate=0.05, max_iter=80, max_leaf_nodes=8, min_samples_leaf=30)
    return fitted(model, curved_rows, rng)


def quantile_table(rng: Rng) -> Case:
    """Return a linear model for each of five quantiles of a linear truth."""
    train, test = linear_rows(1000, rng), linear_rows(800, rng)
    levels = (0.05, 0.25, 0.5, 0.75, 0.95)
    models = {level: QuantileRegressor(quantile=level, alpha=0.0).fit(*train) for level in levels}
    return Case(model=models, test=test, train=train)


def out_of_bag(rng: Rng) -> Case:
    """Return a default forest with a distribution from its out-of-bag residuals."""
    model = RandomForestRegressor(100, random_state=0)
    return told(fitted(model, linear_rows, rng, n_train=900), residuals="oob")


def blocks(n: int, rng: Rng, d: int, r: float = 0.6, size: int = 4) -> pd.DataFrame:
    """Return `d` standard normal columns f0, f1, ... in blocks of `size`, each pair of a block correlated `r`."""
    sizes = [min(size, d - start) for start in range(0, d, size)]
    parts = [np.sqrt(r) * rng.normal(size=(n, 1)) + np.sqrt(1 - r) * rng.normal(size=(n, k)) for k in sizes]
    return pd.DataFrame(np.hstack(parts), columns=[f"f{i}" for i in range(d)])


def bank_rows(n: int, rng: Rng) -> Rows:
    """Return skewed, whole and other numbers and words, whose effects are curved and depend on each other."""
    X = blocks(n, rng, 5, 0.5, 5).set_axis(["salary", "balance", "limit", "months", "age"], axis=1)
    X["salary"], X["months"] = np.exp(8 + 0.5 * X["salary"]), np.round(24 + 10 * X["months"]).clip(1)
    X["age"] = (40 + 12 * X["age"]).round().clip(18)
    X["product"] = rng.choice(["card", "loan", "lease"], n, p=[0.5, 0.35, 0.15])
    numbers = 0.9 * (np.log(X["salary"]) - 8) / 0.5 - 0.03 * (X["months"] - 24) + 0.02 * (X["age"] - 40)
    return X, tossed(
        numbers + 0.7 * (X["product"] == "lease") * np.sign(X["balance"]) + 0.5 * X["limit"] ** 2 - 0.5, rng
    )


def encoding(model: Any, remainder: Any) -> Any:
    """Return a pipeline that encodes the product of `bank_rows`."""
    words = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return make_pipeline(make_column_transformer((words, ["product"]), remainder=remainder), model)


def calibrated_forest(rng: Rng) -> Case:
    """Return a forest whose probabilities are calibrated by cross-validation."""
    grown = RandomForestClassifier(100, min_samples_leaf=3, random_state=0)
    model = CalibratedClassifierCV(grown, cv=4, method="sigmoid")
    return fitted(encoding(model, StandardScaler()), bank_rows, rng, 2000, 600)


def lacking_alike(rng: Rng) -> Case:
    """Return boosting of three columns with missing values, of the same shares in both samples."""

    def rows(n: int, rng: Rng) -> Rows:
        X, y = bank_rows(n, rng)
        for name, share in (("salary", 0.15), ("limit", 0.05), ("balance", 0.3)):
            X.loc[rng.uniform(size=n) < share, name] = np.nan
        return X, y

    model = HistGradientBoostingClassifier(learning_rate=0.05, max_iter=80, max_leaf_nodes=8, min_samples_leaf=30)
    return fitted(encoding(model, "passthrough"), rows, rng, 4000, 700)


def many_rows(n: int, rng: Rng, d: int) -> Rows:
    """Return numbers of a linear truth of `d` features, of which a third have no effect."""
    X = blocks(n, rng, d)
    b = np.random.default_rng(3).normal(size=d) * 0.35 * (np.arange(d) % 3 != 2)
    return X, X.to_numpy() @ b + rng.normal(size=n)


class Exposed:
    """A negative binomial of a log-linear rate per exposure, by its mean and the likelihood of its size."""

    def fit(self, X: pd.DataFrame, y: Any) -> Exposed:
        """Fit the rate, then the size."""
        rates, exposure = X.iloc[:, :5], X["exposure"]
        self.rate_ = PoissonRegressor(alpha=1e-4, max_iter=500).fit(rates, y / exposure, sample_weight=exposure)
        mean = self.rate_.predict(rates) * exposure.to_numpy()

        def loss(s: float) -> float:
            return -float(nbinom.logpmf(y, np.exp(s), np.exp(s) / (np.exp(s) + mean)).sum())

        self.size_ = np.exp(minimize_scalar(loss, bounds=(-2, 4), method="bounded").x)
        return self

    def __call__(self, X: pd.DataFrame) -> NegativeBinomial:
        """Return the distributions of the counts."""
        mean = self.rate_.predict(X.iloc[:, :5]) * X["exposure"].to_numpy()
        return NegativeBinomial(mean, np.full(len(mean), self.size_))


def exposed_rows(n: int, rng: Rng) -> Rows:
    """Return counts of units that were under observation for a part of the year, with unobserved differences."""
    X = blocks(n, rng, 5, 0.4, 3)
    X["exposure"] = rng.uniform(0.1, 1, n)
    mean = X["exposure"].to_numpy() * np.exp(0.2 + X.iloc[:, :5].to_numpy() @ np.array([0.5, -0.3, 0.2, 0, 0.15]))
    return X, rng.poisson(mean * rng.gamma(1.5, 1 / 1.5, n))


def uneven_rows(n: int, rng: Rng) -> Rows:
    """Return numbers about a curved mean, their spread growing with a feature."""
    X = blocks(n, rng, 6, 0.5, 3)
    mean = np.sin(1.5 * X["f0"]) + 0.5 * X["f1"] * (X["f3"] > 0)
    return X, (mean + np.exp(0.5 * X["f4"]) * 0.6 * rng.normal(size=n)).to_numpy()


def boosted_quantiles(rng: Rng) -> Case:
    """Return boosting for each of seven quantiles."""
    train, test = uneven_rows(4000, rng), uneven_rows(600, rng)
    care = {"max_iter": 120, "learning_rate": 0.05, "max_leaf_nodes": 8, "min_samples_leaf": 50}
    models = {
        level: HistGradientBoostingRegressor(loss="quantile", quantile=level, **care).fit(*train)
        for level in (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95)
    }
    return Case(model=models, train=train, test=test)


def smooth_rows(n: int, rng: Rng) -> Rows:
    """Return numbers about a smooth mean."""
    X = blocks(n, rng, 4, 0.3, 2)
    return X, (np.sin(X["f0"]) + 0.5 * X["f1"] * X["f2"] + 0.4 * rng.normal(size=n)).to_numpy()


def censored_rows(n: int, rng: Rng) -> tuple[pd.DataFrame, tuple[Any, Any]]:
    """Return Weibull times, of which about a third are censored."""
    X = blocks(n, rng, 5, 0.4, 3)
    times = np.exp(2 + X.to_numpy() @ np.array([0.5, -0.3, 0.2, 0, 0.1])) * rng.weibull(1.5, n)
    ends = rng.exponential(25, n)
    return X, (np.minimum(times, ends), times <= ends)


def survival(rng: Rng) -> Case:
    """Return a Weibull model of accelerated failure times."""
    from lifelines import WeibullAFTFitter  # the other designs need no optional library

    train, test = censored_rows(1000, rng), censored_rows(400, rng)
    with warnings.catch_warnings(action="ignore"):
        model = WeibullAFTFitter().fit(train[0].assign(t=train[1][0], e=train[1][1]), "t", "e")
    return Case(model=model, train=train, test=test)


def clustered(rng: Rng) -> Case:
    """Return clusters of five rows with an effect of their own, in both samples, three features constant in each."""

    def rows(n: int) -> Rows:
        k = n // 5
        X = blocks(k, rng, 5, 0.4, 3).loc[np.repeat(np.arange(k), 5)].reset_index(drop=True)
        X["f3"], X["f4"] = rng.normal(size=n), rng.normal(size=n)
        own = 0.8 * np.repeat(rng.normal(size=k), 5)
        return X, (X.to_numpy() @ np.array([0.8, -0.5, 0.3, 0.6, 0]) + own + rng.normal(size=n) > 0).astype(int)

    train, test = rows(4000), rows(600)
    model = LogisticRegression().fit(*train)
    return Case(model=model, train=train, test=test, told={"clusters": np.repeat(np.arange(120), 5)})


def series(rng: Rng) -> Case:
    """Return two years of days whose features follow those of the day before."""

    def rows(n: int, rng: Rng, r: float = 0.7) -> Rows:
        X = rng.normal(size=(n, 4))
        for day in range(1, n):
            X[day] = r * X[day - 1] + np.sqrt(1 - r**2) * X[day]
        return pd.DataFrame(X, columns=["temp", "load", "wind", "price"]), X @ np.array([1, -0.6, 0.4, 0]) + rng.normal(
            size=n
        )

    return told(fitted(BayesianRidge(), rows, rng, 1500, 730), time=np.arange(730))


class ZeroCounts:
    """Poisson counts with additional zeros, both log-linear, by expectation and maximisation."""

    def fit(self, X: pd.DataFrame, y: Any) -> ZeroCounts:
        """Fit the chance of an additional zero and the rate in turn."""
        extra, twice = np.where(y == 0, 0.5, 0.0), pd.concat([X, X])
        classes = np.repeat([1, 0], len(X))
        for _ in range(30):
            self.zero_ = LogisticRegression(C=100).fit(twice, classes, sample_weight=np.r_[extra, 1 - extra])
            self.rate_ = PoissonRegressor(alpha=1e-4).fit(X, y, sample_weight=1 - extra)
            p = self.zero_.predict_proba(X)[:, 1]
            extra = np.where(y == 0, p / (p + (1 - p) * np.exp(-self.rate_.predict(X))), 0.0)
        return self

    def __call__(self, X: pd.DataFrame) -> ZeroInflated:
        """Return the distributions of the counts."""
        return ZeroInflated(self.zero_.predict_proba(X)[:, 1], Poisson(self.rate_.predict(X)))


def zero_rows(n: int, rng: Rng) -> Rows:
    """Return visits of people of whom a part, more of the older, never comes."""
    X = normals(n, rng, 0.4)
    never = tossed(-0.5 + 0.8 * X["age"], rng) == 1
    return X, np.where(never, 0, rng.poisson(np.exp(0.6 + 0.5 * X["income"] - 0.3 * X["debt"])))


def weighted(rng: Rng) -> Case:
    """Return a test sample that holds four times as many of the indebted, with weights that undo it."""
    X, y = logistic_rows(3000, rng, b=MIXED, r=0.5)
    chance = np.where(X["debt"] > 1, 0.8, 0.2)
    drawn = rng.uniform(size=len(y)) < chance
    case = logistic(rng, b=MIXED, r=0.5)
    return replace(case, test=(X[drawn].reset_index(drop=True), y[drawn]), told={"sample_weight": 1 / chance[drawn]})


def rated_rows(n: int, rng: Rng) -> Rows:
    """Return ordered grades, made from two numbers, and outcomes that rise with them in uneven steps."""
    X = normals(n, rng, 0.5, FEATURES[:4])
    grades = np.digitize(X["income"] - X["debt"] + rng.normal(size=n), [-2.0, -0.8, 0.3, 1.2, 2.4])
    X["grade"] = np.array(["F", "E", "D", "C", "B", "A"])[grades]
    return X, tossed(np.array([1.8, 1.0, 0.1, -0.2, -0.9, -1.6])[grades] + 0.6 * X["age"] - 0.5, rng)


def town_rows(n: int, rng: Rng) -> Rows:
    """Return thirty towns, large and small, with effects of their own."""
    X = normals(n, rng, 0.4, FEATURES[:4])
    share = 1 / np.arange(2, 32)
    towns = rng.choice(30, n, p=share / share.sum())
    X["town"] = np.array([f"t{i:02d}" for i in range(30)])[towns]
    effects = np.random.default_rng(8).normal(scale=0.6, size=30)
    return X, tossed(X.iloc[:, :4].to_numpy() @ np.array([0.8, -0.5, 0.3, 0]) + effects[towns] - 0.7, rng)


def towns(rng: Rng) -> Case:
    """Return a logistic regression of the common towns, the others as one."""
    words = OneHotEncoder(min_frequency=30, handle_unknown="infrequent_if_exist")
    model = make_pipeline(make_column_transformer((words, ["town"]), remainder="passthrough"), LogisticRegression())
    return fitted(model, town_rows, rng, 2500, 700)


def trend(rng: Rng) -> Case:
    """Return half of 1600 days, drawn at random, with season, trend and weather that lasts; the others are training."""
    day, temp = np.arange(1600), np.zeros(1600)
    for i in day[1:]:
        temp[i] = 0.9 * temp[i - 1] + 0.4 * rng.normal()
    angle = 2 * np.pi * day / 365.25
    X = pd.DataFrame({"day": day, "sin": np.sin(angle), "cos": np.cos(angle), "temp": temp, "promotion": day % 7 == 5})
    X["promotion"] = X["promotion"].astype(float)
    y = 10 + 0.002 * day + X[["sin", "temp", "promotion"]].to_numpy() @ np.array([2, 1, 1.5]) + rng.normal(size=1600)
    half = rng.permutation(1600) < 800
    train, test = ((X[own].reset_index(drop=True), y[own]) for own in (~half, half))
    model = make_pipeline(StandardScaler(), BayesianRidge()).fit(*train)
    return Case(model=model, train=train, test=test, told={"time": day[half]})


class HeavyTailed:
    """A linear location with t noise, whose scale and degrees of freedom are fitted to the residuals."""

    def fit(self, X: pd.DataFrame, y: Any) -> HeavyTailed:
        """Fit location and noise in turn."""
        weights = np.ones(len(y))
        for _ in range(10):
            self.mean_ = LinearRegression().fit(X, y, sample_weight=weights)
            e = y - self.mean_.predict(X)
            self.df_, _, self.scale_ = student_t.fit(e, floc=0)
            weights = 1 / (1 + (e / self.scale_) ** 2 / self.df_)
        return self

    def __call__(self, X: pd.DataFrame) -> StudentT:
        """Return the distributions of the outcomes."""
        return StudentT(self.df_, self.mean_.predict(X), self.scale_)


def shocked_rows(n: int, rng: Rng) -> Rows:
    """Return numbers about a linear mean with t noise."""
    X = normals(n, rng, 0.5)
    return X, X.to_numpy() @ np.asarray(MIXED) + rng.standard_t(4, n)


def households(rng: Rng) -> Case:
    """Return persons of households of one to many, with an effect of the household, and outcomes that are numbers."""

    def rows(n: int) -> tuple[Rows, Any]:
        of = np.repeat(np.arange(n), rng.geometric(0.35, n))[:n]
        X = normals(n, rng, 0.4)
        X["income"] = rng.normal(size=n)[of]
        return (X, X.to_numpy() @ np.asarray(MIXED) + 0.7 * rng.normal(size=n)[of] + rng.normal(size=n)), of

    (train, _), (test, of) = rows(3000), rows(600)
    return Case(model=BayesianRidge().fit(*train), train=train, test=test, told={"clusters": of})


class Amounts:
    """Log-normal amounts: the mean and the spread of the logarithm are linear and log-linear."""

    def fit(self, X: pd.DataFrame, y: Any) -> Amounts:
        """Fit the logarithm."""
        self.log_ = Heteroscedastic().fit(X, np.log(y))
        return self

    def __call__(self, X: pd.DataFrame) -> LogNormal:
        """Return the distributions of the amounts."""
        return LogNormal(*self.log_.predict(X, return_std=True))


def amount_rows(n: int, rng: Rng) -> Rows:
    """Return log-normal amounts."""
    X, y = linear_rows(n, rng, uneven=True)
    return X, np.exp(6 + 0.5 * y)


def unequal_rows(n: int, rng: Rng) -> Rows:
    """Return one of four classes, of which two have a few per cent."""
    X = normals(n, rng, 0.4)
    b = np.column_stack([np.zeros(6), MIXED, MIXED[::-1], np.roll(MIXED, 2)])
    scores = X.to_numpy() @ b + np.array([1.5, 1.0, -1.8, -1.4]) + rng.gumbel(size=(n, 4))
    return X, np.array(["repaid", "late", "sold", "fraud"])[scores.argmax(axis=1)]


DESIGNS: tuple[Design, ...] = (
    Design("independent logistic", idle_groups),
    Design("correlated logistic", expected_directions),
    Design("mixed signs", partial(logistic, b=MIXED)),
    Design("rare class", partial(logistic, b=MIXED, intercept=-3.4)),
    Design("groups differ", differing_groups),
    Design("two attributes", two_attributes),
    Design("three classes", lambda rng: fitted(LogisticRegression(), class_rows, rng)),
    Design("Bayesian linear", lambda rng: fitted(BayesianRidge(), linear_rows, rng)),
    Design("heteroscedastic", lambda rng: fitted(Heteroscedastic(), partial(linear_rows, uneven=True), rng)),
    Design("heavy linear", lambda rng: fitted(BayesianRidge(), partial(linear_rows, heavy=True), rng)),
    Design("quantile table", quantile_table),
    Design("out-of-bag residuals", out_of_bag, true_of=("UQ401",)),  # a default forest over-fits its weak features
    Design("honest forest", partial(forest, min_samples_leaf=20)),
    Design("honest boosting", boosting),
    Design("default forest", forest, honest=False),  # pure leaves: its probabilities are not its own frequencies
    Design("categorical", lambda rng: fitted(encoded(), mixed_rows, rng)),
    Design(
        "skewed features",
        lambda rng: fitted(make_pipeline(StandardScaler(), LogisticRegression()), skewed_rows, rng),
    ),
    Design("n = 200", partial(logistic, n=200)),
    Design("200 observations in all", partial(logistic, n_train=200, n=200)),
    Design("n = 5000", partial(logistic, n_train=5000, n=5000, b=MIXED), share=0.3),
    Design("Poisson", lambda rng: fitted(PoissonRegressor(alpha=1e-3), count_rows, rng)),
    Design("rf calibrated", calibrated_forest),
    Design("ridge 15", lambda rng: fitted(BayesianRidge(), partial(many_rows, d=15), rng, 400, 300)),
    Design(
        "conformal residuals 20",
        lambda rng: told(fitted(RidgeCV(), partial(many_rows, d=20), rng, 500, 250), residuals="conformal"),
    ),
    Design("exposure nb", lambda rng: fitted(Exposed(), exposed_rows, rng, 3000, 700)),
    Design("hetero quantile boosting", boosted_quantiles),
    Design(
        "gp",
        lambda rng: fitted(
            GaussianProcessRegressor(ConstantKernel() * RBF([1.0] * 4) + WhiteKernel(0.1), normalize_y=True),
            smooth_rows,
            rng,
            250,
            250,
        ),
    ),
    Design("weibull aft", survival),
    Design("clusters class", clustered),
    Design("series", series),
    Design("missing same", lacking_alike),
    Design("zero-inflated counts", lambda rng: fitted(ZeroCounts(), zero_rows, rng)),
    Design("weighted sample", weighted),
    Design(
        "ordered grades",
        lambda rng: fitted(
            make_pipeline(
                make_column_transformer(
                    (OrdinalEncoder(categories=[list("FEDCBA")]), ["grade"]), remainder="passthrough"
                ),
                HistGradientBoostingClassifier(learning_rate=0.05, max_iter=60, max_leaf_nodes=6, min_samples_leaf=40),
            ),
            rated_rows,
            rng,
        ),
    ),
    Design("thirty towns", towns),
    Design("season and trend", trend),
    Design("t noise as t", lambda rng: fitted(HeavyTailed(), shocked_rows, rng, 1500, 600)),
    Design("few events", partial(logistic, n_train=2000, n=400, b=MIXED, intercept=-3.6)),
    Design("households", households),
    Design(  # fitted to few rows: by d/2n it is worse than the truth by 0.04 nats
        "150 observations, 12 features",
        lambda rng: fitted(BayesianRidge(), partial(many_rows, d=12), rng, 150, 150),
        honest=False,
    ),
    Design(
        "bagged logistic",
        lambda rng: fitted(
            BaggingClassifier(LogisticRegression(), 20, random_state=0), partial(logistic_rows, b=MIXED), rng, 600, 500
        ),
    ),
    Design("log-normal amounts", lambda rng: fitted(Amounts(), amount_rows, rng, 2000, 600)),
    Design("unequal classes", lambda rng: fitted(LogisticRegression(max_iter=500), unequal_rows, rng, 3000, 900)),
)


def one(draw: Callable[[Rng], Case], name: str, number: int, only: Sequence[str] = ()) -> Heard:
    """Audit data set `number` of a kind."""
    return audited(draw(np.random.default_rng([zlib.crc32(name.encode()), number])), number, only)


def measured(
    designs: Sequence[Any], reps: int, jobs: int = 1, only: Sequence[str] = (), seed: int = 0
) -> dict[str, list[Heard]]:
    """Audit every design `reps` times, or its share of that, on the data sets from number `seed` on."""
    tasks = [(d, k) for d in designs for k in range(max(1, round(reps * getattr(d, "share", 1.0))))]
    heard = Parallel(n_jobs=jobs)(delayed(one)(design.draw, design.name, seed + k, only) for design, k in tasks)
    table: dict[str, list[Heard]] = {design.name: [] for design in designs}
    for (design, _), said in zip(tasks, heard, strict=True):
        table[design.name].append(said)
    return table


def exact(count: int, n: int) -> tuple[float, float]:
    """Return the Clopper–Pearson 95% CI of a share."""
    low = beta.ppf(0.025, count, n - count + 1) if count else 0.0
    return float(low), float(beta.ppf(0.975, count + 1, n - count)) if count < n else 1.0


def rate(count: int, n: int) -> str:
    """Return a share with its interval."""
    low, high = exact(count, n)
    return f"{count}/{n} = {count / n:.0%} ({low:.0%} to {high:.0%})"


def loudest(heard: Heard, code: str) -> str:
    """Return the worst severity an audit gave a code; empty if it did not raise it."""
    return min(
        (finding.severity for finding in heard.findings if finding.code == code), key=SEVERITIES.index, default=""
    )


def letters(severities: Iterable[str]) -> str:
    """Return counts of severities, ``2H 1L`` for two high and one low; ``.`` for none."""
    counts = Counter(filter(None, severities))
    return " ".join(f"{counts[severity]}{LETTERS[severity]}" for severity in SEVERITIES if counts[severity]) or "."


def by_code(table: Mapping[str, Sequence[Heard]]) -> pd.DataFrame:
    """Return one line a code: its rate, that above an observation in the worst design, and the count in each design."""
    lines, rates = [], worst_rates(table)
    for code in codes(table):
        severities = {name: [loudest(audit, code) for audit in audits] for name, audits in table.items()}
        every = [severity for several in severities.values() for severity in several]
        claims, audits, design = rates.get(code, (0, 0, ""))
        line = {"code": code, "raised": sum(map(bool, every))}
        line |= {"above observation": sum(severity not in ("", "observation") for severity in every)}
        line |= {"worst rate": rate(claims, audits) if audits else "not judged", "worst design": design or "-"}
        lines.append(line | {name: letters(several) for name, several in severities.items()})
    return pd.DataFrame(lines)


def worst_rates(table: Mapping[str, Sequence[Heard]]) -> dict[str, tuple[int, int, str]]:
    """Return, of every code that some audit judged, claims and audits in the worst design, and its name.

    Of a code that no honest model got the audits of all designs count.
    """
    rates = {}
    for code in codes(table):
        true_of = {design.name for design in DESIGNS if code in design.true_of}
        names = [name for name in honest_ones(table) if name not in true_of]
        judged = {name: [audit for audit in table[name] if code not in audit.unjudged] for name in names}
        loud = {
            name: sum(loudest(audit, code) not in ("", "observation") for audit in audits)
            for name, audits in judged.items()
            if audits
        }
        if loud:
            worst = max(loud, key=lambda name: (loud[name] / len(judged[name]), len(judged[name])))
            every = sum(map(len, judged.values()))
            rates[code] = (loud[worst], len(judged[worst]), worst) if loud[worst] else (0, every, "")
    return rates


def honest_ones(table: Mapping[str, Sequence[Heard]]) -> list[str]:
    """Return the names that count for a rate; all where none is of a design of this module."""
    return [name for name in table if name not in {design.name for design in DESIGNS if not design.honest}] or [*table]


def codes(table: Mapping[str, Sequence[Heard]]) -> list[str]:
    """Return the registered codes, and any other that was raised."""
    raised = {finding.code for audits in table.values() for heard in audits for finding in heard.findings}
    return sorted({*registered(), *raised})


def by_design(table: Mapping[str, Sequence[Heard]]) -> pd.DataFrame:
    """Return one line a design: audits with nothing above an observation, the worst severities and ratings."""
    return pd.DataFrame(
        {
            "design": name,
            "nothing above observation": rate(sum(a.worst in ("", "observation") for a in audits), len(audits)),
            "worst severity": letters(heard.worst for heard in audits),
            "ratings": ", ".join(f"{n} {word}" for word, n in Counter(heard.rating for heard in audits).items()),
            "seconds": round(float(np.mean([heard.seconds for heard in audits])), 2),
        }
        for name, audits in table.items()
    )


def troubles(table: Mapping[str, Sequence[Heard]]) -> list[str]:
    """Return refusals and crashes of plugins, each once with its count."""
    every = ((name, words) for name, audits in table.items() for a in audits for words in (*a.failed, a.refused))
    return [f"{count} x {name}: {words}" for (name, words), count in Counter(every).items() if words]


def printed(table: Mapping[str, Sequence[Heard]]) -> None:
    """Print the tables; designs by letter where the table is wide."""
    lines = by_code(table)
    silent = set(lines[lines["raised"] == 0]["code"])
    unheard = silent.intersection(*(heard.unjudged for audits in table.values() for heard in audits))
    short = {name: f"d{i}" for i, name in enumerate(table)}
    print("Audits by worst severity of a code:", ", ".join(f"{v} {k}" for k, v in LETTERS.items()))
    print("Designs:", ", ".join(f"{short[name]} {name}" for name in table), "\n")
    print(lines[lines["raised"] > 0].rename(columns=short).to_string(index=False), "\n")
    print("Judged and never raised:", ", ".join(sorted(silent - unheard)))
    print("Never judged:", ", ".join(sorted(unheard)), "\n")
    print(by_design(table).to_string(index=False), "\n")
    every = [heard for name in honest_ones(table) for heard in table[name]]
    quiet = sum(heard.worst in ("", "observation") for heard in every)
    print("All honest designs, nothing above observation:", rate(quiet, len(every)), "\n")
    print("\n".join(["Crashes and refusals:", *(troubles(table) or ["none"])]))


def chosen(among: Sequence[Any], names: Sequence[str] | None) -> list[Any]:
    """Return those with the names, or all."""
    known = [one.name for one in among]
    if names and not set(names) <= set(known):
        raise SystemExit(f"--designs must be among {known}; got {names}.")
    return [one for one in among if not names or one.name in names]


def arguments(doc: str, reps: int, **more: str | list[str]) -> argparse.Namespace:
    """Read --reps, --designs, --jobs and --seed, and `more` options with defaults; a list takes several values."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--reps", type=int, default=reps)
    parser.add_argument("--designs", nargs="*", help="names; all by default")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0, help="number of the first data set")
    for name, default in more.items():
        parser.add_argument(f"--{name}", default=default, nargs="*" if isinstance(default, list) else None)
    return parser.parse_args()


def kept(rates: Mapping[str, Any], codes: Sequence[str], before: Mapping[str, Any]) -> dict[str, Any]:
    """Return the rates to write, all of them or those of `codes`, beside the others as they were.

    Raises
    ------
    SystemExit
        If no audit judged one of `codes`.
    """
    if unknown := sorted({*codes} - {*rates}):
        raise SystemExit(f"--checks must be codes that some audit judged; got {unknown}. Run the explainers they read.")
    return dict(sorted({**before, **{code: rates[code] for code in codes or rates}}.items()))


def main() -> None:
    options = arguments(__doc__, 20, write="", explainers=[], checks=[])
    table = measured(chosen(DESIGNS, options.designs), options.reps, options.jobs, options.explainers, options.seed)
    printed(table)
    if options.write:
        path = Path(options.write)
        before = json.loads(path.read_text()) if path.exists() else {}
        path.write_text(json.dumps(kept(worst_rates(table), options.checks, before), indent=1) + "\n")


if __name__ == "__main__":
    main()
