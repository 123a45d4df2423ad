"""Hypothesis strategies for audits as nobody means them: frames, models and settings, sound and broken."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import strategies as st
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.linear_model import BayesianRidge, LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB

from uq_report import distributions as families
from uq_report.core.predictive import Distribution
from uq_report.runner import plugins

SPEAKS = "the model speaks"
DAY = pd.Timestamp("2026-01-01")


def _days(a: Any) -> Any:
    return pd.to_timedelta(np.round(100 * a), unit="D")


# A column of n values from n standard normal ones.
COLUMNS: Mapping[str, Callable[[Any], Any]] = {
    "normal": lambda a: a,
    "integers": lambda a: np.round(3 * a).astype(int),
    "few levels": lambda a: (a > 0).astype(float),
    "boolean": lambda a: a > 0,
    "text": lambda a: np.where(a > 0.5, "high", np.where(a > 0, "<b>low", "=1+1")),
    "category": lambda a: pd.Categorical(np.where(a > 0, "yes", "no"), categories=["no", "yes", "never"]),
    "date": lambda a: DAY + _days(a),
    "Int64 with gaps": lambda a: pd.Series(np.round(a)).astype("Int64").mask(a > 1).array,
    "gaps": lambda a: np.where(a > 1, np.nan, a),
    "empty": lambda a: np.full(len(a), np.nan),
    "constant": lambda a: np.ones(len(a)),
    "infinite": lambda a: np.where(a > 1.5, np.inf, a),
    "huge": lambda a: a * 1e300,
    "beyond squares": lambda a: a * 1e160,
    "tiny": lambda a: a * 1e-310,
    "offset": lambda a: 1e12 + a,
    "one outlier": lambda a: np.where(a == a.max(), 1e9, a),
    "mixed": lambda a: np.array([x if x > 0 else "none" for x in a], dtype=object),
    "identifiers": lambda a: np.array([f"id-{i}" for i in range(len(a))]),
    "date with a zone and gaps": lambda a: pd.Series(DAY.tz_localize("Europe/Vienna") + _days(a)).mask(a > 1).array,
    "dates as objects": lambda a: np.array([day.date() for day in DAY + _days(a)], dtype=object),
    "huge integers": lambda a: np.round(9 * a).astype(int) + 2**62,
    "integers beyond 64 bits": lambda a: np.array([10**30 + round(9 * x) for x in a], dtype=object),
    "text with gaps": lambda a: np.array([None if x > 1 else "é\ud800" if x > 0 else "\x00" for x in a], dtype=object),
    "truth with gaps": lambda a: pd.Series(a > 0).astype("boolean").mask(a > 1).array,
    "category of numbers, gaps": lambda a: pd.Categorical([None if x > 1 else round(x) for x in a]),
    "lists": lambda a: pd.Series([[x] for x in a]).array,
    "durations": _days,
    "complex": lambda a: a + 1j,
}

NAMES = ("age", "income", "=cmd()", "a<b>&c", "", " ", "x" * 60, "größe", "日", "entropy", "x0", "a/../b", 7, "\u202e")
REFUSED = {"huge", "mixed", "huge integers", "integers beyond 64 bits", "lists", "durations", "complex"}
TAKEN = tuple(kind for kind in COLUMNS if kind not in REFUSED)
PLAIN = ("normal", "integers", "few levels", "offset", "constant")

# The predictive distribution of rows from one score each, a number between -3 and 3.
ANSWERS: Mapping[str, Callable[[Any], Distribution]] = {
    "two classes": lambda s: families.Categorical(np.column_stack([_p(s), 1 - _p(s)]), classes=["no", "yes"]),
    "three classes": lambda s: families.Categorical(
        np.column_stack([_p(s) / 2, _p(s) / 2, 1 - _p(s)]), classes=[0, 1, 2]
    ),
    "certain classes": lambda s: families.Categorical(np.column_stack([s > 0, s <= 0]).astype(float), classes=[0, 1]),
    "normal": lambda s: families.Normal(s, np.exp(s / 3)),
    "narrow": lambda s: families.Normal(s, np.full(len(s), 1e-12)),
    "constant": lambda s: families.Normal(np.zeros(len(s)), np.ones(len(s))),
    "poisson": lambda s: families.Poisson(np.exp(s)),
    "student": lambda s: families.StudentT(np.full(len(s), 3.0), s, np.ones(len(s))),
    "laplace": lambda s: families.Laplace(s, np.ones(len(s))),
    "gamma": lambda s: families.Gamma(np.exp(s / 3), np.ones(len(s))),
    "quantiles": lambda s: families.Quantiles([0.1, 0.5, 0.9], s[:, None] + np.array([-1.0, 0.0, 2.0])),
    "draws": lambda s: families.Draws(s + np.linspace(-2, 2, 20)[:, None]),
    "zero-inflated": lambda s: families.ZeroInflated(_p(s), families.Poisson(np.exp(s))),
    "mixture": lambda s: families.Mixture([families.Normal(s, np.ones(len(s))), families.Normal(-s, np.exp(s / 2))]),
    "intervals": lambda s: families.Intervals([0.9], s[:, None] - 1, s[:, None] + 1, s),
}


def _p(s: Any) -> Any:
    return 1 / (1 + np.exp(-s))


def scores(X: Any) -> Any:
    """Return a number between -3 and 3 for each row of anything."""
    frame = pd.DataFrame(X)
    total = np.zeros(len(frame))
    for position in range(min(3, frame.shape[1])):
        column = frame.iloc[:, position]
        if pd.api.types.is_numeric_dtype(column) and column.dtype.kind != "c":
            cells = np.nan_to_num(column.to_numpy(dtype=float, na_value=np.nan), posinf=9.0, neginf=-9.0)
        else:
            cells = np.array([len(str(cell)) % 5 - 2.0 for cell in column])
        total += np.clip(cells, -3, 3) / (position + 1)
    return np.clip(total, -3, 3)


@dataclass
class Model:
    """A function from rows to a distribution that does not always behave."""

    answer: str
    behaviour: str
    calls: int = field(default=0, compare=False)

    def __call__(self, X: Any) -> Any:
        self.calls += 1
        return BEHAVIOURS[self.behaviour](self, X)

    def predicted(self, X: Any) -> Distribution:
        """Return what a sound model would."""
        return ANSWERS[self.answer](scores(X))


def _late(model: Model, X: Any) -> Any:
    if model.calls > 4:
        raise ValueError("no <more>\x1b[31m than four calls")
    return model.predicted(X)


def _printing(model: Model, X: Any) -> Any:
    print(SPEAKS)  # noqa: T201 - models do
    warnings.warn(SPEAKS, stacklevel=1)
    return model.predicted(X)


def _mutating(model: Model, X: Any) -> Any:
    predicted = model.predicted(X)
    if isinstance(X, pd.DataFrame):
        X.iloc[:, 0] = X.iloc[:1, 0].to_numpy()[0]
    else:
        X[:, 0] = 0.0
    return predicted


def _stateful(model: Model, X: Any) -> Any:
    return ANSWERS[model.answer](np.clip(scores(X) + model.calls, -3, 3))


def _random(model: Model, X: Any) -> Any:
    return ANSWERS[model.answer](np.clip(scores(X) + np.random.default_rng().normal(size=len(X)), -3, 3))


def _by_batch(model: Model, X: Any) -> Any:
    s = scores(X)
    return ANSWERS[model.answer](np.clip(s - s.mean(), -3, 3))


def _slow(model: Model, X: Any) -> Any:
    time.sleep(0.02)
    return model.predicted(X)


def _broken(error: Exception) -> Callable[[Model, Any], Any]:
    def fails(model: Model, X: Any) -> Any:
        raise error

    return fails


BEHAVIOURS: Mapping[str, Callable[[Model, Any], Any]] = {
    "sound": Model.predicted,
    "late failure": _late,
    "printing": _printing,
    "mutating": _mutating,
    "stateful": _stateful,
    "random": _random,
    "by batch": _by_batch,
    "slow": _slow,
    "few rows": lambda model, X: model.predicted(X[: max(1, len(X) // 2)]),
    "one row more": lambda model, X: ANSWERS[model.answer](np.append(scores(X), 0.0)),
    "nothing": lambda model, X: None,
    "numbers": lambda model, X: scores(X),
    "text": lambda model, X: "0.5",
    "NaN": lambda model, X: families.Normal(np.where(scores(X) > 1, np.nan, 0.0), np.ones(len(X))),
    "infinite": lambda model, X: families.Normal(scores(X), np.where(scores(X) > 1, np.inf, 1.0)),
    "KeyError": _broken(KeyError("age")),
    "RecursionError": _broken(RecursionError()),
    "empty error": _broken(RuntimeError("")),
}
# Models of a library, fitted on the numbers of the rows, and whether y is a class.
FITTED: Mapping[str, tuple[Callable[[], Any], bool]] = {
    "logistic": (LogisticRegression, True),
    "naive": (GaussianNB, True),
    "forest": (lambda: RandomForestClassifier(4, max_depth=3, random_state=0), True),
    "boosted": (lambda: HistGradientBoostingClassifier(max_iter=3), True),
    "forest of numbers": (lambda: RandomForestRegressor(4, max_depth=3, random_state=0), False),
    "process": (lambda: GaussianProcessRegressor(alpha=0.1, optimizer=None), False),
    "bayesian": (BayesianRidge, False),
    "points": (LinearRegression, False),
}


@dataclass(frozen=True)
class Case:
    """Arguments of `explain`, of `audit` and of `render`; the frame's seed and kinds say what X is."""

    model: Any
    given: Mapping[str, Any]
    settings: Mapping[str, Any]
    style: Mapping[str, Any]


