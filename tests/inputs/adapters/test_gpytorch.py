"""gpytorch models against the closed form of a Gaussian process and central differences."""

from typing import Any

import numpy as np
import pytest

from uq_report.core.support.arrays import FloatArray
from uq_report.core.support.errors import InputError
from uq_report.distributions import Normal
from uq_report.inputs.adapters.torch_ import TorchAdapter

torch = pytest.importorskip("torch", reason="the torch adapter reads torch modules")
gpytorch = pytest.importorskip("gpytorch", reason="the torch adapter reads gpytorch models")

ADAPTER = TorchAdapter()
X = np.random.default_rng(0).normal(size=(30, 3))


def exact_gp() -> tuple[Any, FloatArray]:
    """Return a Gaussian process in training mode, as after its training, and rows to ask it for."""

    base: Any = gpytorch.models.ExactGP

    class Process(base):  # type: ignore[misc] # gpytorch is Any to mypy
        def __init__(self, x: Any, y: Any, likelihood: Any) -> None:
            super().__init__(x, y, likelihood)
            self.mean_module = gpytorch.means.ConstantMean()
            self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel(ard_num_dims=3))

        def forward(self, x: Any) -> Any:
            return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

    x = torch.tensor(X)
    y = torch.sin(x[:, 0]) + x[:, 1] * x[:, 2]
    model = Process(x, y, gpytorch.likelihoods.GaussianLikelihood()).double()
    model.covar_module.base_kernel.lengthscale = torch.tensor([1.0, 1.5, 0.8], dtype=torch.float64)
    model.likelihood.noise = 0.05
    return model, np.random.default_rng(1).normal(size=(8, 3))


def test_a_gaussian_process_is_its_closed_form_with_noise() -> None:
    model, rows = exact_gp()
    match = ADAPTER.matches(model)
    assert match is not None
    assert "noise of its likelihood" in match.reason
    scales = model.covar_module.base_kernel.lengthscale.detach().numpy()
    height = model.covar_module.outputscale.item()

    def kernel(a: FloatArray, b: FloatArray) -> FloatArray:
        return np.asarray(height * np.exp(-0.5 * np.square((a[:, None] - b[None]) / scales).sum(axis=2)))

    inverse = np.linalg.inv(kernel(X, X) + 0.05 * np.eye(30))
    across = kernel(rows, X)
    dist = ADAPTER.predict(model, rows)
    assert isinstance(dist, Normal)
    np.testing.assert_allclose(dist.mean(), across @ inverse @ (np.sin(X[:, 0]) + X[:, 1] * X[:, 2]), rtol=1e-7)
    latent = height - np.einsum("ij,jk,ik->i", across, inverse, across)
    np.testing.assert_allclose(dist.variance(), latent + 0.05, rtol=1e-7)
    assert model.training
    assert model.likelihood.training


def test_a_gaussian_process_is_differentiated_twice() -> None:
    model, rows = exact_gp()
    found = ADAPTER.derivatives(model, rows, 2)
    assert found is not None
    assert found.second is not None
    np.testing.assert_allclose(found.values, ADAPTER.predict(model, rows).parameters, rtol=1e-10)
    h = 1e-4
    for j in range(3):
        ahead, behind = (ADAPTER.derivatives(model, rows + s * h * np.eye(3)[j], 1) for s in (1, -1))
        assert ahead is not None
        assert behind is not None
        np.testing.assert_allclose(found.first[:, j], (ahead.values - behind.values) / (2 * h), rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(found.second[:, j], (ahead.first - behind.first) / (2 * h), rtol=1e-5, atol=1e-7)


def test_training_rows_and_a_change_of_parameters_are_answered_freshly() -> None:
    model, _ = exact_gp()
    before = ADAPTER.predict(model, X).variance()  # gpytorch warns of training rows: not an error in an audit
    model.likelihood.noise = 1.0
    assert (ADAPTER.predict(model, X).variance() > before + 0.9).all()


def test_a_process_without_likelihood_is_refused() -> None:
    model, rows = exact_gp()
    model.likelihood = None
    with pytest.raises(InputError, match=r"Process\.likelihood must be a gpytorch likelihood; got NoneType"):
        ADAPTER.predict(model, rows)
