"""Segments: trees see one half of the rows only, every number is of the other half, and words say which rows."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.datasets import load_diabetes
from sklearn.linear_model import BayesianRidge
from sklearn.tree import DecisionTreeRegressor

import uq_report as uq
from uq_report import testing
from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.model.results import Result
from uq_report.core.model.sampling import Sampling
from uq_report.core.model.subject import Subject
from uq_report.core.support.arrays import BoolArray, FloatArray
from uq_report.core.support.errors import InputError
from uq_report.distributions import Categorical, Normal, NormalMixture
from uq_report.evidence import ids
from uq_report.evidence.outcomes import CONFIDENCE_GAP
from uq_report.evidence.segments import ALL_ROWS, EXCESS_LOSS, OFF_SUPPORT, SegmentFeatures, SegmentsView
from uq_report.methods.pfi.explain import PermutationImportance
from uq_report.methods.segments.explain import Judged, Segments, _outside, terms
from uq_report.methods.segments.tree import CodedFeature, Coding, Grower, Segment, contrast, shortest, subtree_values
from uq_report.methods.shared.estimates import diagnostic
from uq_report.methods.support.explain import Support

from ..inputs.adapters.whole_audit import whole_audit

MEASURES = testing.measures()


def explain(given: Subject, prior: dict[str, Any] | None = None, seed: int = 0, **options: Any) -> dict[str, Result]:
    engine = Engine(given, MEASURES, seed=seed).bound(ids.SEGMENTS)
    return {r.id: r for r in Segments(**options).explain(given, engine, prior or {})}


def view(given: Subject, **more: Any) -> SegmentsView:
    return SegmentsView.from_result(explain(given, **more)[ids.SEGMENTS])


def steps(n: int = 400, **more: Any) -> Subject:
    """Return a subject whose scale is 3 where x0 is above 0, else 1, and whose outcomes follow it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    y = rng.normal(size=n) * np.where(X[:, 0] > 0, 3.0, 1.0)
    return uq.explain(two_scales, X, y, **more)


def two_scales(X: FloatArray) -> Normal:
    return Normal(np.zeros(len(X)), np.where(X[:, 0] > 0, 3.0, 1.0))


ALL = np.arange(6)


def column(values: Any, rows: Any = ALL, target: FloatArray | None = None, **more: Any) -> CodedFeature:
    X = pd.DataFrame({"a": values})
    given = uq.explain(lambda Z: Normal(np.zeros(len(Z)), 1.0), X, **more)
    return Coding(given, np.asarray(rows)).by(np.zeros(len(X)) if target is None else target)[0]


def test_numbers_are_coded_by_their_order_and_cut_between_values() -> None:
    found = column([3.0, 1.0, 2.0, 2.0, 10.0, 1.0])
    assert found.codes.tolist() == [2, 0, 1, 1, 3, 0]
    assert (found.words(0, 1), found.words(1, 2), found.words(3, 3)) == (
        "a at most 2",
        "a above 1 and at most 6",
        "a above 6",
    )


@pytest.mark.parametrize("seed", range(5))
def test_words_of_numbers_say_the_rows_exactly(seed: int) -> None:
    """Also rows that the tree did not see, with values between and beyond those it saw."""
    rng = np.random.default_rng(seed)
    values = np.round(rng.normal(size=60) * 10.0 ** rng.integers(-3, 4), 3)
    values[:2] = -np.inf, np.inf
    found = column(values, rows=np.arange(2, 30))
    for code, cut in enumerate(found.cuts):
        np.testing.assert_array_equal(found.codes <= code, values <= float(cut.replace("−", "-")))


def test_infinite_numbers_stand_at_the_ends() -> None:
    found = column([-np.inf, -5.0, np.inf, -5.0, -np.inf, 2.0])
    assert found.codes.tolist() == [0, 1, 3, 1, 0, 2]
    assert (found.words(0, 0), found.words(3, 3)) == ("a at most −∞", "a above 2")


