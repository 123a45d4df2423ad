"""Results: what their frames must hold, values of single rows, and the order of a summary."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from uq_report.core.model.results import ESTIMATE_COLUMNS, Importance, MeasureFacts, RowSample, RowValues
from uq_report.core.support.errors import InputError

VALUES = np.arange(12.0).reshape(2, 3, 2)
WHOLE = RowValues(("nll", "entropy"), ("a", "b", "c"), VALUES)
SOME = RowValues(WHOLE.measures, WHOLE.features, VALUES, RowSample(9, np.array([2, 7]), VALUES.sum(axis=2)))


def test_values_of_all_rows_have_their_own_mean() -> None:
    assert WHOLE.n == 2
    assert WHOLE.positions.tolist() == [0, 1]
    assert WHOLE.of("entropy", "b").tolist() == [8.0, 9.0]
    assert WHOLE.mean("entropy", "b") == 8.5


def test_values_of_a_sample_keep_the_mean_of_all() -> None:
    assert SOME.n == 9
    assert SOME.positions.tolist() == [2, 7]
    assert SOME.of("nll", "c").tolist() == [4.0, 5.0]
    assert [SOME.mean("nll", "c"), SOME.mean("entropy", "a")] == [9.0, 13.0]


def importance(lines: list[tuple[str, str, float]], **columns: Any) -> Importance:
    table = pd.DataFrame(lines, columns=["measure", "feature", "estimate"]).reindex(columns=list(ESTIMATE_COLUMNS))
    frame = pd.DataFrame(columns=list(Importance.columns))
    return Importance(id="x", explainer="x", title="", frame=frame, estimates=table.assign(**columns))


def test_a_summary_has_the_largest_first_within_measures_in_their_order() -> None:
    made = importance([("z", "a", 1.0), ("z", "b", 3.0), ("y", "a", 9.0), ("z", "c", 3.0), ("y", "b", -9.0)])
    table = made.summary()
    assert table.index.tolist() == list(range(5))
    assert list(zip(table["measure"], table["feature"], strict=True)) == [
        ("z", "b"), ("z", "c"), ("z", "a"), ("y", "a"), ("y", "b"),
    ]  # fmt: skip


def test_infinite_numbers_and_missing_columns_are_refused() -> None:
    line = [("nll", "a", 1.0)]
    importance(line, lower=np.nan, words="x")
    with pytest.raises(InputError, match=r"^x\.estimates must hold finite numbers; got infinite values in \['upper'\]"):
        importance(line, upper=-np.inf, lower=0.0)
    good = importance(line)
    parts: dict[str, Any] = {"id": "x", "explainer": "x", "title": "", "frame": good.frame, "estimates": good.estimates}
    with pytest.raises(InputError, match=r"^x\.estimates must have the columns .*; missing \['covers'\]"):
        Importance(**{**parts, "estimates": good.estimates.drop(columns="covers")})
    with pytest.raises(InputError, match=r"^x\.frame must have the columns"):
        Importance(**{**parts, "frame": good.frame.iloc[:, ::-1]})


@pytest.mark.parametrize(("direction", "sign"), [("larger", 1), ("smaller", -1)])
def test_the_sign_makes_larger_worse(direction: str, sign: int) -> None:
    assert MeasureFacts("", "", "loss", direction).sign == sign
