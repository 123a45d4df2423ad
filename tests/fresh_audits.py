"""Five audits of models that no sample has, on data drawn here or shipped with scikit-learn.

python tests/fresh_audits.py FOLDER [NAME ...]      run.json, HTML, PDF and model card of each
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, PoissonRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

import uq_report as uq
from uq_report.api.views import AuditRun
from uq_report.core.model.subject import Subject
from uq_report.evidence.run import Run

AS_OF = "2026-11-20"


def german() -> Subject:
    """Return a logistic pipeline of credits with categories and two protected attributes."""
    rng = np.random.default_rng(1)
    n = 1000
    sex, age = rng.choice(["female", "male"], n, p=[0.31, 0.69]), rng.integers(19, 75, n)
    account = rng.choice(["none", "below 0", "0 to 200", "above 200"], n, p=[0.39, 0.27, 0.27, 0.07])
    duration = np.round(rng.gamma(3.0, 7.0, n)) + 4.0
    X = pd.DataFrame(
        {
            "checking_account": account,
            "duration": duration,
            "credit_amount": np.round(duration * rng.lognormal(4.9, 0.5, n)),
            "savings": rng.choice(["little", "moderate", "rich", "unknown"], n, p=[0.6, 0.1, 0.12, 0.18]),
            "purpose": rng.choice(["car", "radio", "furniture", "business", "education"], n),
            "housing": rng.choice(["own", "free", "rent"], n, p=[0.71, 0.11, 0.18]),
            "instalment_rate": rng.integers(1, 5, n).astype(float),
            "sex": sex,
            "age": age.astype(float),
        }
    )
    effect = pd.Series(account).map({"none": -1.0, "below 0": 0.9, "0 to 200": 0.5, "above 200": -0.3}).to_numpy()
    risk = effect + 0.045 * (duration - 21) + 0.3 * (sex == "female") - 0.012 * (age - 35) - 0.9
    y = np.where(rng.random(n) < 1 / (1 + np.exp(-risk)), "bad", "good")
    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude="number")),
        remainder=StandardScaler(),
    )
    model = make_pipeline(columns, LogisticRegression(max_iter=1000)).fit(X[:700], y[:700])
    about: dict[str, Any] = {"protected": ("sex", "age"), "positive_class": "bad", "label": "Logistic pipeline"}
    return uq.explain(model, X[700:].reset_index(drop=True), y[700:], train=(X[:700], y[:700]), **about)


def wine() -> Subject:
    """Return boosting of wines in three ordered classes of quality, most of them in the middle."""
    rng = np.random.default_rng(2)
    n = 1400
    alcohol, acidity = rng.normal(10.4, 1.1, n), rng.gamma(9.0, 0.06, n)
    X = pd.DataFrame(
        {
            "alcohol": np.round(alcohol, 1),
            "volatile_acidity": np.round(acidity, 2),
            "sulphates": np.round(rng.gamma(14.0, 0.047, n), 2),
            "density": np.round(0.9967 - 0.0011 * (alcohol - 10.4) + rng.normal(0, 0.0014, n), 4),
            "pH": np.round(rng.normal(3.31, 0.15, n), 2),
            "residual_sugar": np.round(rng.lognormal(0.8, 0.4, n), 1),
            "chlorides": np.round(rng.lognormal(-2.5, 0.3, n), 3),
        }
    )
    score = 0.8 * (alcohol - 10.4) - 4.0 * (acidity - 0.53) + 2.0 * (X["sulphates"] - 0.66) + rng.logistic(0, 0.7, n)
    y = np.where(score < -1.2, "low", np.where(score < 1.3, "medium", "high"))
    model = HistGradientBoostingClassifier(max_iter=60, random_state=0).fit(X[:1000], y[:1000])
    test = X[1000:].reset_index(drop=True)
    return uq.explain(model, test, y[1000:], train=(X[:1000], y[:1000]), label="Histogram boosting")


def cancer() -> Subject:
    """Return a calibrated support vector machine of ten features of the breast cancer data."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X, y = X.iloc[:, :10], y.map({0: "malignant", 1: "benign"}).to_numpy()
    order = np.random.default_rng(3).permutation(len(X))
    X, y = X.iloc[order].reset_index(drop=True), y[order]
    model = CalibratedClassifierCV(make_pipeline(StandardScaler(), SVC()), cv=3).fit(X[:370], y[:370])
    test = X[370:].reset_index(drop=True)
    about: dict[str, Any] = {"positive_class": "malignant", "label": "Calibrated SVC"}
    return uq.explain(model, test, y[370:], train=(X[:370], y[:370]), **about)


