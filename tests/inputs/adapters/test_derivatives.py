"""Derivatives of fitted models: exact ones of class probabilities, differences elsewhere, against the closed form."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from packaging.version import Version
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import (
    RBF,
    DotProduct,
    Matern,
    WhiteKernel,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import ARDRegression, BayesianRidge, LogisticRegression, PoissonRegressor
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler as Standard,
)

from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.model.derivatives import DIFFERENCES, Derivatives
from uq_report.core.model.subject import make_subject
from uq_report.core.support.arrays import FloatArray
from uq_report.inputs.adapters.classifier import ClassifierAdapter
from uq_report.inputs.adapters.ensemble import RegressorStdAdapter
from uq_report.inputs.adapters.glm import PoissonAdapter

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * RNG.normal(size=60)
Q = RNG.normal(size=(7, 3))
ARD = RBF([1.0, 2.0, 0.7])
STENCIL = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}


def differences(f: Callable[[FloatArray], FloatArray], rows: FloatArray, step: float) -> FloatArray:
    """Return ∂f/∂x_d by the eighth-order central stencil, stacked on axis 1."""
    found = []
    for d in range(rows.shape[1]):
        e = np.eye(rows.shape[1])[d] * step
        found.append(sum(c * (f(rows + k * e) - f(rows - k * e)) for k, c in STENCIL.items()) / step)
    return np.stack(found, axis=1)


def relative(found: FloatArray, expected: FloatArray) -> float:
    """Return the largest error of each parameter, in units of its largest derivative."""
    axes = tuple(range(found.ndim - 1))
    return float((np.abs(found - expected).max(axis=axes) / (np.abs(expected).max(axis=axes) + 1e-300)).max())


def check(adapter: Any, model: Any, rows: FloatArray, first: float, second: float, step: float = 2e-3) -> None:
    found = adapter.derivatives(model, rows, 2)
    dist = adapter.predict(model, rows)
    assert np.allclose(found.values, dist.parameters, rtol=1e-9)
    assert np.isfinite(found.first).all()
    assert relative(found.first, differences(lambda T: adapter.predict(model, T).parameters, rows, step)) < first
    by_first = differences(lambda T: adapter.derivatives(model, T, 1).first, rows, step)
    scale = np.abs(found.second).max() + np.abs(found.first).max()
    assert np.abs(found.second - by_first).max() < second * scale
    assert np.allclose(found.second, found.second.swapaxes(1, 2), atol=1e-12 * scale)
    assert np.array_equal(adapter.derivatives(model, rows, 1).first, found.first)


def differenced(adapter: Any, model: Any, rows: FloatArray, order: int = 1) -> Derivatives:
    """Return what an audit takes for the derivatives of a model without a rule."""
    found = Engine(make_subject(model, adapter, rows), {}).derivatives(range(rows.shape[1]), order)
    assert found.method == DIFFERENCES
    return found


@pytest.mark.parametrize("kernel", [ARD * 0.5 + Matern(1.0, nu=1.5), RBF(1.3) * ARD, ARD * DotProduct()], ids=str)
def test_gaussian_processes_have_differences_of_predictions(kernel: Any) -> None:
    model = make_pipeline(Standard(), GaussianProcessRegressor(kernel + WhiteKernel(0.5), optimizer=None)).fit(X, Y)
    adapter = RegressorStdAdapter()
    found = differenced(adapter, model, Q, 2)
    assert np.asarray(found.error).shape == found.first.shape
    assert np.asarray(found.second_error).shape == np.asarray(found.second).shape
    assert relative(found.first, differences(lambda T: adapter.predict(model, T).parameters, Q, 2e-3)) < 1e-8


@pytest.mark.parametrize("model", [BayesianRidge(), ARDRegression()])
def test_bayesian_linear_models(model: Any) -> None:
    """The mean w·x has the slope w, the variance x'Σx + 1/α the slope 2Σx and the bend 2Σ."""
    model.fit(X, X[:, 0] - X[:, 1] + X[:, 2] + 0.2 * Y)
    found = differenced(RegressorStdAdapter(), model, Q, 2)
    centred = Version(sklearn.__version__) >= Version("1.8")  # older versions leave the mean out of the variance
    away = Q - np.asarray(getattr(model, "X_offset_", 0.0)) * centred
    slopes = np.stack([np.broadcast_to(model.coef_, Q.shape), 2 * away @ model.sigma_], axis=2)
    assert relative(found.first, slopes) < 1e-9
    assert found.second is not None
    assert np.abs(found.second[..., 0]).max() < 1e-8
    assert np.abs(found.second[..., 1] - 2 * model.sigma_).max() < 1e-8


def test_poisson_regression_behind_scalers() -> None:
    """The rate exp(w·x + b) has the slope rate w and the bend rate w w', w in units of the raw columns."""
    model = make_pipeline(MaxAbsScaler(), Standard(), PoissonRegressor()).fit(X, np.round(np.abs(Y)))
    found = differenced(PoissonAdapter(), model, Q, 2)
    w = model[-1].coef_ / (model[0].scale_ * model[1].scale_)
    rate = model.predict(Q)
    assert relative(found.first, (rate[:, None] * w)[..., None]) < 1e-9
    assert found.second is not None
    assert relative(found.second, (rate[:, None, None] * np.outer(w, w))[..., None]) < 1e-6


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("model", [LogisticRegression(), LinearDiscriminantAnalysis()])
def test_linear_classifiers(model: Any, classes: int) -> None:
    check(ClassifierAdapter(), model.fit(X, labels(classes)), Q, first=1e-9, second=1e-9)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("activation", ["relu", "tanh", "logistic", "identity"])
