"""The steps of accumulated local effects by hand: bins of a number, neighbours of a level, sums over cells."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

import uq_report as uq
from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.model.sampling import Sampling
from uq_report.core.model.subject import Subject, make_subject
from uq_report.core.support.errors import InputError
from uq_report.distributions import Normal
from uq_report.methods.ale.explain import (
    AccumulatedLocalEffects,
    AleAxis,
    AxisSide,
    Effects,
    _main,
    _nearest_filled,
    curve,
    make_axis,
    surface,
)
from uq_report.testing import KnownTruth, measures


class OfA(KnownTruth):
    """Predicts the square of the column a."""

    def predict(self, model: Any, X: Any) -> Any:
        return Normal(np.asarray(X["a"], dtype=float) ** 2, np.ones(len(X)))


def subject(frame: Any, **options: Any) -> Subject:
    return make_subject(None, OfA(), pd.DataFrame(frame), **options)


def axis(values: Any, n_bins: int = 4, edges: Any = None, **options: Any) -> AleAxis:
    made = make_axis(subject({"other": np.zeros(len(values)), "a": values}, **options), "a", n_bins, edges)
    assert isinstance(made, AleAxis)
    return made


def test_edges_are_observed_values_at_equal_shares_and_a_row_on_one_belongs_to_the_left_bin() -> None:
    """Of ten rows the shares 0, 1/4, 1/2, 3/4 and 1 are reached at rows 1, 3, 5, 8 and 10."""
    made = axis(np.arange(10, 0, -1))
    assert made.x.tolist() == [1, 3, 5, 8, 10]
    assert (made.steps, made.levels, made.notes, made.column) == (4, ("",) * 5, (), 1)
    (side,) = made.sides
    assert side.step.tolist() == [3, 3, 2, 2, 2, 1, 1, 0, 0, 0]
    assert side.lower.tolist() == [8, 8, 5, 5, 5, 3, 3, 1, 1, 1]
    assert side.upper.tolist() == [10, 10, 8, 8, 8, 5, 5, 3, 3, 3]
    assert side.lower.dtype.kind == side.upper.dtype.kind == "i"
    np.testing.assert_allclose(made.mass, np.array([3, 5, 5, 5, 2]) / 20)


def test_edges_are_finite_numbers_of_the_type_of_the_column() -> None:
    assert axis([1, 2, 3], edges=[1.0, 2.0, 3.0]).x.tolist() == [1, 2, 3]
    assert axis([1.0, 2.0, 3.0], edges=[0.5, 3.5]).x.tolist() == [0.5, 3.5]
    wrong: tuple[tuple[Any, list[float]], ...] = (
        ([1, 2, 3], [1.0, 2.5]), ([1.0, 2.0], [0.0, np.inf]), ([1.0, 2.0], [0.0, np.nan]),
    )  # fmt: skip
    for values, edges in wrong:
        with pytest.raises(InputError, match=r"ale\.edges\['a'\] must be finite numbers that a column of type"):
            axis(values, edges=edges)


def test_empty_bins_join_the_next_and_rows_outside_take_no_part() -> None:
    made = axis([0.0, 0.5, 3.5, 4.0, -0.1, 4.1, np.nan], edges=[4, 0, 3, 1, 2])
    assert made.x.tolist() == [0, 1, 4]
    assert made.sides[0].step.tolist() == [0, 0, 1, 1, -1, -1, -1]
    assert made.mass.tolist() == [0.25, 0.5, 0.25]
    assert made.notes == (
        "a: 2 empty bins are merged with their neighbours.",
        "a: 3 observations without weight, or without a value between the edges, are excluded.",
    )


def test_rows_weigh_in_the_mass_of_numbers_and_of_levels() -> None:
    weights = [1.0, 2.0, 1.0, 0.0]
    number = axis([0.0, 2.0, 1.0, 9.0], edges=[0, 1, 2, 9], sample_weight=weights)
    assert number.x.tolist() == [0, 1, 2]
    assert number.sides[0].step.tolist() == [0, 1, 0, -1]
    assert number.mass.tolist() == [0.25, 0.5, 0.25]
    level = axis(["x", "y", "x", "z"], sample_weight=weights)
    assert (level.levels, level.mass.tolist()) == (("x", "y"), [0.5, 0.5])
    assert level.notes[1:] == ("a: 1 observations without weight or value are excluded.",)


@pytest.mark.parametrize(
    ("values", "edges", "reason"),
    [
        ([1.0, 2.0], [5, 6], "no observation lies between its edges 5 and 6"),
        ([1.0, 2.0], [5, 5], "it has one value, so no effect accumulates"),
        ([3.0, 3.0], None, "it has one value, so no effect accumulates"),
        (["x", "x"], None, "it has one level, so no effect accumulates"),
        ([np.nan, np.nan], None, "it has no value, so no effect accumulates"),
        ([np.inf, 1.0], None, "it has infinite values, which lie in no bin"),
    ],
)
def test_why_a_feature_has_no_axis(values: Any, edges: Any, reason: str) -> None:
    assert make_axis(subject({"a": values, "b": [0.0, 1.0]}), "a", 4, edges) == reason


def test_a_level_moves_to_its_neighbours_and_the_first_row_of_each_is_its_example() -> None:
    made = axis(["y", None, "x", "z", "x"])
    assert made.levels == ("x", "y", "z")
    assert made.x.tolist() == [0, 1, 2]
    up, down = made.sides
    assert up.step.tolist() == [1, -1, 0, -1, 0]
    assert list(up.upper) == ["z", None, "y", "z", "y"]
    assert list(up.lower) == list(down.upper) == ["y", None, "x", "z", "x"]
    assert down.step.tolist() == [0, -1, -1, 1, -1]
    assert list(down.lower) == ["x", None, "x", "y", "x"]
    assert made.mass.tolist() == [0.5, 0.25, 0.25]
    assert made.notes[1] == "a: 1 observations without weight or value are excluded."


TEN = {"low": [0] * 10, "high": [1] * 10, "half": [0, 1] * 5}


@pytest.mark.parametrize("kind", [float, str])
@pytest.mark.parametrize(
    ("of", "order"),
    [
        (("low", "high", "half"), ("a", "c", "b")),
        (("high", "half", "low"), ("a", "b", "c")),
        (("half", "low", "high"), ("b", "a", "c")),
    ],
)
def test_levels_lie_by_their_likeness_and_begin_with_the_earlier_end(
    kind: type, of: tuple[str, ...], order: tuple[str, ...]
) -> None:
    frame = {"a": np.repeat(["a", "b", "c"], 10), "other": [kind(v) for name in of for v in TEN[name]]}
    made = make_axis(subject(frame), "a", 4)
    assert isinstance(made, AleAxis)
    assert made.levels == order


def test_the_most_frequent_levels_have_an_axis_as_if_no_other_row_was_there() -> None:
    levels = np.repeat(["a", "b", "c", "d", "e"], [6, 2, 5, 1, 4])
    number = np.array([*range(6), 0, 0, *range(2, 7), 9, *range(1, 5)], dtype=float)
    three, every = (make_axis(subject({"a": levels, "n": number}), "a", 4, max_levels=most) for most in (3, 5))
    assert isinstance(three, AleAxis)
    assert isinstance(every, AleAxis)
    assert (set(three.levels), set(every.levels)) == ({"a", "c", "e"}, set("abcde"))
    assert "a: the 3 most frequent of 5 levels; 3 observations of another level are excluded." in three.notes
    assert not any("most frequent" in note for note in every.notes)
    kept = np.isin(levels, ["a", "c", "e"])
    alone = make_axis(subject({"a": levels[kept], "n": number[kept]}), "a", 4)
    assert isinstance(alone, AleAxis)
    assert three.levels == alone.levels
    np.testing.assert_allclose(three.mass, alone.mass)
    for whole, part in zip(three.sides, alone.sides, strict=True):
        assert (whole.step[~kept] == -1).all()
        np.testing.assert_array_equal(whole.step[kept], part.step)


def test_thousands_of_levels_take_memory_for_the_most_frequent_alone() -> None:
    """Distances of all pairs of 3000 levels over 6000 values would be 400 GB."""
    rng = np.random.default_rng(0)
    frame = {"a": np.char.add("v", rng.integers(0, 3000, 6000).astype(str)), "n": rng.normal(size=6000)}
    made = make_axis(subject(frame), "a", 4)
    assert isinstance(made, AleAxis)
    assert len(made.levels) == 30


def test_frequencies_of_levels_count_half_and_missing_cells_not_at_all() -> None:
    """By the number a, c, b lie at 0, 0.5 and 1; by the level a, b, c at 0, 0.2 and 0.4: a and b are farthest apart."""
    levels, number = np.repeat(["a", "b", "c"], 10), np.array([*TEN["low"], *TEN["high"], *TEN["half"]], dtype=float)
    other = np.array([*["x"] * 10, *["x"] * 8, *["y"] * 2, *["x"] * 6, *["y"] * 4])
    both = make_axis(subject({"a": levels, "number": number, "other": other}), "a", 4)
    assert isinstance(both, AleAxis)
    assert both.levels == ("a", "c", "b")
    gaps = np.where(np.arange(30) < 8, np.nan, number)
    lost = np.r_[levels.astype(object), [None] * 40]
    missing = make_axis(subject({"a": lost, "number": np.r_[gaps, np.zeros(40)]}), "a", 4)
    assert isinstance(missing, AleAxis)
    assert missing.levels == ("a", "c", "b")


def test_frequencies_of_levels_count_half_of_the_sum_of_their_differences() -> None:
    """The numbers put a and b 0.3 apart and c between them, the levels a and c 0.4 and b between: 0.5, 0.55, 0.35."""

    def ones(*counts: int) -> list[bool]:
        return [k < count for count in counts for k in range(20)]

    frame = {"a": np.repeat(["a", "b", "c"], 20), "number": np.array(ones(0, 6, 3), dtype=float)}
    made = make_axis(subject(frame | {"other": np.where(ones(0, 4, 8), "y", "x")}), "a", 4)
    assert isinstance(made, AleAxis)
    assert made.levels == ("a", "b", "c")


def test_levels_are_ordered_by_the_first_axis_of_the_doubly_centred_squares() -> None:
    """B = -(d² - its row means - its column means + its mean)/2 by entries, and its largest singular direction."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        shares = rng.integers(0, 21, size=(3, 6))  # of ones among 20 rows of six levels, in three columns
        columns = {
            f"x{j}": np.concatenate([np.arange(20) < k for k in row]).astype(float) for j, row in enumerate(shares)
        }
        made = make_axis(subject(columns | {"a": np.repeat(list("abcdef"), 20)}), "a", 4)
        squares = (np.abs(shares[:, :, None] - shares[:, None]).sum(axis=0) / 20) ** 2
        B = -(squares - squares.mean(axis=0) - squares.mean(axis=1)[:, None] + squares.mean()) / 2
        values, vectors = np.linalg.eigh(B)
        order = "".join("abcdef"[k] for k in np.argsort(vectors[:, values.argmax()]))
        assert isinstance(made, AleAxis)
        assert "".join(made.levels) == min(order, order[::-1])


