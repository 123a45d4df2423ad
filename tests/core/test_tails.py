"""Moments of the tails of quantile curves, against integrals of their density."""

import numpy as np
import pytest
from scipy import integrate

from uq_report.core.support.arrays import FloatArray
from uq_report.distributions.tables.piecewise import Exponential


def test_the_moments_of_an_exponential_tail_are_integrals() -> None:
    tail = Exponential()

    def log_f(t: float) -> float:
        values: FloatArray = tail.log_density(np.array([t]))
        return float(values[0])

    def mean_of(power: float, factor: int = 0, inside: int = 1) -> float:
        return float(
            integrate.quad(lambda t: t**factor * log_f(t) ** (inside - 1) * np.exp(power * log_f(t)), 0, np.inf)[0]
        )

    assert mean_of(1, 1) == pytest.approx(tail.mean)
    assert mean_of(1, 2) - tail.mean**2 == pytest.approx(tail.variance)
    assert -mean_of(1, 0, 2) == pytest.approx(tail.entropy)
    assert mean_of(2) == pytest.approx(tail.square)