def test_perceptrons(activation: str, classes: int) -> None:
    model = MLPClassifier((8, 6), activation=activation, max_iter=60, random_state=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, labels(classes))
    check(ClassifierAdapter(), model, Q, first=1e-8, second=1e-8, step=1e-3)


def labels(classes: int) -> Any:
    return np.digitize(Y, [0.0] if classes == 2 else [-0.5, 0.5])


@pytest.mark.parametrize(
    "steps",
    [
        (Standard(),),
        (Standard(with_std=False), MinMaxScaler()),
        (RobustScaler(with_scaling=False), MaxAbsScaler()),
        (PCA(2, whiten=True), Standard()),
        (SimpleImputer(), SelectKBest(f_regression, k=2)),
        (make_column_transformer((Standard(), [2, 0]), ("passthrough", [1])),),
        (make_column_transformer((make_pipeline(Standard(), PCA()), [2, 0]), ("drop", [1])),),
        (make_column_transformer((MinMaxScaler(), slice(0, 2)), remainder=Standard()),),
    ],
    ids=["one", "two", "robust", "pca", "select", "columns", "nested columns", "remainder"],
)
def test_the_chain_rule_through_preprocessing(steps: tuple[Any, ...]) -> None:
    model = make_pipeline(*steps, LogisticRegression()).fit(X, labels(3))
    check(ClassifierAdapter(), model, Q, first=1e-9, second=1e-9)


@pytest.mark.parametrize("step", [PolynomialFeatures(2), MinMaxScaler(clip=True), KBinsDiscretizer(3)])
def test_columns_that_enter_other_than_affinely_have_no_derivative(step: Any) -> None:
    model = make_pipeline(make_column_transformer((step, [0, 1]), remainder=Standard()), LogisticRegression())
    found = ClassifierAdapter().derivatives(model.fit(X, labels(2)), X, 1)
    assert found is not None
    assert np.isnan(found.first[:, :2]).all()
    slopes = differences(lambda T: ClassifierAdapter().predict(model, T).parameters, X, 2e-3)
    assert relative(found.first[:, 2:], slopes[:, 2:]) < 1e-9


def test_missing_values_that_are_imputed_leave_the_other_rows_their_derivative() -> None:
    holes = np.where(np.arange(60)[:, None] == [3, 5, 7], np.nan, X)
    model = make_pipeline(SimpleImputer(), Standard(), LogisticRegression()).fit(holes, labels(3))
    found = ClassifierAdapter().derivatives(model, holes, 1)
    assert found is not None
    slopes = differences(lambda T: ClassifierAdapter().predict(model, T).parameters, holes, 2e-3)
    present = np.isfinite(holes)
    assert relative(found.first[present], slopes[present]) < 1e-9


def test_an_encoder_of_numbers_that_refuses_others_leaves_no_derivative() -> None:
    coded = np.column_stack([X[:, :2], np.arange(60) % 3])
    encoder = make_column_transformer((OneHotEncoder(), [2]), remainder="passthrough")
    model = make_pipeline(encoder, LogisticRegression()).fit(coded, labels(2))
    found = ClassifierAdapter().derivatives(model, coded, 1)
    assert found is not None
    assert np.isfinite(found.first).all(axis=(0, 2)).tolist() == [True, True, False]


def test_columns_that_an_encoder_takes_have_no_derivative() -> None:
    frame = pd.DataFrame(X, columns=list("abc")).assign(k=np.where(X[:, 0] > 0, "u", "v"))
    encoder = make_column_transformer((OneHotEncoder(), ["k"]), (Standard(), ["b", "a"]), remainder="passthrough")
    model = make_pipeline(encoder, LogisticRegression()).fit(frame, labels(2))
    adapter = ClassifierAdapter()
    found = adapter.derivatives(model, frame, 2)
    assert found is not None
    assert found.second is not None
    assert np.isnan(found.first[:, 3]).all()
    assert np.isnan(found.second[:, 3]).all()

    def by_numbers(T: FloatArray) -> FloatArray:
        return adapter.predict(model, frame.assign(a=T[:, 0], b=T[:, 1], c=T[:, 2])).parameters

    assert relative(found.first[:, :3], differences(by_numbers, X, 2e-3)) < 1e-9


def test_models_without_a_rule() -> None:
    class Own(LogisticRegression):  # type: ignore[misc]
        pass

    assert ClassifierAdapter().derivatives(Own().fit(X, labels(2)), Q, 1) is None
    several = MLPClassifier((4,), max_iter=2000, random_state=0, tol=1e-2).fit(
        X, np.column_stack([labels(2), labels(2)])
    )
    assert ClassifierAdapter().derivatives(several, Q, 1) is None