def test_missing_numbers_go_with_the_low_ones_or_stand_alone() -> None:
    found = column([3.0, np.nan, 2.0, 2.0, 10.0, 1.0])
    assert found.codes.tolist() == [2, -1, 1, 1, 3, 0]
    assert found.words(-1, 0) == "a at most 1 or missing"
    assert found.words(-1, -1) == "a missing"
    assert found.words(0, 3) == "a not missing"
    assert found.words(0, 1) == "a at most 2"


@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_dates_are_cut_at_dates(zone: str | None) -> None:
    days = pd.to_datetime(["2024-01-01", "2024-03-01", "2024-02-01", "NaT", "2024-01-01", "2024-04-01"])
    found = column(days.tz_localize("UTC").tz_convert(zone) if zone else days)
    assert found.codes.tolist() == [0, 2, 1, -1, 0, 3]
    assert found.words(1, 2) == "a after 2024-01-01 and up to 2024-03-01"


def test_days_at_the_start_of_the_count_are_whole_days() -> None:
    assert column(pd.to_datetime(["1970-01-01", "1970-01-02"] * 3)).words(1, 1) == "a after 1970-01-01"


def test_times_of_the_day_are_told() -> None:
    times = pd.to_datetime(["2024-01-01 10:30", "2024-01-01 12:00"] * 3)
    assert column(times).words(1, 1) == "a after 2024-01-01 10:30:00"


def test_levels_are_ordered_by_the_mean_of_the_growing_rows() -> None:
    values = np.array(["u", "v", "w", "u", "v", "z"], dtype=object)
    found = column(values, rows=[0, 1, 2], target=np.array([5.0, 1.0, 3.0, -99.0, 99.0, 7.0]))
    assert found.levels == ("v", "w", "u")
    assert found.codes.tolist() == [2, 0, 1, 2, 0, 1]  # z, which no growing row has, stands at the mean
    assert (found.words(0, 0), found.words(2, 2)) == ("a = v", "a = u")
    assert found.words(0, 1) == "a other than u"  # z is among them
    assert found.words(1, 1) == "a other than v or u"


def test_many_levels_are_counted_and_missing_ones_are_a_level() -> None:
    values = np.array([*"abcdefg", None], dtype=object)
    found = column(values, rows=range(8), target=np.arange(8.0))
    assert found.levels[-1] == "missing"
    assert found.words(0, 3) == "a = a, b, c or 1 more"
    assert found.words(0, 6) == "a other than missing"


def test_codes_are_cut_at_quantiles_where_values_are_many() -> None:
    values = np.random.default_rng(0).normal(size=3000)
    found = column(values, rows=np.arange(3000))
    assert found.last == len(found.cuts) == 255
    assert np.bincount(found.codes).max() <= 2 * 3000 / 255


@pytest.mark.parametrize(("distinct", "cut"), [(256, True), (257, False)])
def test_up_to_255_cuts_every_value_has_its_code(distinct: int, cut: bool) -> None:
    """Most rows are 0, so cuts at quantiles would pass over most values."""
    values = np.r_[np.zeros(3000), np.arange(1.0, distinct)]
    assert (column(values, rows=np.arange(len(values))).last == distinct - 1) is cut


@pytest.mark.parametrize("seed", range(20))
def test_a_short_cut_lies_between_its_neighbours(seed: int) -> None:
    rng = np.random.default_rng(seed)
    low, high = np.sort(rng.normal(size=2) * 10.0 ** rng.integers(-8, 9, size=2))
    assert low <= shortest(low, high) < high
    assert shortest(low, np.nextafter(low, np.inf)) == low
    above = np.nextafter(1.0, 2.0)
    assert shortest(above, 1.0 + 3 * (above - 1.0)) == above  # 16 digits name no number between them


def grower(n: int, **more: Any) -> Grower:
    facts: dict[str, Any] = {"max_leaf_nodes": 6, "min_samples_leaf": 10, "seed": 0}
    return Grower(rows=np.arange(n), weights=np.full(n, 1 / n), units=np.arange(n), **{**facts, **more})


