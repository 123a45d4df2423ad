"""What groups compute, by hand: contrasts of means and shares, their tests by chance, and how attributes are cut."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from uq_report import testing
from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.model.results import Result
from uq_report.core.model.sampling import Sampling
from uq_report.core.model.subject import Subject
from uq_report.core.support.errors import InputError
from uq_report.distributions import Categorical
from uq_report.methods.calibration.scores import confidence_gap
from uq_report.methods.groups import contrasts
from uq_report.methods.groups.contrasts import GroupDifference, difference, gap_p_values, shuffled_p_values
from uq_report.methods.groups.explain import Groups
from uq_report.methods.shared.attributes import Attribute, _bound, attributes


def equal(n: int) -> Sampling:
    return Sampling(np.full(n, 1 / n), n)


@pytest.mark.parametrize(
    ("estimate", "error", "p"),
    [(0.0, 0.0, 1.0), (0.1, 0.0, 0.0), (0.0, 1.0, 1.0), (-4.0, 2.0, 2 * stats.t.sf(2, 5))],
)
def test_a_difference_is_tested_by_its_t(estimate: float, error: float, p: float) -> None:
    assert GroupDifference(estimate, error, 5.0, estimate).p_value == pytest.approx(p)


def test_the_interval_is_that_of_t_about_its_centre() -> None:
    found = GroupDifference(9.0, 2.0, 5.0, 3.0)
    assert found.interval(0.9) == pytest.approx(stats.t.interval(0.9, 5, 3, 2))
    assert found.p_value == pytest.approx(2 * stats.t.sf(1.5, 5))


def test_shares_take_one_hit_and_one_miss_more() -> None:
    """3 of 4 against 0 of 6: 4/6 against 1/8 (Agresti & Caffo 2000), with Welch's degrees of freedom."""
    values, group = np.array([1.0, 1, 1, 0, 0, 0, 0, 0, 0, 0]), np.arange(10) < 4
    found = difference(values, group, ~group, equal(10), True)
    pieces = np.array([4 / 6 * 2 / 6 / 6, 1 / 8 * 7 / 8 / 8])
    assert (found.estimate, found.centre) == pytest.approx((0.75, 4 / 6 - 1 / 8))
    assert found.std_error == pytest.approx(np.sqrt(pieces.sum()))
    assert found.dof == pytest.approx(pieces.sum() ** 2 / (pieces[0] ** 2 / 5 + pieces[1] ** 2 / 7))


def test_means_that_do_not_vary_have_the_fewer_degrees_of_freedom_and_a_single_row_has_no_error() -> None:
    group, rest = np.arange(8) < 2, np.arange(8) > 3
    same = difference(np.where(group, 2.0, 1.0), group, rest, equal(8), False)
    assert (same.estimate, same.std_error, same.dof, same.p_value) == (1.0, 0.0, 1.0, 0.0)
    assert np.isnan(difference(np.arange(9.0), np.arange(9) < 1, np.arange(9) > 0, equal(9), False).std_error)


def test_one_part_that_does_not_vary_leaves_the_degrees_of_freedom_of_the_other() -> None:
    group = np.arange(9) < 3
    found = difference(np.where(group, 2.0, np.arange(9.0)), group, ~group, equal(9), False)
    assert found.dof == pytest.approx(5.0)
    assert found.std_error == pytest.approx(np.arange(3.0, 9).std(ddof=1) / np.sqrt(6))


@pytest.mark.parametrize("size", [20, 300_000])  # of the larger one, three parts are drawn at a time
@pytest.mark.parametrize("share", [True, False])
def test_a_group_like_no_random_part_has_the_smallest_p_and_equal_values_the_largest(size: int, share: bool) -> None:
    group = np.arange(2 * size) < size
    values = {"apart": (group.astype(float), share), "same": (np.ones(2 * size), share)}
    assert shuffled_p_values(values, group, np.random.default_rng(0), 7) == {"apart": 1 / 8, "same": 1.0}


@pytest.mark.parametrize("size", [1, 2, 7])
def test_the_statistics_of_random_parts_are_welchs_t_and_differences(size: int) -> None:
    rng = np.random.default_rng(1)
    table, group = rng.normal(size=(2, 12)), np.arange(12) < size
    table -= table.mean(axis=1, keepdims=True)
    sums = contrasts._sums(table, np.flatnonzero(group)[None])
    squares = np.square(table).sum(axis=1)
    ((t, apart),) = contrasts._statistics(sums, squares, np.array([False, True]), (size, 12 - size))
    assert apart == pytest.approx(abs(table[1, group].mean() - table[1, ~group].mean()))
    spread = table[0, ~group].var(ddof=1) / (12 - size) + (table[0, group].var(ddof=1) / size if size > 1 else 0.0)
    assert t == pytest.approx(abs(table[0, group].mean() - table[0, ~group].mean()) / np.sqrt(spread))


