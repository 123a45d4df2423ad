"""Which groups are compared, tested, withheld and exchanged, and by which numbers, of plans made by hand."""

from dataclasses import replace
from functools import partial
from itertools import combinations
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import uq_report as uq
from uq_report import testing
from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.model.measures import PREDICTION
from uq_report.core.model.sampling import Sampling
from uq_report.core.support.arrays import BoolArray, FloatArray
from uq_report.distributions import Categorical, Normal, Survival
from uq_report.methods.groups import contrasts, explain
from uq_report.methods.groups.contrasts import (
    GroupDifference,
    Plan,
    Values,
    difference,
    gap_p_values,
    row_values,
    shuffled_p_values,
)
from uq_report.methods.groups.explain import (
    Exchange,
    ProxyGrid,
    _change,
    _impossible,
    _measure,
    _single,
    _together,
    grid_of,
    use,
)
from uq_report.methods.shared.association import NumericColumn
from uq_report.methods.shared.attributes import Attribute, attributes
from uq_report.methods.shared.predicted import PredictedNumber, expected_loss, predicted

N = 24
SUBJECT = testing.logistic_subject(N)
EVERY = np.ones(N, dtype=bool)


def kinds(codes: Any, labels: str = "ab", name: str = "kind") -> Attribute:
    return Attribute(name, tuple(labels), np.asarray(codes))


def value(measure: str, rows: Any, inside: BoolArray = EVERY, **more: Any) -> Values:
    return Values(measure, "u", np.asarray(rows, dtype=float), inside, **more)


LOSS = value("brier", np.arange(N) ** 2)
GAP = value("confidence_gap", np.sin(np.arange(N)))


def plan(*cut: Attribute, values: Any = (LOSS,), n_min: int = 5, confidence: float = 0.95, **given: Any) -> Plan:
    engine = Engine(replace(SUBJECT, **given), testing.measures(), confidence=confidence).bound("groups")
    return Plan(n_min, 99, engine, cut, values)


NINE = kinds(np.arange(N) >= 9)  # 9 rows of a, 15 of b
KEY = EVERY.tobytes()


