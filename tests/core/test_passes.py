"""One prediction pass: which variants share a call, and how a shortcut fails."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from uq_report.core.engine.evaluator import grouped, refuse_base, rows_of
from uq_report.core.engine.fast_path_evaluator import COMPARED, FastPathBatchEvaluator
from uq_report.core.model.measures import KL, NLL, PREDICTION
from uq_report.core.model.variants import Variant
from uq_report.core.support.arrays import IntArray, Table
from uq_report.core.support.errors import ModelError, UnsupportedError
from uq_report.distributions import Normal

X = np.arange(12.0).reshape(6, 2)
Y = np.linspace(-1.0, 1.0, 6)
PUT = Variant((0,), (7.0,))


class Model:
    """Predicts the sum of a row with spread 1; its shortcut is off by `apart`, or raises."""

    def __init__(self, apart: float = 0.0, broken: bool = False) -> None:
        self.apart, self.broken, self.asked = apart, broken, [0, 0]

    def plain(self, rows: Table) -> Normal:
        self.asked[0] += len(rows)
        return Normal(np.asarray(rows).sum(axis=1), 1.0)

    def short(self, name: str, group: Sequence[Variant], rows: IntArray) -> Normal:
        self.asked[1] += len(rows) * len(group)
        if self.broken:
            raise ValueError(name)
        changed = np.repeat(X[rows][:, None], len(group), axis=1)
        for v, variant in enumerate(group):
            for position, values in zip(variant.columns, variant.values, strict=True):
                changed[:, v, position] = values
        return Normal(changed.sum(axis=2).ravel() + self.apart, 1.0)

    def task(
        self, *, rows: IntArray | None = None, most: int = 100, measures: Any = (PREDICTION,)
    ) -> FastPathBatchEvaluator:
        base = Normal(X.sum(axis=1), 1.0)
        return FastPathBatchEvaluator(self.short, self.plain, most, X, rows, measures, Y, base)


@pytest.mark.parametrize(
    ("model", "shortcut", "short", "asked"),
    [
        (Model(), "", False, [12, 0]),
        (Model(), "p", True, [0, 12]),
        (Model(broken=True), "p", False, [12, 12]),
    ],
)
def test_the_model_itself_predicts_where_a_shortcut_fails(
    model: Model, shortcut: str, short: bool, asked: list[int]
) -> None:
    (first, values), chosen, was_short = model.task()(3, [Variant(), PUT], shortcut)
    assert (first, chosen, was_short, model.asked) == (3, shortcut, short, asked)
    np.testing.assert_array_equal(values, [[X.sum(axis=1), 7 + X[:, 1]]])


@pytest.mark.parametrize("shortcut", ["", "p"])
@pytest.mark.parametrize("most", [100, 1, 4, 6, 9])
def test_parts_of_rows_are_put_together_in_their_order(most: int, shortcut: str) -> None:
    rows = np.array([5, 0, 3, 1, 4])
    task = Model().task(rows=rows, most=most, measures=(PREDICTION, NLL, KL))
    rowwise = Variant((0,), (np.arange(5.0),))
    for _ in range(2):
        values = task(0, [rowwise, Variant()], shortcut).group.values
        changed, same = np.arange(5.0) + X[rows, 1], X[rows].sum(axis=1)
        np.testing.assert_array_equal(values[0], [changed, same])
        half = 0.5 * np.log(2 * np.pi)
        np.testing.assert_allclose(values[1], [half + (Y[rows] - m) ** 2 / 2 for m in (changed, same)])
        np.testing.assert_allclose(values[2], [(changed - same) ** 2 / 2, np.zeros(5)])


@pytest.mark.parametrize(("most", "calls"), [(100, [18]), (17, [12, 6]), (6, [6, 6, 6]), (4, [3] * 6)])
def test_the_model_is_asked_for_so_many_rows_where_a_shortcut_of_wider_groups_fails(
    most: int, calls: list[int]
) -> None:
    model, seen = Model(broken=True), []

    def plain(rows: Any) -> Normal:
        seen.append(len(rows))
        return Model.plain(model, rows)

    model.plain = plain  # type: ignore[method-assign]
    values = model.task(most=most)(0, [Variant(), PUT, Variant()], "p").group.values
    assert seen == calls
    np.testing.assert_array_equal(values, [[X.sum(axis=1), 7 + X[:, 1], X.sum(axis=1)]])


def test_a_comparison_asks_both_for_the_same_rows() -> None:
    """The mean is at most 26 with a 7 in the first column, 21 without: the largest of all rows."""
    model = Model(apart=1e-6)
    found = model.task().compared("p", [PUT, Variant()])
    assert model.asked == [12, 12]
    assert (found.rows, found.failed) == (12, "")
    assert found.difference == pytest.approx(1e-6 / 21)
    assert Model(broken=True).task().compared("p", [PUT]).failed == "ValueError: p"


@pytest.mark.parametrize(
    ("rows", "changes", "each"), [(5 * COMPARED, 1, COMPARED), (100, 4, 12), (100, 6, 8), (100, 7, 8), (4, 1, 4)]
)
def test_a_comparison_takes_so_many_rows_from_first_to_last(rows: int, changes: int, each: int) -> None:
    """At most half of the rows in all, but eight of each change."""
    seen: list[IntArray] = []
    many = np.arange(float(rows))[:, None]

    def short(name: str, group: Sequence[Variant], rows: IntArray) -> Normal:
        seen.append(rows)
        return Normal(np.repeat(many[rows, 0], len(group)), 1.0)

    plain = lambda rows: Normal(np.asarray(rows)[:, 0], 1.0)  # noqa: E731
    task = FastPathBatchEvaluator(short, plain, rows, many, None, (KL,), None, Normal(many[:, 0], 1.0))
    assert task.compared("p", [Variant()] * changes) == (each * changes, 0.0, "")
    assert len(seen[0]) == each
    assert (seen[0][0], seen[0][-1]) == (0, len(many) - 1)


@pytest.mark.parametrize(("measure", "largest"), [(PREDICTION, 21.0), (KL, 1.0)])
def test_a_measure_against_unchanged_rows_has_the_size_1(measure: Any, largest: float) -> None:
    assert Model().task(measures=(measure,))._usual.tolist() == [largest]


A, B, AB, BA = (Variant(columns, (0.0,) * len(columns)) for columns in ((0,), (1,), (0, 1), (1, 0)))


@pytest.mark.parametrize(
    ("mixed", "sizes"), [(True, [(0, 3), (3, 1), (4, 2), (6, 1)]), (False, [(0, 2), (2, 2), (4, 1), (5, 1), (6, 1)])]
)
def test_columns_that_may_share_a_call(mixed: bool, sizes: list[tuple[int, int]]) -> None:
    found = list(grouped([A, A, B, B, AB, BA, A], 3, mixed=mixed))
    assert [(first, len(group)) for first, group in found] == sizes
    assert [variant for _, group in found for variant in group] == [A, A, B, B, AB, BA, A]


def test_nan_is_an_error_of_the_model_told_with_the_measure() -> None:
    odd = Normal(np.zeros(3), 1.0)
    odd.loc = np.array([0.0, np.nan, np.nan])
    with pytest.raises(ModelError, match=r"'prediction' must be a number on every row; got NaN on 2 of 3 rows"):
        rows_of(odd, (PREDICTION,), None, None)


def test_measures_against_unchanged_rows_are_refused_where_rows_are_made_up() -> None:
    refuse_base((PREDICTION, NLL))
    with pytest.raises(UnsupportedError, match=r"^kl compares each row with itself unchanged"):
        refuse_base((PREDICTION, KL))