@pytest.mark.parametrize("size", [90, 10_000])  # of the larger one, 66 outcomes are drawn at a time
def test_gaps_of_groups_are_extreme_at_both_ends_and_1_where_nothing_varies(size: int) -> None:
    """Of 9 in 10, all wrong, all right; of an even chance, the loss is the entropy whatever happens."""
    q = Categorical(np.repeat([[0.9, 0.1], [0.9, 0.1], [0.5, 0.5]], size, axis=0))
    y, n = np.repeat([1, 0, 1], size), 3 * size
    groups = [np.arange(n) // size == k for k in range(3)]
    found = gap_p_values(q, y, groups, np.full(n, 1 / n), np.random.default_rng(0), 99)
    assert found == [0.02, 0.02, 1.0]


def test_rows_count_in_a_gap_by_their_weights() -> None:
    """The heavier row alone is wrong: so it, or both, are in a tenth of all draws."""
    q, weights = Categorical(np.array([[0.9, 0.1], [0.9, 0.1]])), np.array([0.75, 0.25])
    (p,) = gap_p_values(q, np.array([1, 0]), [np.ones(2, dtype=bool)], weights, np.random.default_rng(0), 4000)
    assert p == pytest.approx(0.2, abs=8 * np.sqrt(0.1 * 0.9 / 4000))


def cut(values: Any, levels: int) -> Attribute:
    (found,) = attributes({"a": values}, levels)
    return found


def test_numbers_of_more_values_than_levels_are_cut_at_values_that_occur() -> None:
    values = np.array([8.0, 7, 6, 5, 4, 3, 2, 1])
    assert cut(values, 8).labels == tuple("12345678")
    quarters = cut(values, 7)
    assert quarters.labels == ("up to 2", "over 2 to 4", "over 4 to 6", "over 6")
    assert quarters.codes.tolist() == [3, 3, 2, 2, 1, 1, 0, 0]
    assert quarters.edges == ("2", "4", "6")
    assert quarters.numbers is not None
    assert quarters.numbers.tolist() == values.tolist()
    heaped = cut(np.array([1.0, 2, 9, 9, 9, 9, 9, np.nan]), 2)
    assert heaped.labels == ("up to 2", "over 2", "missing")
    assert heaped.codes.tolist() == [0, 0, 1, 1, 1, 1, 1, 2]


def test_values_below_the_first_edge_are_one_group_with_all_others_where_they_are_few() -> None:
    assert cut(np.array([4.0, 3, 4, 4, 4, 5, 4, 4, 4]), 2).labels == ("up to 4", "over 4")
    assert cut(np.array([4.0, 3, *[5] * 9]), 2).labels == ("all values",)


def test_labels_that_read_alike_are_told_apart() -> None:
    assert cut(np.array([0.1234567, 0.1234568, 0.1234569, np.inf]), 9).labels == (
        "0.123457", "0.123457 (2)", "0.123457 (3)", "∞"
    )  # fmt: skip
    days = np.array(["2020-01-02", "2020-01-01", "NaT"], dtype="datetime64[ns]")
    found = cut(days, 9)
    assert found.labels[-1] == "missing"
    assert found.codes.tolist() == [1, 0, 2]
    assert cut(np.array([True, False]), 1).labels == ("False", "True")
    assert cut(np.array(["missing", None, "b"], dtype=object), 9).labels == ("b", "missing", "missing (2)")


@pytest.mark.parametrize(
    ("level", "bound"),
    [
        ("30 to 44", (30.0, True, 44.0)),
        ("under 30", (30.0, False, 30.0)),
        ("< 30", (30.0, False, 30.0)),
        ("30 and younger", (30.0, False, 30.0)),
        ("65 or more", (65.0, True, 65.0)),
        ("-5 to 2.5", (-5.0, True, 2.5)),
        ("women", None),
        (30, None),
    ],
)
def test_bands_begin_at_their_first_number(level: Any, bound: Any) -> None:
    assert _bound(level) == bound


def test_levels_stand_in_the_order_of_their_bands_and_else_of_their_words() -> None:
    assert cut(np.array(["45+", "unknown", "30 to 44", "under 30"]), 9).labels == (
        "under 30", "30 to 44", "45+", "unknown"
    )  # fmt: skip
    assert cut(np.array([2, "b", 1, "a"], dtype=object), 9).labels == ("1", "2", "a", "b")
    assert cut(np.array(["b", "9 lives", "a"]), 9).labels == ("9 lives", "a", "b")


def logistic(n: int, **protected: Any) -> Subject:
    return replace(testing.logistic_subject(n), protected={k: np.asarray(v) for k, v in protected.items()})


def explain(given: Subject, **options: Any) -> dict[str, Result]:
    engine = Engine(given, testing.measures()).bound("groups")
    return {r.id: r for r in Groups(**options).explain(given, engine, {})}


@pytest.mark.parametrize(
    "option", [{"n_min": 5}, {"max_levels": 2}, {"n_draws": 99}, {"n_proxies": 0}, {"min_association": 1.0}]
)
def test_options_reach_to_their_ends(option: dict[str, float]) -> None:
    assert vars(Groups(**option)).items() >= option.items()  # type: ignore[arg-type]


@pytest.mark.parametrize("more", [{"min_association": 1.01}, {"n_draws": 98}])
def test_options_beyond_their_ends_are_refused(more: dict[str, float]) -> None:
    with pytest.raises(InputError, match=rf"groups\.{next(iter(more))} must be"):
        Groups(**more)  # type: ignore[arg-type]


def test_a_groups_confidence_gap_is_tested_by_t_if_it_has_more_than_500_rows() -> None:
    given = logistic(1001, kind=np.repeat(["a", "b"], [500, 501]))
    table = explain(given, n_proxies=0, n_draws=99)["groups"].estimates
    q = given.model.distribution(given.X)
    rows = confidence_gap(q, np.asarray(np.asarray(given.y) == "yes", dtype=int))
    for item, part, exact in (("a", rows[:500], True), ("b", rows[500:], False)):
        line = table[(table["measure"] == "confidence_gap") & (table["item"] == item)].iloc[0]
        assert (line["p_value"] != pytest.approx(stats.ttest_1samp(part, 0.0).pvalue)) is exact
