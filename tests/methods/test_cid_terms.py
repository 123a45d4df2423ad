"""The parts of covered information by hand: redundant and synergistic parts, copies, cells, and what notes name."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from uq_report.core.support.arrays import FloatArray
from uq_report.core.support.errors import InputError
from uq_report.distributions import Normal
from uq_report.methods.cid.cid import InformationTerms, UnfitError, covered_share, regressors
from uq_report.methods.cid.estimate import Data, cells, copy_notes, in_cells, listed, twins, varying

from .pfi_cases import subject


def flat(X: FloatArray) -> Normal:
    return Normal(np.zeros(len(X)), np.ones(len(X)))


def data(*columns: Any, y: Any = None, classes: bool = False) -> Data:
    of = subject(flat, np.column_stack([np.asarray(column, dtype=float) for column in columns]))
    return Data(of, of.features, np.arange(of.n) if y is None else y, classes, of.n)


def copies(*columns: Any) -> dict[str, str]:
    of = data(*columns).subject
    return twins(of, of.features)


def correlated(r: float) -> tuple[FloatArray, FloatArray]:
    """Return two columns of this correlation."""
    u, v = np.array([1.0, -1.0, 1.0, -1.0]), np.array([1.0, 1.0, -1.0, -1.0])
    return u, r * u + np.sqrt(1 - r**2) * v


def test_parts_are_the_means_of_positive_and_of_negative_rows() -> None:
    """Rows 3, -1 of mutual and 1, 1 of conditional: covered 2, -2."""
    terms = InformationTerms(np.array([[3.0], [-1.0]]), np.array([[1.0], [1.0]]))
    assert regressors(terms).tolist() == [[1.0, 1.5, 1.0, 0.5]]
    assert regressors(terms, np.array([0.25, 0.75])).tolist() == [[0.5, 0.75, 1.5, 0.75]]


def test_a_share_is_between_0_and_1_and_of_positive_information_only() -> None:
    covered, mutual = np.array([2.0, -1.0, 0.5, 1.0, 1.0]), np.array([1.0, 1.0, 2.0, 0.0, -1.0])
    np.testing.assert_array_equal(covered_share(covered, mutual), [1.0, 0.0, 0.25, np.nan, np.nan])


@pytest.mark.parametrize("sign", [1, -1])
def test_columns_are_copies_from_a_correlation_of_1_less_a_billionth_on(sign: int) -> None:
    u, close = correlated(sign * (1 - 1.05e-9))
    assert data(u, close).numbers.shape == (4, 2)
    _, copy = correlated(sign * (1 - 0.95e-9))
    with pytest.raises(UnfitError, match=r"got 'a' and 'c' with correlation ±1 \(1 such pairs\)") as refused:
        _ = data(u, correlated(0)[1], copy).numbers
    assert refused.value.reason == "a and c have correlation ±1"
    with pytest.raises(UnfitError, match=r"got 'a' and 'b' with correlation ±1 \(3 such pairs\)"):
        _ = data(u, copy, 2 * u + 1).numbers


def test_gaps_infinite_values_and_constants_are_found_by_column() -> None:
    of = data([1.0, np.nan, np.nan, 2.0], [1.0, 2.0, np.inf, 4.0], [1.0, 2.0, 3.0, -np.inf], np.arange(4))
    assert of.gaps == {"a": 2}
    assert of.infinite == ("b", "c")
    some = subject(flat, np.array([[1.0, 5.0, 1.0], [1.0, 5.0, np.nan]]))
    used, constant = varying(some)
    assert used == ("c",), "a missing value is a value"
    assert [(gap.measure, gap.feature) for gap in constant] == [("", "a"), ("", "b")]
    with pytest.raises(InputError, match="must have a feature that varies"):
        varying(subject(flat, np.ones((3, 2))))


def test_five_names_are_all_named() -> None:
    assert listed(list("abcde")) == "a, b, c, d, e"
    assert listed(list("abcdef")) == "a, b, c, d, e and 1 more"
    one, two = copy_notes(dict.fromkeys("abcde", "z")), copy_notes(dict.fromkeys("abcdef", "z"))
    assert len(one) == 5
    assert two[-1] == "So it is with 1 more column that repeats another."


def test_columns_of_few_values_repeat_by_pairing_and_others_by_ranks() -> None:
    """Up to half as many values as rows any renaming is a copy; above, only what keeps or turns the order."""
    few, many = np.array([0, 1, 2, 3] * 2), np.array([0, 1, 2, 3, 4, 4, 4, 4])
    renamed = np.array([5, 9, 1, 2] * 2)
    assert copies(few, renamed) == {"b": "a"}
    shuffled = np.array([3, 1, 2, 0, 4, 4, 4, 4])
    up, down = np.exp(many), -many
    assert copies(many, shuffled, up, down) == {"c": "a", "d": "a"}
    gap = np.where(np.arange(8) == 2, np.nan, np.arange(8.0))
    assert copies(gap, -gap, np.arange(8)) == {"b": "a"}


def test_twenty_levels_have_a_cell_each_and_of_more_the_rarest_share_one() -> None:
    twenty = np.repeat(np.arange(20), 2).astype(str)
    assert len(np.unique(cells(twenty, None))) == 20
    more = np.concatenate([twenty, ["rare", "rarer"]])
    codes = cells(more, None)
    assert len(np.unique(codes)) == 20, "19 of the most frequent and the rest"
    assert codes[-1] == codes[-2]
    missing = cells(pd.Series([None, *more], dtype=object), None)
    assert (missing[0] in missing[1:], len(np.unique(missing))) == (False, 21)


def test_cells_hold_equal_counts_and_equal_values_together() -> None:
    assert cells([5.0, 1.0, 3.0, 2.0, 4.0, 6.0], 3).tolist() == [2, 0, 1, 0, 1, 2]
    assert cells([1.0, 1.0, 1.0, 1.0, 2.0, 3.0], 2).tolist() == [0, 0, 0, 0, 1, 1]


def test_a_number_is_cut_where_it_has_more_values_than_cells_and_y_unless_it_is_a_class() -> None:
    three, four, y = np.arange(12) % 3, np.arange(12) % 4, np.arange(12.0)
    codes, notes = in_cells(data(three, four, y=y), 3)
    assert [len(np.unique(column)) for column in codes.T] == [3, 3, 3]
    assert notes == ("Cut into 3 cells of about equal count: b, y. Information within a cell is lost.",)
    codes, notes = in_cells(data(three, y=np.arange(12) % 4, classes=True), 3)
    assert (codes.max(axis=0).tolist(), notes) == ([2, 3], ())


@pytest.mark.parametrize(("levels", "pooled"), [(20, False), (21, True)])
def test_what_shares_a_cell_is_named_from_21_levels_on(levels: int, pooled: bool) -> None:
    codes, notes = in_cells(data(np.arange(42) % 2, y=np.arange(42) % levels, classes=True), 4)
    assert (codes[:, 1].max() + 1, any("share one cell: y." in note for note in notes)) == (20, pooled)
