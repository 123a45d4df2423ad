"""Cells that no method could compute with: both sides of each limit, and what the refusal names."""

from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest

from uq_report.core.support.errors import InputError
from uq_report.core.validation import inputs
from uq_report.core.validation.cell_validation import (
    LARGEST,
    WHOLE,
    cell_words,
    check_column,
    check_size,
    check_text,
    of_infinite_cell,
    refuse_cells,
    shown,
)
from uq_report.distributions import Categorical

DAYS = pd.date_range("2026-01-01", periods=2)


def objects(*cells: Any) -> "pd.Series[Any]":
    return pd.Series(list(cells), dtype=object)


@pytest.mark.parametrize(
    "values",
    [
        np.array([LARGEST, -LARGEST, np.nan, np.inf, -np.inf]),
        np.array([np.nan]),
        np.array([3e38], dtype=np.float32),
        np.array([-WHOLE, WHOLE]),
        np.array([WHOLE + 1]),
        np.array([WHOLE, WHOLE + 2]),
        np.array([-WHOLE - 2, -WHOLE, 0, 1]),
        np.array([], dtype=int),
        np.array([2**64 - 1, 0], dtype=np.uint64),
    ],
    ids=str,
)
def test_numbers_that_floats_can_hold_pass(values: Any) -> None:
    check_size(values, "x")


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (np.array([0.0, np.nextafter(LARGEST, np.inf)]), r"at most 1e\+75 in size; got 1e\+75 in row 1 \(1 of 2"),
        (np.array([-1e300, np.nan, 1e76]), r"got -1e\+300 in row 0 \(2 of 3 rows\)"),
        (np.array([np.inf, -1e80, np.nan]), r"got -1e\+80 in row 1 \(1 of 3 rows\)"),
        (np.array([WHOLE, WHOLE + 1, 5]), r"tell apart, as those up to 2\^53; got 5 to 9007199254740993\."),
        (np.array([-WHOLE - 1, -WHOLE]), r"got -9007199254740993 to -9007199254740992\."),
        (np.array([2**64 - 1, 2**64 - 2], dtype=np.uint64), r"got 18446744073709551614 to"),
    ],
)  # fmt: skip
def test_numbers_that_floats_cannot_hold_are_refused(values: Any, words: str) -> None:
    with pytest.raises(InputError, match=f"^x must .*{words}"):
        check_size(values, "x")


def test_only_the_first_bad_cell_is_shown_and_all_are_counted() -> None:
    refuse_cells("x must be small", [9, 9], np.zeros(2, dtype=bool), "Shrink it.")
    with pytest.raises(InputError, match=r"^x must be small; got 8 in row 1 \(2 of 4 rows\)\. Shrink it\.$"):
        refuse_cells("x must be small", np.array([1, 8, 2, 9]), np.array([False, True, False, True]), "Shrink it.")


@pytest.mark.parametrize("length", [57, 58, 59, 70])
def test_a_cell_is_shown_in_at_most_60_characters(length: int) -> None:
    text = shown("x" * length)
    whole = repr("x" * length)
    assert text == (whole if length <= 58 else f"{whole[:57]}...")
    assert len(text) == min(length + 2, 60)


@pytest.mark.parametrize(
    ("cell", "text"), [(0.1 + 0.2, "0.3"), (np.float32(0.1), "0.1"), (np.int64(7), "7"), (True, "True"), (None, "None")]
)
def test_numbers_are_shown_plain(cell: Any, text: str) -> None:
    assert shown(cell) == text


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([1.0, np.nan]),
        pd.Series([], dtype=float),
        pd.Series([True, False]),
        pd.Series(["a", None]),
        pd.Series(DAYS),
        pd.Series(DAYS.tz_localize("UTC")),
        pd.Series(pd.Categorical(DAYS.to_period("D"))),
        pd.Series([1, None], dtype="Int64"),
        objects("a", None, np.nan),
        objects(1, 2.5, None, True),
        objects(1, Decimal(2), np.float32(3)),
        objects(pd.Timestamp("2026-01-02"), None, np.datetime64("2026-01-01")),
        objects(date(2026, 1, 1), date(2026, 1, 2), np.nan),
        objects(b"a", b"b"),
        objects(None, None),
        objects(),
    ],
    ids=str,
)
def test_columns_of_one_kind_pass(column: Any) -> None:
    check_column(column, "x")


