"""A small credit model as a skops file with its tables, for tests of descriptions of audits."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

FEATURES = ["income", "savings", "age", "region"]


def table(n: int, seed: int) -> pd.DataFrame:
    """Return applicants, of whom the poor go bad more often."""
    rng = np.random.default_rng(seed)
    rows = pd.DataFrame(
        {
            "application": np.arange(n),
            "age": rng.integers(18, 80, n),
            "income": rng.normal(size=n),
            "savings": rng.normal(size=n),
            "region": rng.choice(["east", "west"], n),
            "sex": rng.choice(["f", "m"], n),
            "exposure": rng.uniform(1, 2, n),
            "household": np.arange(n) // 2,
        }
    )
    bad = rng.uniform(size=n) < 1 / (1 + np.exp(rows["income"] + rows["savings"]))
    return rows.assign(risk=np.where(bad, "bad", "good"))


def model(train: pd.DataFrame) -> Any:
    """Return a fitted pipeline that lists its features, in another order than the table has."""
    encode = make_column_transformer((OrdinalEncoder(), ["region"]), remainder="passthrough")
    return make_pipeline(encode, LogisticRegression(max_iter=1000)).fit(train[FEATURES], train["risk"])


def write(folder: Path) -> None:
    """Write model.skops, train.csv and test.csv."""
    sio = pytest.importorskip("skops.io", reason="these tests write skops files")
    train = table(120, 0)
    train.to_csv(folder / "train.csv", index=False)
    table(60, 1).to_csv(folder / "test.csv", index=False)
    sio.dump(model(train), folder / "model.skops")