@pytest.mark.parametrize("leaves", [2, 3, 4, 5])
def test_smaller_trees_are_read_from_the_largest(leaves: int) -> None:
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(300, 4)).astype(np.float32), rng.normal(size=300)
    y += np.where(X[:, 0] > 0, 2 * X[:, 1], X[:, 2])
    whole, part = (
        DecisionTreeRegressor(max_leaf_nodes=k, min_samples_leaf=10, random_state=0).fit(X, y) for k in (6, leaves)
    )
    new = rng.normal(size=(50, 4)).astype(np.float32)
    np.testing.assert_array_equal(
        subtree_values(whole.tree_, new.astype(np.int64), leaves), part.predict(np.trunc(new))
    )


def coded_steps(given: Subject, target: FloatArray) -> list[CodedFeature]:
    return Coding(given, np.arange(given.n)).by(target)


def test_the_tree_has_as_many_leaves_as_the_growing_rows_ask_for() -> None:
    given = steps(250)
    two = given.model(given.X).entropy()
    four = two + 4.0 * (given.X[:, 1] > 0.5)
    assert [s.words for s in grower(250).segments(coded_steps(given, two), two)] == ["x0 at most 0", "x0 above 0"]
    assert len(grower(250).segments(coded_steps(given, four), four)) == 4
    noise = np.random.default_rng(3).normal(size=250)
    assert len(grower(250).segments(coded_steps(given, noise), noise)) == 2


def test_segments_part_the_rows() -> None:
    given = steps()
    X = np.asarray(given.X)
    target = X[:, 0] * X[:, 1] + X[:, 2]
    found = grower(400, max_leaf_nodes=8).segments(coded_steps(given, target), target)
    assert np.sum([s.rows for s in found], axis=0).tolist() == [1] * 400
    assert min(s.rows.sum() for s in found) >= 10
    assert all(set(s.features) <= {"x0", "x1", "x2"} and s.words.count("x") >= len(s.features) for s in found)


def test_nothing_is_parted_where_nothing_varies() -> None:
    given = steps(100)
    assert grower(100).segments(coded_steps(given, np.ones(100)), np.ones(100)) == []


def test_a_difference_is_that_of_two_samples() -> None:
    rng = np.random.default_rng(0)
    values, segment = np.r_[rng.normal(size=40), 3 * rng.normal(size=90) + 0.5], np.arange(130) < 40
    found = contrast(values, segment, ~segment, Sampling(np.full(130, 1 / 130), 130))
    theirs = stats.ttest_ind(values[segment], values[~segment], equal_var=False)
    assert found.difference / found.std_error == pytest.approx(theirs.statistic)
    assert found.p_value == pytest.approx(2 * stats.t.sf(abs(theirs.statistic), 39))
    own, _ = found.intervals(0.9)
    assert own == pytest.approx(stats.t.interval(0.9, 39, values[:40].mean(), stats.sem(values[:40])))


def test_clusters_in_both_parts_count_as_such() -> None:
    shift = np.random.default_rng(0).normal(size=50) * 10
    values = np.tile(shift, 2) + np.r_[np.zeros(50), np.ones(50)] + np.random.default_rng(1).normal(size=100)
    segment, codes = np.arange(100) < 50, np.tile(np.arange(50), 2)
    found = contrast(values, segment, ~segment, Sampling(np.full(100, 0.01), 50, codes))
    assert found.std_error == pytest.approx((values[:50] - values[50:]).std(ddof=1) / np.sqrt(50))


def test_what_does_not_vary_is_certain() -> None:
    segment = np.arange(6) < 3
    sampling = Sampling(np.full(6, 1 / 6), 6)
    assert contrast(np.ones(6), segment, ~segment, sampling).p_value == 1.0
    assert contrast(segment.astype(float), segment, ~segment, sampling).p_value == 0.0


