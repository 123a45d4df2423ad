"""Rows under several variants: frames and arrays alike."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from uq_report.core.model.variants import Variant, variant_rows
from uq_report.core.support.arrays import ColumnLookup

ARRAY = np.arange(12.0).reshape(4, 3)
FRAME = pd.DataFrame({"a": ARRAY[:, 0], "b": list("uvwx"), "c": pd.array([1, None, 3, 4], dtype="Int64")})
DONORS = np.array([3, 2, 1, 0])
GROUPS: list[list[Variant]] = [
    [Variant((0,), donors=DONORS), Variant((0,), donors=DONORS[::-1])],
    [Variant((0, 1), donors=DONORS), Variant()],
    [Variant((2,), (4,)), Variant((0,), (np.array([9.0, 8.0, 7.0, 6.0]),))],
    [Variant(), Variant()],
    [Variant((1,), donors=DONORS), Variant((2,), donors=DONORS)],
]


def changed(rows: Any, variant: Variant, at: slice) -> list[list[Any]]:
    """Return the rows under one variant, cell by cell."""
    table = pd.DataFrame(rows).astype(object)
    cells = [list(table.iloc[r]) for r in range(at.start, at.stop)]
    for position, column in enumerate(variant.columns):
        for i, r in enumerate(range(at.start, at.stop)):
            if variant.donors is not None:
                cells[i][column] = table.iloc[variant.donors[r], column]
            else:
                value = variant.values[position]
                cells[i][column] = value if np.ndim(value) == 0 else value[r]
    return cells


@pytest.mark.parametrize("rows", [ARRAY, FRAME], ids=["array", "frame"])
@pytest.mark.parametrize("at", [slice(0, 4), slice(1, 3)])
def test_variants_of_a_row_stand_side_by_side_and_leave_the_rows_as_they_are(rows: Any, at: slice) -> None:
    before = rows.copy()
    part = rows[at] if isinstance(rows, np.ndarray) else rows.iloc[at].reset_index(drop=True)
    source = ColumnLookup(rows)
    for group in GROUPS:
        table = pd.DataFrame(variant_rows(part, group, source, at.start)).astype(object)
        by_variant = [changed(rows, variant, at) for variant in group]
        expected = [cells for pair in zip(*by_variant, strict=True) for cells in pair]
        pd.testing.assert_frame_equal(
            table.reset_index(drop=True),
            pd.DataFrame(expected, columns=table.columns).astype(object),
            check_dtype=False,
        )
    pd.testing.assert_frame_equal(pd.DataFrame(rows), pd.DataFrame(before))


def test_columns_of_a_frame_keep_their_types() -> None:
    for group in GROUPS:
        table: Any = variant_rows(FRAME, group, ColumnLookup(FRAME))
        assert table.dtypes.equals(FRAME.dtypes)


def test_a_part_of_a_variant_is_of_its_rows() -> None:
    some = np.array([2, 0])
    donated = Variant((0,), donors=DONORS).part(some)
    assert (donated.columns, donated.donors.tolist()) == ((0,), [1, 3])  # type: ignore[union-attr]
    rowwise = Variant((0, 1), (ARRAY[:, 0], 5.0)).part(slice(1, 3))
    assert (rowwise.values[0].tolist(), rowwise.values[1], rowwise.donors) == ([3.0, 6.0], 5.0, None)
