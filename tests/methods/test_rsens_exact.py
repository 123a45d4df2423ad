"""R-sens by hand: distances of rows, donors, and the terms of its comparators."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.model.subject import make_subject
from uq_report.core.support.arrays import FloatArray
from uq_report.distributions import Normal
from uq_report.methods.rsens import compare
from uq_report.methods.rsens.estimator import DerivativeSample, level_chances, local_values, make_sample
from uq_report.methods.rsens.explain import RSens
from uq_report.testing import KnownTruth, measures

GAP = float("nan")


class Zero(KnownTruth):
    """Predicts the same of every row."""

    def predict(self, model: Any, X: Any) -> Any:
        return Normal(np.zeros(len(X)), np.ones(len(X)))


def sample(frame: Any, most: int = 1000, **options: Any) -> DerivativeSample:
    engine = Engine(make_subject(None, Zero(), pd.DataFrame(frame), **options), measures()).bound("rsens")
    return make_sample(engine.subject, engine, engine.subject.features, most)


def given(weights: Any, values: Any = ()) -> Any:
    """Return what the terms of a comparator read of a sample."""
    return SimpleNamespace(
        sampling=SimpleNamespace(weights=np.array(weights)), values=lambda _: np.array(values, dtype=float)
    )


def test_a_predictive_comparison_is_a_weighted_ratio_and_its_terms_those_of_the_delta_method() -> None:
    """Two donors a row: the changes are 4 and 9 over 1 and 3, and 20 and 3 over 2 and 1; the third has no neighbour."""
    near = np.array([2.0, 1.0, 0.0])
    f = np.array([0.0, 10.0, 20.0])
    donors = [(np.array([1, 2, 0]), np.array([4.0, 30.0, 2.0])), (np.array([2, 0, 1]), np.array([9.0, 7.0, 0.0]))]
    rows = given([0.5, 0.25, 0.25], [0, 1, 3])
    gained, moved = np.array([6.5 * 2, 11.5, 0.0]), np.array([2.0 * 2, 1.5, 0.0])
    ratio = (0.5 * 13 + 0.25 * 11.5) / (0.5 * 4 + 0.25 * 1.5)
    terms = ratio + (gained - ratio * moved) / (0.5 * 4 + 0.25 * 1.5)
    np.testing.assert_allclose(compare._comparison(rows, "a", near, donors, f), terms)
    assert rows.sampling.weights @ terms == pytest.approx(ratio)
    falling = [(d, 2 * f - to) for d, to in donors]
    np.testing.assert_allclose(compare._comparison(rows, "a", near, falling, f), terms)
    still = given([0.5, 0.25, 0.25], [2, 2, 2])
    assert compare._comparison(still, "a", near, donors, f).tolist() == [0, 0, 0]
    for unit in (0.01, 100):
        scaled = given([0.5, 0.25, 0.25], [0, unit, 3 * unit])
        np.testing.assert_allclose(compare._comparison(scaled, "a", near, donors, f), terms / unit)


def test_a_comparison_of_levels_is_a_root_mean_square_over_pairs_of_different_levels() -> None:
    near = np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 9.0], [2.0, 9.0, 0.0]])
    levels, f = np.array([[1.0, 2.0, 3.0], [5.0, 7.0, 4.0]]), np.array([1.0, 7.0, 4.0])
    rows = given([0.5, 0.25, 0.25], [0, 1, 1])
    gained, moved = np.array([3 * 16.0, 25.0, 2.0]), np.array([3.0, 1.0, 2.0])
    ratio = np.sqrt((24 + 6.25 + 0.5) / 2.25)
    expected = ratio + (gained - ratio**2 * moved) / (2 * ratio * 2.25)
    np.testing.assert_allclose(compare._level_comparison(rows, "a", near, levels, f), expected)
    alone = given([0.5, 0.25, 0.25], [1, 1, 1])
    assert compare._level_comparison(alone, "a", near, levels, np.array([5.0, 7.0, 4.0])).tolist() == [0, 0, 0]
    same = np.tile(f, (2, 1))
    assert compare._level_comparison(rows, "a", near, same, f).tolist() == [0, 0, 0]
    unknown = given([0.5, 0.25, 0.25], [0, GAP, 1])
    lost = near * np.outer([1, 0, 1], [1, 0, 1])
    assert compare._level_comparison(unknown, "a", lost, levels, f)[1] == pytest.approx(
        np.sqrt((0.5 * 32 + 0.25 * 2) / 1.5)
    )


def test_the_spread_of_an_average_effect_has_the_terms_of_its_points() -> None:
    """Averages of 1, 5 and 12 have the variance 31; rows lie 1, 1 and 4 below and above them."""
    curve, half = np.array([[0.0, 2.0], [4.0, 6.0], [8.0, 16.0]]), given([0.5, 0.5])
    found = compare._standard_deviation(half, curve)
    np.testing.assert_allclose(found, np.sqrt(31) + np.array([-9, 9]) / np.sqrt(31))
    assert compare._standard_deviation(half, np.zeros((2, 2))).tolist() == [0, 0]


@pytest.mark.parametrize(("rise", "moves"), [(1.3e-12, 0), (1.6e-12, 2)])
def test_an_average_effect_is_flat_up_to_rounding(rise: float, moves: int) -> None:
    found = compare._standard_deviation(given([0.5, 0.5]), np.array([[1.0, 1.0], [1.0 + rise, 1.0 + rise]]))
    assert np.count_nonzero(found) == moves


def test_donors_are_near_rows_and_a_row_without_any_is_its_own() -> None:
    rows = sample({"a": [0.0, 1.0, 2.0]})
    near = np.array([[0.0, 0.0, 5.0], [0.1, 0.0, 0.0], [0.0, 0.0, 0.0]])
    found = compare._donors(rows, "a", near)
    assert [d.tolist() for d in found] == [[2, 0, 2]] * 3
    many = compare._donors(sample({"a": np.arange(600.0)}), "a", np.tile([3.0, 1.0, *[0.0] * 598], (600, 1)))
    assert np.mean([(d == 0).mean() for d in many]) == pytest.approx(0.75, abs=0.05)
    assert {int(v) for d in many for v in d} == {0, 1}


def correlated() -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng(0)
    z = rng.normal(size=40)
    return 3 * z + 2 * rng.normal(size=40) + 7, 5 * z - 1


def test_the_distance_without_a_feature_is_that_of_the_others_in_standard_deviations() -> None:
    x, z = correlated()
    levels = np.resize(["u", "v", "v"], 40)
    weights = np.resize([1.0, 2.0], 40)
    rows = sample({"x": x, "z": z, "g": levels}, sample_weight=weights)
    share = weights / weights.sum()
    geometry = compare._Geometry(rows)
    away = np.subtract.outer(z, z) ** 2 / (share @ (z - share @ z) ** 2)
    differs = np.not_equal.outer(levels, levels)
    expected = share / (1 + away + differs)
    np.fill_diagonal(expected, 0)
    np.testing.assert_allclose(geometry.closeness("x"), expected, rtol=1e-4)
    both = np.cov(x, z, aweights=weights, ddof=0)
    pairs = np.stack([np.subtract.outer(x, x), np.subtract.outer(z, z)], axis=-1)
    expected = share / (1 + np.einsum("ijk,kl,ijl->ij", pairs, np.linalg.inv(both), pairs))
    np.fill_diagonal(expected, 0)
    np.testing.assert_allclose(geometry.closeness("g"), expected, rtol=1e-3)


def test_a_feature_given_the_others_is_their_regression() -> None:
    x, z = correlated()
    slope, variance = np.cov(x, z, ddof=0)[0, 1] / z.var(), x.var() * (1 - np.corrcoef(x, z)[0, 1] ** 2)
    mean, std = compare._Geometry(sample({"x": x, "z": z})).conditional("x")
    np.testing.assert_allclose(mean, x.mean() + slope * (z - z.mean()), rtol=1e-4)
    assert std == pytest.approx(np.sqrt(variance), rel=1e-4)


def test_a_missing_value_stands_at_the_mean_and_is_near_to_none() -> None:
    rows = sample({"x": [1.0, 2.0, GAP, 6.0, 3.0], "z": [0.0, 1.0, 5.0, 2.0, 2.5]})
    geometry = compare._Geometry(rows)
    near = geometry.closeness("x")
    assert not near[2].any()
    assert not near[:, 2].any()
    standard = geometry._standardised("x")
    present = [0, 1, 3, 4]
    assert standard[2] == 0
    assert (standard[present].mean(), standard[present].std()) == pytest.approx((0, 1))


def test_the_quadrature_is_of_a_standard_normal() -> None:
    """Moments of order 0, 2, 4 and 8: 1, 1, 3 and 105."""
    mass = compare._MASS / compare._MASS.sum()
    assert [float(mass @ compare._NODES**k) for k in (0, 1, 2, 4, 8)] == pytest.approx([1, 0, 1, 3, 105])


def test_a_sample_knows_what_varies_and_by_how_much() -> None:
    frame = {
        "x": [1.0, 3.0, GAP, np.inf],
        "one": [2.0] * 4,
        "none": [GAP] * 4,
        "day": pd.to_datetime(["2020-01-01", "2020-01-02", "2020-01-03", "2020-01-04"]),
        "g": ["u", "v", "v", None],
    }
    rows = sample(frame, sample_weight=[1.0, 3.0, 4.0, 2.0])
    assert (rows.features, rows.numeric, rows.categorical) == (("x", "g"), ("x",), ("g",))
    assert rows.spreads["x"] == pytest.approx(np.sqrt(0.25 * 1.5**2 + 0.75 * 0.5**2))
    assert rows.spreads["g"] == pytest.approx(np.sqrt((1 - (1 / 8) ** 2 - (7 / 8) ** 2) / 2))
    assert rows.shares("g").tolist() == pytest.approx([1 / 8, 7 / 8])
    assert rows.has_value("x").tolist() == [True, True, False, False]
    assert [(o.feature, o.reason) for o in rows.omissions] == [
        ("one", "it is constant in the sample used"),
        ("none", "all of its values are missing or infinite in the sample used"),
        ("day", "a date has no unit to take a derivative in; pass a number, such as days since a start"),
    ]


def test_a_row_moves_to_the_other_levels_in_proportion_to_their_shares() -> None:
    rows = sample({"g": ["a", "b", "b", "c", None], "x": np.arange(5.0)})
    expected = np.array([[0, 1 / 2, 1 / 2, 1 / 3, 0], [2 / 3, 0, 0, 2 / 3, 0], [1 / 3, 1 / 2, 1 / 2, 0, 0]])
    np.testing.assert_allclose(level_chances(rows, "g"), expected)


def test_what_the_comparators_will_cost() -> None:
    """Of a row and feature three donors, eight points and five nodes."""
    subject = make_subject(None, Zero(), np.random.default_rng(0).normal(size=(30, 4)))
    engine = Engine(subject, measures()).bound("rsens")
    assert RSens(max_rows=20).cost(subject, engine) == 16 * 20 * 4
    assert RSens(max_rows=50, features=("x0",)).cost(subject, engine) == 16 * 30
    assert RSens(comparators=False).cost(subject, engine) == 0


@pytest.mark.parametrize(("n", "calls"), [(250, 2), (251, 2), (334, 3)])
def test_level_changes_share_calls_of_up_to_a_thousand_rows(n: int, calls: int) -> None:
    """Six changes, of three levels of two features."""
    sizes: list[int] = []
    rows = sample({"g": np.resize(["u", "v", "w"], n), "h": np.repeat(["a", "b", "c"], n)[::3]})
    predict = rows.engine.predict

    def counted(X: Any) -> Any:
        sizes.append(len(X) // n)
        return predict(X)

    object.__setattr__(rows.engine, "predict", counted)
    local_values(rows, 1.0, 0.5)
    assert len(sizes) == calls
    assert sum(sizes) == 6