def judging(given: Subject, seed: int = 0) -> BoolArray:
    """Return which rows judge, from what the explainer draws."""
    rng = Engine(given, MEASURES, seed=seed).bound(ids.SEGMENTS).rng("halves")
    units = np.arange(given.n) if given.clusters is None else given.clusters
    drawn = rng.permutation(np.unique(units))
    return ~np.isin(units, drawn[: len(drawn) // 2])


def test_every_number_is_of_the_judging_rows() -> None:
    given = steps()
    found = view(given)
    rows = judging(given)
    q = given.model(given.X)
    gap = -q.log_prob(given.y) - q.entropy()
    wide = rows & (given.X[:, 0] > 0)
    rest = rows & (given.X[:, 0] <= 0)
    lines = next(found.of(x.segment) for x in found.lines if (x.item, x.grown) == ("x0 above 0", "entropy"))
    assert lines["entropy"].estimate == pytest.approx(Normal([0.0], 3.0).entropy()[0])
    assert lines["entropy"].difference == pytest.approx(np.log(3.0))
    line = lines[CONFIDENCE_GAP]
    assert line.estimate == pytest.approx(gap[wide].mean())
    assert line.difference == pytest.approx(gap[wide].mean() - gap[rest].mean())
    assert (line.lower, line.upper) == pytest.approx(
        stats.t.interval(0.95, wide.sum() - 1, gap[wide].mean(), stats.sem(gap[wide]))
    )
    assert (line.n, line.n_rest) == (wide.sum(), rest.sum())
    assert line.share == pytest.approx(wide.sum() / rows.sum())
    assert found.of(ALL_ROWS)["nll"].estimate == pytest.approx(-q.log_prob(given.y)[rows].mean())
    assert (found.judged, found.grown) == (200, 200)


def test_outcomes_of_the_judging_rows_do_not_move_the_segments() -> None:
    given = testing.linear_subject(300)
    rows = judging(given)
    y = np.asarray(given.y)
    moved, other = replace(given, y=np.where(rows, 5 * y, y)), replace(given, y=np.where(rows, y, 5 * y))
    words = [[(x.grown, x.item) for x in view(s).lines] for s in (given, moved, other)]
    assert sorted(words[0]) == sorted(words[1])
    assert sorted(words[0]) != sorted(words[2])


def test_tests_are_adjusted_over_segments_and_measures() -> None:
    found = view(testing.linear_subject(300))
    tested = found.tested()
    assert {x.measure for x in tested} == {"entropy", "nll", CONFIDENCE_GAP}
    assert all(x.grown == x.measure for x in tested)
    least = min(tested, key=lambda x: x.p_value)
    assert least.p_adjusted == pytest.approx(min(1.0, len(tested) * least.p_value))


@pytest.mark.parametrize(("part", "tested"), [(100, True), (101, False), (150, False)])
def test_a_leaf_of_more_than_half_of_the_judged_rows_is_no_segment(part: int, tested: bool) -> None:
    """Nobody can say where the model is unsure by naming most of the rows."""
    X = np.arange(200.0)[:, None]
    given = uq.explain(lambda Z: Normal(np.zeros(len(Z)), np.where(Z[:, 0] < part, 3.0, 1.0)), X, np.ones(200))
    engine = Engine(given, MEASURES).bound(ids.SEGMENTS)
    rows = X[:, 0] < part
    found = Judged(engine, terms(engine, ("entropy",))[0], np.ones(200, dtype=bool), np.zeros(200, dtype=bool))
    lines = found.lines({"entropy": [Segment("low", ("x0",), rows), Segment("high", ("x0",), ~rows)]})
    p = {line["item"]: line["p_value"] for line in lines}
    assert bool(np.isfinite(p["low"])) is tested
    assert bool(np.isfinite(p["high"])) is (200 - part <= 100)


def test_most_rows_off_the_support_are_still_named() -> None:
    """They are not chosen by a tree: how many they are is itself worth knowing."""
    given = testing.linear_subject(200)
    engine = Engine(given, MEASURES).bound(ids.SEGMENTS)
    outside = np.arange(200) < 150
    found = Judged(engine, terms(engine, ("entropy",))[0], ~outside, outside).lines({"entropy": []})
    assert [line["p_value"] >= 0 for line in found if line["segment"] == OFF_SUPPORT] == [True]


@pytest.mark.parametrize("inside", [79, 80])
def test_enough_observations_must_lie_inside_the_training_domain(inside: int) -> None:
    given = testing.linear_subject(120)
    support = prior_of_values(np.where(np.arange(120) < inside, 1.0, 0.0))
    if inside == 80:
        assert explain(given, prior=support)["segments"].meta["grown"] == 40
        return
    with pytest.raises(InputError, match=r"at least 80 independent observations inside the training domain; got 79\."):
        explain(given, prior=support)


def test_segments_are_judged_in_the_order_of_their_means_and_against_the_other_judged_rows() -> None:
    """Rows 0 to 3 grew the trees; the last third counts double, so it is more than half and has no test."""
    x = np.arange(60)
    plain = uq.explain(
        lambda Z: Normal(np.zeros(len(Z)), np.exp(Z[:, 0] // 20 + 0.1 * (Z[:, 0] % 2))), x[:, None].astype(float)
    )
    given = replace(plain, weights=np.where(x < 40, 1.0, 2.0))
    judges = x >= 4
    parts = {"low": x < 20, "middle": (x >= 20) & (x < 40), "high": x >= 40, "few": x < 13, "most": x < 51, "no": x < 3}
    engine = Engine(given, MEASURES).bound(ids.SEGMENTS)
    found = Judged(engine, terms(engine, ("entropy",))[0], judges, np.zeros(60, dtype=bool))
    lines = found.lines({"entropy": [Segment(word, ("x0",), rows) for word, rows in parts.items()]})
    assert [(line["item"], line["segment"]) for line in lines] == [
        ("all judged observations", ALL_ROWS),
        ("high", "entropy 1"),
        ("middle", "entropy 2"),
        ("low", "entropy 3"),
    ]
    assert [gap.reason.partition(":")[0] for gap in found.omissions] == ["most", "few", "no"]
    whole, high, _, low = lines
    assert [whole[name] for name in ("n", "units", "n_rest", "share", "freedom")] == [56, 56, 0, 1.0, 55]
    assert np.isnan([whole["p_value"], whole["p_adjusted"], high["p_value"]]).all()
    assert [low[name] for name in ("n", "units", "n_rest", "freedom")] == [16, 16, 40, 15]
    assert (low["share"], high["share"]) == pytest.approx((16 / 76, 40 / 76))
    entropy, weights = given.model(given.X).entropy(), np.where(x < 40, 1.0, 2.0)
    own, rest = (np.average(entropy[rows], weights=weights[rows]) for rows in (judges & (x < 20), x >= 20))
    assert (low["estimate"], low["difference"]) == pytest.approx((own, own - rest))
    mean, error = Sampling.of(given, judges).mean(entropy[judges])
    assert (whole["lower"], whole["upper"]) == pytest.approx(stats.t.interval(0.95, 55, mean, error))


@pytest.mark.parametrize(("n", "judged"), [(9, False), (10, True), (50, True), (51, False)])
def test_ten_rows_of_a_segment_and_of_the_rest_judge_it(n: int, judged: bool) -> None:
    given = uq.explain(lambda Z: Normal(np.zeros(len(Z)), 1.0 + Z[:, 0]), np.arange(60.0)[:, None])
    engine = Engine(given, MEASURES).bound(ids.SEGMENTS)
    found = Judged(engine, terms(engine, ("entropy",))[0], np.ones(60, dtype=bool), np.zeros(60, dtype=bool))
    lines = found.lines({"entropy": [Segment("some", ("x0",), np.arange(60) < n)]})
    assert [line["item"] for line in lines] == ["all judged observations", *["some"] * judged]
    assert len(found.omissions) == 1 - judged


def prior_of_values(values: FloatArray) -> dict[str, Any]:
    """Return a support result where 1/8 is expected, row k having value k."""
    rows = diagnostic(
        ids.SUPPORT_ROWS,
        "",
        [{"item": "i", "measure": "", "feature": "", "estimate": v, "x": k} for k, v in enumerate(values)],
        ("item", "x"),
        x="x",
        meta={"expected": 0.125},
    )
    return {ids.SUPPORT: [rows]}


def outside_of(given: Subject, values: FloatArray) -> BoolArray:
    return _outside(given, prior_of_values(values))


def test_rows_at_the_share_expected_are_outside() -> None:
    given = uq.explain(two_scales, np.zeros((4, 1)))
    assert outside_of(given, np.array([0.0, 0.125, 0.125 + 1e-9, 1.0])).tolist() == [True, True, False, False]
    assert not _outside(given, {}).any()


def test_a_leaf_holds_its_share_of_the_growing_rows() -> None:
    given = steps(200)
    engine = Engine(given, MEASURES).bound(ids.SEGMENTS)
    term = terms(engine, ("entropy",))[0][0]._replace(rows=(np.asarray(given.X)[:, 0] > 1).astype(float))
    for share, least in ((0.05, 20), (0.3, 60)):
        found = Segments(min_share=share)._leaves(Coding(given, np.arange(200)), engine, term.measure, term.rows)
        assert min(int(segment.rows.sum()) for segment in found) >= least
        assert (min(int(segment.rows.sum()) for segment in found) < 60) is (share < 0.3)


def test_the_result_names_the_measures_of_doubt() -> None:
    assert view(steps(100), measures=("nll", "entropy", "variance")).uncertainty == ("entropy", "variance")


def test_clusters_stay_together() -> None:
    codes = np.repeat(np.arange(100), 3)
    found = view(testing.linear_subject(300), prior=None)
    given = replace(testing.linear_subject(300), clusters=codes)
    clustered = view(given)
    assert clustered.of(ALL_ROWS)["nll"].units == 50
    assert clustered.of(ALL_ROWS)["nll"].n == 150
    assert found.of(ALL_ROWS)["nll"].units == 150
    assert "over 100 clusters" in " ".join(clustered.result.notes)


def test_rows_without_a_weight_count_for_nothing() -> None:
    given = testing.linear_subject(300)
    weights = np.r_[np.ones(200), np.zeros(100)]
    spoilt = replace(given, weights=weights, y=np.where(weights > 0, np.asarray(given.y), 1e6))
    clean = replace(given, weights=weights)
    assert explain(spoilt)[ids.SEGMENTS].estimates.equals(explain(clean)[ids.SEGMENTS].estimates)


def test_no_row_is_predicted_beside_the_audited_ones() -> None:
    given = testing.linear_subject(200)
    engine = Engine(given, MEASURES).bound(ids.SEGMENTS)
    Segments().explain(given, engine, {})
    assert dict(engine.rows_predicted) == {ids.SEGMENTS: 200}


def test_the_same_seed_gives_the_same_result_and_another_one_other_halves() -> None:
    given = testing.linear_subject(200)
    first, again, other = (explain(given, seed=s)[ids.SEGMENTS].estimates for s in (0, 0, 1))
    assert first.equals(again)
    assert not first.equals(other)


def prior_of(given: Subject, *explainers: Any) -> dict[str, Any]:
    engine = Engine(given, MEASURES)
    return {e.name: e.explain(given, engine.bound(e.name), {}) for e in explainers}


def off_support() -> Subject:
    given = testing.linear_subject(400, train=True)
    X = pd.DataFrame(given.X)
    X["d"] += np.where(np.arange(400) < 40, 50.0, 0.0)
    return replace(given, X=X, y=np.r_[np.full(40, 60.0), np.asarray(given.y)[40:]])


def test_rows_off_the_support_are_a_segment_of_their_own() -> None:
    given = off_support()
    found = view(given, prior=prior_of(given, Support()))
    off = found.of(OFF_SUPPORT)
    assert off["nll"].n >= 40
    assert off["nll"].item == "observations outside the training domain"
    assert off["nll"].p_adjusted < 0.001
    inside = sum(x.n for x in found.lines if x.grown == x.measure == "nll")
    assert inside + off["nll"].n <= 400 - found.grown
    assert not any("d above" in x.item for x in found.lines)
    assert any("d above" in x.item for x in view(given).lines)  # without the support result trees find them again


def test_few_rows_off_the_support_are_told_and_not_judged() -> None:
    given = testing.linear_subject(100, train=True)
    prior = prior_of(given, Support())
    rows = prior[ids.SUPPORT][1]
    few = replace(rows, frame=rows.frame.assign(value=np.where(np.arange(100) < 5, 0.0, 1.0)))
    found = view(given, prior={ids.SUPPORT: [few]})
    assert not found.of(OFF_SUPPORT)
    assert "fewer than 10 independent observations" in found.omissions[-1].reason
    assert found.judged + found.grown == 95


def test_an_infinite_loss_gives_way_to_the_usual_one() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 2)), rng.integers(0, 2, 200)
    found = view(uq.explain(lambda Z: Categorical(np.tile([0.0, 1.0], (len(Z), 1)), classes=(0, 1)), X, y))
    assert found.measures == ("entropy", "brier", EXCESS_LOSS)
    rows = judging(uq.explain(two_scales, X))
    assert found.of(ALL_ROWS)[EXCESS_LOSS].estimate == pytest.approx(2 * (y[rows] == 0).mean())
    assert found.usual_loss == found.of(ALL_ROWS)["brier"].estimate


def test_the_expected_squared_error_is_the_variance() -> None:
    given = steps()
    found = view(given, measures=(EXCESS_LOSS,))
    rows = judging(given)
    expected = (np.square(np.asarray(given.y)) - given.model(given.X).variance())[rows].mean()
    assert found.of(ALL_ROWS)[EXCESS_LOSS].estimate == pytest.approx(expected)


def test_without_outcomes_only_doubt_is_looked_at() -> None:
    found = view(replace(steps(), y=None))
    assert found.measures == ("entropy",)
    assert {(x.measure, x.reason) for x in found.omissions} == {
        ("nll", "it needs outcomes, which were not given"),
        (CONFIDENCE_GAP, "it needs outcomes, which were not given"),
    }


def test_members_have_their_epistemic_part() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))

    def q(Z: FloatArray) -> NormalMixture:
        means = np.stack([Z[:, 0] * (Z[:, 1] > 0), -Z[:, 0] * (Z[:, 1] > 0)], axis=1)
        return NormalMixture(means, np.ones_like(means))

    assert view(uq.explain(q, X)).measures == ("entropy", "epistemic")