def test_rows_that_are_infinite_at_an_end_are_counted_once() -> None:
    effect = Effects((made_axis([0, 0, 0], [0, 1], [0.5, 0.5]),))
    effect.ends = [np.array([[0.0, 0.0, 0.0], [np.inf, 0.0, -np.inf]]), np.array([[0.0] * 3, [np.inf, 0.0, 0.0]])]
    assert [effect.infinite(m) for m in (0, 1)] == [0, 2]
    effect.ends[1][1] = 0.0
    effect.ends[0][1] = np.inf
    assert effect.infinite(1) == 3


def test_an_empty_cell_takes_the_effect_of_the_nearest_in_shares_of_both_ranges() -> None:
    """From the first cell the next is 5/6 of a half range away along the first axis, 2/3 along the second."""
    mass = np.zeros((3, 3))
    mass[1, 0] = mass[0, 1] = 2.0
    means = _nearest_filled(mass * [[0.0, 7.0, 0.0], [5.0, 0.0, 0.0], [0.0] * 3], mass, (
        np.array([10.0, 14.0, 15.0, 16.0]), np.arange(4.0)))  # fmt: skip
    assert means[0].tolist() == [7, 7, 7]
    assert means[1, 0] == 5


def test_the_nearest_filled_cell_is_so_by_shares_of_the_ranges() -> None:
    """From the empty cell it is 0.25 of the first range to one neighbour, 0.35 of the second to the other."""
    x, v = np.array([0.0, 4.0, 5.0, 10.0]), np.array([0.0, 1.0, 7.0, 9.9, 10.0])
    mass = np.ones((3, 4))
    mass[0, 0] = 0
    total = np.arange(12.0).reshape(3, 4) * mass
    assert _nearest_filled(total, mass, (x, v))[0, 0] == total[1, 0]
    assert _nearest_filled(total.T, mass.T, (v, x))[0, 0] == total[1, 0]


