"""What methods share, by hand: which rows are alike, what is exactly zero, margins, limits and words."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, repeat
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.explainer import LAST, priority_of
from uq_report.core.model.measures import ENTROPY, NLL, ONE_MINUS_AUC, PREDICTION, SQUARED_ERROR, Measure
from uq_report.core.model.sampling import Sampling
from uq_report.core.model.subject import make_subject
from uq_report.core.model.variants import Variant
from uq_report.core.statistics.inference import PairTerms
from uq_report.core.support import options as opt
from uq_report.core.support.arrays import FloatArray
from uq_report.core.support.errors import InputError
from uq_report.distributions import Normal
from uq_report.methods.shared import terms
from uq_report.methods.shared.association import forecasts, row_groups
from uq_report.methods.shared.checks import events, too_few
from uq_report.methods.shared.choice import _distance
from uq_report.methods.shared.estimates import estimate, share_of
from uq_report.methods.shared.grids import are_pairs, features_of, fill, make_grid, stacked, surface_places
from uq_report.methods.shared.terms import ChangedMeasures, Distinct, ShuffledRows, as_means, pair_terms
from uq_report.runner import plugins
from uq_report.testing import KnownTruth, measures

GAP = float("nan")


class Flat(KnownTruth):
    """Predicts the same of every row."""

    def predict(self, model: Any, X: Any) -> Any:
        return Normal(np.zeros(len(X)), np.ones(len(X)))


def rows(b: Any, measures: Sequence[Measure] = (PREDICTION,), **more: Any) -> ShuffledRows:
    b = np.atleast_2d(np.asarray(b, dtype=float))
    n = b.shape[1]
    given = {"y": np.zeros(n), "weights": np.ones(n), "clusters": None} | more
    return ShuffledRows(measures, b, **given)


# ------------------------------------------------------------------ changes


def test_distinct_values_of_columns_together_and_the_rows_that_give_them() -> None:
    found = Distinct.of(np.array([[1.0, 5.0], [1.0, 6.0], [2.0, 5.0], [1.0, 5.0], [2.0, 6.0]]), (0, 1))
    assert found.codes.tolist() == [0, 1, 2, 0, 3]
    assert found.first.tolist() == [0, 1, 2, 4]
    assert found.after(1).tolist() == [1, 0, 1, 1, 1]
    assert found.donors(1).tolist() == [1, 0, 1, 1, 1]
    assert found.donors(3).tolist() == [4, 4, 4, 4, 0]
    taken = np.array([found.after(step) for step in range(len(found.first))])
    assert (taken[0] == found.codes).all()
    assert (np.sort(taken, axis=0) == np.arange(4)[:, None]).all()  # each row takes each value once
    assert Distinct.of(np.array([[1.0, 5.0], [1.0, 6.0]]), (0,)).first.tolist() == [0]
    assert Distinct.of(np.array([[0.0, 5.0], [0.0, 6.0], [1.0, GAP]]), (0, 1)).codes.tolist() == [0, 1, 2]
    assert Distinct.of(np.array([[0.0, 5.0], [0.0, 6.0], [1.0, 5.0], [2.0, 5.0]]), (0, 1)).codes.tolist() == [
        0,
        1,
        2,
        3,
    ]
    kinds = pd.DataFrame({"a": pd.Series([None, GAP, 1, "1", None], dtype=object)})
    assert Distinct.of(kinds, (0,)).codes.tolist() == [0, 1, 2, 3, 0]


def changes(T: Any, donors: Any, **more: Any) -> ChangedMeasures:
    return ChangedMeasures(np.asarray(T, dtype=float), np.asarray(donors), **more)


SHUFFLES = [[1, 2, 0], [2, 0, 1]]
T = [[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]]


def test_changes_of_some_and_of_combined_measures() -> None:
    made = changes(T, SHUFFLES)
    second = made.of(slice(1, 2))
    assert second.T.tolist() == T[1:]
    both = made.combined(np.array([[2.0, -1.0], [0.0, 3.0]]))
    np.testing.assert_allclose(both.T, [2 * np.array(T[0]) - np.array(T[1]), 3 * np.array(T[1])])
    assert made.without(np.array([True, False])).T.tolist() == [np.zeros((2, 3)).tolist(), T[1]]
    assert made.of(slice(1)).combined(np.array([[0.0]])).T.tolist() == np.zeros((1, 2, 3)).tolist()


def test_all_pairs_are_weighed_and_averaged_by_the_rows_that_have_a_value() -> None:
    """Rows 0 and 2 have the first value: it counts twice, and for a shuffle each row reads its donor's."""
    codes, weights = np.array([0, 1, 0]), np.array([1.0, 2.0, 5.0])
    made = changes([[[1.0, 2.0, 3.0], [10.0, 20.0, 30.0]]], SHUFFLES, codes=codes)
    assert made.exact
    assert made.shuffled(0).tolist() == [[10, 2, 3], [1, 2, 30]]
    assert made.weights(rows(np.zeros(3), weights=weights)).tolist() == [[6, 12, 30], [2, 4, 10]]
    np.testing.assert_allclose(made.row_means(), [[4, 8, 12]])
    plain = changes([T[0]], SHUFFLES)
    assert not plain.exact
    assert plain.shuffled(0).tolist() == T[0]
    assert plain.weights(rows(np.zeros(3), weights=weights)).tolist() == [[2, 10, 5], [5, 2, 10]]
    assert plain.row_means().tolist() == [[2.5, 3.5, 4.5]]