@pytest.mark.parametrize(
    ("measures", "match"),
    [
        (("prediction",), r"segments\.measures must be measures of uncertainty or loss.*got 'prediction'"),
        (("entropi",), r"got 'entropi'\. Did you mean 'entropy'"),
        (("brier",), r"segments needs a measure that has a value in each row; got none\. brier: it needs class"),
        ("entropy", r"segments\.measures must be a sequence of names; got 'entropy'"),
    ],
)
def test_measures_that_cannot_be_used_are_refused(measures: Any, match: str) -> None:
    with pytest.raises(InputError, match=match):
        explain(steps(), measures=measures)


def test_a_statistic_of_all_rows_is_left_out() -> None:
    found = view(testing.logistic_subject(200), measures=("one_minus_auc", "entropy"))
    assert found.measures == ("entropy",)
    assert "no observation has a value" in found.omissions[0].reason


@pytest.mark.parametrize(
    ("n", "clusters", "match"), [(79, None, "80 independent observations; got 79"), (160, 2, "clusters; got 40")]
)
def test_too_few_rows_are_refused(n: int, clusters: int | None, match: str) -> None:
    given = testing.linear_subject(n)
    with pytest.raises(InputError, match=match):
        explain(given if clusters is None else replace(given, clusters=np.arange(n) % 40))