def test_a_step_without_rows_adds_nothing_to_a_main_effect() -> None:
    h = np.array([[0.0, 0.0], [1.0, 3.0], [9.0, 9.0]])
    assert _main(h, np.array([[2.0], [0.0]])).tolist() == [0, 2, 2]


def made_axis(step: list[int], points: list[float], mass: list[float], name: str = "a") -> AleAxis:
    side = AxisSide(np.array(step), np.zeros(len(step)), np.zeros(len(step)))
    return AleAxis(name, 0, np.array(points), ("",) * len(points), (side,), np.array(mass))


def test_a_curve_adds_weighted_means_of_steps_and_its_errors_are_those_of_the_weighted_rows() -> None:
    """Two steps with means (1·1 + 3·5)/4 = 4 and (2·2 + 2·6)/4 = 4; one row takes no part."""
    weights = np.array([1.0, 3.0, 2.0, 2.0, 2.0]) / 10
    effect = Effects((made_axis([0, 0, 1, 1, -1], [0, 1, 2], [0.25, 0.5, 0.25]),))
    local = np.array([1.0, 5.0, 2.0, 6.0, 100.0])
    effect.ends = [np.stack([local * 0, local]), np.stack([local * 0, 3 * local])]
    found = curve(effect, 1, Sampling(weights, 5))
    np.testing.assert_allclose(found.value, np.array([-8.0, 0.0, 8.0]))
    # the parts of rows in a step's mean, w (v - mean) / Σ w, with n / (n - 1) for the step
    first, second = 2 * (1.5**2 + 1.5**2), 2 * (2.0**2 + 2.0**2)
    np.testing.assert_allclose(found.std_error_change, np.sqrt([0, first, first + second]))
    # centred, the first point is minus 3/4 of the first step less 1/4 of the second, the last the other way round;
    # and each row moves the mean that is taken off by its weight times the curve half way through its bin, -4 or 4
    parts = np.sqrt(2) * np.array([[-1.5, 0], [1.5, 0], [0, -2], [0, 2]])
    moved = np.array([1, 3, 2, 2]) / 8 * np.array([-4, -4, 4, 4])
    combinations = np.array([[-0.75, 0.25, 0.25], [-0.25, -0.25, 0.75]])
    rows = np.square(parts @ combinations - moved[:, None])
    np.testing.assert_allclose(found.std_error, np.sqrt(rows.sum(axis=0)))
    np.testing.assert_allclose(found.carriers, rows.sum(axis=0) ** 2 / np.square(rows).sum(axis=0))