class Odd:
    """Values in no order."""


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (pd.Series([1j]), "must be real; got complex numbers"),
        (pd.Series(DAYS - DAYS[0]), r"got timedelta64\[\w+\]\. Use \.dt\.total_seconds\(\)\."),
        (pd.Series(DAYS.to_period("D")), r"got period\[D\]\. Use \.dt\.to_timestamp\(\)\."),
        (pd.Series(pd.interval_range(0, 2)), r"got interval\[int64, right\]\. Use \.array\.mid\."),
        (pd.Series(pd.arrays.SparseArray([0.0, 1.0])), r"got Sparse\[float64, nan\]\. Use \.sparse\.to_dense\(\)\."),
        (pd.Series([1.0, 1e80]), r"must be at most 1e\+75 in size; got 1e\+80 in row 1"),
        (pd.Series([WHOLE, WHOLE + 1]), "must hold whole numbers that floats can tell apart"),
        (objects([1], {}), "must hold single values; got dict, list"),
        (objects(1, "a", 2), "must hold numbers only, as 2 of its 3 rows do; got 'a' in row 1"),
        (objects("a", None, date(2026, 1, 1), "b"), "must hold text only, as 2 of its 4 rows do; .* in row 2"),
        (objects(1j, 2, 3j), r"must hold complex numbers only, as 2 of its 3 rows do; got 2 in row 1"),
        (objects(Odd(), None, Odd(), 3.0), "must hold values of type Odd only, as 2 of its 4 rows do; got 3 in row 3"),
        (objects(None, Odd(), Odd()), "must hold values that can be put in order; got .* in row 1 beside .* in row 1"),
        (
            objects(date(2026, 1, 1), pd.Timestamp("2026-01-02")),
            r"put in order; .* beside datetime\.date\(2026, 1, 1\)",
        ),
        (objects((1,), ("a",)), r"put in order; got \('a',\) in row 1 beside \(1,\) in row 0\."),
    ],
)
def test_other_columns_are_refused_with_what_they_hold(column: Any, words: str) -> None:
    with pytest.raises(InputError, match=f"^x .*{words}"):
        check_column(column, "x")


TEXTS = pd.DataFrame({
    "n": [0, 1, 2], "day": [*DAYS, DAYS[0]], "a": ["u", None, "x"], "b": ["x", "y", "y"],
    "c": pd.Categorical(list("pqq")),
})  # fmt: skip


@pytest.mark.parametrize(
    ("error", "words"),
    [
        ("could not convert string to float: 'x'", "'x' in column 'a', row 2"),
        ("could not convert 'y'", "'y' in column 'b', row 1"),
        ("could not convert 'q'", "'q' in column 'c', row 1"),
        ("could not convert x", ""),
        ("could not convert '2'", ""),
    ],
)
def test_an_error_that_quotes_a_text_is_told_with_its_cell(error: str, words: str) -> None:
    assert cell_words(TEXTS, error) == words


def test_cells_of_arrays_are_told_by_position() -> None:
    assert cell_words(np.array([["a", "b"], ["c", "d"]], dtype=object), "bad: 'd'") == "'d' in column '1', row 1"


def texts(odd: int, of: int = 100, different: int = 100) -> "pd.Series[Any]":
    values = [str(number % different + 0.5) for number in range(of)]
    return pd.Series(["1_000"] * odd + values[odd:])


