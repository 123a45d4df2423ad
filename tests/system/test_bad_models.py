"""Awkward outcomes, models and containers: a right report, or one refusal that says what to give instead."""

from collections.abc import Callable, Mapping
from decimal import Decimal
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import BayesianRidge, LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from uq_report.distributions import Categorical, Normal

from ..battery import FEW, N, check_refused, check_right, coin, labels, line, rows

Given = Callable[[], dict[str, Any]]
X, Y = rows(), labels(rows())
ARRAY = X.to_numpy()
AT = np.arange(N)
CLASSES = "categorical.y must hold the model's classes, 0, 1; got "


def outcome(y: Any, model: Any = coin) -> dict[str, Any]:
    return {"model": model, "X": X, "y": y}


def of(table: Any) -> dict[str, Any]:
    return {"X": table, "y": Y}


def plus(**more: Any) -> dict[str, Any]:
    return {"X": X, "y": Y, **more}


def proba(change: Callable[[Any], Any]) -> dict[str, Any]:
    """Return a subject whose classifier returns something else than its probabilities."""
    odd = LogisticRegression().fit(X, Y)
    odd.predict_proba = lambda T: change(LogisticRegression.predict_proba(odd, T))
    return {"model": odd, "X": X, "y": Y}


def raising(error: BaseException) -> dict[str, Any]:
    def model(T: Any) -> Any:
        raise error

    return outcome(Y, model)


def known_rows_only(T: Any) -> Categorical:
    """Predict the rows under audit, and none that is changed."""
    if not np.isin(np.asarray(T)[:, 1] + np.asarray(T)[:, 0], ARRAY.sum(axis=1)).all():
        raise RuntimeError("no such row")
    return coin(T)


def writing(T: Any) -> Categorical:
    """Predict, and then write to the rows."""
    dist = coin(T)
    if isinstance(T, pd.DataFrame):
        T.iloc[:, 0] = 0.0
    else:
        T[:, 0] = 0.0
    return dist


def random(T: Any) -> Categorical:
    p = np.random.default_rng().uniform(0.1, 0.9, len(T))
    return Categorical(np.column_stack([1 - p, p]), classes=[0, 1])


def remembering() -> Callable[[Any], Normal]:
    """Return a model that answers each call in another way."""
    calls: list[int] = []

    def model(T: Any) -> Normal:
        calls.append(1)
        return Normal(np.full(len(T), float(len(calls))), np.ones(len(T)))

    return model


def locked(array: Any) -> Any:
    array = array.copy()
    array.flags.writeable = False
    return array


def unseen_level() -> dict[str, Any]:
    levels = pd.DataFrame({"s": np.where(X["a"] > 0, "x", "y")})
    model = make_pipeline(OneHotEncoder(), LogisticRegression()).fit(levels, Y)
    return {"model": model, "X": levels.assign(s=np.where(AT == 5, "q", levels["s"])), "y": Y}


def polars() -> dict[str, Any]:
    library = import_module("polars")
    return {"X": library.DataFrame({"a": ARRAY[:, 0], "b": ARRAY[:, 1]}), "y": library.Series(Y)}


