"""What other libraries are given: outcomes as numbers."""

from typing import Any

import numpy as np
import pytest

import uq_report as uq
from uq_report.core.distributions import Categorical, Gamma, Laplace, Normal
from uq_report.core.engine import Engine
from uq_report.core.foreign import numeric_target

X = np.arange(8.0)[:, None]
Y = np.linspace(0.5, 4.0, 8)


def target(model: Any, y: Any) -> Any:
    return numeric_target(Engine(uq.explain(model, X, y), {}))


@pytest.mark.parametrize("family", [Normal, Laplace, Gamma])
def test_numbers_are_given_as_they_are(family: Any) -> None:
    """Also of families some of whose parameters must be positive."""
    np.testing.assert_array_equal(target(lambda rows: family(1.0 + rows[:, 0], 2.0), Y), Y)


def test_classes_are_1_where_they_are_the_positive_one() -> None:
    y = np.array([0, 1, 1, 0, 0, 1, 0, 1])
    np.testing.assert_array_equal(target(lambda rows: Categorical(np.full((len(rows), 2), 0.5)), y), y)
