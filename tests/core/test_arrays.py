"""Tables of both kinds: rows, columns of their own type, and equality."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from uq_report.core.support.arrays import ColumnLookup, column, plain_array, same_table, take_rows
from uq_report.core.support.digest import table_sha256, vector_sha256
from uq_report.core.support.text import is_sha256

NAN = float("nan")
FRAME = pd.DataFrame(
    {
        "i": [1, 2],
        "s": ["x", None],
        "f": [0.5, NAN],
        "c": pd.Categorical(["u", "v"]),
        "j": [3, 4],
        "n": pd.array([1, None]),
    }
)


def test_lists_of_text_and_missing_values_keep_both() -> None:
    assert plain_array(["x", None]).tolist() == ["x", None]
    assert plain_array(["x", 1]).tolist() == ["x", 1]
    assert plain_array(["x", "y"]).dtype.kind == "U"
    assert plain_array(np.array(["x", "1"])).dtype.kind == "U"
    assert plain_array([["x", 1]]).tolist() == [["x", "1"]]


@pytest.mark.parametrize("index", [[1, 0], np.array([1, 0]), slice(None, None, -1)])
def test_rows_are_taken_with_a_fresh_index(index: Any) -> None:
    taken = take_rows(FRAME.set_index(pd.Index([7, 8])), index)
    assert isinstance(taken, pd.DataFrame)
    assert taken.index.tolist() == [0, 1]
    assert taken["i"].tolist() == [2, 1]
    np.testing.assert_array_equal(take_rows(np.array([[1], [2]]), index), [[2], [1]])


def test_columns_keep_their_type() -> None:
    found = [column(FRAME, position) for position in range(FRAME.shape[1])]
    assert len(found) == 6
    for position in range(6):
        for one in (found[position], column(FRAME, position), ColumnLookup(FRAME)[position]):
            assert pd.Series(one).equals(FRAME.iloc[:, position].reset_index(drop=True))
            assert isinstance(one, np.ndarray) == (position in (0, 2, 4)) or position == 1


@pytest.mark.parametrize("names", [["a", "b"], ["a", "a"], [1, 0], [True, False], [("a", 1), ("a", 2)], [NAN, "a"]])
def test_a_column_is_that_at_its_place_whatever_the_names_are(names: list[Any]) -> None:
    table = pd.DataFrame([[1, 2], [3, 4]]).set_axis(names, axis=1)
    assert [column(table, position).tolist() for position in range(2)] == [[1, 3], [2, 4]]


def test_a_column_of_a_table_that_changed_is_the_new_one() -> None:
    table = pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})
    assert [column(table, position).tolist() for position in range(2)] == [[1, 2], ["x", "y"]]
    table.isetitem(1, ["z", "z"])
    table.iloc[0, 0] = 5
    assert [column(table, position).tolist() for position in range(2)] == [[5, 2], ["z", "z"]]


def test_a_column_is_looked_up_once() -> None:
    kept = ColumnLookup(FRAME)
    assert kept[3] is kept[3]
    assert list(kept) == [3]


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (FRAME.copy(), True),
        (FRAME.assign(i=[1, 3]), False),
        (FRAME.rename(columns={"i": "k"}), False),
        (FRAME.to_numpy(), False),
    ],
)
def test_frames_are_the_same_if_values_and_names_are(other: Any, same: bool) -> None:
    assert same_table(FRAME, other) is same


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ([[1.0, NAN]], [[1.0, NAN]], True),
        ([[1.0, NAN]], [[1.0, 2.0]], False),
        ([[1, 2]], [[1.0, 2.0]], True),
        ([[1, 2]], [[1.0, NAN]], False),
        ([["a"]], [["a"]], True),
        ([["a"]], [["b"]], False),
        ([[1, 2]], [[1, 2], [1, 2]], False),
    ],
)
def test_arrays_are_the_same_if_values_are(a: Any, b: Any, same: bool) -> None:
    assert same_table(np.array(a), np.array(b)) is same


def test_an_array_is_no_frame() -> None:
    assert not same_table(np.array([[1.0]]), pd.DataFrame([[1.0]]))


@pytest.mark.parametrize(
    "other",
    [
        FRAME.assign(i=[1, 3]),
        FRAME.assign(i=[1.0, 2.0]),
        FRAME.rename(columns={"i": "k"}),
        FRAME[["s", "i", "f", "c", "j", "n"]],
        FRAME.iloc[::-1],
        FRAME.assign(s=["x", "None"]),
        FRAME.assign(c=["u", "v"]),
        FRAME.iloc[:1],
    ],
)
def test_fingerprints_tell_tables_apart(other: pd.DataFrame) -> None:
    assert table_sha256(other) != table_sha256(FRAME)


def test_fingerprints_are_of_the_content() -> None:
    assert table_sha256(FRAME.set_index(pd.Index([5, 6]))) == table_sha256(FRAME.copy())
    assert vector_sha256(np.array([1, 2])) != vector_sha256(np.array([2, 1]))
    assert vector_sha256(np.array([1, 2])) != vector_sha256(np.array([1.0, 2.0]))
    pair = np.array([(True, 2.0)], dtype=[("event", bool), ("time", float)])
    assert vector_sha256(pair) != vector_sha256(pair[["time", "event"]])


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("0123456789abcdef" * 4, True),
        ("a" * 63, False),
        ("a" * 65, False),
        ("g" + "a" * 63, False),
        ("A" * 64, False),
        ("", False),
    ],
)
def test_a_fingerprint_is_64_digits(text: str, is_one: bool) -> None:
    assert is_sha256(text) is is_one
