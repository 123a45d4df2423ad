"""Awkward columns, names, rows and weights: a right report, or a refusal that names column, row and value."""

from collections.abc import Callable, Mapping
from datetime import date, time
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from ..battery import FEW, N, check_refused, check_right, labels, line, rows

A = rows()["a"].to_numpy()
B = rows()["b"].to_numpy()
AT = np.arange(N)
DAYS = pd.date_range("2026", periods=N)
ODD = "subject.X['odd'] must "
KINDS = f"{ODD}be a number, text, boolean or date; got "
NUMBERS = f"{ODD}hold numbers only, as 39 of its 40 rows do; got "


def column(values: Any) -> dict[str, Any]:
    """Return a subject with one more column, which the model does not use."""
    return {"X": rows().assign(odd=values), "y": labels(rows())}


def cell(value: Any) -> dict[str, Any]:
    """Return a subject with a column of numbers that has one odd cell in row 7."""
    cells = AT.astype(float).tolist()
    return column(pd.Series([*cells[:7], value, *cells[8:]], dtype=object))


def fitted(value: Any, model: Any) -> dict[str, Any]:
    """Return a subject whose model uses a column with one odd cell in row 7."""
    X = rows()
    return {"model": model.fit(X, labels(X)), "X": X.assign(b=[*B[:7], value, *B[8:]]), "y": labels(X)}


def boosted() -> Any:
    """Return a model that takes missing and infinite values."""
    return HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=3)


def of_text() -> dict[str, Any]:
    """Return a subject with a column of text in which one cell is no number."""
    given = fitted(1.0, LogisticRegression())
    return given | {"X": rows().assign(b=np.where(AT == 7, "n/a", "1"))}


def named(names: Any) -> dict[str, Any]:
    return {"X": rows().set_axis(names, axis=1), "y": labels(rows())}


def sample(n: int, d: int = 2) -> dict[str, Any]:
    return {"X": rows(n, d), "y": labels(rows(n, d))}


def weighted(weights: Any, **more: Any) -> dict[str, Any]:
    return {**sample(N), "sample_weight": weights, **more}