RIGHT: Mapping[str, Given] = {
    "y of one class": lambda: outcome(np.ones(N, dtype=int)),
    "y of booleans": lambda: outcome(Y.astype(bool)),
    "y of floats": lambda: outcome(Y.astype(float)),
    "y of categories": lambda: outcome(pd.Categorical(Y)),
    "y of decimals": lambda: outcome([Decimal(int(v)) for v in Y], line),
    "y with an index of its own": lambda: outcome(pd.Series(Y, index=AT + N)),
    "constant regressor": lambda: outcome(np.ones(N), RandomForestRegressor(3, random_state=0).fit(X, np.ones(N))),
    "fit of a constant": lambda: outcome(np.ones(N), BayesianRidge().fit(X, np.ones(N))),
    "probabilities in a frame": lambda: proba(pd.DataFrame),
    "probabilities as objects": lambda: proba(lambda p: p.astype(object)),
    "probabilities of 0 and 1": lambda: proba(lambda p: np.round(p).astype(int)),
    "probabilities that cannot be written": lambda: proba(locked),
    "probabilities of half the bits": lambda: proba(lambda p: p.astype("float32")),
    "model that knows its rows only": lambda: outcome(Y, known_rows_only),
    "model that writes to its frame": lambda: outcome(Y, writing),
    "model that writes to its array": lambda: {"model": writing, **of(ARRAY)},
    "lists": lambda: {"X": ARRAY.tolist(), "y": Y.tolist()},
    "tuples": lambda: of(tuple(map(tuple, ARRAY))),
    "array that cannot be written": lambda: of(locked(ARRAY)),
    "array by columns": lambda: of(np.asfortranarray(ARRAY)),
    "array with steps": lambda: of(np.repeat(ARRAY, 2, axis=0)[::2]),
    "array of float16": lambda: of(ARRAY.astype("float16")),
    "array of long doubles": lambda: of(ARRAY.astype(np.longdouble)),
    "array of booleans": lambda: of(ARRAY > 0),
    "big-endian array": lambda: of(ARRAY.astype(">f8")),
    "array with missing": lambda: of(np.where(ARRAY > 2, np.nan, ARRAY)),
    "array with infinite": lambda: of(np.where(AT[:, None] * [0, 1] == 7, np.inf, ARRAY)),
    "a cluster for each row": lambda: plus(clusters=AT),
    "one time": lambda: plus(time=np.zeros(N)),
    "protected with missing": lambda: plus(
        protected={"g": [np.nan] * 20 + ["x"] * 20}, audit={"explainers": ["groups"]}
    ),
    "protected with infinite": lambda: plus(protected={"g": [np.inf, 1.0] * 20}, audit={"explainers": ["groups"]}),
    "protected, one per row": lambda: plus(protected={"g": [f"i{k}" for k in AT]}, audit={"explainers": ["groups"]}),
    "training rows with infinite": lambda: plus(train=(X * np.inf, None)),
    "one training row": lambda: plus(train=(rows(1), [1])),
    "no explainers": lambda: plus(audit={"explainers": []}),
    "one row per call": lambda: plus(audit={"batch_rows": 1, "explainers": ["pfi"]}),
    "label with tags": lambda: plus(label="<b>\n"),
}
REFUSED: Mapping[str, tuple[Given, str]] = {
    "y too short": (lambda: outcome(Y[:3]), "subject.y must have one value per row, 40; got 3."),
    "y in another order": (
        lambda: outcome(pd.Series(Y, index=AT[::-1])),
        "explain.y must be in the order of its rows; got the index of X in another order.",
    ),
    "y of one number": (lambda: outcome(1), "subject.y must hold one value per row; got 1, a int."),
    "y of a mapping": (lambda: outcome({"a": 1}), "subject.y must hold one value per row; got {'a': 1}, a dict."),
    "y of lists": (lambda: outcome([[1], [2, 3]] * 20), "explain.y must hold single values"),
    "y with an unknown label": (lambda: outcome(np.where(AT == 9, 7, Y)), f"{CLASSES}7 in 1 of 40 rows."),
    "y with blanks": (lambda: outcome(np.where(Y > 0, "1 ", "0")), f"{CLASSES}'1 ', '0' in 40 of 40 rows."),
    "y with missing": (lambda: outcome(np.where(AT == 9, np.nan, Y)), "got 1 of 40, the first in row 9."),
    "y with None": (lambda: outcome([None, *Y[1:]]), "got 1 of 40, the first in row 0."),
    "y with infinite": (
        lambda: outcome(np.where(AT == 9, np.inf, Y), line),
        "finite; got inf in row 9 (1 of 40 rows).",
    ),
    "y with 1e300": (lambda: outcome(np.where(AT == 9, 1e300, Y), line), "at most 1e+75 in size; got 1e+300 in row 9"),
    "y beyond floats": (
        lambda: outcome(Y + 2**53, line),
        "that floats hold, as those up to 2^53; got 9007199254740993",
    ),
    "y of dates": (
        lambda: outcome(pd.date_range("2026", periods=N)),
        "must hold numbers or labels; got dtype datetime64",
    ),
    "y of text for numbers": (lambda: outcome(Y.astype(str), line), "normal.y must be numbers; got text."),
    "X of a path": (
        lambda: of("data.csv"),
        "got () of the text 'data.csv'. Read the file, or audit it by uq-report run.",
    ),
    "X of a mapping": (lambda: of({"a": [1], "b": [1]}), "got () of dict. Pass pd.DataFrame(X)."),
    "X of records": (lambda: of(X.to_dict("records")), "got (40,) of list. Pass pd.DataFrame(X)."),
    "X of a structured array": (lambda: of(X.to_records(index=False)), "of recarray. Pass pd.DataFrame(X)."),
    "X of a generator": (lambda: of(row for row in ARRAY), "of generator. Pass a DataFrame."),
    "X of three axes": (lambda: of(ARRAY[:, :, None]), "must have shape (rows, features); got (40, 2, 1). Reshape it."),
    "X sparse": (lambda: of(import_module("scipy.sparse").csr_array(ARRAY)), "must be dense; got a sparse csr_array."),
    "X masked": (lambda: of(np.ma.masked_greater(ARRAY, 0.5)), "must have no masked cells; got a masked array."),
    "X of complex numbers": (lambda: of(ARRAY + 1j), "must be numeric as an array; got dtype complex128."),
    "X of objects": (lambda: of(ARRAY.astype(object)), "must be numeric as an array; got dtype object."),
    "X of huge numbers": (lambda: of(ARRAY * 1e300), "subject.X['x0'] must be at most 1e+75 in size; got "),
    "columns of another fit": (
        lambda: {"model": LogisticRegression().fit(X, Y), **of(X.rename(columns={"b": "z"}))},
        "must have the columns that the model was fitted on; got a table without",
    ),
    "level of another fit": (unseen_level, "during transform (subject.X has 'q' in column 's', row 5)"),
    "points": (lambda: outcome(X["a"], LinearRegression().fit(X, X["a"])), "which predicts points. Type:"),
    "no model": (
        lambda: outcome(Y, None),
        "model must give a distribution of the target for every row; got builtins.NoneTyp",
    ),
    "no fit": (lambda: outcome(Y, LogisticRegression()), "LogisticRegression instance is not fitted yet."),
    "one column of probabilities": (
        lambda: proba(lambda p: p[:, 1:]),
        "one column per class in classes_, 2; got 1 columns.",
    ),
    "flat probabilities": (lambda: proba(lambda p: p[:, 1]), "shape (40, classes); got ndarray of shape (40,)."),
    "listed probabilities": (lambda: proba(lambda p: p.tolist()), "shape (40, classes); got list of shape ()."),
    "one probability": (lambda: proba(lambda p: np.array(0.5)), "shape (40, classes); got ndarray of shape ()."),
    "no probabilities": (lambda: proba(lambda p: None), "shape (40, classes); got NoneType of shape ()."),
    "too few probabilities": (lambda: proba(lambda p: p[:-1]), "shape (40, classes); got ndarray of shape (39, 2)."),
    "missing probabilities": (
        lambda: proba(lambda p: np.where(AT[:, None] == 3, np.nan, p)),
        ">= 0; got no number in row 3 (1 of 40",
    ),
    "negative probabilities": (lambda: proba(lambda p: p * [-1, 1]), "probabilities must be finite and >= 0; got -"),
    "probabilities of more than 1": (
        lambda: proba(lambda p: p * 1.1),
        "must sum to 1 within 1e-05 in every row; got 1.1",
    ),
    "probabilities as text": (
        lambda: proba(lambda p: p.astype(str)),
        "LogisticRegression.predict_proba must be numbers; got text.",
    ),
    "complex probabilities": (
        lambda: proba(lambda p: p + 0j),
        "LogisticRegression.predict_proba must be numbers; got complex128.",
    ),
    "nothing": (lambda: outcome(Y, lambda T: None), "must return a distribution of"),
    "one row too many": (
        lambda: outcome(None, lambda T: Normal(np.zeros(len(T) + 1), 1.0)),
        "one distribution per row, 40; got 41",
    ),
    "missing mean": (
        lambda: outcome(None, lambda T: Normal(np.full(len(T), np.nan), 1.0)),
        "normal.mean must be finite; got no number",
    ),
    "huge mean": (
        lambda: outcome(None, lambda T: Normal(np.full(len(T), 1e300), 1.0)),
        "normal.mean must be at most 1e+75 in",
    ),
    "tiny std": (
        lambda: outcome(None, lambda T: Normal(np.zeros(len(T)), 1e-320)),
        "normal.std must be at least 1e-75; got",
    ),
    "error without a word": (lambda: raising(ValueError()), "function failed to predict 40 rows: ValueError"),
    "error of escapes": (lambda: raising(ValueError("\x1b[31mred\x07")), "predict 40 rows: ValueError: [31mred"),
    "error of a key": (lambda: raising(KeyError("age")), "function failed to predict 40 rows: KeyError: 'age'"),
    "error of two lines": (
        lambda: raising(ValueError("one\ntwo")),
        "function failed to predict 40 rows: ValueError: one two",
    ),
    "exit": (lambda: raising(SystemExit(3)), "function failed to predict 40 rows: SystemExit: 3"),
    "random": (lambda: outcome(Y, random), "Its predictions are random: pass stochastic='members'"),
    "state": (lambda: outcome(Y, remembering()), "must predict the same rows alike in every call"),
    "weights of text": (lambda: plus(sample_weight="b"), "subject.sample_weight must be numbers; got str"),
    "time of text": (lambda: plus(time=["yesterday"] * N), "text by ISO 8601 such as 2026-01-31; got 'yesterday'"),
    "protected by number": (lambda: plus(protected=3), "subject.protected must list features of X, or map other names"),
    "groups in a list": (lambda: plus(groups=["a"]), "subject.groups must map names to lists of features; got ['a']."),
    "groups by number": (lambda: plus(groups={"g": 3}), "subject.groups['g'] must list features of X; got 3."),
    "categorical by number": (lambda: plus(categorical=3), "subject.categorical must list features of X; got 3."),
    "max_rows of a half": (lambda: plus(max_rows=2.5), "subject.max_rows must be an integer >= 1; got 2.5."),
    "max_rows of text": (lambda: plus(max_rows="9"), "subject.max_rows must be an integer >= 1; got '9'."),
    "negative seed": (lambda: plus(max_rows=9, seed=-1), "subject.seed must be an integer >= 0; got -1."),
}


@pytest.mark.parametrize("name", RIGHT)
def test_an_audit_takes(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    check_right(RIGHT[name](), FEW, capsys)


def test_an_audit_takes_polars(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("polars")
    check_right(polars(), FEW, capsys)


@pytest.mark.study
@pytest.mark.parametrize("name", RIGHT)
def test_every_explainer_takes(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    check_right(RIGHT[name](), None, capsys)


@pytest.mark.parametrize("name", REFUSED)
def test_an_audit_refuses(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    make, message = REFUSED[name]
    check_refused(make(), message, capsys)
