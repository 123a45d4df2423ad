"""A model and data made wrong on purpose, so that every theme of the checks has something to say.

Wrong with the data: income is 0 where it is missing, `stated_income` and `years_employed` copy other columns,
`country` is constant, rows are repeated, rows of the training data are audited again, a fifth of the audited rows
have debts that no training row has, and what `campaign` meant in training has turned round since. Wrong with the
model: boosted far past the point of over-fitting, it has learned the reference numbers by heart and is far too
sure of itself. It works worse in the south, whose outcomes are noisier, and it reads the region from the channel.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

from ...api import explain
from ...core.model.subject import Subject
from ...core.support.arrays import AnyArray, FloatArray
from .filed import filed

TRAINING, AUDITED, AGAIN, REPEATED = 900, 700, 60, 40
SEED = 1  # chosen among the first 15: every theme of the checks has a finding

Rows: TypeAlias = tuple[pd.DataFrame, AnyArray]


def subject() -> Subject:
    """Return the faulty subject."""
    rng = np.random.default_rng(SEED)
    X_train, y_train = _draw(TRAINING, rng, campaign=1.0)
    X, y = _draw(AUDITED, rng, campaign=-1.0)
    shifted = rng.permutation(AUDITED)[: AUDITED // 5]
    X.loc[shifted, "debt_ratio"] = np.round(rng.uniform(1.6, 3.0, len(shifted)), 3)
    X = pd.concat([X, X_train.iloc[:AGAIN], X.iloc[:REPEATED]], ignore_index=True)
    y = np.concatenate([y, y_train[:AGAIN], y[:REPEATED]])
    return _explained((X_train, y_train), (X, y))


def before() -> Subject:
    """Return the same model on rows like those it was fitted to: what a first audit would have seen."""
    rng = np.random.default_rng(SEED)
    train = _draw(TRAINING, rng, campaign=1.0)
    return _explained(train, _draw(AUDITED, rng, campaign=1.0))


def _explained(train: Rows, audited: Rows) -> Subject:
    levels = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    model = make_pipeline(
        make_column_transformer((levels, make_column_selector(dtype_include=object)), remainder="passthrough"),
        GradientBoostingClassifier(n_estimators=150, learning_rate=0.2, max_depth=5, random_state=0),
    )
    model.fit(*train)
    explained = explain(
        model,
        *audited,
        train=train,
        protected=("region",),
        positive_class="default",
        label="Over-fitted boosting",
    )
    return filed(explained)


def _draw(n: int, rng: np.random.Generator, campaign: float) -> Rows:
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


def _logistic(z: FloatArray) -> FloatArray:
    result: FloatArray = 1 / (1 + np.exp(-z))
    return result