@pytest.mark.parametrize(("size", "told"), [(1.0, False), (1e3, True)])
def test_intervals_that_rest_on_few_observations_are_told(size: float, *, told: bool) -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.uniform(size=200), "b": rng.uniform(size=200)})
    X.loc[0, "b"] = size
    subject = uq.explain(lambda X: Normal(X["a"] * X["b"], 1.0), X)
    notes = " ".join(uq.effects(subject, measures=("prediction",))["ale"].result.notes)
    assert ("Unreliable intervals" in notes) is told


def test_levels_of_a_curve_move_its_mean_by_the_rows_on_them() -> None:
    """Changes without any variance: the error of the centred curve is that of the mean of the rows' own values."""
    codes = np.array([0, 0, 1, 2, 2, 2])
    up, down = np.where(codes < 2, codes, -1), np.where(codes > 0, codes - 1, -1)
    sides = tuple(AxisSide(step, np.zeros(6), np.zeros(6)) for step in (up, down))
    mass = np.bincount(codes) / 6
    effect = Effects((AleAxis("a", 0, np.arange(3.0), ("x", "y", "z"), sides, mass),))
    jumps = np.array([1.0, 4.0])
    effect.ends = [np.stack([values]) for step in (up, down) for values in (np.zeros(6), jumps[step])]
    found = curve(effect, 0, Sampling(np.full(6, 1 / 6), 6))
    own = np.array([0.0, 1.0, 5.0])[codes]
    np.testing.assert_allclose(found.value, [0, 1, 5] - own.mean())
    np.testing.assert_allclose(found.std_error, np.sqrt(np.square(own - own.mean()).sum()) / 6)
    np.testing.assert_allclose(found.std_error_change, 0, atol=1e-12)


