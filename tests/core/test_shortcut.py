"""When a shortcut is believed: how far is too far, what is compared, and in which words it is reported."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from uq_report.core.shortcut import TOLERANCE, Comparison, Served, Shortcuts, compared
from uq_report.core.variants import Variant

PLAIN = np.array([[0.0, -2.0, 1.0], [np.inf, 5e-7, 0.0]])
USUAL = np.zeros(2)


class Path:
    """Finds a shortcut that covers what has no column `beyond`."""

    title, api_version = "a path", 1

    def __init__(self, name: str, rank: int, beyond: int = -1) -> None:
        self.name, self.rank, self.beyond = name, rank, beyond

    def shortcut(self, model: Any, adapter: Any, X: Any) -> Any:
        return None if model is None else self

    def covers(self, variant: Variant) -> bool:
        return self.beyond not in variant.columns

    def predict(self, group: Any, rows: Any) -> Any:
        raise NotImplementedError


def shortcuts(*paths: Any, model: Any = "model") -> tuple[Shortcuts, dict[str, Served]]:
    served = {path.name: Served("walks") for path in paths}
    adapter: Any = None
    return Shortcuts(paths, served, model, adapter, np.zeros((1, 1))), served


@pytest.mark.parametrize("row", [0, 1])
@pytest.mark.parametrize(("share", "believed"), [(0.9, True), (1.1, False)])
def test_a_difference_is_in_units_of_the_measure_s_largest_value(row: int, share: float, believed: bool) -> None:
    largest = (2.0, 5e-7)[row]
    values = PLAIN.copy()
    values[row, 2] += share * TOLERANCE * largest
    result = compared(lambda: values, PLAIN, USUAL)
    assert result.rows == 3
    assert result.difference == pytest.approx(share * TOLERANCE, rel=1e-6)
    assert (result.difference <= TOLERANCE) is believed


def test_the_usual_size_of_a_measure_counts_where_these_rows_are_small() -> None:
    plain, values = np.zeros((1, 2)), np.array([[0.0, 1e-12]])
    assert compared(lambda: values, plain, np.array([4.0])).difference == pytest.approx(2.5e-13)
    assert compared(lambda: values, plain, np.zeros(1)).difference == np.inf
    assert compared(lambda: plain, plain, np.zeros(1)).difference == 0


def test_infinite_values_must_be_the_same() -> None:
    assert compared(PLAIN.copy, PLAIN, USUAL).difference == 0
    other = np.where(np.isinf(PLAIN), 7.0, PLAIN)
    assert compared(lambda: other, PLAIN, USUAL).difference == np.inf
    assert compared(lambda: -PLAIN, PLAIN, USUAL).difference == np.inf


def test_what_a_shortcut_raises_is_its_failure() -> None:
    def broken() -> Any:
        raise ValueError("no\nsuch leaf")

    assert compared(broken, PLAIN, USUAL) == Comparison(3, 0.0, "ValueError: no such leaf")


def test_each_column_and_kind_of_change_is_compared_once_for_every_measure() -> None:
    asked: list[tuple[str, Variant]] = []

    def compare(name: str, variant: Variant) -> Comparison:
        asked.append((name, variant))
        return Comparison(32, 1e-16 * len(asked))

    chooser, served = shortcuts(Path("p", 1))
    donors = np.arange(3)
    alone, other, both = (Variant(columns, donors=donors) for columns in ((0,), (1,), (0, 1)))
    constant, rowwise = Variant((0,), (1.0,)), Variant((0,), (donors,))
    for variants, measures, comparisons in (
        ([alone, alone], ["nll"], 1),
        ([other], ["nll"], 1),
        ([both], ["nll"], 1),
        ([constant], ["nll"], 1),
        ([rowwise], ["nll"], 1),
        ([alone, other, both, constant, rowwise], ["nll"], 0),
        ([alone], ["nll", "entropy"], 1),
        ([alone], ["entropy"], 0),
        ([Variant()], ["entropy"], 0),
    ):
        before = len(asked)
        assert chooser.chosen(variants, measures, compare) == "p"
        assert len(asked) - before == comparisons
    assert served["p"] == Served("walks", compared=32 * 6, difference=6e-16)


def test_the_lowest_rank_that_covers_the_whole_group_predicts_it() -> None:
    chooser, _ = shortcuts(Path("a", 2), Path("z", 1, beyond=5))
    near, far = Variant((0,), (1.0,)), Variant((5,), (1.0,))
    agree = lambda name, variant: Comparison(1, 0.0)  # noqa: E731 - a function of one line
    assert [chooser.chosen(group, ["nll"], agree) for group in ([near], [far], [near, far])] == ["z", "a", "a"]
    assert shortcuts(Path("a", 2), model=None)[0].chosen([near], ["nll"], agree) == ""


@pytest.mark.parametrize(
    "comparison", [Comparison(9, 2 * TOLERANCE), Comparison(9, np.nan), Comparison(9, 0.0, "Broken: so")]
)
def test_one_that_differs_is_left_for_all_tables_and_the_next_takes_over(comparison: Comparison) -> None:
    paths: tuple[Any, ...] = (Path("first", 1), Path("second", 2))
    chooser, served = shortcuts(*paths)

    def compare(name: str, variant: Variant) -> Comparison:
        return comparison if name == "first" else Comparison(9, 0.0)

    change = [Variant((0,), (1.0,))]
    assert chooser.chosen(change, ["nll"], compare) == "second"
    assert served["first"].dropped
    adapter: Any = None
    elsewhere = Shortcuts(paths, served, "model", adapter, np.ones((2, 2)))
    assert elsewhere.chosen(change, ["nll"], lambda name, variant: Comparison(9, 0.0)) == "second"


def test_what_is_reported() -> None:
    assert str(Served("walks")) == "not used"
    assert str(Served("walks", rows=7, compared=4)) == (
        "predicted 7 rows (walks); in 4 rows compared with the model itself equal to the last bit"
    )
    words = str(Served("walks", rows=7000, failed=1200, compared=4, difference=1e-12, dropped="it differs"))
    assert words == (
        "predicted 7,000 rows (walks); in 4 rows compared with the model itself at most 1e-12 apart; "
        "the model itself predicted 1,200 rows that it could not; then left: it differs"
    )
    assert "at most inf apart" in str(Served("walks", rows=1, difference=np.inf))
