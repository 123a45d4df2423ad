"""Late parcels: a logistic regression on data drawn from a logistic formula, so that nothing is wrong with it."""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from ...api import explain
from ...core.model.subject import Subject
from ...core.support.arrays import AnyArray
from .filed import filed

TRAINING, AUDITED, SEED = 3000, 700, 0


def subject() -> Subject:
    """Return the subject: standardised numbers, and a column for each carrier."""
    rng = np.random.default_rng(SEED)
    train, audited = _draw(TRAINING, rng), _draw(AUDITED, rng)
    columns = make_column_transformer((OneHotEncoder(), ["carrier"]), remainder=StandardScaler())
    model = make_pipeline(columns, LogisticRegression()).fit(*train)
    return filed(explain(model, *audited, train=train, positive_class="late", label="Logistic regression"))


def _draw(n: int, rng: np.random.Generator) -> tuple[pd.DataFrame, AnyArray]:
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
    return X, np.where(rng.random(n) < 1 / (1 + np.exp(-risk)), "late", "on time")
