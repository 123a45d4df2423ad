"""One of several outputs: which are named, which is meant, and its part of what a model returns."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from uq_report.core.support.errors import InputError
from uq_report.core.validation.multioutput import Output, listed, output_column, output_names, output_position, whole

NAMES = ("height", "weight", "1")
FRAME = pd.DataFrame({"height": [1.0, 2.0], "weight": [3.0, 4.0]})


@pytest.mark.parametrize(
    ("Y", "names"),
    [
        (FRAME, ("height", "weight")),
        (FRAME[["height"]], ()),
        (FRAME.to_numpy(), ("0", "1")),
        (np.zeros((4, 1)), ()),
        (np.zeros(4), ()),
        (np.zeros((4, 2, 2)), ()),
        ([[1, 2, 3]], ("0", "1", "2")),
        (None, ()),
    ],
)
def test_outputs_are_named_where_there_are_several(Y: Any, names: tuple[str, ...]) -> None:
    assert output_names(Y) == names


def test_lists_of_different_lengths_are_no_target() -> None:
    with pytest.raises(InputError, match=r"explain\.y must hold single values"):
        output_names([[1, 2], [1]])


@pytest.mark.parametrize(("output", "position"), [("weight", 1), ("1", 2), (0, 0), (2, 2), (np.int64(1), 1)])
def test_an_output_is_meant_by_name_or_position(output: Any, position: int) -> None:
    assert output_position(output, NAMES) == position


@pytest.mark.parametrize("output", ["size", 3, -1, True, 1.0, None])
def test_other_outputs_are_refused(output: Any) -> None:
    with pytest.raises(InputError, match=r"explain\.output must be 'height', 'weight' or '1' or a position below 3"):
        output_position(output, NAMES)


def test_a_name_of_two_outputs_means_neither() -> None:
    with pytest.raises(InputError, match="'a' or 'a' or a position below 2; got 'a'"):
        output_position("a", ("a", "a"))


@pytest.mark.parametrize(("n", "end"), [(1, "'0'"), (2, "'0' or '1'"), (8, "'6' or '7'"), (9, "'7' or 1 more")])
def test_the_first_eight_are_listed(n: int, end: str) -> None:
    words = listed(tuple(map(str, range(n))))
    assert words.endswith(end)
    assert words.count("'") == 2 * min(n, 8)


def test_a_column_is_of_the_kind_of_its_target() -> None:
    assert output_column(FRAME, 1, 2, "y").equals(FRAME["weight"])
    np.testing.assert_array_equal(output_column(FRAME.to_numpy(), 1, 2, "y"), [3.0, 4.0])


@pytest.mark.parametrize("Y", [FRAME, FRAME.to_numpy(), np.zeros(3), np.zeros((3, 3, 1))])
def test_a_target_of_another_number_of_columns_is_refused(Y: Any) -> None:
    with pytest.raises(InputError, match=r"explain\.y must have one column per output, 3; got shape"):
        output_column(Y, 0, 3, "y")


class Model:
    """Predicts what it is given."""

    classes_ = (np.array([0, 1]),)
    n_outputs_ = 2

    def __init__(self, prediction: Any, classes: Any = None) -> None:
        self.prediction = prediction
        if classes is not None:
            self.classes_ = classes

    def predict(self, X: Any) -> Any:
        """Return it."""
        return self.prediction

    def predict_proba(self, X: Any) -> Any:
        """Return it."""
        return self.prediction


BOTH = np.array([[1.0, 2.0], [3.0, 4.0]])


def test_each_method_returns_the_part_of_its_output() -> None:
    np.testing.assert_array_equal(Output(Model(BOTH), 1).predict(None), [2.0, 4.0])
    np.testing.assert_array_equal(Output(Model(pd.DataFrame(BOTH)), 0).predict(None), [1.0, 3.0])
    mean, spread = Output(Model((BOTH, 10 * BOTH)), 1).predict(None)
    np.testing.assert_array_equal([mean, spread], [[2.0, 4.0], [20.0, 40.0]])
    np.testing.assert_array_equal(Output(Model([BOTH, -BOTH]), 1).predict_proba(None), -BOTH)


def test_all_else_is_the_model_s_own() -> None:
    model = Model(BOTH, classes=[["a", "b"], ["c", "d"]])
    output = Output(model, 1)
    assert (output.classes_, output.n_outputs_, output.predict.__doc__) == (["c", "d"], 2, "Return it.")
    assert Output(Model(BOTH), 1).classes_ is Model.classes_
    assert whole(output) is whole(model) is model
    assert not hasattr(output, "__array__")
    assert not hasattr(Output.__new__(Output), "position")


@pytest.mark.parametrize(
    ("prediction", "method", "words"),
    [
        (BOTH[0], "predict", "must be left out for a model of one output; got 2, and predictions of shape"),
        (BOTH, "predict", "must be a position below 2, the outputs that Model predicts; got 2"),
        ([BOTH, BOTH], "predict_proba", "must be a position below 2, the outputs"),
        (BOTH, "predict_proba", "must be left out where predict_proba returns one array, as that of Model does; got 2"),
    ],
)
def test_predictions_without_such_an_output_are_refused(prediction: Any, method: str, words: str) -> None:
    with pytest.raises(InputError, match=rf"^explain\.output {words}"):
        getattr(Output(Model(prediction), 2), method)(None)
