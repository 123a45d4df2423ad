"""Ensembles of regressors: normal members, the law of total variance, and points where no density is."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_regression
from sklearn.ensemble import BaggingRegressor, ExtraTreesRegressor, RandomForestRegressor, VotingRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.linear_model import BayesianRidge, LinearRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from uq_report.core.support.errors import InputError
from uq_report.distributions import NormalMixture
from uq_report.inputs.adapters.ensemble import EnsembleAdapter

ADAPTER = EnsembleAdapter()
X, Y = make_regression(200, 4, noise=10.0, random_state=0)
NEW = np.random.default_rng(1).normal(size=(25, 4))
FEW: dict[str, Any] = {"n_estimators": 10, "random_state": 0}


def predict(model: Any, rows: Any = NEW, noise: float = 0.0) -> NormalMixture:
    dist = EnsembleAdapter(noise_variance=noise).predict(model, rows)
    assert isinstance(dist, NormalMixture)
    return dist


def leaf_moments(tree: Any, training: Any, rows: Any) -> tuple[Any, Any]:
    """Return mean and variance of the training y that share each row's leaf, one row at a time.

    Without bootstrap, so that every tree has seen every training row once.
    """
    own, leaves = tree.apply(training), tree.apply(rows)
    moments = [(Y[own == leaf].mean(), Y[own == leaf].var()) for leaf in leaves]
    return tuple(np.array(moments).T)


@pytest.mark.parametrize("criterion", ["squared_error", "friedman_mse"])
@pytest.mark.filterwarnings("ignore:.*friedman_mse.*:FutureWarning")  # newer versions of scikit-learn rename it
def test_variance_splits_as_the_leaves_say(criterion: str) -> None:
    """Var(y) = mean of leaf variances + variance of leaf means, over the trees."""
    model = ExtraTreesRegressor(min_samples_leaf=5, criterion=criterion, **FEW).fit(X, Y)
    moments = [leaf_moments(tree, X, NEW) for tree in model.estimators_]
    means, variances = np.array([m for m, _ in moments]), np.array([v for _, v in moments])
    dist = predict(model)
    assert not dist.points
    np.testing.assert_allclose(dist.mean(), model.predict(NEW), rtol=1e-12)
    np.testing.assert_allclose(dist.mean(), means.mean(axis=0), rtol=1e-9)
    np.testing.assert_allclose(dist.aleatoric_variance(), variances.mean(axis=0), rtol=1e-9)
    np.testing.assert_allclose(dist.epistemic_variance(), means.var(axis=0), rtol=1e-9)
    np.testing.assert_allclose(dist.variance(), variances.mean(axis=0) + means.var(axis=0), rtol=1e-9)


def test_bootstrapped_forest_keeps_the_forests_own_mean() -> None:
    model = RandomForestRegressor(min_samples_leaf=4, **FEW).fit(X, Y)
    np.testing.assert_allclose(predict(model).mean(), model.predict(NEW), rtol=1e-12)


def test_single_rows_in_leaves_leave_points_and_name_the_remedy() -> None:
    model = RandomForestRegressor(**FEW).fit(X, Y)
    dist = predict(model)
    assert dist.points
    assert not {"entropy", "log_prob"} & dist.supports
    assert "variance" in dist.supports
    assert "min_samples_leaf, or lay a distribution over the mean with residuals='oob'" in dist.why_not("entropy")


def test_noise_variance_makes_a_density_and_adds_to_every_member() -> None:
    model = RandomForestRegressor(**FEW).fit(X, Y)
    without, noisy = predict(model), predict(model, noise=25.0)
    assert not noisy.points
    np.testing.assert_allclose(noisy.aleatoric_variance(), without.aleatoric_variance() + 25.0, rtol=1e-12)
    np.testing.assert_allclose(noisy.epistemic_variance(), without.epistemic_variance(), rtol=1e-12)
    assert np.isfinite(noisy.entropy()).all()


def test_one_leaf_anywhere_decides_not_the_rows_asked() -> None:
    model = RandomForestRegressor(1, max_leaf_nodes=8, bootstrap=False, random_state=0)
    y = Y.copy()
    y[:20] = 1e4  # a pure leaf
    rows = X.copy()
    rows[:20, 0] += 50.0
    model.fit(rows, y)
    dist = predict(model, rows[100:120])
    assert (dist.stds > 0).all()
    assert dist.points


@pytest.mark.parametrize("copies", [1, 50, 5000])
@pytest.mark.parametrize("size", [1.0, 1e6, 1e-6])
def test_pure_leaves_of_any_size_are_points(size: float, copies: int) -> None:
    """mean(y^2) - mean(y)^2 of equal y is rounding, not spread."""
    y = size * np.repeat([1.1, 3.3, 7.7, 1000.1], copies)
    model = RandomForestRegressor(**FEW).fit(np.repeat(np.eye(4), copies, axis=0), y)
    assert copies == 1 or any((tree.tree_.impurity[tree.apply(np.eye(4))] != 0).any() for tree in model.estimators_)
    dist = predict(model, np.eye(4))
    assert dist.points
    np.testing.assert_array_equal(dist.stds, 0.0)


@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_small_spread_in_leaves_is_kept(offset: float) -> None:
    """A spread of 1e-2 beside values of 1e4 is above rounding: 1e-12 of y^2, where 2e-16 * 200 is rounding."""
    y = offset + np.repeat([1.0, 2.0], 100) + np.tile([-1e-2, 1e-2], 100)
    model = ExtraTreesRegressor(max_leaf_nodes=2, **FEW).fit(np.repeat(np.eye(2), 100, axis=0), y)
    dist = predict(model, np.eye(2))
    assert not dist.points
    np.testing.assert_allclose(dist.stds, 1e-2, rtol=1e-2)


@pytest.mark.parametrize("options", [{"criterion": "absolute_error"}, {"monotonic_cst": [1, 0, 0, 0]}])
def test_impurity_that_is_no_variance_is_not_taken_for_one(options: dict[str, Any]) -> None:
    model = RandomForestRegressor(min_samples_leaf=5, **options, **FEW).fit(X, Y)
    dist = predict(model)
    assert dist.points
    np.testing.assert_array_equal(dist.stds, 0.0)
    np.testing.assert_allclose(dist.mean(), model.predict(NEW), rtol=1e-12)


def test_bagged_trees_are_a_forest() -> None:
    model = BaggingRegressor(max_features=0.5, **FEW).fit(X, Y)
    dist = predict(model, noise=1.0)
    np.testing.assert_allclose(dist.mean(), model.predict(NEW), rtol=1e-12)


def test_bagged_processes_give_their_own_std() -> None:
    kernel = RBF(2.0, "fixed") + WhiteKernel(0.1, "fixed")
    member = make_pipeline(StandardScaler(), GaussianProcessRegressor(kernel, normalize_y=True))
    model = BaggingRegressor(member, max_features=0.75, max_samples=0.3, n_estimators=4, random_state=0).fit(X, Y)
    pairs = zip(model.estimators_, model.estimators_features_, strict=True)
    means, stds = np.array([m.predict(NEW[:, features], return_std=True) for m, features in pairs]).swapaxes(0, 1)
    dist = predict(model, noise=4.0)
    np.testing.assert_allclose(dist.mean(), model.predict(NEW), rtol=1e-9)
    np.testing.assert_allclose(dist.aleatoric_variance(), (stds**2).mean(axis=0) + 4.0, rtol=1e-9)
    np.testing.assert_allclose(dist.epistemic_variance(), means.var(axis=0), rtol=1e-7)


def test_votes_are_weighted_and_points_stay_points() -> None:
    members = [("ridge", BayesianRidge()), ("gone", LinearRegression()), ("forest", RandomForestRegressor(**FEW))]
    model = VotingRegressor(members, weights=[3, 9, 1]).set_params(gone="drop").fit(X, Y)
    dist = predict(model)
    np.testing.assert_allclose(dist.mean(), model.predict(NEW), rtol=1e-12)
    assert dist.points
    (ridge, std), forest = model.estimators_[0].predict(NEW, return_std=True), model.estimators_[1].predict(NEW)
    np.testing.assert_allclose(dist.aleatoric_variance(), 0.75 * std**2, rtol=1e-12)
    np.testing.assert_allclose(dist.epistemic_variance(), 0.75 * 0.25 * (ridge - forest) ** 2, rtol=1e-9)


def test_votes_of_members_with_std_have_a_density() -> None:
    dist = predict(VotingRegressor([("a", BayesianRidge()), ("b", BayesianRidge(max_iter=5))]).fit(X, Y))
    assert not dist.points
    assert np.isfinite(dist.entropy()).all()


def test_every_wrapper_gives_the_mixture_of_the_forest_it_holds() -> None:
    forest = RandomForestRegressor(min_samples_leaf=5, **FEW)
    bare = make_pipeline(StandardScaler(), forest).fit(X, Y)
    expected = predict(bare)
    for model in (GridSearchCV(bare, {}, cv=2), make_pipeline(StandardScaler(), GridSearchCV(forest, {}, cv=2))):
        dist = predict(model.fit(X, Y))
        np.testing.assert_allclose(dist.mean(), model.predict(NEW), rtol=1e-12)
        np.testing.assert_allclose(dist.variance(), expected.variance(), rtol=1e-12)


FRAME = pd.DataFrame(X, columns=list("abcd"))


@pytest.mark.parametrize("model", [RandomForestRegressor(**FEW), BaggingRegressor(**FEW)], ids=["forest", "bagging"])
def test_columns_in_another_order_are_refused(model: Any) -> None:
    model.fit(FRAME, Y)
    np.testing.assert_allclose(predict(model, FRAME).mean(), model.predict(FRAME), rtol=1e-12)
    with pytest.raises(InputError, match=r"X must have the columns"):
        predict(model, FRAME[list("badc")])


@pytest.mark.parametrize(
    ("model", "value"),
    [
        (RandomForestRegressor(**FEW), np.inf),
        (RandomForestRegressor(**FEW), 1e300),  # infinite in the trees' single precision
        (BaggingRegressor(**FEW), np.inf),
    ],
    ids=["forest", "forest, too large", "bagging"],
)
def test_infinite_rows_are_refused_as_the_model_does(model: Any, value: float) -> None:
    rows = NEW.copy()
    rows[3, 1] = value
    with pytest.raises(ValueError, match="infinity"):
        predict(model.fit(X, Y), rows)


def test_rows_an_encoder_left_sparse_reach_the_leaves() -> None:
    frame = pd.DataFrame({"town": np.array([f"t{i}" for i in range(20)])[np.arange(200) % 20], "x": X[:, 0]})
    encoder = make_column_transformer((OneHotEncoder(sparse_output=True), ["town"]), remainder="passthrough")
    for model in (RandomForestRegressor(**FEW), BaggingRegressor(**FEW), BaggingRegressor(Ridge(), **FEW)):
        whole = make_pipeline(encoder, model).fit(frame, Y)
        assert hasattr(whole[0].transform(frame), "tocsr")
        np.testing.assert_allclose(predict(whole, frame).mean(), whole.predict(frame), rtol=1e-12)


def test_missing_values_go_where_the_forest_sends_them() -> None:
    rows = X.copy()
    rows[::7, 2] = np.nan
    model = RandomForestRegressor(min_samples_leaf=5, **FEW).fit(rows, Y)
    np.testing.assert_allclose(predict(model, rows).mean(), model.predict(rows), rtol=1e-12)


@pytest.mark.parametrize("model", [RandomForestRegressor(**FEW), BaggingRegressor(LinearRegression(), **FEW)])
def test_several_outputs_are_refused(model: Any) -> None:
    with pytest.raises(InputError, match="one output at a time"):
        predict(model.fit(X, np.column_stack([Y, -Y])))


def test_rows_per_call_shrink_with_the_members() -> None:
    def rows(members: int) -> int | None:
        return ADAPTER.batch_rows(RandomForestRegressor(members, max_depth=1, random_state=0).fit(X, Y))

    assert [rows(10), rows(32), rows(100), rows(250)] == [80_000, 78_125, 25_000, 10_000]


@pytest.mark.parametrize("value", [-1.0, np.nan, "much"])
def test_noise_variance_must_be_a_variance(value: Any) -> None:
    with pytest.raises(InputError, match=r"ensemble\.noise_variance"):
        EnsembleAdapter(noise_variance=value)