def test_what_moves_is_infinite_or_stays() -> None:
    assert changes([T[0]], SHUFFLES).moved
    assert changes([T[0]], [[0, 1, 2], [0, 2, 1]]).moved
    assert not changes([T[0]], [[0, 1, 2]] * 2).moved
    holes = changes([T[0], [[np.inf, 0, 0], [np.inf, 0, -np.inf]]], SHUFFLES)
    assert holes.infinite.tolist() == [[0, 0], [3, 2]]
    assert holes.hit.tolist() == [[False] * 3, [True, False, True]]
    assert changes(T, SHUFFLES).infinite.tolist() == [[0, 0]] * 2
    b = np.array([[1.0, 3.0, 4.0]])  # away by at most 3, 2 and 2
    assert [changes([T[0]], SHUFFLES).still(b, np.array([size]))[0] for size in (1.9, 2, 3)] == [0, 2 / 3, 1]


def test_shuffles_within_clusters_have_terms_of_each_rows_own_change() -> None:
    own = rows([[1.0, 2.0, 3.0]], within=True, clusters=np.array([0, 0, 1]))
    found = pair_terms(changes([T[0]], SHUFFLES), own.b, own)
    np.testing.assert_allclose(found.repeats, [[0, 3]])
    np.testing.assert_allclose(found.estimate, [1.5])
    np.testing.assert_allclose(found.rows, [[1.5, 1.5, 1.5]])


def test_a_statistic_stands_as_its_value_and_its_influence() -> None:
    """The weighted mean of what is returned is 1 - AUC of the pooled scores; a mean stays as it is."""
    scores = np.array([[0.2, 0.9, 0.4, 0.7]])
    own = rows(np.vstack([scores, scores]), (PREDICTION, ONE_MINUS_AUC), y=np.array([0, 1, 1, 0]), classes=True)
    donors = np.array([[1, 2, 3, 0], [2, 3, 0, 1]])
    made = changes(np.stack([scores[:, d] for d in donors], axis=1).repeat(2, axis=0), donors)
    found, b = as_means(made, own.b, own)
    assert found.T[0].tolist() == made.T[0].tolist()
    assert b[1].mean() == pytest.approx(own.unpermuted[1]) == pytest.approx(1 / 4)
    pooled = np.tile(own.y, 2)
    pairs = made.T[1].ravel()[pooled == 1][:, None] - made.T[1].ravel()[pooled == 0]
    assert found.T[1].mean() == pytest.approx(((pairs < 0) + (pairs == 0) / 2).mean())
    np.testing.assert_array_equal(made.T[1], made.T[0])


# ------------------------------------------------------------------ rows and terms


def test_how_rows_count() -> None:
    plain = rows([[1.0, 2.0, 6.0], [np.inf, 0.0, 0.0]], (PREDICTION, NLL))
    assert not plain.classes
    assert plain.unpermuted[0] == 3
    assert np.isnan(plain.unpermuted[1])
    uneven = replace(plain, weights=np.array([2.0, 1.0, 1.0]))
    assert uneven.unpermuted[0] == 2.5
    clustered = replace(plain, clusters=np.array([0, 0, 1]))
    blocked, within = replace(clustered, blocks=True), replace(clustered, within=True)
    every = (plain, uneven, clustered, blocked, within)
    assert [r.exchangeable for r in every] == [True, False, False, False, False]
    assert [r.tested for r in every] == [True, False, False, True, False]
    assert [r.units for r in every] == [3, 3, 2, 2, 2]
    assert [r.kind for r in (clustered, blocked)] == ["clusters", "blocks"]
    assert not replace(blocked, weights=uneven.weights).tested


