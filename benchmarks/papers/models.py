"""Models of the sources that scikit-learn has not: torch networks with random weights, and a gpytorch process."""

from __future__ import annotations

import itertools
from typing import Any

import gpytorch
import numpy as np
import torch
from torch import distributions, nn

from uq_report.core.support.arrays import FloatArray

Module: Any = nn.Module
ExactGP: Any = gpytorch.models.ExactGP


class Scaled(Module):  # type: ignore[misc]  # torch is Any to mypy
    """Two hidden layers of 100 units on standardised inputs."""

    def __init__(self, X: FloatArray, outputs: int, layer: Any = nn.Linear, dropout: float = 0.0) -> None:
        super().__init__()
        self.register_buffer("centre", torch.tensor(X.mean(axis=0), dtype=torch.float32))
        self.register_buffer("size", torch.tensor(X.std(axis=0), dtype=torch.float32))
        widths, parts = (X.shape[1], 100, 100, outputs), []
        for before, after in itertools.pairwise(widths):
            parts += [layer(before, after), nn.ReLU(), nn.Dropout(dropout)]
        self.body = nn.Sequential(*parts[:-2])

    def scores(self, rows: Any) -> Any:
        """Return the output of the last layer."""
        return self.body((rows.float() - self.centre) / self.size)


class DropoutNetwork(Scaled):
    """Monte Carlo dropout with a noise precision τ (Wood et al., appendix B.4), in units of the standardised target."""

    def __init__(self, X: FloatArray) -> None:
        super().__init__(X, 1, dropout=0.1)
        self.log_precision = nn.Parameter(torch.zeros(()))

    def forward(self, rows: Any) -> Any:
        """Return the distribution of a random network."""
        mean = self.scores(rows)[:, 0]
        return distributions.Normal(mean, torch.exp(-0.5 * self.log_precision).expand_as(mean))


def dropout_network(X: FloatArray, y: FloatArray, seed: int, epochs: int) -> Any:
    """Train by stochastic gradient descent, and tune τ on a tenth of the observations."""
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(X))
    kept, fit = order[: len(X) // 10], order[len(X) // 10 :]
    rows, target = (torch.tensor(part, dtype=torch.float32) for part in (X, y))
    model = DropoutNetwork(X)
    optimiser = torch.optim.SGD(model.body.parameters(), lr=0.1)
    for _ in range(epochs):
        for batch in np.array_split(rng.permutation(fit), max(len(fit) // 200, 1)):
            optimiser.zero_grad()
            (model.scores(rows[batch])[:, 0] - target[batch]).square().mean().backward()
            optimiser.step()
    with torch.no_grad():
        draws = torch.stack([model.scores(rows[kept])[:, 0] for _ in range(50)])
    tuner = torch.optim.Adam([model.log_precision], lr=0.05)
    for _ in range(300):
        tuner.zero_grad()
        law = distributions.Normal(draws, torch.exp(-0.5 * model.log_precision))
        (-torch.logsumexp(law.log_prob(target[kept]), 0).mean()).backward()
        tuner.step()
    return model.eval()


class RandomLinear(Module):  # type: ignore[misc]
    """A layer with a normal distribution over each weight and bias (Bayes by backprop), prior standard deviation 0.5."""

    def __init__(self, before: int, after: int) -> None:
        super().__init__()
        self.mean = nn.Parameter(torch.randn(after, before + 1) / before**0.5 * 0.5)
        self.raw = nn.Parameter(torch.full((after, before + 1), -4.0))

    def forward(self, rows: Any) -> Any:
        """Return the output with weights that are drawn at each call."""
        size = nn.functional.softplus(self.raw)
        weights = self.mean + size * torch.randn_like(size)
        return rows @ weights[:, :-1].T + weights[:, -1]

    def divergence(self) -> Any:
        """Return the Kullback-Leibler divergence from the prior."""
        size = nn.functional.softplus(self.raw)
        return (torch.log(0.5 / size) + (size**2 + self.mean**2) / 0.5 - 0.5).sum()


class BayesNetwork(Scaled):
    """Two classes from a network whose weights are drawn at each call (appendix B.3)."""

    def __init__(self, X: FloatArray) -> None:
        super().__init__(X, 2, RandomLinear)

    def forward(self, rows: Any) -> Any:
        """Return the classes of a random network."""
        return distributions.Categorical(logits=self.scores(rows))


def bayes_network(X: FloatArray, y: Any, seed: int, epochs: int = 100) -> Any:
    """Train by Adam, learning rate 0.01, on batches of 100."""
    torch.manual_seed(seed)
    model = BayesNetwork(X)
    rows, target = torch.tensor(X, dtype=torch.float32), torch.tensor(np.asarray(y), dtype=torch.long)
    layers = [layer for layer in model.body if isinstance(layer, RandomLinear)]
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(epochs):
        for batch in torch.randperm(len(rows)).split(100):
            optimiser.zero_grad()
            loss = nn.functional.cross_entropy(model.scores(rows[batch]), target[batch])
            (loss + sum(layer.divergence() for layer in layers) / len(rows)).backward()
            optimiser.step()
    return model.eval()


class Process(ExactGP):  # type: ignore[misc]
    """A constant mean and a scaled RBF kernel of one length on standardised inputs (appendix B.1)."""

    def __init__(self, x: Any, y: Any, likelihood: Any) -> None:
        super().__init__(x, y, likelihood)
        self.centre, self.size = x.mean(dim=0), x.std(dim=0)
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

    def forward(self, rows: Any) -> Any:
        """Return the prior at the rows."""
        z = (rows - self.centre) / self.size
        return gpytorch.distributions.MultivariateNormal(self.mean_module(z), self.covar_module(z))


def gaussian_process(X: FloatArray, y: FloatArray, epochs: int) -> Any:
    """Fit an exact process by Adam on its marginal likelihood, learning rate 0.1."""
    torch.manual_seed(0)
    x, target = torch.tensor(X, dtype=torch.float64), torch.tensor(y, dtype=torch.float64)
    model = Process(x, target, gpytorch.likelihoods.GaussianLikelihood()).double()
    model.train()
    optimiser = torch.optim.Adam(model.parameters(), lr=0.1)
    margin = gpytorch.mlls.ExactMarginalLogLikelihood(model.likelihood, model)
    for _ in range(epochs):
        optimiser.zero_grad()
        (-margin(model(x), target)).backward()
        optimiser.step()
    return model.eval()
