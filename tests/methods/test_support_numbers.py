"""What support computes, by hand: chances of counting, distances of distributions, dates, samples and intervals."""

from math import comb, log, sqrt
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import ks_2samp

from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.support.errors import InputError
from uq_report.methods.support.explain import (
    Paired,
    Space,
    Support,
    _p_value,
    _standardised,
    _unmix,
    limit,
    new_values,
    paired,
    shifts,
)

from .test_support import explain, line, normal, subject


@pytest.mark.parametrize("k", [0, 1, 3, 6])
def test_rows_outside_are_tested_by_counting_orders_of_all_rows(k: int) -> None:
    """Of all orders of 6 new and 39 held-out rows, those with k new ones or more before the second held-out one."""
    edge = limit(np.arange(39.0), 0.05)
    ways = [comb(j + 1, j) * comb(6 - j + 37, 6 - j) for j in range(7)]
    assert edge.rank == 2
    assert _p_value(k, 6, edge) == pytest.approx(sum(ways[k:]) / comb(45, 6))
    assert np.isnan(_p_value(0, 0, edge))


def distance(pair: Paired, rows: Any, columns: int = 1) -> Any:
    same = Paired("same", True, np.arange(9.0), np.resize(np.arange(9.0), len(pair.test)))
    positions, weights = np.arange(len(pair.test))[rows], np.ones(len(pair.test))
    return shifts([pair, *[same] * (columns - 1)], positions, weights, 0.95).estimates.iloc[0]


def reach(kinds: int, n: int, columns: int) -> float:
    return sqrt((kinds * log(2) - log(0.05 / columns / 2)) / (2 * n))


@pytest.mark.parametrize("columns", [1, 2])
def test_numbers_shift_by_the_distance_of_their_distribution_functions(columns: int) -> None:
    rng = np.random.default_rng(0)
    train, test = rng.normal(size=300).round(1), rng.normal(0.8, 1, 250).round(1)
    train[::50], test[::40] = np.nan, np.nan
    old, new = train[~np.isnan(train)], test[:200][~np.isnan(test[:200])]
    found = distance(Paired("a", True, train, test), slice(200), columns)
    apart, ends = ks_2samp(old, new).statistic, reach(1, round(0.8 * len(old)), columns) + reach(1, len(new), columns)
    assert found["estimate"] == pytest.approx(apart)
    assert (found["lower"], found["upper"]) == pytest.approx((max(apart - ends, 0.0), apart + ends))
    assert found["item"] == f"median {np.median(old):.3g} in training, {np.median(new):.3g} here"
    assert found["n"] == len(new)


def test_levels_shift_by_half_the_differences_of_their_shares() -> None:
    train, test = np.repeat([0.0, 1, 2], [500, 300, 200]), np.repeat([0.0, 1, 2, np.nan], [100, 350, 50, 9])
    found = distance(Paired("a", False, train, test, ("u", "v", "w")), slice(None))
    ends = reach(3, 1000, 1) + reach(3, 500, 1)
    assert found["estimate"] == pytest.approx(0.4)  # 0.5, 0.3, 0.2 against 0.2, 0.7, 0.1
    assert (found["lower"], found["upper"]) == pytest.approx((0.4 - ends, 0.4 + ends))
    assert found["item"] == "v: 30% in training, 70% here"
    assert found["n"] == 500


def test_the_level_named_is_that_whose_share_changed_most() -> None:
    train, test = np.repeat([0.0, 1, 2], [60, 30, 10]), np.repeat([0.0, 1, 2], [55, 10, 35])
    found = distance(Paired("a", False, train, test, ("u", "v", "w")), slice(None))
    assert found["item"] == "w: 10% in training, 35% here"


@pytest.mark.parametrize("size", [2, 30_000])  # deals of the latter are made in two blocks
def test_every_deal_counts(size: int) -> None:
    """Where no training row has a level every deal gives all rows to the audit: as many as there are, always."""
    engine = Engine(subject(normal(40, 0), normal(40, 1)), {}).bound("support")
    pair = Paired("a", False, np.full(3, np.nan), np.array([0.0, 1.0, 1.0]), tuple(range(size)))
    assert new_values([pair], np.arange(3), np.ones(3), engine).estimates["p_value"].tolist() == [1.0]


def test_intervals_of_shifts_end_at_0_and_1_and_columns_without_values_have_none() -> None:
    apart = distance(Paired("a", True, np.zeros(20), np.ones(20)), slice(None))
    assert (apart["estimate"], apart["upper"]) == (1.0, 1.0)
    alike = distance(Paired("a", True, np.arange(20.0), np.arange(20.0)), slice(None))
    assert (alike["estimate"], alike["lower"]) == (0.0, 0.0)
    assert distance(Paired("a", True, np.arange(9.0), np.full(9, np.nan)), slice(None), 2)["feature"] == "same"
    assert distance(Paired("a", True, np.full(9, np.nan), np.arange(9.0)), slice(None), 2)["feature"] == "same"


