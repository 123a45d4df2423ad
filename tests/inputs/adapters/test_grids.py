"""Bar distributions in TabPFN's form, against the arithmetic of its own class; TabPFN itself is not installed."""

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_diabetes

import uq_report as uq
from uq_report.core.support.errors import ModelError
from uq_report.distributions import Histogram
from uq_report.inputs.adapters.quantiles import GridsAdapter

from .whole_audit import whole_audit

torch = pytest.importorskip("torch", reason="TabPFN's bar distributions are torch modules")

Module: Any = torch.nn.Module

FRAME, TARGET = load_diabetes(return_X_y=True, as_frame=True)
FRAME = FRAME[["bmi", "s5"]]
ROWS, OUTCOMES = FRAME[300:360], TARGET[300:360]
BORDERS = np.linspace(0.0, 400.0, 41) + np.sin(np.arange(41))


class FullSupportBarDistribution(Module):  # type: ignore[misc] # torch is Any to mypy
    """The log density of TabPFN's class of this name: uniform bars between half-normal ones at both ends."""

    def __init__(self, borders: Any) -> None:
        super().__init__()
        self.register_buffer("borders", torch.tensor(borders))

    def log_density(self, logits: Any, y: Any) -> Any:
        widths = self.borders[1:] - self.borders[:-1]
        bar = (torch.searchsorted(self.borders, y) - 1).clamp(0, len(widths) - 1)
        log_p = torch.log_softmax(logits, -1)
        inside = (log_p - torch.log(widths)).gather(-1, bar[:, None])[:, 0]
        median = torch.distributions.HalfNormal(1.0).icdf(torch.tensor(0.5, dtype=torch.float64))
        lower, upper = (torch.distributions.HalfNormal(width / median) for width in (widths[0], widths[-1]))
        low = log_p[:, 0] + lower.log_prob((self.borders[1] - y).clamp(min=1e-12))
        high = log_p[:, -1] + upper.log_prob((y - self.borders[-2]).clamp(min=1e-12))
        return torch.where(bar == 0, low, torch.where(bar == len(widths) - 1, high, inside))


class BarDistribution(Module):  # type: ignore[misc] # torch is Any to mypy
    """Bars without tails; only its borders are read."""

    def __init__(self, borders: Any) -> None:
        super().__init__()
        self.register_buffer("borders", torch.tensor(borders))


class Prior:
    """A regressor in TabPFN's form: logits that fall with the squared distance from a line."""

    def __init__(self, criterion: Any, bars: int = 40) -> None:
        self.criterion, self.bars = criterion, bars

    def logits(self, X: Any) -> Any:
        centres = torch.tensor(0.5 * (BORDERS[1:] + BORDERS[:-1]))[: self.bars]
        line = torch.tensor(150.0 + 900.0 * X["bmi"].to_numpy())
        return -(((centres - line[:, None]) / 60.0) ** 2) / 2

    def predict(self, X: Any, *, output_type: str = "mean") -> Any:
        logits = self.logits(X)
        return {"criterion": self.criterion, "logits": logits} if output_type == "full" else logits[:, 0].numpy()


FULL = FullSupportBarDistribution(BORDERS)
ADAPTER = GridsAdapter()


def test_the_log_density_is_that_of_the_models_own_class() -> None:
    dist = ADAPTER.predict(Prior(FULL), ROWS)
    assert isinstance(dist, Histogram)
    for y in (-80.0, 3.0, 120.0, 217.3, 399.0, 480.0):
        at = np.full(60, y)
        own = FULL.log_density(Prior(FULL).logits(ROWS), torch.tensor(at)).numpy()
        np.testing.assert_allclose(dist.log_prob(at), own, rtol=1e-6)


def test_bars_without_tails_end_at_their_borders() -> None:
    dist = ADAPTER.predict(Prior(BarDistribution(BORDERS)), ROWS)
    assert (dist.log_prob(np.full(60, -1.0)) == -np.inf).all()
    np.testing.assert_allclose(dist.cdf(np.full(60, BORDERS[-1])), 1.0)


def test_bar_distributions_are_audited_whole() -> None:
    subject = uq.explain(Prior(FULL), ROWS, OUTCOMES)
    assert subject.adapter_reason == "predict takes output_type: a bar distribution"
    assert whole_audit(subject).subject["family"] == "histogram"


def test_other_outputs_are_refused() -> None:
    class Mean(Prior):
        def predict(self, X: Any, *, output_type: str = "mean") -> Any:
            return np.zeros(len(X))

    with pytest.raises(ModelError, match=r"a mapping with criterion and logits; got ndarray without criterion and log"):
        ADAPTER.predict(Mean(FULL), ROWS)
    with pytest.raises(ModelError, match=r"logits of shape \(60, 40\), one for each bar; got \(60, 39\)"):
        ADAPTER.predict(Prior(FULL, bars=39), ROWS)


def test_only_regressors_that_take_an_output_type_match() -> None:
    named = type("TabPFNRegressor", (Prior,), {"__module__": "tabpfn.regressor"})(FULL)
    match = ADAPTER.matches(named)
    assert match is not None
    assert match.distance == 0
    classifier = type("Both", (Prior,), {"predict_proba": lambda self, X: X})(FULL)
    assert [ADAPTER.matches(other) for other in (classifier, Prior, object(), np.zeros(3))] == [None] * 4
