"""Regressors with a standard deviation: normal, in every wrapper, with honest noise."""

from typing import Any

import numpy as np
import pytest
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import make_regression
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.linear_model import ARDRegression, BayesianRidge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from uq_report.core.support.errors import InputError, ModelError
from uq_report.distributions import Normal
from uq_report.inputs.adapters.ensemble import RegressorStdAdapter

from .typed_lines import typed

ADAPTER = RegressorStdAdapter()
X, Y = make_regression(60, 3, noise=5.0, random_state=0)
NEW = np.random.default_rng(1).normal(size=(7, 3))
LATENT = ConstantKernel(100.0, "fixed") * RBF(2.0, "fixed")
NOISY = LATENT + WhiteKernel(9.0, "fixed")


def process(kernel: Any, **options: Any) -> Any:
    return GaussianProcessRegressor(kernel, optimizer=None, **options).fit(X, Y)


def predict(model: Any, rows: Any = NEW, adapter: RegressorStdAdapter = ADAPTER) -> Normal:
    dist = adapter.predict(model, rows)
    assert isinstance(dist, Normal)
    return dist


class Says:
    """Returns the std it is given."""

    def __init__(self, mean: Any, std: Any) -> None:
        self.mean, self.std = mean, std

    def predict(self, rows: Any, return_std: bool = False) -> Any:
        return (self.mean, self.std) if return_std else self.mean


def test_mean_and_std_are_the_models_own() -> None:
    for model in (BayesianRidge().fit(X, Y), ARDRegression().fit(X, Y), process(NOISY)):
        mean, std = model.predict(NEW, return_std=True)
        dist = predict(model)
        np.testing.assert_array_equal(dist.mean(), mean)
        np.testing.assert_allclose(dist.variance(), std**2, rtol=1e-15)


def test_every_wrapper_gives_the_std_of_what_it_holds() -> None:
    bare = make_pipeline(StandardScaler(), BayesianRidge()).fit(X, Y)
    mean, std = bare.predict(NEW, return_std=True)
    wrapped = (
        bare,
        GridSearchCV(make_pipeline(StandardScaler(), BayesianRidge()), {}, cv=2).fit(X, Y),
        make_pipeline(StandardScaler(), GridSearchCV(BayesianRidge(), {}, cv=2)).fit(X, Y),
        make_pipeline("passthrough", StandardScaler(), make_pipeline(None, BayesianRidge())).fit(X, Y),
    )
    for model in wrapped:
        dist = predict(model)
        np.testing.assert_allclose(dist.mean(), mean, rtol=1e-12)
        np.testing.assert_allclose(np.sqrt(dist.variance()), std, rtol=1e-12)
        assert ADAPTER.batch_rows(model) is None


class TestNoiseOfAGaussianProcess:
    """v(x) = k(x, x) - k' (K + alpha I)^-1 k, with the WhiteKernel's noise in k(x, x) and alpha nowhere."""

    def latent_variance(self, noise: float) -> Any:
        K, k = LATENT(X) + noise * np.eye(len(X)), LATENT(X, NEW)
        return 100.0 - np.einsum("ij,ij->j", k, np.linalg.solve(K, k))

    def test_a_white_kernel_is_in_the_std(self) -> None:
        np.testing.assert_allclose(
            predict(process(NOISY, alpha=0.0)).variance(), self.latent_variance(9.0) + 9.0, rtol=1e-8
        )

    def test_alpha_is_not(self) -> None:
        np.testing.assert_allclose(predict(process(LATENT, alpha=9.0)).variance(), self.latent_variance(9.0), rtol=1e-8)

    def test_noise_variance_adds_it(self) -> None:
        with_alpha = predict(process(LATENT, alpha=9.0), adapter=RegressorStdAdapter(noise_variance=9.0))
        np.testing.assert_allclose(with_alpha.variance(), predict(process(NOISY, alpha=0.0)).variance(), rtol=1e-8)

    @pytest.mark.parametrize(
        ("kernel", "noise", "words"),
        [
            (NOISY, 0.0, "contains the WhiteKernel's noise"),
            (LATENT, 0.0, "without the noise of y"),
            (LATENT, 4.0, "with noise_variance added"),
            (None, 0.0, "without the noise of y"),
        ],
    )
    def test_the_reason_says_which(self, kernel: Any, noise: float, words: str) -> None:
        match = RegressorStdAdapter(noise_variance=noise).matches(process(kernel, alpha=1.0))
        assert match is not None
        assert words in match.reason


