"""What methods share, by hand: associations of columns, grids of profiles, rows worth a look, values as JSON."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import uq_report as uq
from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.model.measures import NLL
from uq_report.core.model.subject import Subject, make_subject
from uq_report.core.support.errors import InputError, UnsupportedError
from uq_report.distributions import Categorical, Normal
from uq_report.methods.pfi.drivers import associated
from uq_report.methods.shared.association import NumericColumn, association, associations, coded
from uq_report.methods.shared.choice import (
    as_names,
    as_rows,
    chosen_rows,
    draw,
    notable_rows,
    plain_values,
    positions,
    row_measures,
)
from uq_report.methods.shared.grids import FeatureGrid, make_grid
from uq_report.methods.shared.terms import ShuffledRows
from uq_report.testing import KnownTruth, measures

from .pfi_cases import subject

GAP = float("nan")


def column(name: str, values: Any, *, ordered: bool) -> NumericColumn:
    return NumericColumn(name, np.asarray(values, dtype=float), ordered)


def table(counts: list[list[int]]) -> tuple[NumericColumn, NumericColumn]:
    """Return two columns of levels with a table of counts."""
    pairs = np.array([(i, j) for i, row in enumerate(counts) for j, n in enumerate(row) for _ in range(n)], dtype=float)
    return column("a", pairs[:, 0], ordered=False), column("b", pairs[:, 1], ordered=False)


@pytest.mark.parametrize(
    ("counts", "square"),
    [
        # phi² = 1/4, of which 1/79 is chance; at most 1 - 1/79
        ([[30, 10], [10, 30]], (1 / 4 - 1 / 79) / (1 - 1 / 79)),
        # phi² = 2/3, of which 2/59 is chance; two and three levels: at most 1 - 1/59
        ([[20, 10, 0], [0, 10, 20]], (2 / 3 - 2 / 59) / (1 - 1 / 59)),
        ([[25, 25], [25, 25]], 0.0),
        ([[2, 1], [1, 2]], 0.0),  # phi² = 1/9, of which 1/5 would be chance
        ([[40], [40]], 0.0),
    ],
)
def test_cramers_v_is_bergsmas(counts: list[list[int]], square: float) -> None:
    a, b = table(counts)
    name, size = association(a, b)
    assert name == "cramers_v"
    assert size == association(b, a)[1] == pytest.approx(np.sqrt(square), abs=1e-12)


def test_levels_that_decide_a_number_are_associated_by_one_and_no_more() -> None:
    """Rounding went beyond it, and features that are that close have no distance below 0."""
    sizes = [
        association(NumericColumn("a", x, ordered=False), NumericColumn("b", x, ordered=True))[1]
        for x in (np.arange(float(n)) % k for n in range(8, 40) for k in (2, 3, 5))
    ]
    assert max(sizes) == 1.0
    assert min(sizes) > 1 - 1e-12
    X = pd.DataFrame({"level": np.tile(["a", "b"], 13), "number": np.tile([0.0, 1.0], 13)})
    given = uq.explain(lambda rows: Normal(rows["number"].to_numpy(), 1.0), X, X["number"])
    assert associated(given, ["level", "number"]) == [("level", "number")]


def test_the_correlation_ratio_is_kelleys_of_the_ranks() -> None:
    """Ranks 1 to 4 in two levels: 4 of 5 squares lie between them, so ε² = 1 - (1/5)(3/2) = 0.7."""
    levels, numbers = column("a", [0, 0, 1, 1], ordered=False), column("b", [1, 5, 6, 60], ordered=True)
    for pair in ((levels, numbers), (numbers, levels)):
        name, size = association(*pair)
        assert name == "correlation_ratio"
        assert size == pytest.approx(np.sqrt(0.7))
    mixed = column("b", [1, 6, 5, 60], ordered=True)  # 1 of 5 squares: ε² = 1 - (4/5)(3/2) is no share
    assert association(levels, mixed)[1] == 0
    each = column("a", [0, 1, 2, 3], ordered=False)
    assert association(each, numbers)[1] == 0  # as many levels as rows say nothing
    assert association(levels, column("b", [3, 3, 3, 3], ordered=True))[1] == 0


def test_spearmans_correlation_is_scipys_on_the_rows_that_both_have() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 6, (2, 40)).astype(float)
    x[:5], y[3:9] = GAP, GAP
    both = ~np.isnan(x) & ~np.isnan(y)
    found = associations([column("x", x, ordered=True), column("y", -y, ordered=True)])
    assert found[0, 1] == found[1, 0] == pytest.approx(abs(stats.spearmanr(x[both], y[both]).statistic))
    assert found.diagonal().tolist() == [-1, -1]


@pytest.mark.parametrize(("both", "size"), [(1, 0.0), (2, 1.0)])
def test_two_common_rows_are_the_least(both: int, size: float) -> None:
    x = column("x", [1, 2, GAP, GAP], ordered=True)
    y = column("y", [5 if both == 2 else GAP, 7, 1, 1], ordered=True)
    assert association(x, y)[1] == pytest.approx(size)


def test_one_common_row_of_two_kinds_of_levels_says_nothing() -> None:
    assert association(column("a", [1, GAP], ordered=False), column("b", [5, 6], ordered=False)) == ("cramers_v", 0.0)


def test_columns_become_numbers() -> None:
    frame = pd.DataFrame(
        {
            "day": pd.to_datetime(["2020-01-02", "NaT", "2020-01-01"]),
            "level": ["b", None, "a"],
            "ordered": pd.Categorical(["lo", None, "hi"], ["hi", "mid", "lo"]),
            "number": [1.5, None, 2.0],
        }
    )
    made = make_subject(None, Flat(), frame)
    expected = {"day": [86400, GAP, 0], "level": [0, GAP, 1], "ordered": [2, GAP, 0], "number": [1.5, GAP, 2.0]}
    for name, numbers in expected.items():
        found = coded(made, name)
        np.testing.assert_array_equal(found.numbers, numbers)
        assert found.ordered == (name in ("day", "number"))


class Flat(KnownTruth):
    """Predicts the same of every row."""

    def predict(self, model: Any, X: Any) -> Any:
        return Normal(np.zeros(len(X)), np.ones(len(X)))


# ------------------------------------------------------------------ grids


def grid(
    values: Any, resolution: int = 5, percentiles: tuple[float, float] = (0.0, 1.0), most: int = 3, **more: Any
) -> FeatureGrid | None:
    made = make_subject(None, Flat(), pd.DataFrame({"a": values}))
    return make_grid(made, "a", resolution, percentiles, most, **more)


def test_a_grid_of_few_values_is_all_of_them_and_of_more_their_quantiles() -> None:
    few = grid([3.0, 1.0, 2.0, 2.0, 5.0, 4.0])
    assert few is not None
    assert (few.steps, few.x.tolist(), few.numeric) == ((1, 2, 3, 4, 5), [1, 2, 3, 4, 5], True)
    # of 8 rows: the least for a share of 0, then the 2nd, 4th, 6th and 8th
    more = grid(np.arange(1.0, 9.0))
    assert more is not None
    assert more.steps == (1, 2, 4, 6, 8)
    inner = grid([3.0, 1.0, 2.0, 4.0], percentiles=(0.3, 0.8))
    assert inner is not None
    assert inner.steps == (2, 3, 4)  # at 0.3, 0.425, 0.55, 0.675 and 0.8 of 4 rows: rows 2, 2, 3, 3 and 4


@pytest.mark.parametrize(("most", "steps", "rest"), [(3, ("a", "b", "c"), None), (2, ("a", "c"), 1)])
def test_the_most_frequent_levels_stand_on_a_grid_in_order(most: int, steps: tuple[str, ...], rest: int | None) -> None:
    for values in (list("caacbc"), pd.Categorical(list("caacbc"), list("abcd"))):
        found = grid(values, most=most)
        assert found is not None
        assert (found.steps, found.levels, found.numeric) == (steps, steps, False)
        words = f"a: the {most} most frequent of 3 levels; {rest} observations have another one."
        assert found.notes == ((words,) if rest else ())


def test_what_is_missing_or_infinite_is_no_point_and_is_told() -> None:
    found = grid([1.0, np.inf, 3.0, None, None, -np.inf])
    assert found is not None
    assert found.steps == (1, 3)
    assert found.notes == (
        "a: 2 observations have no value; the grid has observed values only.",
        "a: 2 infinite values are not on the grid.",
    )  # fmt: skip
    single = grid([2.0, 2.0])
    assert single is not None
    assert single.notes == ("a has one value on the grid; its profile is a single point.",)
    assert grid([np.inf, None]) is None


def test_rows_stand_at_their_own_value_level_or_day() -> None:
    days = pd.to_datetime(["2020-01-01", "NaT", "2020-01-03", "2020-01-09"])
    cases: list[tuple[Any, dict[str, Any], list[float]]] = [
        ([1.0, np.inf, None, 3.0], {}, [1, GAP, GAP, 3]),
        (["a", None, "c", "b"], {"custom": ("b", "a")}, [1, GAP, GAP, 0]),
        # a day between two points belongs to the later one, one after the last to the last
        (days, {"custom": tuple(pd.to_datetime(["2020-01-01", "2020-01-02", "2020-01-04"]))}, [0, GAP, 2, 2]),
    ]
    for values, more, own in cases:
        made = make_subject(None, Flat(), pd.DataFrame({"a": values}))
        found = make_grid(made, "a", 5, (0.0, 1.0), 5, **more)
        assert found is not None
        np.testing.assert_array_equal(found.own_x(made), own)


# ------------------------------------------------------------------ rows


def classes(p: list[float], y: list[int] | None = None) -> Engine:
    """Return two classes with these probabilities of the second."""
    column = np.array(p)[:, None]
    given: Subject = subject(lambda X: Categorical(np.column_stack([1 - X[:, 0], X[:, 0]])), column, y)
    return Engine(given, measures())


def test_notable_rows_are_the_most_uncertain_the_most_wrong_and_the_most_usual() -> None:
    engine = classes([0.5, 0.9, 0.1, 0.3, 0.01, 0.5], [0, 0, 1, 0, 0, 1])
    roles = notable_rows(engine, 2)
    assert roles["most uncertain"] == [0, 5]  # an entropy of log 2 both, the earlier row first
    assert roles["most wrong"] == [1, 2]  # a loss of log 10 both
    prediction, entropy = np.array([0.5, 0.9, 0.1, 0.3, 0.01, 0.5]), engine.baseline.entropy()
    away = [np.abs(v - np.median(v)) / v.std() for v in (prediction, entropy)]
    assert roles["typical"] == np.argsort(away[0] + away[1])[:2].tolist()
    assert set(notable_rows(classes([0.5, 0.9]), 1)) == {"most uncertain", "typical"}
    assert notable_rows(engine, 0) == {}


def test_profiles_are_of_measures_with_a_value_a_row_and_of_the_log_odds_of_two_classes() -> None:
    engine = classes([0.5, 0.9], [0, 1])
    found, omitted = row_measures("demo", engine, None)
    assert [m.name for m in found][:4] == ["prediction", "log_odds", "nll", "entropy"]
    without = Engine(engine.subject, {k: m for k, m in measures().items() if k != "log_odds"})
    assert [m.name for m in row_measures("demo", without, None)[0]][:3] == ["prediction", "nll", "entropy"]
    found, omitted = row_measures("demo", engine, ("nll", "one_minus_auc"))
    assert [m.name for m in found] == ["nll"]
    reason = "it is a statistic of all observations together, so no single observation has a value to explain"
    assert [(o.measure, o.reason) for o in omitted] == [("one_minus_auc", reason)]
    with pytest.raises(UnsupportedError, match="demo: no measure can be evaluated: one_minus_auc: it is a statistic"):
        row_measures("demo", engine, ("one_minus_auc",))


def test_the_most_usual_row_is_found_beside_infinite_and_equal_values() -> None:
    def model(X: Any) -> Normal:
        return Normal(X[:, 0], np.ones(len(X)))

    engine = Engine(subject(model, np.array([[9.0], [2.0], [1.0], [3.0], [100.0]])), measures())
    assert notable_rows(engine, 5)["typical"] == [3, 1, 2, 0, 4]  # by |x - 3|; every spread is the same


def test_an_interval_is_distrusted_for_few_events_or_few_rows_that_carry_it_and_an_exact_value_never() -> None:
    y = np.repeat([0, 1], [95, 5])
    rows = ShuffledRows((NLL,), np.zeros((1, 100)), y, np.ones(100), None, classes=True)
    even, one = np.resize([1.0, -1.0], 100), np.eye(100)[0]
    assert rows.unreliable(even, 0.1, outcomes=True).reason == "few events (5 of 100 observations)"
    assert rows.unreliable(even, 0.1, outcomes=False).reason == ""
    assert replace(rows, y=np.resize([0, 1], 100)).unreliable(even, 0.1, outcomes=True).reason == ""
    assert replace(rows, classes=False).unreliable(even, 0.1, outcomes=True).reason == ""
    heavy = "heavy tails (the variance rests on about 1 of 100 observations)"
    assert rows.unreliable(one, 0.1, outcomes=False).reason == heavy
    for exact in (0.0, GAP):
        assert rows.unreliable(one, exact, outcomes=True).reason == ""
    halves = replace(rows, weights=np.repeat([1.0, 0.0], 50), y=np.repeat([0, 1], 50))
    assert halves.unreliable(even, 0.1, outcomes=True).reason == "no events (0 of 50 observations)"


def test_rows_needed_for_a_heavy_tail_are_rows_where_clusters_carry_it() -> None:
    """Two of 50 clusters of two rows have the variance: ten would in 250, which are 500 rows; of 100 rows 500."""
    rows = ShuffledRows((NLL,), np.zeros((1, 100)), np.zeros(100), np.ones(100), np.arange(100) // 2)
    tails = rows.unreliable(np.r_[1.0, 1.0, -1.0, -1.0, np.zeros(96)], 0.1, outcomes=False)
    assert tails.reason == "heavy tails (the variance rests on about 2 of 50 clusters)"
    single = replace(rows, clusters=None).unreliable(np.r_[1.0, -1.0, np.zeros(98)], 0.1, outcomes=False)
    assert single.reason == "heavy tails (the variance rests on about 2 of 100 observations)"
    assert tails.rows == single.rows == 500


def test_named_rows_are_kept_once_in_their_order() -> None:
    engine = classes([0.5, 0.9, 0.1])
    assert chosen_rows("demo", [2, 0, 2], engine, 1) == {"chosen": [2, 0]}
    assert chosen_rows("demo", [], engine, 1) == {}
    assert chosen_rows("demo", None, engine, 1) == notable_rows(engine, 1)
    assert positions({"one": [3, 1], "two": [2, 3]}) == [1, 2, 3]
    for row in (-1, 3):
        with pytest.raises(InputError, match=rf"demo\.rows must be row positions of X, 0 to 2; got \[{row}\]"):
            chosen_rows("demo", [0, row], engine, 1)


def test_names_and_rows_of_options_are_sequences() -> None:
    assert (as_names("demo", "features", ["a"]), as_rows("demo", [np.int64(1)]), as_rows("demo", None)) == (
        ("a",), (1,), None,
    )  # fmt: skip
    wrong: tuple[Any, ...] = ("a", [])
    for names in wrong:
        with pytest.raises(InputError, match=r"demo\.features must be a sequence of names"):
            as_names("demo", "features", names)
    for rows in ("01", [1.5]):
        with pytest.raises(InputError, match=r"demo\.rows must be row positions of X; got"):
            as_rows("demo", rows)


@pytest.mark.parametrize(("size", "drawn"), [(2, 2), (3, 3), (9, 3)])
def test_rows_that_weigh_nothing_are_never_drawn(size: int, drawn: int) -> None:
    weights = np.array([0.0, 2.0, 1.0, 0.0, 3.0])
    found = draw(np.random.default_rng(0), 5, size, weights)
    assert len(set(found.tolist())) == drawn
    assert set(found.tolist()) <= {1, 2, 4}
    assert (np.diff(found) > 0).all()
    assert draw(np.random.default_rng(0), 5, 5).tolist() == [0, 1, 2, 3, 4]


def test_values_are_those_of_json() -> None:
    assert plain_values([1, np.float64(2.5), None, pd.NaT, "a", [1, 2]]) == [1, 2.5, None, None, "a", "[1, 2]"]