def test_why_there_is_no_interval() -> None:
    plain = rows(np.zeros(40))
    assert plain.why_no_interval(10) == ""
    few = ShuffledRows.why_no_interval
    least = next(m for m in range(1, 20) if not few(plain, m))
    words = f"{least - 1} permutations cannot separate receivers from donors; at least {least} are needed"
    assert few(plain, least - 1) == words
    assert few(plain, least - 1, exact=True) == ""
    enough = next(k for k in range(1, 40) if not few(replace(plain, clusters=np.arange(40) % k), 10))
    short = replace(plain, clusters=np.arange(40) % (enough - 1), blocks=True)
    assert few(short, 10) == f"{enough - 1} blocks cannot show how blocks vary; at least {enough} are needed"
    assert few(replace(plain, clusters=np.zeros(40, dtype=int)), 10).startswith("1 cluster cannot show how clusters")


def test_a_margin_is_a_hundredth_of_a_nat_or_of_the_mean() -> None:
    assert terms.usual_margin(NLL, 7.0) == 0.01
    assert terms.usual_margin(SQUARED_ERROR, -7.0) == pytest.approx(0.07)


def test_what_is_zero_in_every_shuffle_and_row_up_to_rounding() -> None:
    def pairs(repeats: FloatArray, g: FloatArray) -> PairTerms:
        return PairTerms(np.full(len(g), 3.0), repeats, g + 3.0, np.zeros(len(g)), np.zeros(len(g)))

    size = np.full(2, 100.0)
    repeats = np.array([[0.9e-10, -0.9e-10], [0.9e-10, -1.05e-10]])
    assert terms.exactly_zero(pairs(repeats, np.zeros((2, 3))), size).tolist() == [True, False]
    g = np.array([[0.95e-6, 0.0, -0.95e-6], [0.0, 0.0, -1.05e-6]])
    assert terms.exactly_zero(pairs(repeats * 0, g), size).tolist() == [True, False]
    assert terms.exactly_zero(pairs(np.zeros((1, 2)), np.zeros((1, 3))), 0.0).tolist() == [True]


@pytest.mark.parametrize(("shift", "zero"), [(-1.5e-12, True), (-3e-12, False), (3e-12, False)])
def test_a_change_below_the_rounding_of_the_mean_size_is_a_positive_zero(shift: float, zero: bool) -> None:
    """Sizes are 1 before and after: 2e-12 is rounding."""
    own = rows(np.ones((1, 4)))
    donors = [[1, 2, 3, 0], [2, 3, 0, 1], [3, 0, 1, 2]]
    found = terms.feature_terms(changes(np.full((1, 3, 4), 1 + shift), donors), own)
    assert found.zero.tolist() == [zero]
    numbers = (found.repeats, found.estimate, found.se, found.noise, found.rows)
    if zero:
        assert not any(values.any() or np.signbit(values).any() for values in numbers)
    else:
        np.testing.assert_allclose(found.estimate, [shift], rtol=1e-3)
    still = terms.feature_terms(changes(np.full((1, 3, 4), 1 + shift), [[0, 1, 2, 3]] * 3), own)
    assert not still.zero.any()


def test_a_measure_with_an_infinite_value_has_no_numbers_and_changes_no_other() -> None:
    own = rows([[1.0, np.inf, 2.0, 0.0], [1.0, 1.0, 2.0, 0.0]], (NLL, PREDICTION))
    donors = [[1, 2, 3, 0], [2, 3, 0, 1], [3, 0, 1, 2]]
    T = np.stack([own.b[:, donor] for donor in np.array(donors)], axis=1)
    T[1] += 1
    found = terms.feature_terms(changes(T, donors), own)
    assert np.isnan(found.estimate).tolist() == [True, False]
    assert (np.isnan(found.rows[0]).all(), np.isfinite(found.rows[1]).all()) == (True, True)
    assert found.zero.tolist() == [False, False]
    assert found.infinite.tolist() == [[3, 3], [0, 0]]
    T[0] = 1.0
    assert np.isnan(terms.feature_terms(changes(T, donors), own).estimate).tolist() == [True, False]