def test_eighty_rows_are_enough() -> None:
    assert view(testing.linear_subject(80)).judged == 40


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"max_leaf_nodes": 1}, r"segments\.max_leaf_nodes must be an integer >= 2; got 1"),
        ({"min_samples_leaf": 4}, r"segments\.min_samples_leaf must be an integer >= 5; got 4"),
        ({"min_share": 0.6}, r"segments\.min_share must be a number in \(0, 0\.5\]; got 0\.6"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], match: str) -> None:
    with pytest.raises(InputError, match=match):
        Segments(**options)


def test_the_feature_named_is_the_one_whose_exchange_brings_the_segment_closest() -> None:
    given = steps()
    prior = prior_of(given, PermutationImportance(n_repeats=5))
    found = explain(given, prior)
    lines = SegmentFeatures.from_result(found[ids.SEGMENTS_FEATURES])
    segments = SegmentsView.from_result(found[ids.SEGMENTS])
    key = next(x.segment for x in segments.lines if (x.item, x.grown) == ("x0 above 0", "entropy"))
    line = lines.leading(key, "entropy")
    assert line is not None
    rows = judging(given) & (given.X[:, 0] > 0)
    delta = prior[ids.PFI][1].rows.of("entropy", "x0")[rows]
    assert line.feature == "x0"
    assert line.estimate == pytest.approx(delta.mean())
    assert (line.before, line.after) == pytest.approx((np.log(3.0), np.log(3.0) + delta.mean()))
    assert 0.3 * line.before < line.after < 0.7 * line.before  # half of the values come from the segment itself
    assert {x.feature for x in lines.lines if x.measure == "entropy"} == {"x0"}


