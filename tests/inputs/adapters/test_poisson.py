"""Count regressors: their prediction is the rate of a Poisson distribution."""

from typing import Any

import numpy as np
import pytest
from scipy.stats import poisson
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import PoissonRegressor
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from uq_report.core.support.errors import InputError
from uq_report.distributions import Poisson
from uq_report.inputs.adapters.glm import PoissonAdapter

ADAPTER = PoissonAdapter()
RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 2))
Y = RNG.poisson(np.exp(0.5 + X[:, 0])).astype(float)
BOOSTED = HistGradientBoostingRegressor(loss="poisson", max_iter=5)


@pytest.mark.parametrize(
    "model",
    [
        PoissonRegressor(),
        make_pipeline(StandardScaler(), PoissonRegressor()),
        GridSearchCV(make_pipeline(StandardScaler(), PoissonRegressor()), {}, cv=2),
        BOOSTED,
        make_pipeline(StandardScaler(), BOOSTED),
    ],
    ids=lambda model: type(model).__name__,
)
def test_prediction_is_the_rate(model: Any) -> None:
    model.fit(X, Y)
    dist = ADAPTER.predict(model, X)
    assert isinstance(dist, Poisson)
    np.testing.assert_allclose(dist.mean(), model.predict(X), rtol=1e-12)
    np.testing.assert_allclose(dist.log_prob(dist.encode(Y)), poisson.logpmf(Y, model.predict(X)), rtol=1e-10)


def test_rates_of_an_exposure_are_refused_as_y() -> None:
    dist = ADAPTER.predict(PoissonRegressor().fit(X, Y), X)
    with pytest.raises(InputError, match="whole numbers"):
        dist.encode(Y / 0.7)


def test_other_losses_do_not_match() -> None:
    assert ADAPTER.matches(HistGradientBoostingRegressor(loss="gamma")) is None


def test_only_trees_take_large_calls() -> None:
    assert ADAPTER.batch_rows(PoissonRegressor()) is None
    assert ADAPTER.batch_rows(BOOSTED) == 80_000
