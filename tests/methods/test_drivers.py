"""Drivers of the uncertainty: sizes, shares and total effects by algebra, their intervals, units, margins and flags."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest

import uq_report as uq
from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.model import measures
from uq_report.core.model.measures import CHANGES, ENTROPY, EPISTEMIC, UNCERTAINTY_CHANGE, VARIANCE, WIDTH, Change
from uq_report.core.model.subject import Subject
from uq_report.core.statistics.inference import PairTerms
from uq_report.core.support.arrays import FloatArray
from uq_report.distributions import Categorical, Intervals, Normal, NormalMixture
from uq_report.evidence.importance import (
    ABOUT_0,
    CONSTANT,
    DIFFERENCE,
    DIFFERS,
    OPEN,
    POSITIVE,
    SHIFTED,
    UNDETERMINED,
    WIDER,
    DriverLine,
    DriversView,
    UnitLine,
)  # fmt: skip
from uq_report.evidence.view import by_feature, lines_of, of_measure
from uq_report.jobs import demo
from uq_report.methods.pfi import drivers
from uq_report.methods.pfi.drivers import Drivers, Judge, Spread, UnitTerms, associated
from uq_report.methods.shared.terms import ShuffledRows

from .pfi_cases import explained, subject

CHANGE = UNCERTAINTY_CHANGE.name
GRID = np.array([*product((-1.0, 0.0, 0.5, 2.0), (0.0, 1.0, 3.0), (-2.0, 1.0))])  # features that are independent


def curved(X: FloatArray) -> Normal:
    """Return normals whose log scale is curved in a and b, with an interaction; c moves the mean only."""
    return Normal(3 * X[:, 2], np.exp(0.4 * X[:, 0] + 0.3 * X[:, 0] * X[:, 1] + 0.2 * np.abs(X[:, 1])))


def entropy(X: FloatArray) -> FloatArray:
    return ENTROPY.rows(curved(X), None, None)


def units(of: Subject, measure: str = CHANGE, **options: Any) -> dict[str, UnitLine]:
    """Return the lines of units by name."""
    view = DriversView.from_result(explained(of, **{"measures": ("entropy",), **options})["pfi.drivers"])
    return by_feature(view.of(measure))


def sizes(of: Subject, **options: Any) -> dict[str, DriverLine]:
    """Return the lines of single features and groups by name."""
    result = explained(of, **{"measures": ("entropy",), **options})["pfi.uncertainty"]
    return by_feature(of_measure(lines_of(result, DriverLine), CHANGE))


def by_hand(X: FloatArray, columns: list[int]) -> tuple[float, float, float]:
    """Return size, share and total effect of columns from all pairs of different rows."""
    n, h = len(X), entropy(X)
    moved = np.empty((n, n))
    for k in range(n):
        changed = X.copy()
        changed[:, columns] = X[k, columns]
        moved[:, k] = entropy(changed) - h
    other = ~np.eye(n, dtype=bool)
    size, difference = np.abs(moved[other]).mean(), np.abs(h[:, None] - h)[other].mean()
    return size, size / difference, np.square(moved[other]).mean() / (2 * h.var(ddof=1))


# ---------------------------------------------------------------------- the measures


def test_a_change_is_that_of_entropy_standard_deviation_width_or_epistemic_part() -> None:
    base, dist = Normal([0.0, 0.0], [1.0, 2.0]), Normal([9.0, 0.0], [1.0, 1.0])
    np.testing.assert_allclose(CHANGES["entropy"].rows(dist, None, base), [0, np.log(2)], atol=1e-15)
    np.testing.assert_allclose(CHANGES["variance"].rows(dist, None, base), [0, 1], atol=1e-15)
    narrow, wide = (Intervals([0.9], [[-w]], [[w]], [0.0]) for w in (1.0, 1.5))
    np.testing.assert_allclose(CHANGES["width"].rows(wide, None, narrow), [1.0])
    apart, together = (NormalMixture([[-d, d]], [[1.0, 1.0]]) for d in (2.0, 0.0))
    np.testing.assert_allclose(CHANGES["epistemic"].rows(apart, None, together), apart.epistemic())
    assert {m.name for m in (ENTROPY, VARIANCE, WIDTH, EPISTEMIC)} == set(CHANGES)
    assert all(change.needs_base and change.role == "uncertainty" for change in CHANGES.values())


def test_powers_of_a_change_and_what_is_infinite() -> None:
    rule, unchanged = Change(ENTROPY), np.array([1.0, 1.0, np.inf])
    values = np.array([1.5, 1.0 + 1e-14, np.inf])
    assert rule.between(values, unchanged)[[0, 2]].tolist() == [0.5, np.inf]
    assert replace(rule, power=2).between(values, unchanged)[0] == 0.25
    assert replace(rule, power=0).between(values, unchanged).tolist() == [1.0, 0.0, 1.0]


# ---------------------------------------------------------------------- facts


def test_sizes_are_those_of_all_pairs_of_different_rows() -> None:
    X = np.random.default_rng(0).normal(size=(30, 3))
    found = sizes(subject(curved, X), exact=True)
    for j, feature in enumerate("ab"):
        line = found[feature]
        np.testing.assert_allclose((line.estimate, line.share, line.total), by_hand(X, [j]), rtol=1e-10)
        assert line.changed == pytest.approx(1.0)
        assert line.where_changed == pytest.approx(line.estimate)


def test_shuffles_estimate_what_all_pairs_give() -> None:
    X = np.random.default_rng(1).normal(size=(200, 3))
    exact, drawn = (sizes(subject(curved, X), exact=given, n_repeats=30) for given in (True, False))
    for feature in "ab":
        a, b = exact[feature], drawn[feature]
        assert b.estimate == pytest.approx(a.estimate, rel=0.05)
        assert b.std_error == pytest.approx(a.std_error, rel=0.2)
        assert b.share_upper - b.share_lower == pytest.approx(a.share_upper - a.share_lower, rel=0.2)
        assert b.total == pytest.approx(a.total, rel=0.1)


@pytest.mark.parametrize("exact", [True, False])
def test_a_feature_that_the_uncertainty_does_not_use_has_exactly_0(exact: bool) -> None:
    line = sizes(subject(curved, np.random.default_rng(2).normal(size=(50, 3))), exact=exact)["c"]
    numbers = (line.estimate, line.std_error, line.lower, line.upper, line.share, line.share_lower, line.share_upper)
    assert numbers == (0.0,) * 7
    assert (line.total, line.changed, line.where_changed, line.shift) == (0.0,) * 4
    assert (line.verdict, line.exact_zero, line.flag) == (ABOUT_0, True, "")


def test_independent_features_have_shares_and_total_effects_between_0_and_1_and_no_mean_change() -> None:
    """E = 0 for every uncertainty, A and T are at most those of all features, and the T add up to 1 at least."""
    found = sizes(subject(curved, GRID), exact=True)
    for line in found.values():
        assert 0 <= line.share <= 1 + 1e-12
        assert 0 <= line.total <= 1 + 1e-12
        assert abs(line.shift) < 1e-12
        assert not line.flag
    assert sum(line.total for line in found.values()) >= 1
    assert found["a"].share > 0.5


@pytest.mark.parametrize("weights", [None, np.linspace(0.5, 2, 24)])
def test_the_difference_between_observations_is_the_size_of_all_features_together(weights: FloatArray | None) -> None:
    of = replace(subject(curved, GRID, sample_weight=weights), groups={"all": ("a", "b", "c")})
    view = DriversView.from_result(explained(of, measures=("entropy",), exact=True)["pfi.drivers"])
    whole = by_feature(view.of(CHANGE))["all"]
    assert whole.estimate == pytest.approx(view.difference(CHANGE).estimate)
    assert (whole.share, whole.total) == pytest.approx((1.0, 1.0))
    assert whole.share_upper - whole.share_lower < 1e-9  # both have the same error


def test_the_difference_is_ginis_mean_difference() -> None:
    b, omega = np.random.default_rng(3).gamma(2.0, size=40), np.random.default_rng(4).uniform(0.5, 2, 40)
    rows = ShuffledRows((ENTROPY,), b[None], np.zeros(40), omega, None)
    spread, w = Spread.of(b, rows), omega / omega.sum()
    pairs = np.abs(b[:, None] - b) * np.outer(w, w)
    assert spread.difference == pytest.approx(pairs.sum() / (1 - np.square(w).sum()))
    np.testing.assert_allclose(spread.d, np.abs(b[:, None] - b) @ w / (1 - np.square(w).sum()))


def test_copies_of_rows_count_once_as_clusters_and_as_weights() -> None:
    X = np.random.default_rng(5).normal(size=(25, 3))
    plain = sizes(subject(curved, X), exact=True)["a"]
    thrice = sizes(subject(curved, np.repeat(X, 3, axis=0), clusters=np.repeat(np.arange(25), 3)), exact=True)["a"]
    for name in ("estimate", "std_error", "lower", "upper", "share", "share_lower", "share_upper", "total"):
        assert getattr(thrice, name) == pytest.approx(getattr(plain, name)), name
    twice = np.where(np.arange(25) < 5, 2, 1)
    copied = subject(curved, np.repeat(X, twice, axis=0), clusters=np.repeat(np.arange(25), twice))
    weighed = sizes(subject(curved, X, sample_weight=twice.astype(float)), exact=True)["a"]
    assert weighed.estimate == pytest.approx(sizes(copied, exact=True)["a"].estimate)
    assert weighed.share_upper == pytest.approx(sizes(copied, exact=True)["a"].share_upper)


def test_intervals_are_symmetric_on_the_log_scale() -> None:
    line = sizes(subject(curved, np.random.default_rng(6).normal(size=(60, 3))), exact=False)["b"]
    for name, lower, upper in (
        (line.estimate, line.lower, line.upper),
        (line.share, line.share_lower, line.share_upper),
        (line.total, line.total_lower, line.total_upper),
    ):
        assert 0 < lower < name < upper
        assert lower * upper == pytest.approx(name**2)


def test_no_shuffle_is_predicted_again_but_one_pass_of_associated_features() -> None:
    X = np.random.default_rng(7).normal(size=(80, 3))
    copies = np.column_stack([X[:, :2], X[:, 0] + 0.1 * X[:, 2]])
    rows: list[int] = []

    def model(values: FloatArray) -> Normal:
        rows.append(len(values))
        return Normal(values.sum(axis=1), np.exp(0.1 * values[:, 0]))

    def predicted(values: FloatArray, measure: str) -> int:
        rows.clear()
        explained(subject(model, values), measures=(measure,), n_repeats=5, exact=False)
        return sum(rows)

    assert predicted(X, "entropy") == predicted(X, "prediction")
    assert predicted(copies, "entropy") == predicted(copies, "prediction") + 5 * 80


# ---------------------------------------------------------------------- intervals


def log_linear(X: FloatArray) -> Normal:
    """Return normals whose entropy is linear: A_j = |slope| 2/sqrt(pi) for standard normal features."""
    return Normal(np.zeros(len(X)), np.exp(X @ np.array([0.5, 0.3, 0.0])))


def test_intervals_cover_sizes_shares_and_total_effects() -> None:
    """95% intervals over new rows, n = 100, 10 shuffles: between 90 and 98% of 150 samples."""
    slopes, gini = np.array([0.5, 0.3]), 2 / np.sqrt(np.pi)
    whole = np.sqrt(np.square(slopes).sum())
    held = np.zeros((2, 4))
    for seed in range(150):
        X = np.random.default_rng(seed).normal(size=(100, 3))
        result = explained(subject(log_linear, X), measures=("entropy",), n_repeats=10, exact=False)
        view = DriversView.from_result(result["pfi.drivers"])
        for j, line in enumerate(by_feature(view.of(CHANGE))[name] for name in "ab"):
            truths = (gini * slopes[j], slopes[j] / whole, (slopes[j] / whole) ** 2, gini * whole)
            difference = view.difference(CHANGE)
            ends = (
                (line.lower, line.upper),
                (line.share_lower, line.share_upper),
                (line.total_lower, line.total_upper),
                (difference.lower, difference.upper),
            )
            held[j] += [low <= truth <= high for (low, high), truth in zip(ends, truths, strict=True)]
    assert (held / 150 >= 0.90).all(), held / 150
    assert (held.mean(axis=0) / 150 <= 0.985).all(), held / 150


# ---------------------------------------------------------------------- units


def test_complete_linkage_needs_every_pair_above_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    of = subject(curved, GRID)
    for ab, bc, ac, found in (
        (0.601, 0.1, 0.1, [("a", "b")]),
        (0.599, 0.1, 0.1, []),
        (0.8, 0.7, 0.5, [("a", "b")]),
        (0.8, 0.7, 0.65, [("a", "b", "c")]),
    ):
        table = np.array([[-1, ab, ac], [ab, -1, bc], [ac, bc, -1]])
        monkeypatch.setattr(drivers, "associations", lambda _, table=table: table)
        assert associated(of, "abc") == found
    assert associated(of, "a") == []


def test_associated_features_and_owners_groups_are_units_and_the_others_single() -> None:
    rng = np.random.default_rng(8)
    shared, own = rng.normal(size=(2, 150))
    X = np.column_stack([shared, shared + 0.1 * rng.normal(size=150), own, rng.normal(size=150)])

    def model(values: FloatArray) -> Normal:
        return Normal(values[:, 0], np.exp(0.2 * (values[:, 0] + values[:, 1]) + 0.1 * values[:, 2]))

    alone = units(subject(model, X))
    assert list(alone) == ["a + b", "c", "d"]
    assert alone["a + b"].share == pytest.approx(0.97, abs=0.1)
    grouped = replace(subject(model, X), groups={"mine": ("b", "c")})
    result = explained(grouped, measures=("entropy",))["pfi.drivers"]
    assert result.meta["units"] == {"mine": ["b", "c"]}
    assert set(by_feature(DriversView.from_result(result).of(CHANGE))) == {"a", "d", "mine"}


def test_the_numbers_of_a_unit_are_those_of_a_group_of_its_features() -> None:
    rng = np.random.default_rng(9)
    X = rng.normal(size=(60, 3))
    X[:, 1] = X[:, 0] + 0.1 * X[:, 1]
    unit = units(subject(curved, X), exact=True)["a + b"]
    size, share, total = by_hand(X, [0, 1])
    np.testing.assert_allclose((unit.estimate, unit.share, unit.total), (size, share, total), rtol=1e-10)


def test_a_contrast_of_copies_is_larger_alone_than_together() -> None:
    rng = np.random.default_rng(10)
    X = rng.normal(size=(250, 3))
    X[:, 1] = X[:, 0] + 0.1 * X[:, 1]
    found = units(subject(lambda v: Normal(v[:, 0], np.exp(v[:, 0] - v[:, 1] + 0.5 * v[:, 2])), X))
    assert found["a + b"].apart == 2
    assert found["c"].apart == 0


# ---------------------------------------------------------------------- margins and flags


def judged(
    size: float, *, difference: float = 1.0, shift: float = 0.0, discrete: bool = False, floor: float = 0.0,
    level: float = 0.0, noise: float = 0.0,
) -> Judge:  # fmt: skip
    """Return the judge of a unit of exactly this size, where the rows have two uncertainties `difference` apart."""
    n = 40
    b = level + np.repeat([0.0, difference * 2 * (n - 1) / n], n // 2)
    rows = ShuffledRows((ENTROPY,), b[None], np.zeros(n), np.ones(n), None)
    own = Drivers(rows, 0.95, discrete, {CHANGE: floor})
    none = np.zeros(1)

    def terms(value: float) -> PairTerms:
        g = value + noise * np.tile([-1.0, 1.0], n // 2)
        return PairTerms(np.array([value]), np.array([[value]]), g[None], none, none)

    scale = (n - 1) / n
    unit = UnitTerms(terms(size * scale), terms(size**2 * scale), terms(shift), 1.0, size == 0, "")
    return Judge(own, UNCERTAINTY_CHANGE, Spread.of(b, rows), {"x": unit})


def test_a_unit_is_negligible_below_a_tenth_of_the_difference_and_shown_above() -> None:
    assert judged(0.0999).line("x")["verdict"] == ABOUT_0
    assert judged(0.1001).line("x")["verdict"] == POSITIVE
    assert judged(0.1001, noise=0.01).line("x")["verdict"] == UNDETERMINED
    assert judged(0.0999, noise=0.01).line("x")["verdict"] == UNDETERMINED
    assert judged(0.0999).margin == pytest.approx(0.1)


def test_what_two_calls_differ_by_is_a_floor_of_the_margin() -> None:
    assert judged(0.19, floor=0.2).line("x")["verdict"] == ABOUT_0
    assert judged(0.21, floor=0.2).line("x")["verdict"] == POSITIVE
    assert judged(0.21, floor=0.2).line("x")["margin"] == 0.2
    assert judged(0.21, floor=0.05).margin == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("discrete", "level", "tolerance"), [(False, 5.0, 0.02), (True, 5.0, 0.02), (True, 0.2, 0.01), (False, 0.2, 0.02)]
)
def test_the_uncertainty_is_constant_below_the_tolerance(discrete: bool, level: float, tolerance: float) -> None:
    for factor, state in ((0.99, CONSTANT), (1.1, DIFFERS)):
        made = judged(0.1, difference=factor * tolerance, level=level, discrete=discrete)
        line = made.difference()
        assert line["margin"] == pytest.approx(tolerance, rel=0.06)
        assert line["verdict"] == state
        assert line["estimate"] == pytest.approx(factor * tolerance)


def test_a_difference_that_straddles_the_tolerance_is_open() -> None:
    X = np.random.default_rng(11).normal(size=(40, 3))
    result = explained(subject(lambda v: Normal(v[:, 0], np.exp(0.0178 * v[:, 1])), X), measures=("entropy",))
    line = DriversView.from_result(result["pfi.drivers"]).difference(CHANGE)
    assert line.lower < 0.02 < line.upper
    assert line.verdict == OPEN


def test_a_constant_uncertainty_has_no_share() -> None:
    X = np.random.default_rng(12).normal(size=(40, 3))
    result = explained(subject(lambda v: Normal(v[:, 0], 1.0), X), measures=("entropy",))["pfi.drivers"]
    view = DriversView.from_result(result)
    assert (view.difference(CHANGE).estimate, view.difference(CHANGE).verdict) == (0.0, CONSTANT)
    assert all(np.isnan(line.share) and line.exact_zero for line in view.of(CHANGE))


def test_a_mean_change_of_a_quarter_of_the_size_is_flagged() -> None:
    assert judged(0.4, shift=0.1001).line("x")["flag"] == SHIFTED
    assert judged(0.4, shift=-0.1001).line("x")["flag"] == SHIFTED
    assert judged(0.4, shift=0.0999).line("x")["flag"] == ""
    assert judged(0.4, shift=0.1001, noise=0.5).line("x")["flag"] == ""  # its interval contains 0


def test_a_size_shown_to_be_beyond_the_difference_is_flagged() -> None:
    assert judged(1.001).line("x")["flag"] == WIDER
    assert judged(0.999).line("x")["flag"] == ""
    assert judged(1.001, noise=0.1).line("x")["flag"] == ""


def test_the_standard_deviation_has_no_mean_change_of_its_own() -> None:
    X = np.random.default_rng(13).normal(size=(60, 3))
    result = explained(subject(curved, X), Engine(subject(curved, X), {"variance": VARIANCE}), measures=("variance",))
    lines = DriversView.from_result(result["pfi.drivers"]).of("sd_change")
    assert {line.feature for line in lines} == set("abc")
    assert all(np.isnan(line.shift) for line in lines)
    sd = curved(X).scale
    spread = np.abs(sd[:, None] - sd).sum() / (60 * 59)
    assert DriversView.from_result(result["pfi.drivers"]).difference("sd_change").estimate == pytest.approx(spread)
    assert DriversView.from_result(result["pfi.drivers"]).difference("sd_change").margin == pytest.approx(
        0.02 * sd.mean()
    )


# ---------------------------------------------------------------------- leaders


def test_a_clear_leader_stands_alone_and_equal_ones_share_the_first_rank() -> None:
    X = np.random.default_rng(14).normal(size=(250, 3))
    clear = units(subject(lambda v: Normal(v[:, 0], np.exp(v[:, 0] + 0.3 * v[:, 1])), X))
    assert [(line.feature, line.first, line.last) for line in clear.values()] == [("a", 1, 1), ("b", 2, 2), ("c", 3, 3)]
    equal = units(subject(lambda v: Normal(v[:, 0], np.exp(v[:, 0] + v[:, 1])), X))
    assert {(line.first, line.last) for name, line in equal.items() if name != "c"} == {(1, 2)}


def test_a_step_used_by_few_rows_leads_by_squares_only() -> None:
    X = np.random.default_rng(15).normal(size=(600, 3))

    def step(v: FloatArray) -> Normal:
        return Normal(np.zeros(len(v)), np.exp(2.5 * (v[:, 0] > 1.6) + 0.3 * v[:, 1]))

    found = units(subject(step, X))
    assert list(found) == ["b", "a", "c"]
    assert found["a"].rare
    assert not found["b"].rare
    assert found["a"].where_changed == pytest.approx(2.5)
    assert found["a"].changed == pytest.approx(2 * np.mean(X[:, 0] > 1.6), abs=0.03)


def test_too_few_clusters_give_sizes_without_intervals_and_ranks() -> None:
    X = np.random.default_rng(16).normal(size=(40, 3))
    found = units(subject(curved, X, clusters=np.repeat(np.arange(4), 10)))
    for name in "ab":
        assert np.isnan(found[name].lower)
        assert found[name].estimate > 0
        assert (found[name].verdict, found[name].first, found[name].last) == (UNDETERMINED, 1, 3)


def test_rows_shuffled_within_clusters_have_no_drivers() -> None:
    X = np.random.default_rng(17).normal(size=(60, 3))
    of = subject(curved, X, clusters=np.repeat(np.arange(20), 3))
    assert "pfi.drivers" not in explained(of, measures=("entropy",), within_clusters=True)


class Spiked(Normal):
    """A normal whose entropy is infinite where its scale is that of a point."""

    def entropy(self) -> FloatArray:
        return np.where(self.scale < 1e-9, -np.inf, super().entropy())


def test_infinite_uncertainties_are_left_out_with_the_reason() -> None:
    """A set of features whose values make a point in some row has no size; the others have one."""
    X = np.random.default_rng(18).normal(size=(40, 3))
    X[:20, 0] = X[20:, 1] = -9.0

    def model(v: FloatArray) -> Spiked:  # a point where a and b are both large: in no row unchanged
        return Spiked(v[:, 0], np.where((v[:, 0] > -9) & (v[:, 1] > -9), 1e-10, np.exp(0.3 * v[:, 2])))

    result = explained(subject(model, X), measures=("entropy",))["pfi.uncertainty"]
    assert {line.feature for line in lines_of(result, DriverLine)} == {"c"}
    assert [(gap.measure, gap.feature) for gap in result.omissions] == [(CHANGE, "a"), (CHANGE, "b")]
    points = subject(lambda v: Spiked(v[:, 0], 1e-10), X)
    assert not {"pfi.uncertainty", "pfi.drivers"} & set(explained(points, measures=("entropy",)))


# ---------------------------------------------------------------------- noise, parts and samples


def test_draws_that_no_seed_fixes_raise_the_margin() -> None:
    X = pd.DataFrame(np.random.default_rng(19).normal(size=(60, 2)), columns=["a", "b"])
    own = np.random.default_rng(0)

    def loose(values: Any) -> Categorical:
        p = 1 / (1 + np.exp(-np.asarray(values)[:, 0] - own.normal(size=len(values))))
        return Categorical(np.column_stack([1 - p, p]))

    def fixed(values: Any) -> Categorical:
        p = 1 / (1 + np.exp(-np.asarray(values)[:, 0] - np.random.normal(size=len(values))))  # noqa: NPY002
        return Categorical(np.column_stack([1 - p, p]))

    margins = []
    for model in (loose, fixed):
        random = uq.explain(model, X, stochastic="members", n_members=5)
        result = uq.importance(random, measures=("entropy",), n_repeats=5)["pfi.drivers"].result
        view = DriversView.from_result(result)
        margins.append(by_feature(view.of(CHANGE))["b"].margin - 0.1 * view.difference(CHANGE).estimate)
    assert margins[0] > 0.001
    assert margins[1] == pytest.approx(0.0, abs=1e-12)


def test_the_epistemic_part_has_sizes_of_its_own_and_is_not_ranked() -> None:
    X = np.random.default_rng(20).normal(size=(80, 2))

    def ensemble(v: FloatArray) -> NormalMixture:
        return NormalMixture(np.column_stack([v[:, 0], -v[:, 0]]), np.exp(np.column_stack([v[:, 1], v[:, 1]])))

    of = subject(ensemble, X)
    names = ("entropy", "aleatoric", "epistemic")
    every = {name: getattr(measures, name.upper()) for name in names}
    result = explained(of, Engine(of, every), measures=names)
    table = result["pfi.uncertainty"].estimates
    assert dict(zip(table["measure"], table["ranked"], strict=True)) == {CHANGE: True, "epistemic_change": False}
    assert set(DriversView.from_result(result["pfi.drivers"]).measures) == {CHANGE, "epistemic_change"}


EXPECTED: Mapping[str, tuple[float, dict[str, float]]] = {
    "parcels": (0.176, {"distance": 0.150, "rain": 0.097, "hour": 0.065}),
    "pumps": (0.240, {"inlet_temperature + outlet_temperature": 0.218, "vibration": 0.144, "age": 0.044}),
}


@pytest.mark.parametrize("which", EXPECTED)
def test_samples_have_the_leaders_that_they_were_made_with(which: str) -> None:
    result = uq.importance(demo.build(which)[0], fast_paths=False)["pfi.drivers"].result
    difference, leading = EXPECTED[which]
    view = DriversView.from_result(result)
    assert view.difference(CHANGE).estimate == pytest.approx(difference, abs=0.002)
    found = view.of(CHANGE)[:3]
    assert [line.feature for line in found] == list(leading)
    assert [line.estimate for line in found] == pytest.approx(list(leading.values()), abs=0.003)
    assert (found[0].first, found[0].last, found[0].verdict) == (1, 1, POSITIVE)
    assert {line.item for line in view.lines} == {DIFFERENCE, "unit"}
