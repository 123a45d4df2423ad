"""What other libraries are given: outcomes as numbers."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

import uq_report as uq
from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.traits.interop import (
    from_frame,
    global_random_state_restored,
    mean_measure,
    numeric_target,
    to_frame,
)
from uq_report.distributions import Categorical, Gamma, Laplace, Normal

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


MIXED = pd.DataFrame({"n": [1, 2, 3], "yes": [True, False, True], "s": list("uvw")})


@pytest.mark.parametrize("rows", [None, [2, 0]])
def test_rows_are_given_under_their_names_and_numbers(rows: Any) -> None:
    subject = uq.explain(lambda table: Normal(table["n"], 1.0), MIXED.set_axis([7, 8, 9]))
    frame = to_frame(subject, rows)
    expected = MIXED if rows is None else MIXED.iloc[rows]
    pd.testing.assert_frame_equal(frame, expected)
    frame["n"] = 0
    assert subject.values("n").tolist() == [1, 2, 3]
    array = to_frame(uq.explain(lambda table: Normal(table[:, 0], 1.0), X), [1])
    assert (array.columns.tolist(), array.index.tolist(), array.to_numpy().tolist()) == (["x0"], [1], [[1.0]])


def test_truth_values_that_became_numbers_become_such_again() -> None:
    subject = uq.explain(lambda table: Normal(table["n"], 1.0), MIXED)
    back: Any = from_frame(subject, to_frame(subject).assign(yes=[1.0, 0.0, 1.0], n=[1.5, 2.5, 3.5]))
    assert back.dtypes.astype(str).tolist()[:2] == ["float64", "bool"]
    assert back["yes"].tolist() == [True, False, True]
    same: Any = from_frame(subject, to_frame(subject))
    pd.testing.assert_frame_equal(same, MIXED)
    array = uq.explain(lambda table: Normal(table[:, 0], 1.0), X)
    np.testing.assert_array_equal(from_frame(array, to_frame(array)), X)


def test_others_draw_nothing_from_the_global_stream() -> None:
    np.random.seed(3)  # noqa: NPY002 - the global stream is what is guarded
    with global_random_state_restored():
        first = np.random.random(3)  # noqa: NPY002 - as above
    with pytest.raises(ValueError, match="negative dimensions"), global_random_state_restored():
        np.random.random((np.random.randint(1, 9), -1))  # noqa: NPY002 - as above
    np.testing.assert_array_equal(np.random.random(3), first)  # noqa: NPY002 - as above


def test_the_loss_of_what_is_no_prediction_is_its_mean() -> None:
    assert mean_measure(np.array([9.0, 9.0]), np.array([1.0, 4.0])) == 2.5


def test_outcomes_that_are_not_known_are_not_given() -> None:
    assert target(lambda rows: Normal(rows[:, 0], 1.0), None) is None