@st.composite
def frames(
    draw: st.DrawFn, kinds: tuple[str, ...] = tuple(COLUMNS), most: int = 200, columns: int = 5
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Draw rows, from one up, of columns of all kinds under odd names, and as many to train on."""
    n = min(most, draw(st.sampled_from((60, 90, 25, 200, 1, 2, 8)), label="rows"))
    rng = np.random.default_rng(draw(st.integers(0, 9), label="seed"))
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=columns, unique_by=str), label="names")
    chosen = [draw(st.sampled_from(kinds), label=f"{name!r}") for name in names]
    X = pd.DataFrame({name: COLUMNS[kind](rng.normal(size=2 * n)) for name, kind in zip(names, chosen, strict=True)})
    if len(names) > 1 and draw(st.booleans(), label="last column repeats the first"):
        X[names[-1]] = X[names[0]]
    if draw(st.booleans(), label="one index"):
        X.index = pd.Index([7] * (2 * n))
    return X.iloc[:n], X.iloc[n:]


def labels(answer: str, s: Any, rng: np.random.Generator) -> Any:
    """Return a y that a model of an answer takes."""
    match answer:
        case "two classes":
            return np.where(s + rng.normal(size=len(s)) < 0, "yes", "no")
        case "three classes":
            return rng.integers(0, 3, len(s))
        case "certain classes":
            return (s <= 0).astype(int)
        case "poisson" | "zero-inflated":
            return rng.poisson(np.exp(s))
        case "gamma":
            return rng.gamma(np.exp(s / 3))
        case _:
            return s + rng.normal(size=len(s))


BROKEN_Y: Mapping[str, Callable[[Any], Any]] = {
    "none": lambda y: None,
    "one value": lambda y: np.repeat(y[:1], len(y)),
    "short": lambda y: y[:-1],
    "missing": lambda y: [None, *y[1:]],
    "infinite": lambda y: [np.inf, *y[1:]],
    "text": lambda y: ["a"] * len(y),
    "two columns": lambda y: np.column_stack([y, y]),
}
WEIGHTS: Mapping[str, Callable[[Any, np.random.Generator], Any]] = {
    "random": lambda X, rng: rng.random(len(X)),
    "half of them zero": lambda X, rng: np.arange(len(X)) % 2,
    "one row's": lambda X, rng: (np.arange(len(X)) == 0) * 1e9,
    "zero": lambda X, rng: np.zeros(len(X)),
    "negative": lambda X, rng: -np.ones(len(X)),
    "missing": lambda X, rng: np.full(len(X), np.nan),
}
MORE: Mapping[str, Callable[[Any, np.random.Generator], Any]] = {
    "clusters": lambda X, rng: rng.integers(0, 9, len(X)),
    "time": lambda X, rng: np.arange(len(X)),
    "protected": lambda X, rng: {"sex": rng.integers(0, 2, len(X))},
    "groups": lambda X, rng: {"both": [str(name) for name in X.columns[:2]]},
    "max_rows": lambda X, rng: 40,
}
OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "pfi": {"n_repeats": 3},
    "pdp": {"grid_resolution": 4, "max_ice": 5},
    "ale": {"n_bins": 5},
    "calibration": {"n_draws": 99},
    "shap": {"n_rows": 4, "n_background": 4, "n_permutations": 4},
    "dalex": {"n_repeats": 2, "grid_points": 3, "n_background": 10, "max_rows": 50, "n_paths": 3},
    "agreement": {"n_draws": 100},
    "groups": {"n_draws": 99},
    "h_statistic": {"max_rows": 10},
    "rsens": {"max_rows": 20},
}
SETTINGS: Mapping[str, tuple[Any, ...]] = {
    "seed": (0, 1, 2**40),
    "confidence": (0.95, 0.51, 0.999999),
    "batch_rows": (None, 1, 7, 10_000),
    "row_budget": (None, 1, 500, 10**9),
    "time_limit": (None, 1e-6, 0.2, 1e9),
    "fast_paths": (True, False),
    "waivers": ((), ({"code": "UQ101", "owner": "me", "reason": "<known>", "expires": "2027-01-01"},)),
    "about": ({}, {"title": "=1+1 <script>", "status": "final"}),
    "deny": ((), ("html_nothing",), ("checks.calibration",)),
}


_seldom = st.integers(0, 3).map(lambda number: number == 3)


def _some(draw: st.DrawFn, choices: Mapping[str, Any], most: int, label: str) -> list[str]:
    return draw(st.lists(st.sampled_from(tuple(choices)), max_size=most, unique=True), label=label)


def _plain(X: pd.DataFrame) -> bool:
    """Say whether any model of a library can be fitted on rows."""
    names = len(X) > 1 and all(isinstance(name, str) for name in X.columns)
    numbers = all(isinstance(dtype, np.dtype) and dtype.kind in "if" for dtype in X.dtypes)
    return names and numbers and bool(np.all(np.abs(X.to_numpy()) < 1e15))


@st.composite
def models(draw: st.DrawFn, train: pd.DataFrame) -> tuple[Any, Callable[[Any], Any], dict[str, Any]]:
    """Draw a model, a function from rows to a y that it takes, and what `explain` needs to know."""
    rng = np.random.default_rng(len(train))
    if _plain(train) and draw(st.booleans(), label="fitted"):
        make, classes = FITTED[draw(st.sampled_from(tuple(FITTED)), label="model")]
        answer = "three classes" if classes else "normal"
        y = labels(answer, scores(train), rng)
        more = {} if classes else {"residuals": draw(st.sampled_from((None, "normal", "empirical")))}
        y[:2] = 0, 1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = make().fit(train, y)
        return fitted, lambda X: labels(answer, scores(X), rng), {"train": (train, y), **more}
    behaviour = draw(st.one_of(st.just("sound"), st.sampled_from(tuple(BEHAVIOURS))), label="behaviour")
    model = Model(draw(st.sampled_from(tuple(ANSWERS)), label="answer"), behaviour)
    given: dict[str, Any] = {"stochastic": "members"} if behaviour == "random" and draw(st.booleans()) else {}
    if draw(st.booleans(), label="train"):
        given["train"] = (train, labels(model.answer, scores(train), rng))
    return model, lambda X: labels(model.answer, scores(X), rng), given


@st.composite
def cases(draw: st.DrawFn, renderers: tuple[str, ...]) -> Case:
    """Draw a whole audit; about half of them have something broken in the model or the arguments."""
    X, train = draw(frames(draw(st.sampled_from((PLAIN, PLAIN, tuple(COLUMNS))), label="kinds")))
    if draw(st.booleans(), label="names are text"):
        X, train = (rows.set_axis(rows.columns.astype(str), axis=1) for rows in (X, train))
    model, outcome, given = draw(models(train))
    rng = np.random.default_rng(len(X))
    y = outcome(X)
    given |= {"X": X, "y": BROKEN_Y[draw(st.sampled_from(tuple(BROKEN_Y)))](y) if draw(_seldom, label="y") else y}
    given |= {key: MORE[key](X, rng) for key in _some(draw, MORE, 2, "more")}
    if draw(_seldom, label="weighted"):
        given["sample_weight"] = WEIGHTS[draw(st.sampled_from(tuple(WEIGHTS)), label="weights")](X, rng)
    settings = {key: draw(st.sampled_from(SETTINGS[key]), label=key) for key in _some(draw, SETTINGS, 2, "settings")}
    every = tuple(plugin.name for plugin in plugins.find(plugins.EXPLAINERS))
    explainers = draw(st.one_of(st.none(), st.lists(st.sampled_from(every), min_size=1, max_size=4, unique=True)))
    chosen = {name: dict(OPTIONS[name]) for name in OPTIONS if explainers is None or name in explainers}
    style = {
        "format": draw(st.sampled_from(renderers), label="format"),
        "template": draw(st.sampled_from(("audit", "brief", "model-card")), label="template"),
        "appendix": draw(st.sampled_from(("none", "short", "full")), label="appendix"),
    }
    return Case(model, given, {"explainers": explainers, "options": chosen, **settings}, style)


@st.composite
def tables(draw: st.DrawFn) -> Case:
    """Draw an audit of a sound model by all explainers of an odd table: a name may stand twice, rows may be empty."""
    kinds = tuple(COLUMNS) if draw(_seldom, label="columns to be refused") else TAKEN
    X, train = draw(frames(kinds, most=60, columns=9))
    X, train = (rows.set_axis(rows.columns.astype(str), axis=1) for rows in (X, train))
    if len(X.columns) > 1 and draw(_seldom, label="a name twice"):
        X, train = (rows.set_axis([*rows.columns[:-1], rows.columns[0]], axis=1) for rows in (X, train))
    if draw(_seldom, label="a row without values"):
        X = X.mask(np.broadcast_to(np.arange(len(X))[:, None] == len(X) // 2, X.shape))
    model, rng = Model(draw(st.sampled_from(("two classes", "normal"))), "sound"), np.random.default_rng(len(X))
    given: dict[str, Any] = {"X": X, "y": labels(model.answer, scores(X), rng)}
    if draw(st.booleans(), label="train"):
        given["train"] = (train, labels(model.answer, scores(train), rng))
    style = {"format": "html", "template": "audit", "appendix": "short"}
    return Case(model, given, {"explainers": None, "options": OPTIONS}, style)
