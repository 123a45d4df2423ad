"""What dalex asks for is read as changes of the subject's rows: the same values, known by keys of their own."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from uq_report.core.arrays import Columns
from uq_report.core.foreign import to_frame
from uq_report.core.subject import Subject, make_subject
from uq_report.core.variants import make_buffer
from uq_report.inputs.adapters.function import FunctionAdapter
from uq_report.methods.dalex.asked import Asked, Reader, digest, same

KINDS: dict[str, Any] = {
    "number": np.array([1.0, np.nan, 3.0]),
    "whole": np.array([1, 2, 3]),
    "word": np.array(["a", None, "b"], dtype=object),
    "level": pd.Categorical(["x", "y", "z"], categories=["x", "y", "z"]),
    "day": pd.to_datetime(["2020-01-01", "2020-01-02", "2020-01-03"]).array,
    "nullable": pd.array([1, None, 3], dtype="Int64"),
    "text": pd.array(["a", None, "b"], dtype="string"),
    "mixed": np.array([1, "1", 2.5], dtype=object),
}
AUDITED = {name: values for name, values in KINDS.items() if name != "mixed"}  # a subject takes no such column


def subject() -> Subject:
    return make_subject(None, FunctionAdapter(), pd.DataFrame(AUDITED), None)


def replaced(asked: Asked, s: Subject) -> pd.DataFrame:
    """Return the rows with what is asked for put in, as the engine does it."""
    assert asked.variant is not None
    rows = pd.DataFrame(s.X).iloc[asked.rows].reset_index(drop=True)
    return pd.DataFrame(make_buffer(rows, 1).filled(Columns(s.X), 0, len(rows), [asked.variant]))


@pytest.mark.parametrize("name", AUDITED)
def test_a_shuffled_column_is_read_as_rows_that_give_their_values(name: str) -> None:
    s = subject()
    frame = to_frame(s)
    order = [2, 0, 1]
    frame[name] = frame[name].array[order]
    asked = Reader(s, s.features).read(frame)
    assert asked.variant is not None
    assert asked.variant.donors is not None
    assert asked.columns == (list(AUDITED).index(name),)
    assert asked.variant.donors.tolist() == order
    pd.testing.assert_frame_equal(replaced(asked, s), frame.reset_index(drop=True))


@pytest.mark.parametrize("rows", [[0, 1, 2], [2, 2, 0]])
@pytest.mark.parametrize(("name", "values"), [("number", [7.0, 8.0, 7.0]), ("whole", [7, 8, 7]), ("whole", [0, 2, 0])])
def test_values_of_no_row_are_given_as_they_are(name: str, values: list[float], rows: list[int]) -> None:
    s = subject()
    frame = to_frame(s, rows)
    frame[name] = values
    asked = Reader(s, s.features).read(frame)
    assert asked.variant is not None
    assert asked.variant.donors is None
    pd.testing.assert_frame_equal(replaced(asked, s), frame.reset_index(drop=True))


def test_a_row_s_values_in_other_rows_are_read_as_the_others_values_in_that_row() -> None:
    s = subject()
    frame = to_frame(s, [1, 2])
    frame["whole"] = 1
    frame["level"] = pd.Categorical(["x", "x"], categories=["x", "y", "z"])
    asked = Reader(s, s.features).read(frame, row=0)
    assert asked.rows.tolist() == [0, 0]
    assert set(asked.columns).isdisjoint({1, 3})
    assert asked.variant is not None
    assert asked.variant.donors is not None
    pd.testing.assert_frame_equal(replaced(asked, s), frame.reset_index(drop=True))


def test_unchanged_rows_have_no_columns_and_another_type_is_no_change() -> None:
    s = subject()
    reader = Reader(s, s.features)
    assert reader.read(to_frame(s)).columns == ()
    asked = reader.read(to_frame(s).astype({"whole": float}))
    assert asked.variant is None


def test_of_two_columns_one_of_another_type_or_of_no_row_decides() -> None:
    s = subject()
    reader = Reader(s, s.features)
    swapped = to_frame(s).assign(number=[3.0, np.nan, 1.0])
    assert reader.read(swapped.astype({"whole": float})).variant is None
    frame = to_frame(s, [1, 2]).assign(whole=9)
    asked = reader.read(frame, row=0)
    assert asked.variant is not None
    assert asked.variant.donors is None
    pd.testing.assert_frame_equal(replaced(asked, s), frame.reset_index(drop=True))


def test_keys_are_equal_for_equal_tables_alone() -> None:
    s = subject()
    reader = Reader(s, s.features)
    changed = to_frame(s).assign(whole=[3, 1, 2])
    tables = [to_frame(s), to_frame(s, [0, 2, 1]), changed, changed.assign(whole=[3, 2, 1]), changed.iloc[:2]]
    keys = [reader.read(table).key for table in tables]
    assert len(set(keys)) == len(keys)
    assert [Reader(s, s.features).read(table.copy()).key for table in tables] == keys
    assert reader.read(changed, row=0).key != reader.read(changed).key


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("number", np.array([1.0, np.nan, 4.0])),
        ("whole", np.array([1.0, 2.0, 3.0])),
        ("word", np.array(["a", None, "c"], dtype=object)),
        ("word", np.array(["a", np.nan, "b"], dtype=object)),
        ("level", pd.Categorical(["x", "x", "x"], categories=["x", "y", "z"])),
        ("level", pd.Categorical(["x", "y", "z"], categories=["z", "y", "x"])),
        ("level", pd.Categorical(["x", "y", "w"], categories=["x", "y", "w"])),
        ("day", pd.to_datetime(["2020-01-01", "2020-01-02", "2020-01-04"]).array),
        ("nullable", pd.array([1, 2, 3], dtype="Int64")),
        ("text", pd.array(["a", "a", "b"], dtype="string")),
        ("mixed", np.array(["1", "1", 2.5], dtype=object)),
    ],
)
def test_another_value_type_or_level_is_another_column(name: str, other: Any) -> None:
    own = KINDS[name]
    assert digest(other) != digest(own) == digest(own.copy())
    assert same(own, own.copy())
    assert not same(own, other)


WIDE = pd.DataFrame({f"x{j}": np.arange(4.0) * 10 + j for j in range(4)} | {"w": pd.Categorical(list("abca"))})


def wide(X: Any) -> Subject:
    return make_subject(None, FunctionAdapter(), X, None)


@pytest.mark.parametrize("X", [WIDE, WIDE.iloc[:, :4].to_numpy()], ids=["frame", "array"])
def test_all_other_features_move_as_one(X: Any) -> None:
    """Of a row in place of others: what is not set has the others' values, in the chosen columns and the rest alike."""
    s = wide(X)
    reader = Reader(s, s.features[1:3])
    frame = reader.frame([0, 2], others=True)
    assert list(frame.columns) == [*s.features[1:3], reader.others]
    assert reader.others == f"{len(s.features) - 2} other features"
    expected = pd.DataFrame(s.X).iloc[[0, 2]].reset_index(drop=True)
    unset = reader.read(frame, row=1)
    pd.testing.assert_frame_equal(replaced(unset, s), expected, check_dtype=False)
    rest = [c for c in range(len(s.features)) if c not in (1, 2)]
    moved = frame.assign(**{reader.others: 1})
    asked = reader.read(moved, row=1)
    expected.iloc[:, rest] = pd.DataFrame(s.X).iloc[[1, 1], rest].to_numpy()
    pd.testing.assert_frame_equal(replaced(asked, s), expected, check_dtype=False)
    assert asked.columns == (1, 2)
    table = reader.table(moved, asked)
    pd.testing.assert_frame_equal(pd.DataFrame(table).reset_index(drop=True), expected, check_dtype=False)
    assert asked.key != unset.key


def test_all_other_features_never_share_a_feature_s_name() -> None:
    s = wide(WIDE.rename(columns={"x3": "4 other features"}))
    assert Reader(s, ("x0",)).others == "4 other features'"
    assert Reader(s, s.features).others == ""
