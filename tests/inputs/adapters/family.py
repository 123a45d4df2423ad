"""A family of models for a row of docs/models.md, and small real data to fit one on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from sklearn import datasets

import uq_report as uq
from uq_report.core.model.subject import Subject

Data: TypeAlias = Callable[[], tuple[Any, Any]]
TRAIN, TEST = slice(0, 100), slice(100, 220)


class Family(NamedTuple):
    """One row of the table: words for readers, the modules it needs, and a fitted model with its audited rows."""

    words: str
    library: str
    subject: Callable[[], Subject]


def numbers(target: Callable[[Any], Any] = np.asarray) -> tuple[pd.DataFrame, Any]:
    """Return 220 rows of three features of the diabetes data, and its target or a function of it."""
    X, y = datasets.load_diabetes(return_X_y=True, as_frame=True)
    return X.loc[:219, ["bmi", "bp", "s5"]], target(y[:220].to_numpy())


def classes() -> tuple[pd.DataFrame, Any]:
    """Return 220 rows of three features of the breast cancer data, and its two classes."""
    X, y = datasets.load_breast_cancer(return_X_y=True, as_frame=True)
    return X.loc[:219, ["mean texture", "mean area", "mean symmetry"]], y[:220].to_numpy()


def counts(y: Any) -> Any:
    """Return counts made of numbers."""
    return np.floor(y / 25)


def fitted(model: Any, data: Data, **options: Any) -> Subject:
    """Return the subject of a model fitted on the first 100 rows."""
    X, y = data()
    model.fit(X[TRAIN], y[TRAIN])
    return uq.explain(model, X[TEST], y[TEST], train=(X[TRAIN], y[TRAIN]), **options)


def family(
    words: str, library: str, model: Callable[[], Any], data: Callable[[], tuple[Any, Any]], **more: Any
) -> Family:
    """Return a family whose model has scikit-learn's ``fit``."""
    return Family(words, library, lambda: fitted(model(), data, **more))


def amounts() -> tuple[pd.DataFrame, Any]:
    """Return the rows with positive amounts made of their numbers."""
    return numbers(lambda y: y / 100)


def made(words: str, library: str, model: Callable[[Any, Any], Any], data: Data, **more: Any) -> Family:
    """Return a family whose fitted model is made from the training rows by ``model(X, y)``."""

    def subject() -> Subject:
        X, y = data()
        train = X[TRAIN], y[TRAIN]
        return uq.explain(model(*train), X[TEST], y[TEST], train=train, **more)

    return Family(words, library, subject)