def test_infinite_values_are_told_by_measure_and_by_feature() -> None:
    own = rows([[np.inf, 0.0, -np.inf], [0.0, 0.0, 0.0]], (ENTROPY, NLL))
    fields = ("repeats", "estimate", "se", "noise", "rows", "delta", "zero", "still", "drawn", "freedom")
    none = dict.fromkeys(fields, np.zeros(2))
    one = terms.ImportanceTerms(**none, infinite=np.array([[5, 2], [0, 0]]), exact=False)  # type: ignore[arg-type]
    two = terms.ImportanceTerms(**none, infinite=np.array([[5, 2], [4, 1]]), exact=False)  # type: ignore[arg-type]
    bound = ", or ask for the loss with an upper bound."
    remedy = "No observation was dropped. Calibrate or smooth the model's probabilities"
    assert [(o.measure, o.feature, o.reason) for o in terms.infinite_values(own, ("a", "b"), (one, two))] == [
        ("entropy", "", f"it is infinite for 2 of 3 observations before any permutation. {remedy}."),
        ("nll", "b", f"it is infinite for 4 permuted values, in 1 of 3 observations. {remedy}{bound}"),
    ]


# ------------------------------------------------------------------ small things


def test_each_explainer_has_a_place_of_its_own() -> None:
    explainers = [plugins.load(plugin) for plugin in plugins.find(plugins.EXPLAINERS)]
    places = sorted(place for made in explainers if (place := priority_of(made)) < LAST)
    assert places == list(range(1, len(places) + 1))


def test_a_distance_is_in_standard_deviations_of_the_finite_rows() -> None:
    found = _distance(np.array([0.0, 2.0, 4.0, np.inf]))
    np.testing.assert_allclose(found, [np.sqrt(1.5), 0, np.sqrt(1.5), np.inf])
    assert _distance(np.array([3.0, 3.0])).tolist() == [0, 0]
    np.testing.assert_allclose(_distance(np.array([0.0, 0.2, 0.4])), [np.sqrt(1.5), 0, np.sqrt(1.5)])


def test_limits_are_open_or_closed() -> None:
    @dataclass(frozen=True)
    class Demo(opt.CheckedOptions):
        name = "demo"
        part: float = opt.share(0.5)
        size: float = opt.positive(1.0)
        rest: float = opt.not_negative(0.0)
        top: int = opt.at_least(2, 3)
        mode: str = opt.one_of(("a", "b"), "a")
        low: float = 0.0

        def limits(self) -> Iterable[opt.Limit]:
            return (("low", self.low <= self.size, "a number up to size"),)

    def refused(**options: Any) -> bool:
        try:
            Demo(**options)
        except InputError as error:
            (name,) = options
            return f"demo.{name} must be" in str(error)
        return False

    assert [refused(part=value) for value in (-1, 0, 0.5, 1, 2)] == [True, True, False, True, True]
    assert [refused(size=value) for value in (-1, 0, 0.5)] == [True, True, False]
    assert [refused(rest=value) for value in (-1, 0, 0.5)] == [True, False, False]
    assert [refused(top=value) for value in (1, 2, np.int64(2), 2.0, True)] == [True, False, False, True, True]
    assert [refused(mode=value) for value in ("a", "b", "c")] == [False, False, True]
    assert [refused(low=value) for value in (1, 1.5)] == [False, True]
    with pytest.raises(InputError, match=r"demo\.part must be .*\ndemo\.top must be"):
        Demo(part=2, top=0)


def test_features_of_curves_are_those_of_the_table() -> None:
    made = make_subject(None, Flat(), pd.DataFrame({"a": [1.0, 2.0], "b": [1.0, 2.0], "c": [1.0, 2.0]}))
    assert features_of("demo", made, None, (), ()) == (("a", "b", "c"), ("a", "b", "c"))
    assert features_of("demo", made, ["b"], (("c", "b"),), ("a",)) == (("b",), ("b", "c"))
    for features, pairs, further in ((["z"], (), ()), (None, (("a", "z"),), ()), (None, (), ("z",))):
        with pytest.raises(InputError, match=r"demo\.features must be features of X; got 'z'"):
            features_of("demo", made, features, pairs, further)
    wrong: Any = (("a", "b", "c"),)
    assert [are_pairs(p) for p in ((), (("a", "b"),), (("a", "b"), ("a", "a")), wrong)] == [True, True, False, False]


