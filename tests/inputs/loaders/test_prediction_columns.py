"""Prediction columns become distributions; labels are spelled as y spells them; mistakes are told by key."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from uq_report.core.support.errors import InputError
from uq_report.core.traits.stored_predictions import FixedRows, prediction_columns
from uq_report.inputs.loaders.predictions import PredictionsLoader

X = pd.DataFrame({"a": [1.0, 2.0, 3.0]})
SAID = pd.DataFrame({"p": [0.1, 0.5, 1.0], "q": [0.9, 0.5, 0.0], "m": [1.0, 2.0, 3.0], "t": ["x", "y", "z"]})
NOTHING: dict[str, Any] = {"probability": None, "probabilities": {}, "mean": None, "std": None}


def labels(scored: FixedRows) -> tuple[Any, ...]:
    q: Any = scored.distributions
    return tuple(q.classes.tolist())


def load(y: Any = None, positive_class: Any = None, **part: Any) -> FixedRows:
    given = NOTHING | part
    return PredictionsLoader().load("rows.csv", X=X, predictions=SAID, part=given, y=y, positive_class=positive_class)


@pytest.mark.parametrize(
    ("y", "positive", "classes", "column"),
    [
        (None, None, (0, 1), 1),
        ([1, 0, 1], None, (0, 1), 1),
        ([1, 1, 1], None, (0, 1), 1),
        (["no", "yes", "no"], "yes", ("no", "yes"), 1),
        ([False, True, False], None, (False, True), 1),
        (["no", "yes", "no"], "no", ("no", "yes"), 0),
        ([3, 7, 3], "3", (3, 7), 0),
        ([True, False, True], "True", (False, True), 1),
    ],
)
def test_one_probability_is_of_the_positive_of_two_classes(
    y: Any, positive: Any, classes: tuple[Any, Any], column: int
) -> None:
    scored = load(y, positive, probability="p")
    assert labels(scored) == classes
    assert scored.numbers is not None
    np.testing.assert_array_equal(scored.numbers[:, column], SAID["p"])
    np.testing.assert_array_equal(scored.numbers.sum(axis=1), 1)


@pytest.mark.parametrize("y", [["no", "yes", "no"], [3, 7, 3]])
def test_whose_probability_it_is_must_be_said_of_other_classes_than_0_and_1(y: Any) -> None:
    with pytest.raises(
        InputError, match=r"data\.predictions\.positive_class must say whose probability is given, one of"
    ):
        load(y, None, probability="p")


def test_probabilities_per_class_and_a_mean_with_its_std() -> None:
    named = load(probabilities={"5": "q", "2": "p"}, y=[5, 2, 2])
    assert labels(named) == (5, 2)
    np.testing.assert_array_equal(named.numbers, SAID[["q", "p"]])
    assert labels(load(probabilities={"5": "q", "2": "p"})) == (5, 2)
    assert labels(load(probabilities={"b": "q", "a": "p"})) == ("b", "a")
    normal = load(mean="p", std="m")
    assert normal.distributions.family == "normal"
    np.testing.assert_array_equal(normal.predict(X).mean(), SAID["p"])
    assert prediction_columns(NOTHING | {"probabilities": {"b": "q", "a": "p"}}) == ("q", "p")
    assert not PredictionsLoader().matches("rows.csv")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "must name probability, or .*; got nothing"),
        ({"mean": "m"}, "got mean"),
        ({"std": "m"}, "got std"),
        ({"probability": "p", "mean": "m", "std": "m"}, "got probability, mean, std"),
        ({"probability": "pp"}, r"columns of rows\.csv; got 'pp'\. Did you mean 'p'"),
        ({"probability": "t"}, "t of rows.csv must hold a number in every row"),
        ({"probability": "m"}, "m must hold probabilities from 0 to 1; got 2 and the like in 2 rows"),
        ({"probability": "p", "y": [1, 2, 3]}, "one of two classes; y has 3"),
        ({"probability": "p", "y": [0, 1, 1], "positive_class": 2}, r"a class of y, \[0, 1\]; got 2"),
        ({"probabilities": {"a": "p"}}, "a column for each class"),
        ({"probabilities": {"a": "p", "b": "p"}}, "probabilities"),
        ({"mean": "m", "std": "q"}, r"normal\.std"),
    ],
)
def test_mistakes_are_told(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        load(**given)


def test_a_missing_prediction_is_refused() -> None:
    gap = SAID.assign(p=[0.1, np.nan, 0.2])
    with pytest.raises(InputError, match=r"p of rows\.csv must hold a number in every row, .*; got 1 missing values"):
        PredictionsLoader().load("rows.csv", X=X, predictions=gap, part=NOTHING | {"probability": "p"})
