"""Whole audits of functions that return each of the families."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

import uq_report as uq
from uq_report.core.predictive import Distribution
from uq_report.distributions import (
    Beta,
    Discretised,
    Gamma,
    HalfNormal,
    Laplace,
    Logistic,
    LogNormal,
    Mixture,
    NegativeBinomial,
    Normal,
    Poisson,
    Scipy,
    Truncated,
    Weibull,
    ZeroInflated,
)

from .whole_audit import whole_audit

X = np.random.default_rng(0).normal(size=(60, 3))


def level(rows: Any) -> Any:
    return np.exp(0.4 * rows[:, 0])


FAMILIES: dict[str, Callable[[Any], Distribution]] = {
    "log-normal": lambda rows: LogNormal(0.4 * rows[:, 0], 0.5),
    "gamma": lambda rows: Gamma(2.0, level(rows)),
    "Weibull": lambda rows: Weibull(1.5, level(rows)),
    "Laplace": lambda rows: Laplace(rows[:, 0], np.exp(0.2 * rows[:, 1])),
    "logistic": lambda rows: Logistic(rows[:, 0], 0.5),
    "beta": lambda rows: Beta(2 * level(rows), 3.0),
    "half-normal": lambda rows: HalfNormal(level(rows)),
    "negative binomial": lambda rows: NegativeBinomial(2 * level(rows), 3.0),
    "truncated": lambda rows: Truncated(Normal(rows[:, 0], 1.0), lower=-1.0),
    "zero-inflated counts": lambda rows: ZeroInflated(0.3, Poisson(2 * level(rows))),
    "zero-inflated": lambda rows: ZeroInflated(0.3, Gamma(2.0, level(rows))),
    "discretised": lambda rows: Discretised(Normal(3 * rows[:, 0], 2.0)),
    "mixture": lambda rows: Mixture([Laplace(rows[:, 0], 1.0), Logistic(rows[:, 1], 0.5)]),
    "mixture of counts": lambda rows: Mixture([Poisson(level(rows)), NegativeBinomial(3.0 + 0 * rows[:, 0], 2.0)]),
    "scipy": lambda rows: Scipy(stats.gumbel_r(loc=rows[:, 0], scale=1.0)),
}


QUICK = ("zero-inflated", "discretised")
SLOW = [pytest.param(name, marks=pytest.mark.study) for name in FAMILIES if name not in QUICK]


@pytest.mark.parametrize("name", [*QUICK, *SLOW])
def test_a_whole_audit(name: str) -> None:
    def model(rows: Any) -> Distribution:
        return FAMILIES[name](np.asarray(rows))

    y = model(X).sample(np.random.default_rng(1), 1)[0]
    run = whole_audit(uq.explain(model, X, y))
    pfi = next(result for result in run.results if result.id == "pfi")
    assert {"nll", "entropy"} <= set(pfi.frame["measure"])