def test_every_point_is_handed_its_own_measures() -> None:
    class OfX(Flat):
        def predict(self, model: Any, X: Any) -> Any:
            return Normal(X[:, 0], np.ones(len(X)))

    seen: list[list[float]] = [[] for _ in range(4)]

    def taker(k: int) -> Any:
        return lambda values: seen[k].extend(values[0])

    engine = Engine(make_subject(None, OfX(), np.zeros((2, 1))), measures())
    fill([(Variant((0,), (10.0 * k,)), taker(k)) for k in range(4)], engine, (PREDICTION,))
    assert seen == [[0, 0], [10, 10], [20, 20], [30, 30]]


def test_places_of_a_surface_and_tables_below_each_other() -> None:
    places = surface_places((np.array([1.0, 2.0]), ("", "")), (np.arange(3.0), ("x", "y", "z")))
    assert places["x"].tolist() == [1, 1, 1, 2, 2, 2]
    assert places["x_2"].tolist() == [0, 1, 2, 0, 1, 2]
    assert places["level"].tolist() == [""] * 6
    assert places["level_2"].tolist() == ["x", "y", "z"] * 2
    both = stacked([pd.DataFrame({"a": [1], "b": [2]})] * 2, ["b"])
    assert (both.index.tolist(), both.columns.tolist()) == ([0, 1], ["b"])
    assert stacked([], ["b"]).columns.tolist() == ["b"]


def test_a_share_has_its_exact_interval_and_what_has_none_covers_nothing() -> None:
    """Clopper and Pearson: of no hits in 20 rows the upper end is 1 - 0.025^(1/20)."""
    sampling = Sampling(np.full(20, 1 / 20), 20)
    none = share_of(np.zeros(20), sampling, 0.95)
    assert (none["estimate"], none["lower"]) == (0, 0)
    assert none["upper"] == pytest.approx(1 - 0.025 ** (1 / 20))
    every = share_of(np.ones(20), sampling, 0.95)
    assert (every["estimate"], every["upper"]) == (1, 1)
    assert every["lower"] == pytest.approx(0.025 ** (1 / 20))
    ends = (np.array([0.0, GAP]), np.array([1.0, GAP]))
    made = estimate(np.zeros(2), np.ones(2), ends, 0.9)
    assert made["covers"].tolist() == ["new test samples", "none"]
    np.testing.assert_array_equal(made["confidence"], [0.9, GAP])


def test_events_are_rows_outside_the_most_frequent_class() -> None:
    assert (events([5, 9, 2]), events([])) == (7, float("inf"))
    assert too_few([9, 1, 990]) == ""
    one = "1 observation outside the most frequent class is too few: 10 are needed, in about 1000 similar observations"
    assert too_few([99, 1]) == one
    assert too_few([199, 9], 9.5).endswith("9.5 are needed, in about 220 similar observations")


def test_rows_of_a_cluster_and_equal_rows_are_one_group() -> None:
    X = np.array([[1.0, 0.0], [2.0, 0.0], [1.0, 0.0], [3.0, 0.0], [GAP, 0.0], [GAP, 0.0]])
    plain = row_groups(X, None)
    assert plain.tolist() == [0, 1, 0, 2, 3, 3]
    assert row_groups(X[::-1], None).tolist() == [0, 0, 1, 2, 3, 2]
    linked = row_groups(X, np.array([0, 1, 1, 2, 3, 4]))  # rows 1 and 2 of a cluster, 0 and 2 alike
    assert [len(set(linked[list(group)])) for group in ((0, 1, 2), (4, 5))] == [1, 1]
    assert len(set(linked)) == 3


@pytest.mark.parametrize(("each", "found"), [(5, [[0.0], [1.0]]), (4, [[0.5], [0.5]])])
def test_a_leaf_holds_five_rows_and_one_tree_is_enough(each: int, found: list[list[float]]) -> None:
    x = np.r_[np.repeat([0.0, 1.0], each), 0.0, 1.0]
    out = np.arange(len(x)) >= 2 * each
    draws: Any = chain([np.array([0, 0]), 1], repeat(np.array([0, 1])))  # a tree without the second block, all others
    rng: Any = SimpleNamespace(integers=lambda *_, **__: next(draws))
    answer = forecasts(x[:, None], x[:, None], out.astype(int), rng)
    assert answer[out].tolist() == found
    assert np.isnan(answer[~out]).all()