def test_of_two_groups_that_are_shown_the_smaller_is_compared() -> None:
    assert plan(NINE).compared == {KEY: [(0, 0)]}
    assert plan(kinds(np.arange(N) < 9)).compared == {KEY: [(0, 1)]}
    assert plan(kinds(np.arange(N) < 12)).compared == {KEY: [(0, 0)]}  # of equal ones the first
    three = kinds(np.arange(N) // 8, "abc")
    assert plan(three).compared == {KEY: [(0, 0), (0, 1), (0, 2)]}
    assert plan(three).draws == 300
    assert plan(NINE, values=(LOSS, value("prediction", np.ones(N)))).draws == 100
    assert plan(NINE, values=(value("prediction", np.ones(N)),)).draws == 99


def test_rows_without_a_weight_are_not_counted() -> None:
    weights = np.where(np.arange(N) < 4, 0.0, 0.5)
    given = plan(NINE, weights=weights)
    assert given.counted.tolist() == (weights > 0).tolist()
    ((_, first, second), (apart,)) = [*given.means(LOSS)], [*given.differences(LOSS)]
    assert (first["item"], first["n"], second["n"]) == ("a", 5, 15)
    assert (apart["n"], apart["n_rest"]) == (5, 15)
    assert first["estimate"] == pytest.approx((np.arange(4, 9) ** 2).mean())
    assert list(plan(NINE, weights=weights, n_min=6).differences(LOSS)) == []


def test_means_and_differences_are_of_the_rows_inside() -> None:
    inside = np.arange(N) % 2 == 0
    some = value("excess_loss", np.arange(N), inside, scale=7.0)
    given = plan(NINE, values=(some,))
    whole, first, second = given.means(some)
    assert [line["item"] for line in (whole, first, second)] == ["all observations", "a", "b"]
    assert [line["n"] for line in (whole, first, second)] == [12, 5, 7]
    assert [line["estimate"] for line in (whole, first, second)] == pytest.approx([11, 4, 16])
    (apart,) = given.differences(some)
    rows = Sampling(np.full(12, 1 / 12), 12)
    expected = difference(np.arange(0.0, N, 2), np.arange(12) < 5, np.arange(12) >= 5, rows, False)
    low, high = expected.interval(0.95)
    assert (apart["estimate"], apart["lower"], apart["upper"]) == pytest.approx((-12, low, high))
    assert (apart["n"], apart["n_rest"], apart["overall"], apart["scale"], apart["item"]) == (5, 7, 11.0, 7.0, "a")
    untested = value("prediction", np.arange(N), inside)
    assert np.isnan(next(plan(NINE, values=(untested,)).differences(untested))["p_value"])


def test_an_interval_of_shares_holds_its_estimate() -> None:
    """All of 5 against none of 19: a hit and a miss more move the centre by more than half of the interval at 51%."""
    for sign in (1, -1):
        apart = value("coverage_90", (np.arange(N) < 5) == (sign > 0), share=True)
        (line,) = plan(kinds(np.arange(N) >= 5), values=(apart,), confidence=0.51).differences(apart)
        first, second = sorted((sign * line["lower"], sign * line["upper"]))
        assert (sign * line["estimate"], second) == pytest.approx((1.0, 1.0))
        centre = 6 / 7 - 1 / 21
        assert first < centre < second


@pytest.mark.parametrize(
    ("n_min", "items"),
    [(9, ["all observations", "a", "b"]), (10, ["all observations", "b"]), (24, ["all observations"]), (25, [])],
)
def test_all_rows_are_shown_where_they_are_enough(n_min: int, items: list[str]) -> None:
    assert [line["item"] for line in plan(NINE, n_min=n_min).means(LOSS)] == items


WAVE = value("brier", np.sin(np.arange(N)))


def by_shuffles(given: Plan, part: BoolArray, tested: Values = WAVE, among: Any = EVERY) -> float:
    """Return the p-value of "the part is a random one of these rows" by the draws of the first group."""
    rng = given.engine.rng("shuffle", "kind", 0, int(among.sum()))
    return shuffled_p_values({"brier": (tested.rows[among], False)}, part, rng, given.draws)["brier"]


def by_t(given: Plan, tested: Values = WAVE) -> float:
    """Return the p-value of the t-test of the first group."""
    group = given.members((0, 0))
    return difference(tested.rows, group, ~group, given.sampling, False).p_value


def p_value(given: Plan, tested: Values = WAVE) -> float:
    """Return the p-value of the first group's difference."""
    return float(next(given.differences(tested))["p_value"])


def test_only_exchangeable_rows_are_shuffled() -> None:
    given = plan(NINE, values=(WAVE,))
    assert p_value(given) == by_shuffles(given, np.arange(N) < 9) != by_t(given)
    given = plan(NINE, values=(WAVE,), weights=np.where(np.arange(N) < 2, 0.0, 3.0))
    assert p_value(given) == by_shuffles(given, np.arange(2, N) < 9, among=given.counted)
    for more in ({"weights": np.where(np.arange(N) < 2, 2.0, 3.0)}, {"clusters": np.arange(N) // 2}):
        given = plan(NINE, values=(WAVE,), **more)
        assert p_value(given) == by_t(given)
    infinite = value("squared_error", np.where(np.arange(N) == 3, np.inf, 1.0))
    given = plan(NINE, values=(infinite, WAVE))  # what is infinite is left out of the draws, which would warn of it
    assert p_value(given) == by_shuffles(given, np.arange(N) < 9)


def large(size: int) -> Plan:
    """Return a plan of 1,100 rows, of which the first group has so many, with a loss and a confidence gap."""
    subject, inside = testing.logistic_subject(1100), np.ones(1100, dtype=bool)
    engine = Engine(subject, testing.measures()).bound("groups")
    values = [value(name, np.sin(np.arange(1100)), inside) for name in ("brier", "confidence_gap")]
    return Plan(5, 99, engine, (kinds(np.arange(1100) >= size),), values)


@pytest.mark.parametrize(("size", "exact"), [(500, True), (501, False)])
def test_only_small_groups_are_shuffled(size: int, exact: bool) -> None:
    given = large(size)
    tested = given.values[0]
    assert (p_value(given, tested) == by_t(given, tested)) is not exact


def test_gaps_are_tested_by_draws_where_there_are_outcomes_and_groups_are_small() -> None:
    def drawn(given: Plan, rows: Any, groups: list[BoolArray]) -> list[float]:
        q, y, rng = given.engine.baseline.take(rows), np.asarray(given.engine.y)[rows], given.engine.rng("outcomes")
        return gap_p_values(q, y, groups, given.sampling.weights[rows], rng, given.draws)

    given, nine = plan(NINE, values=(LOSS, GAP)), np.arange(N) < 9
    assert given.gap_tests == dict(zip([(0, 0), (0, 1)], drawn(given, np.arange(N), [nine, ~nine]), strict=True))
    parts = GAP.rows[:9], GAP.rows[9:]
    first, second = (stats.ttest_1samp(part, 0.0).pvalue for part in parts)
    assert plan(NINE, values=(GAP,), y=None).gap_tests == pytest.approx({(0, 0): first, (0, 1): second})
    for size in (500, 501):
        given = large(size)
        gaps = given.values[1].rows[:size], given.values[1].rows[size:]
        first, second = (stats.ttest_1samp(part, 0.0).pvalue for part in gaps)
        if size == 500:
            (first,) = drawn(given, np.arange(size), [np.ones(size, dtype=bool)])
        assert given.gap_tests == pytest.approx({(0, 0): first, (0, 1): second})


def test_targets_are_numbers_about_their_mean_or_indicators_of_the_groups_shown() -> None:
    numbers = np.r_[np.arange(22.0), np.inf, np.nan]
    cut = replace(NINE, numbers=numbers)
    found = plan(cut).target(0, cut)
    np.testing.assert_allclose(found[:22, 0], np.arange(22) - 10.5)
    assert np.isnan(found[22:]).all()
    three = kinds(np.repeat([0, 1, 2], [10, 10, 4]), "abc")
    few = plan(three, n_min=4).target(0, three)
    np.testing.assert_array_equal(few[[0, 10, 20]], np.eye(3))
    one = plan(kinds(np.arange(N) >= 3)).target(0, NINE)
    assert one.shape == (N, 1)
    assert np.isnan(one).all()
    apart = kinds(np.repeat([0, 1, 2, 3], [8, 8, 4, 4]), "abcd")
    shown = plan(apart, n_min=5).target(0, apart)
    assert shown.shape == (N, 2)
    assert np.isnan(shown[16:]).all()
    assert not np.isnan(shown[:16]).any()


def test_attributes_are_recorded_with_what_is_withheld() -> None:
    a = SUBJECT.features[0]
    meta = plan(kinds(np.repeat([0, 1, 2], [10, 10, 4]), "abc"), replace(NINE, name=a, edges=("7",)), n_min=5).meta()
    assert meta["n_min"] == 5
    assert meta["attributes"]["kind"]["withheld"][-1] == "c"
    assert (meta["attributes"]["kind"]["feature"], meta["attributes"]["kind"]["edges"]) == (False, None)
    assert (meta["attributes"][a]["feature"], meta["attributes"][a]["edges"]) == (True, ["7"])
    infinite = value("nll", np.where(np.arange(N) < 3, np.inf, 0.0))
    gaps = [*plan(NINE, values=(infinite,)).omissions()]
    assert [(gap.measure, gap.reason.partition(";")[0]) for gap in gaps] == [("nll", "infinite in 3 observations")]


class Dealt:
    """Deals every part of a size once, in order."""

    def __init__(self, n: int, size: int) -> None:
        self.parts = combinations(range(n), size)

    def choice(self, n: int, size: int, *, replace: bool, **how: Any) -> Any:
        assert not replace
        return np.array(next(self.parts))


def test_shuffled_p_values_count_parts_at_least_as_far_apart_by_welchs_t() -> None:
    rows = np.array([3.0, 9.0, 1.0, 4.0, 1.5, 7.0, 2.0])
    group = np.isin(np.arange(7), (1, 5, 6))
    masks = [np.isin(np.arange(7), part) for part in combinations(range(7), 3)]
    t = [abs(stats.ttest_ind(rows[mask], rows[~mask], equal_var=False).statistic) for mask in masks]
    apart = [abs(rows[mask].mean() - rows[~mask].mean()) for mask in masks]
    at = next(k for k, mask in enumerate(masks) if (mask == group).all())
    dealt: Any = Dealt(7, 3)
    found = shuffled_p_values({"t": (rows, False), "share": (rows, True)}, group, dealt, 35)
    assert found["t"] == pytest.approx((1 + sum(x >= t[at] * (1 - 1e-9) for x in t)) / 36)
    assert found["share"] == pytest.approx((1 + sum(x >= apart[at] * (1 - 1e-9) for x in apart)) / 36)


def test_statistics_of_what_does_not_vary_are_0_or_infinite() -> None:
    sums = np.array([[[0.0, 2.0]], [[0.0, 2.0]]])
    found = contrasts._statistics(sums, np.array([0.0, 4.0]), np.array([False, False]), (2, 2))
    assert found.tolist() == [[0.0, np.inf]]


def test_gaps_are_drawn_in_blocks_of_two_million_outcomes() -> None:
    sizes: list[int] = []
    n = 300_000

    class Kept(Categorical):
        """Class probabilities whose numbers of draws are kept."""

        def sample(self, rng: np.random.Generator, size: int) -> Any:
            sizes.append(size)
            return super().sample(rng, size)

    q = Kept(np.full((n, 2), 0.5))
    gap_p_values(q, np.zeros(n, dtype=int), [np.ones(n, dtype=bool)], np.ones(n), np.random.default_rng(0), 13)
    assert sizes == [6, 6, 1]


def test_one_band_alone_stands_among_words_and_two_stand_by_where_they_begin() -> None:
    for levels, order in (
        (["30 to 44", "(none)"], ("(none)", "30 to 44")),
        (["100+", "20 to 99"], ("20 to 99", "100+")),
    ):
        (found,) = attributes({"a": np.array(levels)}, 9)
        assert found.labels == order


@pytest.mark.parametrize(("size", "smaller"), [(10, True), (11, True), (13, False), (14, False)])
def test_of_three_groups_one_of_more_than_half_is_drawn_by_its_rest(size: int, smaller: bool) -> None:
    given = plan(kinds(np.repeat([0, 1, 2], [size, 19 - size, 5]), "abc"), values=(WAVE,))
    first = np.arange(N) < size
    drawn, other = (by_shuffles(given, part) for part in ((first, ~first) if smaller else (~first, first)))
    assert p_value(given) == drawn != other


# ------------------------------------------------------------------ values


def engine_of(q: Any, y: Any = None) -> Any:
    """Return what stands for an engine of 24 rows."""
    return SimpleNamespace(baseline=q, y=y, subject=SUBJECT, rng=np.random.default_rng, measures=testing.measures())


def test_of_two_classes_the_positive_one_is_predicted_and_of_more_each() -> None:
    p = np.tile([0.25, 0.75], (N, 1))
    y = np.arange(N) % 4 == 0
    (one,) = predicted(engine_of(Categorical(p), y.astype(int)))
    assert (one.name, one.unit, one.position, one.rows[0]) == ("prediction", "probability", 1, 0.75)
    assert one.y is not None
    assert one.y.tolist() == y.astype(float).tolist()
    assert one.scale == pytest.approx(np.sqrt(0.25 * 0.75))
    (bare,) = predicted(engine_of(Categorical(np.tile([0.1, 0.9], (N, 1)))))
    assert bare.y is None
    assert bare.scale == pytest.approx(0.3)
    three = predicted(
        engine_of(Categorical(np.tile([0.5, 0.3, 0.2], (N, 1)), classes=["a", "b", "c"]), np.arange(N) % 3)
    )
    assert [number.name for number in three] == ["prediction[a]", "prediction[b]", "prediction[c]"]
    assert [number.rows[0] for number in three] == [0.5, 0.3, 0.2]
    assert three[2].y is not None
    assert three[2].y.tolist() == (np.arange(N) % 3 == 2).astype(float).tolist()


def test_numbers_are_predicted_by_their_mean_on_the_scale_of_outcomes_or_of_themselves() -> None:
    q, y = Normal(np.arange(float(N)), np.ones(N)), np.arange(N) * 2.0
    (told,) = predicted(engine_of(q, y))
    assert told.unit == "units of the outcome"
    assert told.scale == pytest.approx(y.std())
    assert told.position is None
    (bare,) = predicted(engine_of(q))
    assert bare.y is None
    assert bare.scale == pytest.approx(np.arange(N).std())
    assert predicted(engine_of(SimpleNamespace(supports=set()))) == []


def values_of(q: Any, y: Any) -> tuple[dict[str, Values], dict[str, str]]:
    """Return what can be averaged by group where a model predicts q, and why the rest cannot."""
    X = pd.DataFrame({"a": np.arange(len(q))})
    subject = uq.explain(lambda rows: q.take(rows["a"].to_numpy()), X, y)
    found, omitted = row_values(Engine(subject, testing.measures()).bound("groups"))
    return {value.measure: value for value in found}, {omission.measure: omission.reason for omission in omitted}


def test_outcomes_and_residuals_stand_beside_a_prediction_that_has_them() -> None:
    q = Categorical(np.array([[0.75, 0.25, 0.0], [0.5, 0.25, 0.25]]), classes=["a", "b", "c"])
    found = values_of(q, ["a", "b"])[0]
    three = [found[f"{name}[a]"] for name in ("prediction", "outcome", "residual")]
    assert [x.unit for x in three] == ["probability", "share of observations", "probability"]
    assert [x.share for x in three] == [False, True, False]
    assert [x.tested for x in three] == [False, False, True]
    assert found["residual[a]"].rows.tolist() == [0.25, -0.5]
    alone = values_of(q, None)[0]
    assert "prediction[a]" in alone
    assert not {"outcome[a]", "residual[a]"} & alone.keys()
    plain = values_of(Normal([0.75, 0.5], [1.0, 1.0]), [1.0, 0.0])[0]
    own = [plain[name] for name in ("prediction", "outcome", "residual")]
    assert [(x.unit, x.share) for x in own] == [("units of the outcome", False)] * 3


def test_error_rates_are_of_two_classes_each_over_its_own_rows() -> None:
    found = values_of(Categorical(np.array([[0.2, 0.8], [0.9, 0.1], [0.4, 0.6]])), [0, 1, 1])[0]
    positive, negative = found["false_positive_rate"], found["false_negative_rate"]
    assert (positive.rows.tolist(), positive.inside.tolist()) == ([1.0, 0.0, 1.0], [True, False, False])
    assert (negative.rows.tolist(), negative.inside.tolist()) == ([0.0, 1.0, 0.0], [False, True, True])
    assert positive.share is negative.share is True
    gaps = values_of(Categorical(np.full((2, 3), 1 / 3)), [0, 1])[1]
    why = "it needs two classes; this model has 3"
    assert (gaps["false_positive_rate"], gaps["false_negative_rate"]) == (why, why)


def test_the_loss_expected_is_that_of_the_models_own_outcomes() -> None:
    assert expected_loss(Categorical(np.array([[0.5, 0.5], [1.0, 0.0]]))) == pytest.approx([0.5, 0.0])
    assert expected_loss(Normal([0.0], [3.0])) == pytest.approx([9.0])
    assert expected_loss(Survival([1.0, 2.0], [[0.5, 0.2]])) is None
    none: Any = SimpleNamespace(supports=set(), censored=False)
    assert expected_loss(none) is None


def test_an_infinite_loss_has_the_usual_one_beside_it() -> None:
    q = Categorical(np.array([[0.5, 0.5], [1.0, 0.0]]))
    excess = values_of(q, [0, 1])[0]["excess_loss"]
    assert excess.scale == pytest.approx((0.5 + 2.0) / 2)
    assert excess.rows.tolist() == [0.0, 2.0]
    finite = values_of(q, [0, 0])[0]
    assert ("confidence_gap" in finite, "excess_loss" in finite) == (True, False)


def test_a_model_of_moments_alone_has_the_usual_loss_in_place_of_the_confidence_gap() -> None:
    class Moments(Normal):
        """A distribution of which mean and variance alone are known."""

        supports = frozenset({"mean", "variance"})

        def take(self, rows: Any) -> "Moments":
            return Moments(self.loc[rows], self.scale[rows])

    found, omitted = values_of(Moments(np.zeros(2), np.array([1.0, 2.0])), [1.0, 3.0])
    assert omitted["confidence_gap"] == "it needs the loss and the entropy"
    assert found["excess_loss"].rows.tolist() == [0.0, 5.0]


def test_an_interval_covers_its_ends() -> None:
    class Ends(Normal):
        """A distribution whose outcomes are at the levels of its location."""

        def take(self, rows: Any) -> "Ends":
            return Ends(self.loc[rows], self.scale[rows])

        def pit_bounds(self, y: Any) -> tuple[FloatArray, FloatArray]:
            return self.loc, self.loc

    covered = values_of(Ends(np.array([0.05, 0.5, 0.951, 0.04]), np.ones(4)), np.zeros(4))[0]["coverage_90"]
    assert covered.rows.tolist() == [1.0, 1.0, 0.0, 0.0]
    assert covered.share


# ------------------------------------------------------------------ proxies


OTHER = NumericColumn("b", np.arange(N, dtype=float), ordered=True)


@pytest.mark.parametrize(("n", "few"), [(9, True), (10, False)])
def test_a_target_needs_rows_values_and_other_features(n: int, few: bool) -> None:
    target = np.arange(float(n))[:, None]
    assert _impossible(target, [OTHER]) == ("fewer than 10 observations can be used" if few else "")
    assert _impossible(target, []) == "there is no other feature to predict it from"
    flat = np.column_stack([np.ones(N), np.zeros(N)])
    assert _impossible(flat, [OTHER]) == "fewer than two values or groups can be used"
    flat[0] = 0.0, 0.0
    assert _impossible(flat, [OTHER]) == ""


@pytest.mark.parametrize("weighted", [False, True])
def test_features_together_tell_by_the_share_of_squares_that_a_forecast_leaves(
    monkeypatch: pytest.MonkeyPatch, weighted: bool
) -> None:
    """The ratio of two means has the standard error of its linearised rows."""
    rng = np.random.default_rng(0)
    rows, truth = np.arange(0, N, 2), np.eye(2)[rng.integers(0, 2, 12)]
    forecast = np.clip(truth + rng.normal(scale=0.3, size=(12, 2)), 0, 1)
    weights = np.arange(1.0, N + 1) if weighted else np.ones(N)
    columns = 2
    monkeypatch.setattr(explain, "forecasts", lambda *_: forecast[:, :columns])
    engine = Engine(replace(SUBJECT, weights=weights), {}).bound("groups")
    line = _together(engine, "kind", truth, [OTHER], rows)
    assert isinstance(line, dict)
    w = weights[rows] / weights[rows].sum()
    missed, spread = ((truth - forecast) ** 2).sum(axis=1), ((truth - w @ truth) ** 2).sum(axis=1)
    ratio = w @ missed / (w @ spread)
    error = np.sqrt(12 / 11 * ((w * (missed - ratio * spread)) ** 2).sum()) / (w @ spread)
    assert (line["estimate"], line["std_error"]) == pytest.approx((1 - ratio, error))
    assert (line["lower"], line["upper"]) == pytest.approx(stats.t.interval(0.95, 11, 1 - ratio, error))
    assert (line["measure"], line["item"], line["n"], line["feature"]) == ("brier_skill", "all features", 12, "kind")
    columns = 1
    one = _together(engine, "kind", truth[:, :1], [OTHER], rows)
    assert isinstance(one, dict)
    assert one["measure"] == "r_squared"


def test_one_feature_tells_a_number_by_ranks_and_groups_by_their_share() -> None:
    rows = np.arange(N)
    number = _single("kind", np.arange(N, dtype=float)[:, None] ** 3, OTHER, rows)
    assert number["estimate"] == pytest.approx(1.0)
    groups = np.eye(2)[(rows >= 12).astype(int)]
    flags = NumericColumn("f", (rows >= 12).astype(float), ordered=False)
    assert _single("kind", groups, flags, rows)["estimate"] == pytest.approx(1.0)
    assert _single("kind", groups, flags, rows)["measure"] != number["measure"]


def test_three_groups_are_told_by_a_feature_that_is_them() -> None:
    three, rows = np.arange(N) % 3, np.arange(N)
    same = NumericColumn("f", three.astype(float), ordered=False)
    assert _single("kind", np.eye(3)[three], same, rows)["estimate"] == pytest.approx(1.0)


def test_a_grid_passes_over_values_of_no_weight() -> None:
    grid = grid_of(np.array([5.0, 7, 9, 7]), np.array([0.25, 0.0, 0.5, 0.25]))
    assert (grid.rows.tolist(), grid.shares.tolist(), grid.codes.tolist()) == (
        [0, 3, 2],
        [0.25, 0.25, 0.5],
        [0, 1, 2, 1],
    )
    none = grid_of(np.array([3.0, 5, 7]), np.array([0.0, 0.0, 1.0]))
    assert (none.rows.tolist(), none.shares.tolist(), none.codes.tolist()) == ([2], [1.0], [0, 0, 0])


def test_a_grid_of_twenty_values_has_them_all_and_of_more_the_middle_of_each_part() -> None:
    twenty = grid_of(np.arange(20.0), np.full(20, 0.05))
    assert twenty.rows.tolist() == list(range(20))
    sixty = grid_of(np.arange(60.0)[::-1], np.full(60, 1 / 60))
    assert sixty.rows.tolist() == list(range(58, 0, -3))
    np.testing.assert_allclose(sixty.shares, 0.05)
    assert sixty.codes.tolist() == np.repeat(np.arange(20), 3)[::-1].tolist()


def exchange(weights: FloatArray | None = None) -> tuple[Exchange, FloatArray, ProxyGrid, FloatArray]:
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 3, N)
    given = plan(NINE, weights=weights)
    w = given.sampling.weights
    grid = ProxyGrid(np.arange(3), np.bincount(codes, w).astype(float), codes)
    change = rng.normal(size=(3, N))
    return Exchange(given, PredictedNumber("", "u", np.zeros(N), None, 2.0), grid, change), change, grid, w


@pytest.mark.parametrize("weighted", [False, True])
def test_what_is_lost_is_a_contrast_whose_rows_count_with_their_change_and_their_value(weighted: bool) -> None:
    weights = np.r_[0.0, np.arange(1.0, N)] if weighted else None
    given, change, grid, w = exchange(weights)
    members = np.arange(N) < 9
    counted = w > 0
    group, rest = members & counted, ~members & counted
    lost = given.lost(members)
    own = [np.average(change[:, part], axis=1, weights=w[part]) for part in (group, rest)]
    apart = own[0] - own[1]  # by value that all rows get
    estimate = grid.shares @ apart
    rows, pieces = grid.shares @ change, np.zeros(N)
    for sign, part in ((1, group), (-1, rest)):
        share = w[part] / w[part].sum()
        n = part.sum()
        pieces[part] = sign * np.sqrt(n / (n - 1)) * share * (rows[part] - share @ rows[part])
    pieces += w * (apart[grid.codes] - estimate)
    assert lost.estimate == pytest.approx(estimate)
    assert lost.std_error == pytest.approx(np.sqrt((pieces[counted] ** 2).sum()))


def test_the_size_of_a_change_counts_rows_with_their_own_and_their_value() -> None:
    given, change, grid, w = exchange()
    size = np.abs(change)
    mean = grid.shares @ size @ w
    influence = grid.shares @ size + (size @ w)[grid.codes] - 2 * mean
    assert given.size.estimate == given.size.centre == pytest.approx(mean)
    assert given.size.std_error == pytest.approx(np.sqrt(N / (N - 1) * ((w * influence) ** 2).sum()))
    assert given.size.dof == N - 1
    line = given.line(GroupDifference(0.5, 0.1, 7.0, 0.5))
    assert (line["lower"], line["upper"]) == pytest.approx(stats.t.interval(0.95, 7, 0.5, 0.1))
    assert (line["unit"], line["scale"], line["measure"]) == ("u", 2.0, "prediction")


def used(monkeypatch: pytest.MonkeyPatch, most: int, least: float) -> list[tuple[str, float]]:
    """Return which features are exchanged for an attribute that is one itself, with their association."""
    a, b, c = SUBJECT.features[:3]
    given = plan(replace(NINE, name=a), replace(NINE, name="kind"))
    made = exchange()[0]
    monkeypatch.setattr(explain, "_exchanges", lambda *_: [replace(made, plan=given)])
    lines = [("kind", b, 0.5), (a, b, 0.75), (a, c, 0.9), (a, "all features", 0.99)]
    table = pd.DataFrame(lines, columns=["feature", "item", "estimate"])
    table["covers"] = ["none", "none", "none", "new test samples"]
    found = use(given, table, most, least).estimates
    assert set(found["feature"]) == ({a, "kind"} if least <= 0.5 else {a})
    own = found[(found["feature"] == a) & (found["item"] == "all observations")]
    assert set(found.loc[found["item"] == "all observations", "n"]) == {N}
    assert found.loc[found["item"] == "a", "n"].unique().tolist() == [9]
    return list(zip(own["by"], own["association"], strict=True))


def test_exchanged_are_the_attribute_itself_and_those_that_tell_it_best(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b, c = SUBJECT.features[:3]
    assert used(monkeypatch, 2, 0.3) == [(a, 1.0), (c, 0.9), (b, 0.75)]
    assert used(monkeypatch, 1, 0.3) == [(a, 1.0), (c, 0.9)]
    assert used(monkeypatch, 2, 0.75) == [(a, 1.0), (c, 0.9), (b, 0.75)]
    assert used(monkeypatch, 2, 0.76) == [(a, 1.0), (c, 0.9)]


def test_a_change_is_before_less_after_without_rounding() -> None:
    before = np.array([2.0, -4.0])
    after = np.array([[1.0, -1.0], [2.0 + 2.9e-12, -4.0 - 3.1e-12]])
    found = _change(before, after)
    assert found[0].tolist() == [1.0, -3.0]
    assert found[1].tolist() == [0.0, pytest.approx(3.1e-12, rel=1e-3)]


def test_a_class_is_predicted_by_its_probability_and_a_number_by_its_mean() -> None:
    number = PredictedNumber("", "u", np.zeros(2), None, 1.0)
    assert _measure(number) is PREDICTION
    made = _measure(replace_position(number))
    q = Categorical(np.array([[0.25, 0.75], [0.5, 0.5]]))
    assert isinstance(made.rows, partial)
    assert made.rows(q, None, None).tolist() == [0.75, 0.5]


def replace_position(number: PredictedNumber) -> PredictedNumber:
    return number._replace(position=1)
