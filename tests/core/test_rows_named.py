"""The row of a bad output: that of the audited data where the block is of its rows, else its place in the block."""

import pickle
from typing import Any

import numpy as np
import pytest

from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.model.measures import ENTROPY
from uq_report.core.model.subject import make_subject
from uq_report.core.model.variants import Variant
from uq_report.core.support.errors import InputError
from uq_report.distributions import Normal
from uq_report.inputs.adapters.members import FunctionAdapter

X = np.column_stack([np.arange(6.0), np.zeros(6)])
IN_ROW = "normal.mean must be finite; got no number in row"


def breaking(rows: Any) -> Normal:
    """Break where the second column was set to 1 and the first one is at least 4."""
    return Normal(np.where((rows[:, 0] >= 4) & (rows[:, 1] == 1), np.nan, rows[:, 0]), np.ones(len(rows)))


def engine(table: Any = X, **more: Any) -> Engine:
    return Engine(make_subject(breaking, FunctionAdapter(), table), {"entropy": ENTROPY}, **more).bound("pdp")


@pytest.mark.parametrize(
    ("rows", "more", "row", "at"),
    [(None, {}, 9, 4), ([1, 5, 0], {}, 3, 5), (None, {"batch_rows": 4}, 1, 4)],
)
def test_rows_of_changes_are_those_of_the_data(rows: Any, more: dict[str, Any], row: int, at: int) -> None:
    changes = [Variant((1,), (value,)) for value in (0.0, 1.0)]
    chosen = None if rows is None else np.array(rows)
    told = rf"{IN_ROW} {row} .* Row {row} of this call is row {at} of the audited data with some values changed\.$"
    with pytest.raises(InputError, match=told):
        list(engine(**more).evaluate(changes, [ENTROPY], chosen))


def test_rows_that_a_method_makes_up_are_counted_in_its_block() -> None:
    told = rf"{IN_ROW} 1 \(1 of 2 rows\)\. .* Row 1 is that of the block of 2 rows that pdp asked for\.$"
    with pytest.raises(InputError, match=told):
        engine().predict(np.array([[0.0, 1.0], [9.0, 1.0]]))


def test_rows_under_audit_are_their_own() -> None:
    with pytest.raises(
        InputError, match=rf"{IN_ROW} 5 \(1 of 6 rows\)\. Look at these rows' inputs and at the model's fit\.$"
    ):
        _ = engine(np.column_stack([np.arange(6.0), np.eye(6)[5]])).baseline


def test_the_row_comes_back_from_a_worker() -> None:
    again = pickle.loads(pickle.dumps(InputError("a must be b; got c.", row=3)))
    assert (str(again), again.row, InputError("a").row) == ("a must be b; got c.", 3, None)