@pytest.mark.parametrize(
    ("column", "refused"),
    [
        (texts(1), True), (texts(2), True), (texts(3), False), (texts(0), False), (texts(1, different=20), True),
        (texts(1, different=19), False), (texts(1).astype("string"), True), (texts(1).replace("4.5", None), True),
        (pd.Series([None] * 5, dtype=object), False), (pd.Series(list("ab") * 50), False),
    ],
)  # fmt: skip
def test_numbers_among_which_a_few_cells_are_none_are_no_text(column: "pd.Series[Any]", refused: bool) -> None:
    if not refused:
        check_text(column, "X")
        return
    with pytest.raises(
        InputError, match=r"X must hold numbers only, as \d+ of its 100 rows do; got '1_000' in row 0\."
    ):
        check_text(column, "X")


def test_a_column_of_such_text_may_be_stated_as_categorical() -> None:
    table = pd.DataFrame({"a": texts(1)})
    with pytest.raises(InputError, match=r"subject\.X\['a'\] must hold numbers only"):
        inputs.kinds(table, ("a",), None)
    assert inputs.kinds(table, ("a",), ["a"]) == {"a": "categorical"}


def test_a_whole_number_beyond_all_floats_is_named() -> None:
    with pytest.raises(
        InputError, match=r"X must be at most 1e\+75 in size; got 1000.*\.\.\. in row 1 \(1 of 3 rows\)"
    ):
        check_column(pd.Series([1, 10**400, None], dtype=object), "X")
    check_column(pd.Series([1, 10**74, None], dtype=object), "X")


def test_columns_are_in_the_order_of_the_fit() -> None:
    class Fitted:
        feature_names_in_ = np.array(["b", "a"])

    table = pd.DataFrame({"a": [1.0], "b": [2.0]})
    with pytest.raises(InputError, match=r"in the order of the model's feature_names_in_; got 'a' in place 0"):
        inputs.table(table, "X", Fitted())
    assert inputs.table(table[["b", "a"]], "X", Fitted())[1] == ("b", "a")
    with pytest.raises(InputError, match=r"the columns that the model was fitted on; got a table \['c'\] besides"):
        inputs.table(table.assign(c=0.0), "X", Fitted())


@pytest.mark.parametrize("weights", [np.ones(3) + 0j, np.ma.array(np.ones(3), mask=[False, True, False])])
def test_weights_are_real_and_all_there(weights: Any) -> None:
    with pytest.raises(
        InputError, match=r"subject\.sample_weight must be numbers; got (complex numbers|masked values)"
    ):
        inputs.weights(weights, 3)
    assert inputs.weights(np.ma.array(np.ones(3), mask=False), 3) is not None


def test_masked_probabilities_are_refused() -> None:
    p = np.ma.array(np.full((3, 2), 0.5), mask=np.eye(3, 2, dtype=bool))
    with pytest.raises(InputError, match="must have no masked values"):
        Categorical(p)


def test_an_infinite_cell_is_named_before_the_model_that_passes_it_on() -> None:
    X = pd.DataFrame({"a": [1.0, 2.0], "b": [1.0, np.inf]})
    told = of_infinite_cell(InputError("normal.mean must be finite.", row=1), "Model", X)
    assert str(told).startswith("subject.X['b'] must be finite for Model; got inf in row 1. Correct it")
    assert told.row == 1
    for other in (InputError("of a finite row", row=0), InputError("of no row"), InputError("of another block", row=2)):
        assert of_infinite_cell(other, "Model", X) is other


def test_a_time_that_is_none_is_named_by_its_row() -> None:
    table = pd.DataFrame({"a": [1.0, 2.0]})
    with pytest.raises(InputError, match=r"ISO 8601 such as 2026-01-31; got 't0' in row 1 \(1 of 2 rows\)\. Convert"):
        inputs.moments(["2026-01-31", "t0"], table, ("a",))
    found = inputs.moments(["2026-02-01", "2026-01-31T00:00+02:00"], table, ("a",))
    assert found is not None
    assert found.tolist() == [1, 0]