def test_without_permutation_importance_no_feature_is_named() -> None:
    found = explain(steps())[ids.SEGMENTS_FEATURES]
    assert found.frame.empty
    assert "permutation importance was not computed" in found.omissions[0].reason


def test_measures_that_importance_did_not_change_are_told() -> None:
    given = steps()
    prior = prior_of(given, PermutationImportance(n_repeats=3, measures=("entropy",)))
    omitted = explain(given, prior)[ids.SEGMENTS_FEATURES].omissions
    assert [x.reason for x in omitted] == [
        "permutation importance has no changes of single observations in nll, confidence_gap"
    ]


def test_the_verb_returns_the_segments_with_their_figure() -> None:
    found = uq.segments(steps(), ["entropy"], max_leaf_nodes=3)
    assert found.result.id == ids.SEGMENTS
    assert found.result.options["max_leaf_nodes"] == 3
    labels = [text.get_text() for text in found.plot().axes[0].get_yticklabels()]
    assert labels == ["A x0 above 0", "all judged observations"]


def test_the_figure_shows_all_segments_where_none_stands_out() -> None:
    X = np.random.default_rng(0).normal(size=(200, 2))
    y = np.random.default_rng(1).normal(size=200)
    found = uq.segments(uq.explain(lambda Z: Normal(np.zeros(len(Z)), 1.0), X, y))
    seen = SegmentsView.from_result(found.result)
    assert seen.raised(3) == ()
    keys = {x.segment for x in seen.lines}
    assert len(found.plot().axes[0].get_yticklabels()) == len(keys) > 2


