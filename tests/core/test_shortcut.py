"""When a shortcut is believed: how far is too far, what is compared, and in which words it is reported."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from uq_report.core.engine.fast_path_evaluator import (
    TOLERANCE,
    CheckedFastPaths,
    Comparison,
    FastPathStats,
    compared,
)
from uq_report.core.model.variants import Variant

PLAIN = np.array([[0.0, -2.0, 1.0], [np.inf, 5e-7, 0.0]])
USUAL = np.zeros(2)
NOTHING = np.zeros((3, 0))


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


def shortcuts(*paths: Any, model: Any = "model", X: Any = NOTHING) -> tuple[CheckedFastPaths, dict[str, FastPathStats]]:
    served = {path.name: FastPathStats("walks") for path in paths}
    adapter: Any = None
    return CheckedFastPaths(paths, served, model, adapter, X), served


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


def test_a_path_that_does_not_know_all_is_asked_for_what_it_knows() -> None:
    first, second = Path("p", 1), Path("q", 2)
    chooser, _ = shortcuts(first, second)
    agree = Asked()
    for methods, needs, chosen in (
        (None, {"mean", "cdf"}, "p"),
        ({"mean", "cdf"}, {"mean", "cdf"}, "p"),
        ({"mean"}, {"mean", "cdf"}, "q"),
        (set(), set(), "p"),
    ):
        first.methods = methods  # type: ignore[attr-defined]  # optional
        assert chooser.chosen([ALONE], ["crps"], agree, needs) == chosen


def test_infinite_values_must_be_the_same() -> None:
    assert compared(PLAIN.copy, PLAIN, USUAL).difference == 0
    other = np.where(np.isinf(PLAIN), 7.0, PLAIN)
    assert compared(lambda: other, PLAIN, USUAL).difference == np.inf
    assert compared(lambda: -PLAIN, PLAIN, USUAL).difference == np.inf


def test_what_a_shortcut_raises_is_its_failure() -> None:
    def broken() -> Any:
        raise ValueError("no\nsuch leaf")

    assert compared(broken, PLAIN, USUAL) == Comparison(3, 0.0, "ValueError: no such leaf")


DONORS = np.arange(3)
ALONE, OTHER, BOTH = (Variant(columns, donors=DONORS) for columns in ((0,), (1,), (0, 1)))
CONSTANT, ROWWISE = Variant((0,), (1.0,)), Variant((0,), (DONORS,))


class Asked(list[list[Variant]]):
    """Agrees, and keeps what was compared."""

    def __call__(self, name: str, changes: Sequence[Variant]) -> Comparison:
        self.append(list(changes))
        return Comparison(32 * len(changes), 1e-16 * len(self))


def test_each_column_and_kind_of_change_is_compared_once_for_every_measure() -> None:
    asked = Asked()
    chooser, served = shortcuts(Path("p", 1))
    for variants, measures, compared_now in (
        ([ALONE, ALONE], ["nll"], [ALONE]),
        ([OTHER], ["nll"], [OTHER]),
        ([BOTH], ["nll"], [BOTH]),
        ([CONSTANT, ROWWISE], ["nll"], [CONSTANT, ROWWISE]),
        ([Variant()], ["nll"], [Variant()]),
        ([Variant((), donors=DONORS)], ["nll"], []),
        ([ALONE, OTHER, BOTH, CONSTANT, ROWWISE], ["nll"], []),
        ([ALONE], ["nll", "entropy"], [ALONE]),
        ([ALONE], ["entropy"], []),
        ([ALONE, Variant()], ["entropy"], [Variant()]),
        ([CONSTANT], [], []),
    ):
        before = len(asked)
        assert chooser.chosen(variants, measures, asked) == "p"
        found = [change for call in asked[before:] for change in call]
        assert [id(change) for change in found] == [id(change) for change in compared_now] or found == compared_now
        assert len(asked) - before == bool(compared_now)
    assert served["p"] == FastPathStats("walks", compared=32 * 8, difference=7 * 1e-16)


def test_the_lowest_rank_that_covers_the_whole_group_predicts_it() -> None:
    chooser, _ = shortcuts(Path("a", 2), Path("z", 1, beyond=5))
    near, far = Variant((0,), (1.0,)), Variant((5,), (1.0,))
    agree = lambda name, changes: Comparison(1, 0.0)  # noqa: E731 - a function of one line
    assert [chooser.chosen(group, ["nll"], agree) for group in ([near], [far], [near, far])] == ["z", "a", "a"]
    assert shortcuts(Path("a", 2), model=None)[0].chosen([near], ["nll"], agree) == ""


@pytest.mark.parametrize(
    "comparison", [Comparison(9, 2 * TOLERANCE), Comparison(9, np.nan), Comparison(9, 0.0, "Broken: so")]
)
def test_one_that_differs_is_left_for_all_tables_and_the_next_takes_over(comparison: Comparison) -> None:
    paths: tuple[Any, ...] = (Path("first", 1), Path("second", 2))
    chooser, served = shortcuts(*paths)

    def compare(name: str, changes: Sequence[Variant]) -> Comparison:
        return comparison if name == "first" else Comparison(9, 0.0)

    change = [Variant((0,), (1.0,))]
    assert chooser.chosen(change, ["nll"], compare) == "second"
    assert served["first"].dropped
    adapter: Any = None
    elsewhere = CheckedFastPaths(paths, served, "model", adapter, NOTHING)
    assert elsewhere.chosen(change, ["nll"], lambda name, changes: Comparison(9, 0.0)) == "second"


def test_one_that_differs_by_the_tolerance_is_used() -> None:
    chooser, served = shortcuts(Path("p", 1))
    for name, difference, chosen in (("nll", TOLERANCE, "p"), ("entropy", np.nextafter(TOLERANCE, 1), "")):
        found = Comparison(9, float(difference))
        assert chooser.chosen([ALONE], [name], lambda name, changes, of=found: of) == chosen  # type: ignore[misc]
    assert "more than 1e-09" in served["p"].dropped


def test_what_is_reported() -> None:
    assert str(FastPathStats("walks")) == "not used"
    assert str(FastPathStats("walks", rows=7, compared=4)) == (
        "7 predictions (walks); 4 compared with those of the model, equal to the last bit"
    )
    words = str(FastPathStats("walks", rows=7000, failed=1200, compared=4, difference=1e-12, dropped="it differs"))
    assert words == (
        "7,000 predictions (walks); 4 compared with those of the model, at most 1e-12 apart; "
        "1,200 further predictions by the model itself; then not used: it differs"
    )
    assert "compared with those of the model, infinite on one side only" in str(
        FastPathStats("walks", rows=1, difference=np.inf)
    )


def test_an_infinite_difference_is_reported_in_words() -> None:
    chooser, served = shortcuts(Path("p", 1))
    assert chooser.chosen([CONSTANT], ["nll"], lambda name, changes: Comparison(9, np.inf)) == ""
    assert served["p"].dropped == "its predictions differ from the model's own by infinity"
    assert "inf " not in str(served["p"])
