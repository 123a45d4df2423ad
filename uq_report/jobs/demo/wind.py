"""Power of a wind turbine: an ensemble that splits its uncertainty, on data drawn from a known formula.

Wear makes the power unsteady, more so in strong wind: aleatoric. Training rows with strong wind are few, so that the
members part there: epistemic. The audited rows are drawn by the same formula.
"""

from __future__ import annotations

from typing import Literal, Self, overload

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import BaggingRegressor
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, SplineTransformer, StandardScaler

from ...api import explain
from ...core.model.subject import Subject
from ...core.support.arrays import FloatArray
from .samples import filed

TRAINING, AUDITED, MEMBERS = 1500, 800, 5
SEED = 0
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
    rng = np.random.default_rng(SEED)
    train, audited = _draw(TRAINING, rng), _draw(AUDITED, rng)
    model = BaggingRegressor(MeanAndSpread(), n_estimators=MEMBERS, random_state=0).fit(*train)
    return filed(explain(model, *audited, train=train, label="Ensemble of additive models"))


def _draw(n: int, rng: np.random.Generator) -> tuple[pd.DataFrame, FloatArray]:
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