def test_trees_predict_blocks_they_did_not_see() -> None:
    x = np.repeat(np.arange(12.0), 5)
    Y = np.column_stack([10 * x, -x])
    found = forecasts(x[:, None], Y, np.repeat(np.arange(12), 5), np.random.default_rng(0))
    assert np.isfinite(found).all()
    swapped = np.where(x[:, None] == 3, 1e6, Y)
    other = forecasts(x[:, None], swapped, np.repeat(np.arange(12), 5), np.random.default_rng(0))
    np.testing.assert_array_equal(other[x == 3], found[x == 3])
    assert (other[x == 4] != found[x == 4]).all()
    assert np.corrcoef(found[:, 0], Y[:, 0])[0, 1] > 0.8
    np.testing.assert_allclose(found[:, 1], -found[:, 0] / 10)
    alone = forecasts(x[:, None], Y, np.zeros(60, dtype=int), np.random.default_rng(0))
    assert np.isnan(alone).all()


@pytest.mark.parametrize(
    ("values", "kind", "steps", "own"),
    [
        ([3.0, 1.0, np.inf, 2.0], "numeric", (1, 2, 3), [3, 1, GAP, 2]),
        (["b", "a", None, "c"], "level", ("a", "b", "c"), [1, 0, GAP, 2]),
        (pd.to_datetime(["2020-01-03", "2020-01-01", "NaT", "2020-01-02"]), "level", None, [2, 0, GAP, 1]),
    ],
)
def test_where_rows_stand_on_a_grid(values: Any, kind: str, steps: Any, own: list[float]) -> None:
    made = make_subject(None, Flat(), pd.DataFrame({"b": np.zeros(4), "a": values}))
    grid = make_grid(made, "a", 5, (0.0, 1.0), 10)
    assert grid is not None
    assert (grid.column, grid.numeric) == (1, kind == "numeric")
    assert steps is None or grid.steps == steps
    np.testing.assert_array_equal(grid.own_x(made), own)
    assert grid.x.tolist() == (list(grid.steps) if kind == "numeric" else list(range(len(grid.steps))))


@pytest.mark.parametrize("dtype", [bool, int, float, np.float32])
def test_levels_of_an_array_are_counted_whatever_its_numbers(dtype: type) -> None:
    made = make_subject(None, Flat(), np.array([[1, 0], [0, 1], [1, 1]], dtype=dtype), categorical=["x0"])
    grid = make_grid(made, made.features[0], 5, (0.0, 1.0), 10)
    assert grid is not None
    assert (grid.steps, grid.numeric) == ((0, 1), False)


def test_a_grid_of_one_value_says_so_and_a_column_without_any_has_none() -> None:
    made = make_subject(None, Flat(), pd.DataFrame({"one": [2.0, 2.0], "none": [GAP, GAP], "two": [1.0, 2.0]}))
    one = make_grid(made, "one", 5, (0.0, 1.0), 10)
    assert one is not None
    assert one.notes == ("one has one value on the grid; its profile is a single point.",)
    two = make_grid(made, "two", 5, (0.0, 1.0), 10)
    assert two is not None
    assert two.notes == ()
    assert make_grid(made, "none", 5, (0.0, 1.0), 10) is None


def flat_rows(X: FloatArray, **options: Any) -> ShuffledRows:
    engine = Engine(make_subject(None, Flat(), X, **options), measures())
    return ShuffledRows.of(engine, (NLL,))


def test_rows_of_a_subject() -> None:
    X = np.arange(4.0)[:, None]
    plain = flat_rows(X, y=np.zeros(4))
    assert plain.weights.tolist() == [1] * 4
    np.testing.assert_allclose(plain.b, np.full((1, 4), np.log(2 * np.pi) / 2))
    assert (plain.classes, plain.blocks, plain.within, plain.n) == (False, False, False, 4)
    assert flat_rows(X, y=np.zeros(4), sample_weight=[1, 2, 3, 4.0]).weights.tolist() == [1, 2, 3, 4]
    assert flat_rows(X, y=np.zeros(4), time=np.arange(4)).blocks
