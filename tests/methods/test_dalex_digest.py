"""The key under which dalex's questions are remembered: equal for equal frames, and for no others."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from uq_report.methods.dalex.calls import digest


def frame(**columns: Any) -> pd.DataFrame:
    """Return a frame of every kind of column, some of them replaced."""
    usual = {
        "number": [1.0, np.nan, 3.0],
        "whole": [1, 2, 3],
        "word": pd.Series(["a", None, "b"], dtype=object),
        "level": pd.Categorical(["x", "y", "x"], categories=["x", "y"]),
        "day": pd.to_datetime(["2020-01-01", "2020-01-02", "2020-01-03"]),
        "nullable": pd.array([1, None, 3], dtype="Int64"),
        "mixed": pd.Series([1, "1", 2.5], dtype=object),
    }
    return pd.DataFrame(usual | columns)


def test_equal_frames_have_one_key() -> None:
    assert digest(frame()) == digest(frame().copy()) == digest(frame().iloc[[0, 1, 2]])


@pytest.mark.parametrize(
    "columns",
    [
        {"number": [1.0, np.nan, 4.0]},
        {"whole": [1.0, 2.0, 3.0]},
        {"word": pd.Series(["a", None, "c"], dtype=object)},
        {"word": pd.Series(["a", np.nan, "b"], dtype=object)},
        {"level": pd.Categorical(["x", "x", "x"], categories=["x", "y"])},
        {"level": pd.Categorical(["x", "y", "x"], categories=["y", "x"])},
        {"level": pd.Categorical(["x", "z", "x"], categories=["x", "z"])},
        {"day": pd.to_datetime(["2020-01-01", "2020-01-02", "2020-01-04"])},
        {"nullable": pd.array([1, 2, 3], dtype="Int64")},
        {"mixed": pd.Series(["1", "1", 2.5], dtype=object)},
    ],
)
def test_another_value_type_or_level_is_another_key(columns: dict[str, Any]) -> None:
    assert digest(frame(**columns)) != digest(frame())


def test_rows_and_names_count() -> None:
    assert digest(frame().iloc[[0, 2, 1]]) != digest(frame())
    assert digest(frame().set_index(pd.Index([5, 6, 7]))) != digest(frame())
    assert digest(frame().rename(columns={"whole": "full"})) != digest(frame())