def concrete() -> Subject:
    """Return a forest of the strength of concrete, whose designs are replicated, with out-of-bag residuals."""
    rng = np.random.default_rng(4)
    mixtures = 180
    mixture = pd.DataFrame(
        {
            "cement": np.round(rng.uniform(100, 540, mixtures), 1),
            "slag": np.round(np.maximum(rng.normal(60, 90, mixtures), 0), 1),
            "fly_ash": np.round(np.maximum(rng.normal(40, 70, mixtures), 0), 1),
            "water": np.round(rng.normal(181, 21, mixtures), 1),
            "superplasticizer": np.round(np.maximum(rng.normal(5, 6, mixtures), 0), 1),
            "coarse_aggregate": np.round(rng.normal(973, 78, mixtures), 1),
        }
    )
    which = rng.permutation(np.repeat(np.arange(mixtures), 5))
    X = mixture.iloc[which].reset_index(drop=True)
    X["age_days"] = rng.choice([3.0, 7.0, 28.0, 56.0, 90.0, 180.0], len(X))
    binder = X["cement"] + 0.6 * X["slag"] + 0.3 * X["fly_ash"]
    y = (9.0 * np.log(X["age_days"]) + 14.0 * binder / X["water"] - 12.0 + rng.normal(0, 4.0, len(X))).to_numpy()
    forest = RandomForestRegressor(150, oob_score=True, bootstrap=True, random_state=0).fit(X[:630], y[:630])
    about: dict[str, Any] = {"train": (X[:630], y[:630]), "residuals": "oob", "label": "Random forest"}
    return uq.explain(forest, X[630:].reset_index(drop=True), y[630:], **about)


def bikes() -> Subject:
    """Return a Poisson regression of hourly rentals, over-dispersed and growing, in order of time."""
    rng = np.random.default_rng(5)
    n = 1340
    hour, weekday = np.arange(n) % 24, (np.arange(n) // 24) % 7
    temp = np.clip(0.3 + 0.1 * np.sin(2 * np.pi * (hour - 9) / 24) + 0.02 * rng.normal(size=n).cumsum() / 5, 0.02, 0.98)
    X = pd.DataFrame(
        {
            "hour": hour.astype(float),
            "weekday": weekday.astype(float),
            "workingday": (weekday < 5).astype(float),
            "temp": np.round(temp, 2),
            "humidity": np.round(np.clip(rng.normal(0.57, 0.18, n), 0, 1), 2),
            "windspeed": np.round(rng.gamma(2.2, 0.09, n), 3),
        }
    )
    rush = 0.9 * np.exp(-(((hour - 17) / 3.0) ** 2)) + 0.7 * np.exp(-(((hour - 8) / 1.5) ** 2)) * (weekday < 5)
    mean = np.exp(3.0 + 1.6 * temp - 0.6 * X["humidity"] + rush + 0.8 * (hour > 6) + 0.4 * np.arange(n) / n)
    y = rng.negative_binomial(4.0, 4.0 / (4.0 + mean))
    model = make_pipeline(StandardScaler(), PoissonRegressor(alpha=0.01)).fit(X[:900], y[:900])
    day = pd.date_range("2012-01-01", periods=n, freq="h").to_numpy()
    about: dict[str, Any] = {"time": day[900:], "label": "Poisson regression"}
    return uq.explain(model, X[900:].reset_index(drop=True), y[900:], train=(X[:900], y[:900]), **about)


FRESH: Mapping[str, Callable[[], Subject]] = {made.__name__: made for made in (german, wine, cancer, concrete, bikes)}

OPTIONS: Mapping[str, Mapping[str, Any]] = {"wine": {"calibration": {"order": ("low", "medium", "high")}}}


def audit_of(name: str) -> AuditRun:
    """Return one audit with the defaults."""
    return uq.audit(FRESH[name](), as_of=AS_OF, seed=0, progress=False, options=OPTIONS.get(name, {}))


@cache
def run_of(name: str) -> Run:
    """Return the run of one audit with the defaults, once in a process."""
    return audit_of(name).run


if __name__ == "__main__":
    for each in sys.argv[2:] or FRESH:
        made = audit_of(each)
        made.write_reports(made.write(Path(sys.argv[1], each)), ("markdown",), template="model-card")