def test_levels_on_a_line_keep_its_order() -> None:
    """Where each distance is the difference of two shares, scaling gives them back; d is before b in the alphabet."""
    shares = {"b": 0.0, "a": 0.1, "d": 0.5, "c": 0.6, "f": 0.9, "e": 1.0}
    levels, ones = zip(*((name, i < 10 * share) for name, share in shares.items() for i in range(10)), strict=True)
    made = make_axis(subject({"a": levels, "other": np.array(ones, dtype=float)}), "a", 4)
    assert isinstance(made, AleAxis)
    assert made.levels == tuple(shares)


def test_a_level_of_one_row_counts_as_a_whole_and_one_without_other_values_as_none() -> None:
    """The shares of x are 1, 0 and 0.8, so a and b are farthest apart; without any value a is half as far from both."""
    for values, order in ((["x"], ("a", "c", "b")), ([None], ("b", "a", "c"))):
        other = [*values, *["y"] * 5, *["x"] * 4, "y"] if values[0] else [None, "x", "y"]
        levels = ["a", *["b"] * 5, *["c"] * 5] if values[0] else ["a", "b", "c"]
        made = make_axis(subject({"a": levels, "other": other}), "a", 4)
        assert isinstance(made, AleAxis)
        assert made.levels == order


def test_a_surface_is_of_rows_within_both_axes_and_their_weights() -> None:
    """Effects of 1, 2, 3 and 8 in four cells are additive up to 4: the pure interaction is that of an index of ±1."""
    a = made_axis([0, 0, 1, 1, 0, 0, -1], [0, 1, 2], [0.25, 0.5, 0.25])
    b = made_axis([0, 1, 0, 1, 0, -1, 0], [0, 1, 2], [0.25, 0.5, 0.25], "b")
    effect = Effects((a, b))
    effect.ends = [np.array([[v, v, v, v, v, 9.0, 9.0]]) * 0.0 for v in (0, 0, 0)]
    effect.ends.append(np.array([[1.0, 2.0, 3.0, 8.0, 1.0, 50.0, 70.0]]))
    found = surface(effect, 0, Sampling(np.array([1.0, 2, 2, 2, 1, 2, 2]) / 12, 7))
    mixed = np.diff(np.diff(found.value, axis=0), axis=1)
    np.testing.assert_allclose(mixed, [[1, 2], [3, 8]])  # the mean of 1 and 1, each of half the weight
    middles = (found.value[1:, 1:] + found.value[1:, :-1] + found.value[:-1, 1:] + found.value[:-1, :-1]) / 4
    assert middles.mean() == pytest.approx(0)
    for rises in (np.diff(found.value, axis=0), np.diff(found.value, axis=1).T):
        np.testing.assert_allclose((rises[:, 1:] + rises[:, :-1]).sum(axis=1), 0, atol=1e-12)
    assert found.empty == 0
    assert not found.extrapolated.any()


def explained(frame: Any, **options: Any) -> Any:
    engine = Engine(subject(frame), measures()).bound("ale")
    return AccumulatedLocalEffects(measures=("prediction",), **options).explain(engine.subject, engine, {})


