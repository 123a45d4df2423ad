"""Runs that hold every built-in result."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

import uq_report as uq
from uq_report import runner, testing
from uq_report.distributions import CategoricalMixture
from uq_report.evidence.run import Run
from uq_report.runner.settings import Settings


def two_members(X: Any) -> CategoricalMixture:
    """An ensemble of two logistic curves."""
    p = 1 / (1 + np.exp(-np.asarray(X) @ [[1.0, 0.5], [-0.5, 1.0]]))
    return CategoricalMixture(np.stack([1 - p, p], axis=2))


@cache
def runs() -> dict[str, Run]:
    normal, logistic, overconfident, *_ = testing.known_runs()
    champion = testing.linear_subject(60)
    challenger = replace(champion, model=testing.KnownLinear((2.0, 0.0, 1.0, 0.0), (0.0,) * 4), label="challenger")
    settings = Settings(explainers=("calibration", "pfi"), as_of="2026-01-01")
    compared = runner.side_by_side(champion, challenger, settings).run
    members = uq.explain(two_members, np.linspace([-2.0, -1.0], [1.0, 2.0], 12))
    return {
        "normal": normal,
        "logistic": logistic,
        "over-confident": overconfident,
        "two models": compared,
        "members": runner.run(members, Settings(explainers=("rsens",), as_of="2026-01-01")).run,
    }