def test_a_whole_audit_of_a_fitted_model_has_segments() -> None:
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    model = BayesianRidge().fit(X[["bmi", "bp", "s5"]][:250], y[:250])
    subject = uq.explain(model, X[["bmi", "bp", "s5"]][250:400], y[250:400])
    run = whole_audit(subject, explainers=[ids.CALIBRATION, ids.PFI, ids.SEGMENTS])
    found = SegmentsView.from_result(run.result(ids.SEGMENTS))
    assert found.measures == ("entropy", "nll", CONFIDENCE_GAP)
    assert ids.SEGMENTS in {outcome.check for outcome in run.outcomes}


@pytest.mark.parametrize(
    ("name", "wide", "words"),
    [
        ("level", lambda X: X["level"] == "b", {"level = b", "level other than b"}),
        ("flag", lambda X: X["flag"], {"flag = True", "flag = False"}),
        ("day", lambda X: X["day"] > "2024-06-01", {"day after 2024-05-30", "day up to 2024-05-30"}),
        ("number", lambda X: X["number"].isna(), {"number missing", "number not missing"}),
    ],
)
def test_columns_of_every_kind_are_parted(name: str, wide: Any, words: set[str]) -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "level": pd.Categorical(rng.choice([*"abcde"], 400)),
            "flag": rng.random(400) > 0.5,
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(30 * rng.integers(0, 10, 400), "D"),
            "number": np.where(rng.random(400) < 0.2, np.nan, rng.normal(size=400)),
        }
    )
    found = view(uq.explain(lambda Z: Normal(np.zeros(len(Z)), np.where(wide(Z), 3.0, 1.0)), X))
    assert {line.item for line in found.lines if line.grown} == words
    assert {tuple(names) for names in found.made_of.values()} == {(name,)}