def test_what_the_results_say_of_curves_and_surfaces() -> None:
    frame = {"a": [0.5, 1.5, 2.5] * 2, "b": [0.5, 1.5, 2.5] * 2, "same": [1.0] * 6}
    edges = dict.fromkeys("ab", (0, 1, 2, 3))
    single, pair = explained(frame, features=("a", "same"), pairs=(("a", "b"), ("same", "a")), edges=edges)
    assert (single.id, single.title) == ("ale", "Accumulated local effects")
    assert (pair.id, pair.title) == ("ale.interaction", "Second-order accumulated local effects")
    assert single.options["edges"] == {"a": [0.0, 1.0, 2.0, 3.0], "b": [0.0, 1.0, 2.0, 3.0]}
    why = "it has one value, so no effect accumulates"
    assert [(o.measure, o.feature, o.reason) for o in single.omissions] == [("", "same", why)]
    centred = "Curves are centred by their mean over the data."
    assert single.notes == (centred,)
    empty = (
        "a x b: 6 of 9 cells have no observation and take the effect of the nearest cell that has one. 6 of 16 points "
        "are extrapolated (crossed out in the figure)."
    )
    assert pair.notes == (empty, centred)
    curve_rows, surface_rows = single.estimates, pair.estimates
    assert set(single.frame["curve"]) == set(pair.frame["curve"]) == {-1}
    assert single.frame["value"].tolist() == curve_rows["estimate"].tolist()
    np.testing.assert_allclose(np.diff(curve_rows["estimate"]), [1, 3, 5])  # of a²
    assert curve_rows["covers"].unique().tolist() == ["new test samples, given the edges"]
    assert surface_rows[["feature", "feature_2"]].drop_duplicates().to_numpy().tolist() == [["a", "b"]]
    assert surface_rows["x"].tolist() == np.repeat(np.arange(4.0), 4).tolist()
    assert surface_rows["x_2"].tolist() == np.tile(np.arange(4.0), 4).tolist()
    assert surface_rows[["lower", "upper", "std_error", "confidence"]].isna().all(axis=None)


def test_twenty_bins_are_the_usual_number_and_one_is_the_least() -> None:
    frame = {"a": np.arange(200.0), "b": np.zeros(200)}
    assert len(explained(frame, features=("a",))[0].estimates) == 21
    assert len(explained(frame, features=("a",), n_bins=1)[0].estimates) == 2
    with pytest.raises(InputError, match=r"ale\.n_bins must be an integer >= 1; got 0"):
        AccumulatedLocalEffects(n_bins=0)


@pytest.mark.parametrize(
    ("n", "least", "points", "merged"),
    [(200, 10, 21, 0), (199, 10, 20, 1), (100, 10, 11, 10), (100, 1, 21, 0), (19, 10, 2, 17), (7, 10, 2, 5)],
)
def test_bins_of_few_rows_are_merged(n: int, least: int, points: int, merged: int) -> None:
    """No bin has fewer rows than asked for, as far as there are any; given edges stay."""
    frame = {"a": np.arange(float(n)), "b": np.zeros(n)}
    result = explained(frame, features=("a",), min_rows=least)[0]
    x = result.estimates["x"].to_numpy()
    counts = np.histogram(frame["a"], np.r_[x[0] - 1, x[1:]] + 0.5)[0]
    assert (len(x), x[0], x[-1]) == (points, 0, n - 1)
    assert counts.min() >= min(n, least)
    note = f"a: {merged} bins of fewer than {least} observations are merged with their neighbours."
    assert (note in result.notes) == (merged > 0)
    edges = [0.0, 1.0, 2.0, n - 1.0]
    assert explained(frame, features=("a",), min_rows=least, edges={"a": edges})[0].estimates["x"].tolist() == edges


def test_what_it_will_cost_is_two_ends_of_a_bin_and_four_corners_of_a_cell() -> None:
    frame = {"a": [0.0, 1.0, 2.0], "b": [0.0, 1.0, 2.0], "c": [0.0, 1.0, 3.0]}
    engine = Engine(subject(frame), measures()).bound("ale")
    asked = AccumulatedLocalEffects(pairs=(("a", "b"), ("a", "c")))
    assert asked.cost(engine.subject, engine) == 3 * (2 * 3 + 4 * 2)
    assert AccumulatedLocalEffects(features=("a",)).cost(engine.subject, engine) == 3 * 2
