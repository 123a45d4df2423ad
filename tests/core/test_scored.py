"""Predictions of given rows: found again by their values, and refused where they are not, or not alone."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from uq_report.core.support.errors import InputError, UnsupportedError
from uq_report.core.traits.stored_predictions import FixedRows, prediction_columns, scored_rows
from uq_report.distributions import Normal

NAN = np.nan
X = pd.DataFrame({"a": [1.0, NAN, 1.0, 2.0, 1.0], "b": ["u", "v", "u", "u", None]})
VALUES = np.array([[0.5, 0.1], [0.6, 0.1], [0.7, 0.1], [0.8, 0.1], [0.9, 0.1]])
SCORED = scored_rows(X, VALUES)


@pytest.mark.parametrize("rows", [[0, 1, 2, 3, 4], [0, 1, 2], [0]])
def test_the_first_rows_in_their_order_are_themselves(rows: list[int]) -> None:
    """Also those that equal others of another prediction."""
    np.testing.assert_array_equal(SCORED.predict(X.iloc[rows]).mean(), VALUES[rows, 0])


@pytest.mark.parametrize("rows", [[3], [4, 1], [1, 1, 3, 4, 3, 1]])
def test_rows_are_found_by_their_values(rows: list[int]) -> None:
    np.testing.assert_array_equal(SCORED.predict(X.iloc[rows]).mean(), VALUES[rows, 0])


@pytest.mark.parametrize(("rows", "n"), [([3, 0], 1), ([2, 0, 1], 2)])
def test_rows_of_several_predictions_are_refused(rows: list[int], n: int) -> None:
    with pytest.raises(UnsupportedError, match=f"; {n} of {len(rows)} rows equal several given rows with other"):
        SCORED.predict(X.iloc[rows])


def test_rows_of_equal_predictions_are_one() -> None:
    alike = scored_rows(X, np.where(np.arange(5)[:, None] == 2, VALUES[0], VALUES))
    np.testing.assert_array_equal(alike.predict(X.iloc[[2, 3, 0]]).mean(), [0.5, 0.8, 0.5])


@pytest.mark.parametrize(("changed", "n"), [({"a": [9.0, 2.0]}, 1), ({"b": ["w", "w"]}, 2), ({"a": [2.0, 1.0]}, 1)])
def test_other_rows_are_refused(changed: dict[str, Any], n: int) -> None:
    """The last is (2, v), which no row is, though both values are there."""
    with pytest.raises(UnsupportedError, match=f"; {n} of 2 rows are others"):
        SCORED.predict(X.iloc[[1, 3]].assign(**{"b": ["v", "u"]} | changed))


def collision() -> float:
    """Return the number x whose row (missing, x) has the key of (1, missing): pandas mixes the bits invertibly."""
    one, missing = pd.util.hash_array(np.array([1.0, NAN])).tolist()
    x = ((0x345678 ^ one) * 1000003 ^ (0x345678 ^ missing) * 1000003 ^ missing) % 2**64
    for shift, factor in ((31, 0x94D049BB133111EB), (27, 0xBF58476D1CE4E5B9)):
        x = (x ^ x >> shift ^ x >> 2 * shift) * pow(factor, -1, 2**64) % 2**64
    return float(np.array([x ^ x >> 30 ^ x >> 60], dtype=np.uint64).view(float)[0])


def test_another_row_of_the_same_key_is_refused() -> None:
    rows = [pd.DataFrame({"a": [a], "b": [b]}) for a, b in ((1.0, NAN), (NAN, collision()))]
    first, second = (pd.util.hash_pandas_object(row, index=False)[0] for row in rows)
    assert first == second
    for given, asked in (rows, rows[::-1]):
        with pytest.raises(UnsupportedError, match="; 1 of 1 rows are others"):
            scored_rows(given, VALUES[:1]).predict(asked)


def test_more_rows_than_given_are_looked_up() -> None:
    unique = scored_rows(X.iloc[[0, 1, 3]], VALUES[[0, 1, 3]])
    np.testing.assert_array_equal(unique.predict(X.iloc[[0, 1, 3, 1]]).mean(), VALUES[[0, 1, 3, 1], 0])
    np.testing.assert_array_equal(unique.take(np.array([2, 0])).predict(X.iloc[[0]]).mean(), [0.5])


def test_given_distributions_are_found_and_repeats_refused() -> None:
    table = np.array([[1.0], [2.0], [1.0]])
    given = FixedRows(table, Normal(np.arange(3.0), 1.0))
    np.testing.assert_array_equal(given.predict(table).mean(), [0.0, 1.0, 2.0])
    np.testing.assert_array_equal(given.predict(np.array([[2.0], [2.0]])).mean(), [1.0, 1.0])
    np.testing.assert_array_equal(given.take(np.array([2, 1])).predict(np.array([[2.0], [1.0]])).mean(), [1.0, 2.0])
    with pytest.raises(UnsupportedError, match="1 of 2 rows equal several"):
        given.predict(np.array([[2.0], [1.0]]))


def test_probabilities_have_classes() -> None:
    scored = scored_rows(np.array([[1.0], [2.0]]), np.array([[0.2, 0.8], [0.6, 0.4]]), ("no", "yes"))
    found: Any = scored.predict(np.array([[2.0]]))
    assert found.probabilities.tolist() == [[0.6, 0.4]]
    assert found.classes.tolist() == ["no", "yes"]


def test_lengths_must_match() -> None:
    with pytest.raises(InputError, match=r"scored\.values must have one row per row of X, 4; got 5"):
        scored_rows(X.iloc[:4], VALUES)
    with pytest.raises(InputError, match=r"explain\.X must have one row for each predictive distribution, 3; got 5"):
        FixedRows(X, Normal(np.zeros(3), 1.0))


def test_columns_of_predictions_are_named_once() -> None:
    assert prediction_columns({}) == ()
    assert prediction_columns({"probability": "p", "probabilities": {"a": "p", "b": "q"}, "std": "s"}) == (
        "p",
        "s",
        "q",
    )
