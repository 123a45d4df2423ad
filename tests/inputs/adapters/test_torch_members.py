"""Torch: dropout, layers that sample, and deep ensembles, each read as the members of a mixture and audited whole."""

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes

import uq_report as uq
from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.support.errors import ModelError
from uq_report.distributions import CategoricalMixture, NormalMixture

from .whole_audit import whole_audit

torch = pytest.importorskip("torch", reason="these tests use torch")
laws, nn = torch.distributions, torch.nn
Module: Any = nn.Module

SHORT = ["pfi", "pdp", "calibration"]


def table(load: Any, columns: list[int]) -> tuple[Any, Any]:
    X, y = load(return_X_y=True)
    X = X[:, columns]
    return (X - X.mean(axis=0)) / X.std(axis=0), y


X, Y = table(load_diabetes, [2, 8])
CANCER, BENIGN = table(load_breast_cancer, [0, 1])
Y = (Y - Y.mean()) / Y.std()


class Regressor(Module):  # type: ignore[misc] # torch is Any to mypy
    """A mean and a standard deviation from one hidden layer, with dropout or with weights that are drawn."""

    def __init__(self, seed: int = 0, dropout: float = 0.0, noise: float = 0.0) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.body = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Dropout(dropout), nn.Linear(16, 2))
        self.noise = noise

    def forward(self, rows: Any) -> Any:
        out = self.body(rows)
        out = out + self.noise * torch.randn(2)  # a layer that samples: one draw a call
        return laws.Normal(out[:, 0], nn.functional.softplus(out[:, 1]) + 0.1)


class Classifier(Regressor):
    """Two classes from the same body."""

    def forward(self, rows: Any) -> Any:
        return laws.Categorical(logits=self.body(rows))


def fitted(model: Any, features: Any, target: Any) -> Any:
    rows = torch.tensor(features[:200], dtype=torch.float32)
    y = torch.tensor(target[:200], dtype=torch.float32)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.05)
    for _ in range(30):
        optimiser.zero_grad()
        (-model(rows).log_prob(y).mean()).backward()
        optimiser.step()
    return model


with torch.random.fork_rng():
    DROPOUT = fitted(Regressor(dropout=0.2), X, Y)
    ENSEMBLE = [fitted(Regressor(seed), X, Y) for seed in range(3)]
    CLASSES = fitted(Classifier(dropout=0.2), CANCER, BENIGN)


def test_dropout_of_a_regression_module_is_the_disagreement_of_members() -> None:
    subject = uq.explain(DROPOUT, X[300:360], Y[300:360], stochastic="members", n_members=4)
    dist = Engine(subject, {}).baseline
    assert isinstance(dist, NormalMixture)
    assert dist.means.shape == (60, 4)
    assert (dist.epistemic_variance() > 0).all()


def test_dropout_of_a_classification_module_is_the_disagreement_of_members() -> None:
    subject = uq.explain(CLASSES, CANCER[300:360], BENIGN[300:360], stochastic="members", n_members=4)
    dist = Engine(subject, {}).baseline
    assert isinstance(dist, CategoricalMixture)
    assert (dist.epistemic() > 0).any()
    whole_audit(subject, explainers=SHORT)


def test_a_layer_that_samples_is_refused_unless_its_draws_are_members() -> None:
    model = Regressor(noise=0.3)
    with pytest.raises(ModelError, match=r"stochastic='members'"):
        uq.explain(model, X[300:360])
    dist: Any = Engine(uq.explain(model, X[300:360], stochastic="members", n_members=50), {}).baseline
    np.testing.assert_allclose(dist.epistemic_variance(), 0.09, rtol=0.7)  # the variance of the 50 draws, of std 0.3
    assert np.ptp(dist.epistemic_variance()) < 1e-6


@pytest.mark.parametrize("form", [list, nn.ModuleList])
def test_a_deep_ensemble_mixes_the_distributions_of_its_modules(form: Any) -> None:
    subject = uq.explain(form(ENSEMBLE), X[300:360], Y[300:360])
    dist = Engine(subject, {}).baseline
    assert isinstance(dist, NormalMixture)
    with torch.no_grad():
        own = [module(torch.tensor(X[300:360], dtype=torch.float32)) for module in ENSEMBLE]
    means, stds = (np.stack([getattr(o, part).numpy() for o in own], axis=1) for part in ("mean", "stddev"))
    np.testing.assert_allclose(dist.aleatoric_variance(), (stds**2).mean(axis=1), rtol=1e-5)
    np.testing.assert_allclose(dist.epistemic_variance(), means.var(axis=1), rtol=1e-4)
    if form is list:
        whole_audit(subject, explainers=SHORT)
