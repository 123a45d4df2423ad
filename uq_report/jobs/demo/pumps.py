"""Failing pumps: two sensors carry the same temperature, so that either covers for the other when it is shuffled alone.

Temperature decides most of the risk, vibration less. A forest that may use either sensor at a split leans on both.
Each alone then seems to matter less than vibration; with its partner lost too, either matters more. That is what the
correction for cover is for.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier

from ...api import explain
from ...core.model.subject import Subject
from ...core.support.arrays import AnyArray
from .filed import filed

TRAINING, AUDITED, SEED = 3000, 1000, 0


def subject() -> Subject:
    """Return the subject: 100 trees, leaves of at least 25 rows, two features tried at each split."""
    rng = np.random.default_rng(SEED)
    train, audited = _draw(TRAINING, rng), _draw(AUDITED, rng)
    model = RandomForestClassifier(100, min_samples_leaf=25, max_features=2, random_state=0).fit(*train)
    return filed(explain(model, *audited, train=train, positive_class="fails", label="Random forest"))


def _draw(n: int, rng: np.random.Generator) -> tuple[pd.DataFrame, AnyArray]:
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
    return X, np.where(rng.random(n) < 1 / (1 + np.exp(-risk)), "fails", "runs")
