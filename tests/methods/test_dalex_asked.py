"""What dalex asks for is read as changes of the subject's rows, whatever stands in their columns."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from uq_report.core.model.subject import Subject, make_subject
from uq_report.core.model.variants import Variant, variant_rows
from uq_report.core.support.arrays import ColumnLookup
from uq_report.inputs.adapters.members import FunctionAdapter
from uq_report.methods.dalex.parts import Cells
from uq_report.methods.shared.grids import make_grid

AUDITED: dict[str, Any] = {
    "number": np.array([1.0, np.nan, 3.0]),
    "whole": np.array([1, 2, 3]),
    "word": np.array(["a", None, "b"], dtype=object),
    "level": pd.Categorical(["x", "y", "z"], categories=["x", "y", "z"]),
    "day": pd.to_datetime(["2020-01-01", "2020-01-02", "2020-01-03"]).array,
    "nullable": pd.array([1, None, 3], dtype="Int64"),
    "text": pd.array(["a", None, "b"], dtype="string"),
}
WIDE = pd.DataFrame({f"x{j}": np.arange(4.0) * 10 + j for j in range(4)} | {"w": pd.Categorical(list("abca"))})


def subject(X: Any = None) -> Subject:
    return make_subject(None, FunctionAdapter(), pd.DataFrame(AUDITED) if X is None else X, None)


def replaced(s: Subject, rows: list[int], variant: Variant) -> pd.DataFrame:
    """Return the rows with a change put in, as the engine does it."""
    table = pd.DataFrame(s.X).iloc[rows].reset_index(drop=True)
    return pd.DataFrame(variant_rows(table, [variant], ColumnLookup(s.X)))


def all_of(s: Subject) -> Cells:
    return Cells(s, s.features)


@pytest.mark.parametrize("rows", [[0, 1, 2], [2, 2, 0]])
@pytest.mark.parametrize("name", AUDITED)
def test_a_shuffled_column_has_the_values_of_the_rows_that_its_cells_name(name: str, rows: list[int]) -> None:
    s = subject()
    table = all_of(s).table(rows, others=False)
    table[name] = table[name].to_numpy()[[1, 2, 0]]
    asked = all_of(s).change(table)
    expected = pd.DataFrame(s.X).iloc[rows].reset_index(drop=True)
    expected[name] = expected[name].array[[1, 2, 0]]
    assert asked.columns == (list(AUDITED).index(name),)
    pd.testing.assert_frame_equal(replaced(s, rows, asked), expected)


def test_rows_as_they_are_have_no_change() -> None:
    cells = all_of(subject())
    assert cells.change(cells.table([0, 2], others=False)) == Variant()


@pytest.mark.parametrize("X", [WIDE, WIDE.iloc[:, :4].to_numpy()], ids=["frame", "array"])
def test_all_other_features_are_one_column(X: Any) -> None:
    s = subject(X)
    cells = Cells(s, s.features[1:3])
    table = cells.table([0, 2], others=True)
    assert list(table.columns) == [*s.features[1:3], cells.others]
    assert table.to_numpy().tolist() == [[0, 0, 0], [2, 2, 2]]
    assert list(cells.table([0], others=False).columns) == list(s.features[1:3])
    assert cells.others == f"{len(s.features) - 2} other features"
    assert cells.player.tolist() == [2, 0, 1, *[2] * (len(s.features) - 3)]
    assert all_of(s).player.tolist() == list(range(len(s.features)))


def test_all_other_features_never_share_a_feature_s_name() -> None:
    s = subject(WIDE.rename(columns={"x3": "4 other features"}))
    assert Cells(s, ("x0",)).others == "4 other features'"
    assert all_of(s).others == ""


def test_points_are_read_from_the_curve_of_the_column_that_has_them() -> None:
    """Of rows many times, also where dalex made floats of the column; elsewhere each row has its own value."""
    s = subject(WIDE)
    cells, rows = all_of(s), np.array([1, 3])
    grids = [grid for name in ("x0", "w") if (grid := make_grid(s, name, 9, (0.0, 1.0), 9))]
    points = cells.points(grids)
    own, curves = np.array([0.25, 0.75]), {"x0": np.arange(8.0).reshape(4, 2), "w": 10 + np.arange(6.0).reshape(3, 2)}
    table = cells.table(rows, others=False)
    assert cells.curve(table, rows, own, curves).tolist() == [0.25, 0.75]
    for name, values in curves.items():
        asked = table.loc[np.repeat(rows, len(points[name]))].astype({name: float})
        asked[name] = np.tile(points[name], 2)
        assert cells.curve(asked, rows, own, curves).tolist() == values.T.ravel().tolist()
