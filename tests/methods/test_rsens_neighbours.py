"""Which rows lend their values in R-sens' comparators: those that are alike in all other features."""

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist

from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.model.subject import make_subject
from uq_report.distributions import Normal
from uq_report.inputs.adapters.members import FunctionAdapter
from uq_report.methods.rsens.compare import _Geometry
from uq_report.methods.rsens.estimator import make_sample
from uq_report.testing import measures


@pytest.fixture(scope="module")
def geometry() -> _Geometry:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(40, 3)) @ [[1, 0.6, 0], [0, 1, 0.4], [0, 0, 1]], columns=list("abc"))
    X = X.assign(level=rng.choice(["u", "v", "w"], 40))
    X.loc[:4, "a"] = np.nan
    weights = rng.uniform(0.5, 2, 40)
    subject = make_subject(lambda rows: Normal(np.zeros(len(rows)), 1.0), FunctionAdapter(), X, sample_weight=weights)
    return _Geometry(make_sample(subject, Engine(subject, measures()).bound("rsens"), list(X.columns), 40))


@pytest.mark.parametrize("feature", ["a", "b", "c", "level"])
def test_rows_weigh_by_their_distance_in_all_other_features(geometry: _Geometry, feature: str) -> None:
    """1 / (1 + squared Mahalanobis distance of the other numbers, and 1 for another level); no row without a value."""
    sample = geometry.sample
    weights = sample.sampling.weights
    numbers = [name for name in sample.numeric if name != feature]
    present = {name: sample.has_value(name) for name in sample.numeric}
    centred = np.column_stack(
        [
            np.where(present[f], v - np.average(v[present[f]], weights=weights[present[f]]), 0.0)
            for f in numbers
            for v in [sample.values(f)]
        ]
    )
    inverse = np.linalg.inv((centred * weights[:, None]).T @ centred)
    squared = cdist(centred, centred, "mahalanobis", VI=inverse) ** 2
    if feature != "level":
        codes = sample.values("level")
        squared += codes[:, None] != codes
    known = sample.has_value(feature)
    expected = weights / (1 + squared) * (known[:, None] & known)
    np.fill_diagonal(expected, 0)
    np.testing.assert_allclose(geometry.closeness(feature), expected, rtol=1e-4)


@pytest.mark.parametrize("feature", ["b", "c"])
def test_a_feature_given_the_others_is_its_regression(geometry: _Geometry, feature: str) -> None:
    """The conditional mean of a normal is the weighted least-squares fit, its spread that of the residuals."""
    sample = geometry.sample
    weights = sample.sampling.weights
    y = sample.values(feature)
    columns = [np.ones(40)]
    for name in sample.numeric:
        if name != feature:
            value = sample.values(name)
            known = ~np.isnan(value)
            columns.append(np.where(known, value, np.average(value[known], weights=weights[known])))
    A, root = np.column_stack(columns), np.sqrt(weights)[:, None]
    fitted = A @ np.linalg.lstsq(A * root, y * root[:, 0], rcond=None)[0]
    mean, spread = geometry.conditional(feature)
    np.testing.assert_allclose(mean, fitted, atol=1e-4)
    assert spread == pytest.approx(np.sqrt(np.average(np.square(y - fitted), weights=weights)), rel=1e-4)