@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_dates_are_seconds_of_universal_time(zone: str | None) -> None:
    days = pd.Series(pd.to_datetime(["1970-01-02 00:00:00", "1970-01-03 00:00:30"])).dt.tz_localize(zone)
    frame = pd.DataFrame({"day": np.resize(days, 40) if zone is None else pd.concat([days] * 20, ignore_index=True)})
    (pair,) = paired(subject(frame, frame.head(2)), frame)
    offset = 0 if zone is None else 3600
    assert pair.test.tolist() == [86400 - offset, 2 * 86400 + 30 - offset]
    assert (pair.ordered, len(pair.train)) == (True, 40)


def test_levels_of_both_samples_share_their_codes_and_gaps_are_missing() -> None:
    train = pd.DataFrame({"level": ["u", "v", None, "u"] * 10})
    (pair,) = paired(subject(train, pd.DataFrame({"level": ["w", "v", None]})), train)
    assert pair.labels == ("u", "v", "w")
    np.testing.assert_array_equal(pair.test, [2.0, 1.0, np.nan])
    np.testing.assert_array_equal(pair.train[:4], [0.0, 1.0, np.nan, 0.0])


@pytest.mark.parametrize("n", [256, 257, 600])
def test_neighbours_of_many_rows_are_found_in_blocks(n: int) -> None:
    train, test = normal(50, 0), normal(n, 1)
    space = Space(paired(subject(train, test), train), np.arange(50))
    every = cdist(space.whitened(space.test.numbers), space.whitened(space.train.numbers)) ** 2
    np.testing.assert_allclose(space.nearest(space.test, 9), np.sort(every, axis=1)[:, 8], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("k", [1, 2, 40])
def test_the_kth_of_many_neighbours_is_found(k: int) -> None:
    train, test = normal(400, 0), normal(30, 1)
    space = Space(paired(subject(train, test), train), np.arange(400))
    every = cdist(space.whitened(space.test.numbers), space.whitened(space.train.numbers)) ** 2
    np.testing.assert_allclose(space.nearest(space.test, k), np.sort(every, axis=1)[:, k - 1], rtol=1e-9, atol=1e-9)


def test_columns_of_levels_alone_have_no_numbers() -> None:
    train = pd.DataFrame({"a": list("uvuv"), "b": list("xxyy")})
    space = Space(paired(subject(train, train), train), np.arange(4))
    assert (space.train.numbers.shape, space.train.codes.shape) == ((4, 0), (4, 2))
    assert (space.number_of, space.code_of) == ({}, {"a": 0, "b": 1})
    assert space.squared(space.test).tolist() == [[0, 2, 2, 4], [2, 0, 4, 2], [2, 4, 0, 2], [4, 2, 2, 0]]


def test_numbers_are_standardised_by_the_finite_reference_unless_it_is_constant() -> None:
    found = _standardised(np.array([0.0, 1.0, 3.0, np.nan, np.inf]), np.array([0.0, 1.0]))
    assert found is not None
    assert found.tolist() == [-1.0, 1.0, 5.0, 0.0, 0.0]
    large = _standardised(np.array([-2e300, 2e300]), np.array([-2e300, 2e300]))
    assert large is not None
    assert large.tolist() == [-1.0, 1.0]
    for reference in ([1.0], [1.0, np.nan], [2.0, 2.0, 2.0], [1.0, 1.0 + 1e-9]):
        assert _standardised(np.arange(3.0), np.array(reference)) is None


def test_correlations_are_shrunk_by_a_twentieth_and_the_columns_for_each_row() -> None:
    """Of 10 rows with x = y the correlation is 1; it is shrunk by 0.05 + 2/10, of 2 rows and 3 columns away."""
    rows = np.resize([-1.0, 1.0], (10, 1)).repeat(2, axis=1)
    unmix = _unmix(rows)
    np.testing.assert_allclose(np.linalg.inv(unmix @ unmix.T), [[1.0, 0.75], [0.75, 1.0]])
    np.testing.assert_allclose(_unmix(np.ones((2, 3))), np.eye(3))


@pytest.mark.parametrize(("n", "rank"), [(19, 1), (38, 1), (39, 2), (98, 4), (99, 5)])
def test_the_limit_leaves_at_most_the_share_of_held_out_rows_and_the_new_one(n: int, rank: int) -> None:
    assert limit(np.arange(float(n)), 0.05).rank == rank


def test_distances_that_differ_by_rounding_are_equal() -> None:
    """A billionth of one and the squared distance: 2e-9 at 1."""
    edge = limit(np.ones(9), 0.5)
    assert edge.p_values(np.array([1.0, 1 + 1.9e-9, 1 + 2.1e-9])).tolist() == [1.0, 1.0, 0.1]


def test_a_row_on_the_limit_is_inside_after_a_shuffle() -> None:
    """Reference rows at 0 and 1 of standardised -1 and 1: of the row at 3, the nearest is 4 away, the other 6."""
    train, test = pd.DataFrame({"a": [0.0, 1.0]}), pd.DataFrame({"a": [0.5, 3.0]})
    space = Space(paired(subject(train, test), train), np.arange(2))
    white = space.whitened(space.test.numbers)[:, 0]
    scale = white[1] / 5.0
    swap = np.array([[1, 0], [0, 1]])
    for k, squared in ((1, (4 * scale) ** 2), (2, (6 * scale) ** 2)):
        for change, out in ((1.0, 0.0), (0.999, 1.0)):
            edge, moved = limit(np.full(9, squared * change), 0.5), [space.shuffled(space.test, ["a"], s) for s in swap]
            assert [edge.outside(space.nearest(rows, k)).tolist() for rows in moved] == [[out, 0.0], [0.0, out]]


def test_the_training_rows_needed_are_whole_halves() -> None:
    assert Support(expected=0.3, n_neighbors=1).least == 8  # 1 of 4 is at most 0.3, 1 of 3 is not


def test_of_more_than_a_thousand_rows_a_thousand_are_shuffled() -> None:
    found = explain(subject(normal(40, 0)[["a"]], normal(1001, 1)[["a"]]))["support"]
    assert found.meta["n_rows"] == 1001
    assert "Permuted: 3 permutations of 1000 observations." in found.notes
    assert line(found, "outside")["n"] == 1001
    assert line(found, "shuffled", "a")["n"] == 1000


def test_weights_and_clusters_are_told_where_there_are_any() -> None:
    train, test = normal(40, 0), normal(60, 1)
    plain = " ".join(explain(subject(train, test))["support"].notes)
    assert "does not use the weights" not in plain
    assert "one row of each cluster" not in plain
    weighted = explain(subject(train, test, sample_weight=np.arange(1.0, 61)))["support"]
    assert "The p-value uses the effective number of observations." in weighted.notes
    clustered = explain(subject(train, test, clusters=np.arange(60) // 2))["support"]
    assert "The p-value uses one observation of each cluster." in clustered.notes


def test_what_was_used_is_told() -> None:
    found = explain(subject(normal(300, 0), normal(290, 1)), max_train=100, max_rows=50, n_repeats=4)["support"]
    expected = 2 / 51  # of 50 held-out rows and the new one
    assert found.meta == {
        "expected": expected, "n_neighbors": 5, "n_reference": 50, "n_calibration": 50, "n_rows": 50, "n_train": 300,
        "units": 290,
    }  # fmt: skip
    assert found.notes[:3] == (
        "Outside: farther from the 5 nearest of 50 training observations than all but 3.92% of 50 others are.",
        "50 of 290 observations, drawn at random, were used.",
        "Permuted: 4 permutations of 50 observations.",
    )
    assert set(found.estimates["n"]) == {50}
    whole = explain(subject(normal(100, 0), normal(50, 1)), max_rows=50)["support"]
    assert not any("drawn at random" in note for note in whole.notes)


def test_a_share_after_shuffles_has_the_interval_of_its_error_and_one_without_error_the_exact_one() -> None:
    moved = line(explain(subject(normal(600, 0, rho=0.95), normal(200, 1, rho=0.95)))["support"], "shuffled", "a")
    assert moved["std_error"] > 0
    assert moved["upper"] - moved["estimate"] == pytest.approx(moved["estimate"] - moved["lower"])
    same = pd.DataFrame({"a": np.ones(100)})
    alike = line(explain(subject(same, same.head(50)))["support"], "shuffled", "a")
    assert (alike["estimate"], alike["lower"]) == (0.0, 0.0)
    assert alike["upper"] == pytest.approx(1 - 0.025 ** (1 / 50))  # Clopper and Pearson of 0 of 50


@pytest.mark.parametrize(
    ("options", "usable"),
    [
        ({"expected": 0.5}, True),
        ({"expected": 0.51}, False),
        ({"max_rows": 10}, True),
        ({"max_rows": 9}, False),
        ({"n_repeats": 3}, True),
        ({"n_neighbors": 1}, True),
        ({"max_train": 40}, True),
        ({"max_train": 60, "n_neighbors": 30}, True),
        ({"max_train": 59, "n_neighbors": 30}, False),
    ],
)
def test_both_sides_of_the_options(options: dict[str, Any], usable: bool) -> None:
    if usable:
        assert Support(**options).least == 2 * max(
            {0.5: 2}.get(options.get("expected", 0.05), 20), options.get("n_neighbors", 5)
        )
    else:
        with pytest.raises(InputError, match=rf"support\.{next(iter(options))} must be"):
            Support(**options)
