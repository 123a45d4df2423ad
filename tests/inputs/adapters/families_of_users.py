"""Families that users make themselves: lists, torch modules, graphs, functions, and predictions without a model."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.linear_model import BayesianRidge, LinearRegression, LogisticRegression

import uq_report as uq
from uq_report.core.model.subject import Subject
from uq_report.distributions import Categorical, Draws, Laplace, Mixture, Ordinal, Poisson, ZeroInflated
from uq_report.inputs.loaders.model_files import OnnxModel

from .families_of_libraries import grades
from .family import TEST, TRAIN, Family, amounts, classes, counts, made, numbers


def members(X: Any, y: Any) -> list[Any]:
    """Return models of bootstrap samples."""
    rows = np.random.default_rng(0).integers(len(y), size=(3, len(y)))
    return [BayesianRidge().fit(X.iloc[k], y[k]) for k in rows]


def module(dropout: float = 0.0) -> Any:
    """Return how to fit a torch module that gives a normal distribution."""

    def fit(X: Any, y: Any) -> Any:
        torch = import_module("torch")
        base: Any = torch.nn.Module

        class Network(base):  # type: ignore[misc] # torch is Any to mypy
            def __init__(self) -> None:
                super().__init__()
                self.body = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Dropout(dropout))
                self.head = torch.nn.Linear(8, 2)

            def forward(self, rows: Any) -> Any:
                out = self.head(self.body(20 * rows))
                return torch.distributions.Normal(150 + 50 * out[:, 0], 50 * torch.nn.functional.softplus(out[:, 1]))

        with torch.random.fork_rng():
            torch.manual_seed(0)
            network = Network()
            optimiser = torch.optim.Adam(network.parameters(), lr=0.05)
            for _ in range(40):
                optimiser.zero_grad()
                law = network(torch.tensor(X.to_numpy(), dtype=torch.float32))
                (-law.log_prob(torch.tensor(y, dtype=torch.float32)).mean()).backward()
                optimiser.step()
        return network

    return fit


def process(X: Any, y: Any) -> Any:
    """Return an exact Gaussian process of gpytorch."""
    torch, gpytorch = import_module("torch"), import_module("gpytorch")
    base: Any = gpytorch.models.ExactGP

    class Process(base):  # type: ignore[misc] # gpytorch is Any to mypy
        def __init__(self, x: Any, y: Any, likelihood: Any) -> None:
            super().__init__(x, y, likelihood)
            self.mean_module = gpytorch.means.ConstantMean()
            self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

        def forward(self, x: Any) -> Any:
            return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    model = Process(torch.tensor(X.to_numpy()), torch.tensor(y / 100), likelihood).double()
    model.covar_module.base_kernel.lengthscale = 0.05
    model.likelihood.noise = 0.2
    return model


def graph(X: Any, y: Any) -> Any:
    """Return a classifier as an ONNX graph of doubles."""
    types = import_module("skl2onnx.common.data_types")
    kinds = [("X", types.DoubleTensorType([None, 3]))]
    model = LogisticRegression(max_iter=10_000).fit(X.to_numpy(), y)
    converted = import_module("skl2onnx").to_onnx(model, initial_types=kinds, options={id(model): {"zipmap": False}})
    return OnnxModel(converted.SerializeToString())


def ordered(X: Any, y: Any) -> Any:
    """Return a function that gives classes in order."""
    model = LogisticRegression(max_iter=10_000).fit(X, y)
    return lambda rows: Ordinal(model.predict_proba(rows), classes=[0, 1, 2])


def function(distribution: Any) -> Any:
    """Return how to make a function of the rows from ``distribution(mean)``, the mean a linear regression's."""

    def fit(X: Any, y: Any) -> Any:
        line = LinearRegression().fit(X, y)
        return lambda rows: distribution(line.predict(rows))

    return fit


def given() -> Subject:
    """Return the probabilities that a classifier gave the audited rows, without the classifier."""
    X, y = classes()
    model = LogisticRegression(max_iter=10_000).fit(X[TRAIN], y[TRAIN])
    stored = Categorical(model.predict_proba(X[TEST]), classes=model.classes_)
    return uq.explain(stored, X[TEST], y[TEST], train=(X[TRAIN], y[TRAIN]))


NOISE = np.random.default_rng(0).normal(0.0, 55.0, size=(200, 1))

OWN = (
    made("lists of models, deep ensembles", "sklearn", members, numbers),
    made("torch modules that give a `torch.distributions`, here normal", "torch", module(), numbers),
    made("torch modules with dropout, `stochastic=\"members\"`", "torch", module(0.2), numbers,
         stochastic="members", n_members=2),
    made("gpytorch: exact and approximate processes", "gpytorch", process, amounts),
    made("ONNX graphs of classifiers", "skl2onnx onnxruntime", graph, classes),
    made("functions that give `Ordinal`", "sklearn", ordered, partial(numbers, grades)),
    made("functions that give `Mixture`", "sklearn",
         function(lambda mean: Mixture([Laplace(mean, 40.0), Laplace(mean + 10, 60.0)])), numbers),
    made("functions that give `Draws`, from the same random numbers each time", "sklearn",
         function(lambda mean: Draws(mean + NOISE)), numbers),
    made("functions that give `ZeroInflated` counts", "sklearn",
         function(lambda mean: ZeroInflated(0.1, Poisson(np.maximum(mean, 0.5)))), partial(numbers, counts)),
    Family("stored predictions of the audited rows", "sklearn", given),
)  # fmt: skip