# every explainer meets these
METHODS: Mapping[str, Callable[[], dict[str, Any]]] = {
    "all missing": lambda: column(np.full(N, np.nan)),
    "constant": lambda: column(1.0),
    "one infinite": lambda: column(np.where(AT == 7, np.inf, B)),
    "all infinite": lambda: column(np.full(N, -np.inf)),
    "infinite, used by the model": lambda: fitted(
        -np.inf, HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=3)
    ),
    "bands": lambda: column(pd.cut(B, [-10, 0, 10])),
    "date, pyarrow": lambda: column(pd.Series(DAYS).astype("timestamp[ns][pyarrow]")),
    "5 rows": lambda: sample(5),
    "one-row bin": lambda: {**sample(N), "X": rows().assign(b=[0.0] * 20 + [1.0] * 19 + [5.0])},
    "weights of half of the rows are zero": lambda: weighted((B > 0).astype(float)),
    "a level without weight": lambda: weighted(
        np.r_[np.zeros(10), np.ones(30)], X=rows().assign(k=["x"] * 10 + ["y"] * 30)
    ),
    "two rows of weight": lambda: weighted(np.r_[1.0, 1.0, np.zeros(N - 2)]),
}
RIGHT: Mapping[str, Callable[[], dict[str, Any]]] = {
    "constant and missing": lambda: column(np.where(A > 0, 1.0, np.nan)),
    "missing, used by the model": lambda: fitted(
        np.nan, HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=3)
    ),
    "None in numbers": lambda: cell(None),
    "all None": lambda: column(pd.Series([None] * N, dtype=object)),
    "all NaT": lambda: column(pd.Series(pd.NaT, index=range(N))),
    "all NA": lambda: column(pd.array([pd.NA] * N, dtype="Int64")),
    "tiny": lambda: column(B * 1e-310),
    "alike to the last bit": lambda: column(np.where(B > 0, 1.0, 1.0 + 2**-52)),
    "decimals": lambda: column([Decimal(i) for i in range(N)]),
    "boolean with NA": lambda: column(pd.Series(B > 0).astype("boolean").mask(A > 1)),
    "Int64 with NA": lambda: column(pd.Series(AT).astype("Int64").mask(A > 1)),
    "category, a level absent": lambda: column(pd.Categorical(np.where(B > 0, "x", "y"), ["x", "y", "z"])),
    "category with missing": lambda: column(pd.Categorical([None if b > 0.5 else "k" if b > 0 else "z" for b in B])),
    "category of numbers and text": lambda: column(pd.Categorical([1 if b > 0 else "y" for b in B])),
    "category of dates": lambda: column(pd.Categorical(DAYS[(B > 0).astype(int)])),
    "date with a zone": lambda: column(pd.date_range("2026", periods=N, tz="Europe/Vienna")),
    "date with NaT": lambda: column(pd.Series(DAYS).mask(A > 0)),
    "Python dates": lambda: column(pd.Series([date(2026, 1, 1 + i % 20) for i in range(N)], dtype=object)),
    "Python times": lambda: column(pd.Series([time(i % 20) for i in range(N)], dtype=object)),
    "text": lambda: column(pd.array(np.where(B > 0, "x", "y"), dtype="string")),
    "one text per row": lambda: column([f"id{i}" for i in range(N)]),
    "blank text": lambda: column([""] * 20 + [" "] * 20),
    "hostile text": lambda: column(["<b>x</b>"] * 20 + ["x\n=cmd|y"] * 20),
    "float16": lambda: column(B.astype("float16")),
    "big-endian": lambda: column(B.astype(">f8")),
    "names that are numbers": lambda: named([0, 1]),
    "empty name": lambda: named(["", "b"]),
    "HTML in a name": lambda: named(["<script>alert(1)</script>", "a&b"]),
    "line breaks in a name": lambda: named(["a\nb", "b\tc\r"]),
    "control characters in a name": lambda: named(["a\x00b", "\x1b[31m\u202e"]),
    "half a character in a name": lambda: named(["\ud800", "😀"]),
    "long name": lambda: named(["x" * 5000, "b"]),
    "name that is a pair": lambda: named(pd.Index([("a", 1), "b"], tupleize_cols=False)),
    "index of one value": lambda: {**sample(N), "X": rows().set_axis([3] * N)},
    "index of two levels": lambda: {
        **sample(N),
        "X": rows().set_index(pd.MultiIndex.from_arrays([AT, AT])),
    },
    "2 rows": lambda: sample(2),
    "2 rows of a regressor": lambda: {"model": line, "X": rows(2), "y": [0.1, 0.2]},
    "1 column": lambda: sample(N, 1),
    "more columns than rows": lambda: sample(6, 8),
    "all rows alike": lambda: {**sample(N), "X": pd.concat([rows(1)] * N)},
    "tiny weights": lambda: weighted(np.full(N, 1e-320)),
    "boolean weights": lambda: weighted(AT % 2 == 0),
}
REFUSED: Mapping[str, tuple[Callable[[], dict[str, Any]], str]] = {
    "text in numbers": (lambda: cell("n/a"), f"{NUMBERS}'n/a' in row 7."),
    "bytes in numbers": (lambda: cell(b"x"), f"{NUMBERS}b'x' in row 7."),
    "date in numbers": (
        lambda: cell(pd.Timestamp("2026-01-01")),
        f"{NUMBERS}Timestamp('2026-01-01 00:00:00') in row 7.",
    ),
    "list in numbers": (lambda: cell([1]), f"{ODD}hold single values; got float, list."),
    "text and truth": (lambda: column(pd.Series([True, "x"] * 20, dtype=object)), "got 'x' in row 1."),
    "dates with and without a zone": (
        lambda: column(pd.Series([pd.Timestamp("2026-01-01", tz="UTC" if i else None) for i in AT], dtype=object)),
        "in row 1 beside Timestamp('2026-01-01 00:00:00') in row 0.",
    ),
    "text where the model wants numbers": (
        of_text,
        "(subject.X has 'n/a' in column 'b', row 7)",
    ),
    "infinite where the model wants none": (
        lambda: fitted(np.inf, LogisticRegression()),
        "subject.X['b'] must be finite for LogisticRegression; got inf in row 7 (1 of 40 rows).",
    ),
    "missing where the model wants none": (
        lambda: fitted(np.nan, LogisticRegression()),
        "subject.X['b'] must have no missing values for LogisticRegression; got none in row 7 (1 of 40 rows).",
    ),
    "huge": (
        lambda: column(np.where(AT == 7, -1e300, B)),
        f"{ODD}be at most 1e+75 in size; got -1e+300 in row 7 (1 of 40",
    ),
    "whole numbers that floats mix up": (
        lambda: column(AT + 2**60),
        f"{ODD}hold whole numbers that floats can tell apart",
    ),
    "timedelta": (lambda: column(pd.to_timedelta(AT, unit="h")), f"{KINDS}timedelta64[ns]. Use .dt.total_seconds()."),
    "period": (
        lambda: column(pd.period_range("2026", periods=N, freq="M")),
        f"{KINDS}period[M]. Use .dt.to_timestamp().",
    ),
    "interval": (lambda: column(pd.arrays.IntervalArray.from_breaks(np.arange(N + 1))), f"{KINDS}interval["),
    "sparse": (lambda: column(pd.arrays.SparseArray(B)), f"{KINDS}Sparse[float64, nan]. Use .sparse.to_dense()."),
    "complex": (lambda: column(B + 1j), f"{ODD}be real; got complex numbers."),
    "no name": (lambda: named([None, "b"]), "must have a name for every column; got none at the positions [0]."),
    "names alike as text": (lambda: named([1, "1"]), "must have unique column names; got ['1'] more than once."),
    "0 rows": (lambda: sample(0), "must have at least one row and one column; got shape (0, 2)."),
    "0 columns": (
        lambda: {**sample(N), "X": rows()[[]]},
        "at least one row and one column; got shape (40, 0).",
    ),
    "1 row": (lambda: sample(1), "audit.X must have at least 2 rows; got 1."),
    "one row of weight": (lambda: weighted(np.eye(N)[3]), "at least 2 rows of positive weight; got 1."),
    "no weight": (lambda: weighted(np.zeros(N)), "not all zero; got 40 zeros."),
    "negative weight": (lambda: weighted(np.where(AT == 3, -1, 1)), "got -1 in row 3 (1 of 40 rows)."),
    "missing weight": (lambda: weighted(np.where(AT == 3, np.nan, 1)), "got nan in row 3 (1 of 40 rows)."),
    "infinite weight": (lambda: weighted(np.where(AT == 3, np.inf, 1)), "got inf in row 3 (1 of 40 rows)."),
    "huge weight": (
        lambda: weighted(np.full(N, 1e307)),
        "must be at most 1e+75 in size; got 1e+307 in row 0",
    ),
}


@pytest.mark.parametrize("name", METHODS)
def test_every_explainer_takes(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    check_right(METHODS[name](), None, capsys)


@pytest.mark.parametrize("name", RIGHT)
def test_an_audit_takes(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    check_right(RIGHT[name](), FEW, capsys)


@pytest.mark.study
@pytest.mark.parametrize("name", RIGHT)
def test_every_explainer_takes_as_well(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    check_right(RIGHT[name](), None, capsys)


@pytest.mark.parametrize("name", REFUSED)
def test_an_audit_refuses(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    make, message = REFUSED[name]
    check_refused(make(), message, capsys)