def test_std_of_0_names_the_rows_and_the_remedy() -> None:
    with pytest.raises(ModelError, match=r"std > 0 in every row.*2 of 3: rows 0, 2\. Type:"):
        ADAPTER.predict(Says(np.zeros(3), np.array([0.0, 1.0, 0.0])), NEW[:3])
    noisy = predict(Says(np.zeros(2), np.array([0.0, 3.0])), NEW[:2], RegressorStdAdapter(noise_variance=16.0))
    assert noisy.variance().tolist() == [16.0, 25.0]


def test_process_without_noise_has_std_0_at_its_training_rows_and_is_refused() -> None:
    model = process(LATENT, alpha=1e-14)
    with pytest.warns(UserWarning, match="Predicted variances smaller than 0"):
        std = model.predict(X, return_std=True)[1]
    first = np.flatnonzero(std == 0)[0]
    with pytest.warns(UserWarning, match="smaller than 0"), pytest.raises(ModelError, match=f"rows {first}") as error:
        ADAPTER.predict(model, X)
    with pytest.warns(UserWarning, match="smaller than 0"):
        subject = typed(str(error.value), model=model, X=X, y=Y, X_calibration=NEW, y_calibration=np.ones(7))
    assert subject.adapter.noise_variance > 0


@pytest.mark.parametrize("std", [np.nan, np.inf, -1.0])
def test_std_that_is_no_std_names_the_row(std: float) -> None:
    with pytest.raises(ModelError, match=r"1 of 3: rows 1\."):
        ADAPTER.predict(Says(np.zeros(3), np.array([1.0, std, 1.0])), NEW[:3])


def test_mean_that_is_no_number_names_the_row() -> None:
    with pytest.raises(ModelError, match=r"1 of 3: rows 2\."):
        ADAPTER.predict(Says(np.array([0.0, 0.0, np.nan]), np.ones(3)), NEW[:3])


def test_many_bad_rows_are_not_all_listed() -> None:
    with pytest.raises(ModelError, match=r"7 of 7: rows 0, 1, 2, 3, 4 \.\.\."):
        ADAPTER.predict(Says(np.zeros(7), np.zeros(7)), NEW)


def test_tiny_std_is_kept_exactly() -> None:
    std = np.array([2e-75, 1e-3])
    np.testing.assert_array_equal(predict(Says(np.zeros(2), std), NEW[:2]).scale, std)


def test_a_std_whose_powers_are_no_numbers_is_refused() -> None:
    with pytest.raises(InputError, match=r"normal\.std must be at least 1e-75; got 9e-76 in row 0"):
        predict(Says(np.zeros(2), np.array([9e-76, 1e-3])), NEW[:2])


def test_several_outputs_are_refused() -> None:
    model = GaussianProcessRegressor(NOISY, optimizer=None).fit(X, np.column_stack([Y, -Y]))
    with pytest.raises(InputError, match="one output at a time"):
        ADAPTER.predict(model, NEW)


def test_a_transformed_target_leaves_points() -> None:
    inner = TransformedTargetRegressor(BayesianRidge(), func=np.arcsinh, inverse_func=np.sinh)
    for model in (inner, make_pipeline(StandardScaler(), inner), GridSearchCV(inner, {}, cv=2)):
        assert ADAPTER.matches(model.fit(X, Y)) is None


def test_unfitted_process_is_refused_though_it_would_answer() -> None:
    model = GaussianProcessRegressor(NOISY)
    assert model.predict(NEW, return_std=True)[1].shape == (7,)
    with pytest.raises(InputError, match="fitted"):
        ADAPTER.predict(model, NEW)


@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf, "much", True, None])
def test_noise_variance_must_be_a_variance(value: Any) -> None:
    with pytest.raises(InputError, match="noise_variance must be a finite number >= 0"):
        RegressorStdAdapter(noise_variance=value)
